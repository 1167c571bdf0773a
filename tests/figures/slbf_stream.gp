# How filters of an endless stream settle, forget and bear a stream that was not learned [SLBF figures 2, 11, 13, 14].
high = 1080
load 'tests/figures/filters_style.gp'
load 'tests/figures/slbf_style.gp'
data = folder.'/slbf_stream.dat'
set multiplot layout 3, 2 title "Filters of an endless stream fill up, settle, forget, meet what was not learned; scores made up" offset 0, -0.5 margins 0.09, 0.97, 0.05, 0.92 spacing 0.11, 0.1
set key font ',10'
set ylabel '% accepted'
set yrange [0:180]
set format x "%.0s%c"
set xlabel 'keys told'
set title "learned Bloom filters (by cut) in 9850 bits, AUC 0.91\nthe paper: all at 100 % after 80,000" offset 0, -0.6
set key top right maxrows 4 samplen 1.5 width -2
plot for [i = 1:4] data index 0 using 1:i + 1 with lines lw 2 lc rgb shade(i) title 'cut '.word("0.5 0.7 0.9 0.97", i), \
     '' index 0 using 1:6 with lines lw 2 dt 2 lc rgb colour(1) title filter(1), \
     '' index 0 using 1:7 with linespoints pt mark(6) ps 0.5 lw 2 lc rgb colour(6) title filter(6), \
     '' index 0 using 1:8 with linespoints pt mark(7) ps 0.5 lw 2 lc rgb colour(7) title filter(7)

set title "g-SLBF settles: AUC 0.87, 10 % wanted\nthe paper: fewer bits sooner" offset 0, -0.6
set yrange [0:22]
set key top right maxrows 4 samplen 1.5 width -2
plot for [i = 1:5] data index 1 using 1:i + 1 with lines lw 2 lc rgb shade(i) title word("2^13 2^14 2^15 2^16 2^18", i).' bits', \
     for [i = 1:2] '' index 1 using 1:i + 6 with linespoints pt mark(5 + i) ps 0.5 lw 2 lc rgb colour(5 + i) title filter(5 + i)

set format x '%g'
set logscale xy 10
set xrange [10:2000]
set key top left maxrows 5
set yrange [0.001:1000]
set xlabel 'gap'
do for [block = 2:3] {
  set title 'misses in 16,384 bits, AUC '.word("0.91 0.82", block - 1).", 5 % wanted\nthe paper: none at gap 10, then ever more" offset 0, -0.6
  set ylabel block == 2 ? '% missed' : '' offset 1.8, 0
  plot for [i = 1:5] data index block using 1:i + 1 with linespoints pt mark(i + 2) ps 0.6 lw 2 lc rgb colour(i + 2) title filter(i + 2)
}
unset logscale x
set xrange [0:50]
set key top right maxrows 4
set yrange [0.01:10000]
set xlabel '% of the stream on the other side than learned'
do for [block = 4:5] {
  set title 'accepted in 65,536 bits, AUC '.word("0.87 0.82", block - 3).", 5 % wanted\nthe paper: groups suffer much less" offset 0, -0.6
  set ylabel block == 4 ? '% accepted' : '' offset 1.8, 0
  plot for [i = 1:7] data index block using 1:i + 1 with linespoints pt mark(i) ps 0.6 lw 2 dt dashes(i) lc rgb colour(i) title filter(i)
}
unset multiplot
