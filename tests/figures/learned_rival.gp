# A learned Bloom filter beside the stacked and the plain one [Stacked figures 4, 6d, 7; Stacked-early §6.1.2].
high = 1420
load 'tests/figures/filters_style.gp'
set multiplot layout 4, 2 title "Learned, stacked and plain Bloom filters in equal space, trees counted: 140k URL-like keys,\n1.4M negatives, 280k known, a law of AUC 0.99; the store is simulated, nothing cached" offset 0, -0.5 margins 0.09, 0.98, 0.05, 0.92 spacing 0.11, 0.085
skew(i) = word("0.5 0.75 1.0", i)
shade(i) = word("#9ecae1 #4292c6 #084594", i)
ember(i) = word("#fdae6b #e6550d #a63603", i)
rates = folder.'/learned_rival.dat'
times = folder.'/learned_times.dat'

set title "rates\nthe paper: learned 4.5, stacked 23 times better" offset 0, -0.6
set xlabel 'bits a key'
set ylabel '% of negative questions wrong'
set logscale y 10
set yrange [0.01:3000]
set key top right samplen 2
plot rates index 0 using 1:4 with linespoints pt 4 ps 0.6 dt 2 lw 2 lc rgb '#777777' title 'plain', \
     '' index 0 using 1:5 with linespoints pt 6 ps 0.6 lw 2 lc rgb ember(2) title 'learned, any skew', \
     for [i = 1:3] '' index 0 using 1:3 * i with linespoints pt 7 ps 0.6 lw 2 lc rgb shade(i) title 'stacked, skew '.skew(i)

set title "a question, batches of 64\nthe paper: learned 45 to 80 times slower" offset 0, -0.6
set ylabel 'ns a question'
set yrange [1:200000]
plot times index 0 using 1:8 with linespoints pt 6 ps 0.6 lw 2 lc rgb '#a63603' title 'learned, from the text', \
     '' index 0 using 1:5 with linespoints pt 6 ps 0.6 dt 3 lw 2 lc rgb '#e6550d' title 'learned, features ready', \
     '' index 0 using 1:3 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#084594' title 'stacked, present', \
     '' index 0 using 1:6 with linespoints pt 7 ps 0.6 dt 3 lw 2 lc rgb '#4292c6' title 'stacked, absent', \
     '' index 0 using 1:7 with linespoints pt 4 ps 0.6 dt 2 lw 2 lc rgb '#777777' title 'plain, absent'

set yrange [0.1:1e6]
do for [device = 1:2] {
  set title (device == 1 ? 'disks, 1000 reads a second' : 'SSD, 40,000 reads a second')."\nnegative questions; the paper: learned rarely pays" offset 0, -0.6
  set ylabel device == 1 ? 'microseconds a question' : ''
  if (device == 2) { set yrange [0.005:1e4] }
  plot times index device using 1:4 with linespoints pt 4 ps 0.6 dt 2 lw 2 lc rgb '#777777' title 'plain', \
       '' index device using 1:2 with linespoints pt 6 ps 0.6 lw 2 lc rgb ember(2) title 'learned, any skew', \
       for [i = 0:1] '' index device using 1:(column(3 + 3 * i)) with linespoints pt 7 ps 0.6 lw 2 lc rgb shade(i + 2) title 'stacked, skew '.skew(i + 2)
}
unset logscale y

set title "swapped keys, bits for 1 %, skew 0.75\nthe paper: stack smaller from 1 %, plain from 3 %" offset 0, -0.6
set xlabel '% of the members swapped with others'
set ylabel 'bits a key'
set yrange [0:14]
set key bottom right samplen 2
plot rates index 1 using 1:4 with linespoints pt 4 ps 0.6 dt 2 lw 2 lc rgb '#777777' title 'plain', \
     '' index 1 using 1:2 with linespoints pt 6 ps 0.6 lw 2 lc rgb '#e6550d' title 'learned', \
     '' index 1 using 1:3 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#4292c6' title 'stacked'

set title "mixed questions; disks, 10 bits, skew 1.0\nthe paper: all alike once positives are frequent" offset 0, -0.6
set xlabel '% of the questions for present keys'
set ylabel 'microseconds a question'
set yrange [*:*]
set logscale y 10
plot times index 3 using 1:4 with linespoints pt 4 ps 0.6 dt 2 lw 2 lc rgb '#777777' title 'plain', \
     '' index 3 using 1:2 with linespoints pt 6 ps 0.6 lw 2 lc rgb '#a63603' title 'learned', \
     '' index 3 using 1:3 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#084594' title 'stacked'
unset logscale y

set title "bits for a rate against psi, beta 0.5\nproposed [Stacked-early]; stacks planned" offset 0, -0.6
set xlabel 'psi'
set ylabel 'bits a key'
set yrange [0:46]
set key top right samplen 2 maxrows 6
plot rates index 2 using 1:2 with lines dt 2 lw 2 lc rgb '#999999' title 'plain, 1 %', \
     '' index 2 using 1:6 with lines lw 2 lc rgb '#fdae6b' title 'learned, 1 %', \
     '' index 2 using 1:3 with lines lw 2 lc rgb '#9ecae1' title 'stacked, 1 %', \
     '' index 2 using 1:4 with lines dt 2 lw 2 lc rgb '#333333' title 'plain, 0.01 %', \
     '' index 2 using 1:7 with lines lw 2 lc rgb '#a63603' title 'learned, 0.01 %', \
     '' index 2 using 1:5 with lines lw 2 lc rgb '#084594' title 'stacked, 0.01 %'

set title "bits against rate, psi 0.75\nproposed [Stacked-early]; stacks planned" offset 0, -0.6
set xlabel '% of negative questions wrong'
set ylabel ''
set logscale x 10
set xrange [0.01:10]
set key top right samplen 2 maxrows 5
plot rates index 3 using 1:2 with lines dt 2 lw 2 lc rgb '#777777' title 'plain', \
     for [i = 1:3] '' index 3 using 1:2 + i with lines lw 2 lc rgb shade(i) title 'stacked, beta '.word('0.1 0.2 0.5', i), \
     '' index 4 using 1:2 with linespoints pt 6 ps 0.6 lw 2 lc rgb '#a63603' title 'learned'
unset multiplot
