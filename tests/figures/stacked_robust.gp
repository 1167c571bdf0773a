# Shift of the workload, size against skew and against the number of keys, depth [Stacked figures 6a, 6c, 7].
high = 820
load 'tests/figures/filters_style.gp'
set multiplot layout 2, 2 title "Stacked Bloom filters, 100k keys, 10M negatives unless said otherwise: another workload, other skews, more layers, more keys" offset 0, -0.5 margins 0.09, 0.98, 0.08, 0.88 spacing 0.11, 0.17
shade(i) = word("#9ecae1 #4292c6 #084594", i)
skew(i) = word("0.5 0.75 1.0", i)

set title "known negatives lose questions; 8 bits\nthe paper: plain wins below 40 %, 1.5 times at worst" offset 0, -0.6
set xlabel '% of their questions left'
set ylabel '% of negative questions wrong'
set yrange [0:7]
set key top right samplen 2
plot folder.'/stack_shift.dat' using 1:2 with lines dt 2 lw 2 lc rgb '#777777' title 'plain', \
     for [i = 1:3] '' using 1:i + 2 with lines lw 2 lc rgb shade(i) title 'skew '.skew(i), \
     for [i = 1:3] '' using 1:i + 5 with lines dt 3 lw 2 lc rgb shade(i) title 'skew '.skew(i).', 1M negatives'

set title "bits for a rate\nthe paper: smaller for every skew at 0.1 %" offset 0, -0.6
set xlabel 'skew'
set ylabel 'bits a key'
set yrange [0:24]
plot folder.'/stack_skew.dat' using 1:2 with lines dt 2 lw 2 lc rgb '#4292c6' title 'plain, 1 %', \
     '' using 1:3 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#4292c6' title 'stacked, 1 %', \
     '' using 1:4 with lines dt 2 lw 2 lc rgb '#084594' title 'plain, 0.1 %', \
     '' using 1:5 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#084594' title 'stacked, 0.1 %'

set yrange [0:3.2]
set title "layers at most; 8 bits\nthe paper: three are often enough" offset 0, -0.6
set xlabel 'layers'
set ylabel '% of negative questions wrong'
set xtics (1, 3, 5, 7, 9)
plot for [i = 1:3] folder.'/stack_depth.dat' using 1:i + 1 with linespoints pt 7 ps 0.6 lw 2 lc rgb shade(i) title 'skew '.skew(i)

set title "bits for a rate; as many known as keys, psi 0.75\nthe paper: the same for any number of keys" offset 0, -0.6
set xlabel 'keys'
set ylabel 'bits a key'
set xtics auto
set logscale x 10
set xrange [1e3:2e7]
set yrange [0:24]
data = folder.'/stack_keys.dat'
set label 1 'circles: as built' at graph 0.97, 0.06 right
set format x "%.0s%c"
plot data index 0 using 1:2 with lines dt 2 lw 2 lc rgb '#4292c6' title 'plain, 1 %', \
     '' index 0 using 1:3 with lines lw 2 lc rgb '#4292c6' title 'stacked, 1 %', \
     '' index 0 using 1:4 with lines dt 2 lw 2 lc rgb '#084594' title 'plain, 0.1 %', \
     '' index 0 using 1:5 with lines lw 2 lc rgb '#084594' title 'stacked, 0.1 %', \
     '' index 1 using 1:($2 > 0.005 ? $3 : NaN) with points pt 6 ps 0.8 lw 1.5 lc rgb '#4292c6' notitle, \
     '' index 1 using 1:($2 < 0.005 ? $3 : NaN) with points pt 6 ps 0.8 lw 1.5 lc rgb '#084594' notitle
unset multiplot
