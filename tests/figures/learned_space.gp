# Space of learned filters against the share of keys to train with [Chained figure 13].
high = 760
load 'tests/figures/filters_style.gp'
set multiplot layout 2, 2 title "Learned filters at an error of 1 %, URL-like keys, law of AUC 0.99, 30k members\nthe paper (bits of its network not named): up to 99.1 % below learned Bloom, 96.2 % below the bound" offset 0, -0.5 margins 0.1, 0.98, 0.15, 0.87 spacing 0.1, 0.11
set logscale y 10
set xrange [0:100]
set format y "%.0s%c"
do for [panel = 0:3] {
  set title system(sprintf("echo '%s' | tr '|' ' '", word("30k|others,|trees|not|counted 30k|others,|trees|counted 300k|others,|trees|not|counted 300k|others,|trees|counted", panel + 1))) offset 0, -0.6
  set yrange [panel < 2 ? 5e3 : 5e4 : 5e5]
  set ylabel panel % 2 == 0 ? 'bits' : ''
  set xlabel panel > 1 ? '% of the keys to train with' : ''
  unset key
  if (panel == 3) { set key at screen 0.5, 0.03 center maxrows 2 samplen 2 width 1 Left reverse }
  data = folder.'/learned_space.dat'
  plot data index panel using 1:2 with linespoints pt 4 ps 0.6 lw 2 lc rgb '#777777' title 'learned Bloom', \
       '' index panel using 1:3 with linespoints pt 6 ps 0.9 lw 2 lc rgb '#d95f02' title 'learned Bloomier', \
       '' index panel using 1:4 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#084594' title 'learned chained', \
       '' index panel using 1:7 with lines dt 2 lw 1.5 lc rgb '#777777' title 'Bloom, no trees', \
       '' index panel using 1:6 with lines dt 2 lw 1.5 lc rgb '#084594' title 'chained, no trees', \
       '' index panel using 1:5 with lines dt 3 lw 1.5 lc rgb '#000000' title 'bound without a law'
}
unset multiplot
