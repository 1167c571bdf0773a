# What questions and building take [Stacked figures 4b to 4d, 5, 6b, 7].
high = 1120
load 'tests/figures/filters_style.gp'
set multiplot layout 3, 2 title "Time of stacks and of plain filters in equal space; Bloom layers: 140k URL-like keys, 1.4M negatives, 280k known at most\nthe store is simulated: so many reads a second, one after another, nothing cached" offset 0, -0.5 margins 0.09, 0.98, 0.06, 0.9 spacing 0.11, 0.115
shade(i) = word("#4292c6 #084594", i)

set title "filter alone, batches of 64\nthe paper: present 1.5 times, absent the same" offset 0, -0.6
set xlabel 'bits a key'
set ylabel 'ns a question'
set yrange [0:*]
set offsets 0, 0, graph 0.25, 0
set key top left samplen 2
plot folder.'/stack_queries.dat' index 0 using 1:2 with linespoints pt 4 ps 0.6 dt 2 lw 2 lc rgb '#084594' title 'present, plain', \
     '' index 0 using 1:3 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#084594' title 'present, stacked', \
     '' index 0 using 1:4 with linespoints pt 4 ps 0.6 dt 2 lw 2 lc rgb '#d95f02' title 'absent, plain', \
     '' index 0 using 1:5 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#d95f02' title 'absent, stacked'

unset offsets
set logscale y 10
set key top right samplen 2
do for [device = 0:1] {
  set title system(sprintf("echo '%s' | tr '|' ' '", word("negative|questions,|1000|reads/s|(disks) negative|questions,|40,000|reads/s|(SSD)", device + 1)))."\nthe paper: frequently less than half" offset 0, -0.6
  set ylabel device == 0 ? 'microseconds a question' : ''
  set yrange [*:*]
  plot folder.'/stack_cost.dat' index device using 1:2 with linespoints pt 4 ps 0.6 dt 2 lw 2 lc rgb '#777777' title 'plain', \
       for [i = 1:2] '' index device using 1:2 * i + 1 with linespoints pt 7 ps 0.6 lw 2 lc rgb shade(i) title 'stacked, skew '.word('0.75 1.0', i)
}

set title "mixed questions; disks, 10 bits, skew 1.0\nthe paper: all alike once positives are frequent" offset 0, -0.6
set xlabel '% of the questions for present keys'
set ylabel 'microseconds a question'
set key bottom right samplen 2
plot folder.'/stack_share.dat' using 1:($2 / 1000) with linespoints pt 4 ps 0.6 dt 2 lw 2 lc rgb '#777777' title 'plain', \
     '' using 1:($3 / 1000) with linespoints pt 7 ps 0.6 lw 2 lc rgb '#084594' title 'stacked'
unset logscale y

set title "building, 1M keys, 10 bits\nthe paper: linear, 0.25 s to optimise, < 1 s" offset 0, -0.6
set xlabel 'known negatives a key'
set ylabel 'seconds'
set yrange [0:*]
set offsets 0, 0, graph 0.2, 0
set key top left samplen 2
plot folder.'/stack_build.dat' using 1:3 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#084594' title 'sized and built', \
     '' using 1:2 with linespoints pt 6 ps 0.6 lw 2 lc rgb '#4292c6' title 'of it sizing'

set title "other bases, 100k keys, 1M negatives\nthe paper: as for Bloom layers" offset 0, -0.6
set xlabel 'bits a key'
set ylabel "stacked filter's time over plain"
set yrange [0:3.8]
unset offsets
base(i) = word("#7b3294 #1a9850", i)
plot for [i = 1:2] folder.'/stack_queries.dat' index i using 1:($3 / $2) with linespoints pt 7 ps 0.6 lw 2 lc rgb base(i) title word('quotient cuckoo', i).', present', \
     for [i = 1:2] '' index i using 1:($5 / $4) with linespoints pt 7 ps 0.6 dt 3 lw 2 lc rgb base(i) title word('quotient cuckoo', i).', absent'
unset multiplot
