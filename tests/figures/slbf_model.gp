# What the formulas of stable learned Bloom filters say, and what scores look like [SLBF figures 6, 7, 10].
high = 760
load 'tests/figures/filters_style.gp'
load 'tests/figures/slbf_style.gp'
data = folder.'/slbf_model.dat'
set multiplot layout 2, 3 title "Stable learned Bloom filters: formulas, and scores of classifiers" offset 0, -0.5 margins 0.08, 0.97, 0.07, 0.85 spacing 0.09, 0.2

set title "cells that settle as fast as 1M\nwithout a classifier, K = 6\nthe paper: 47,000 at 0.5, 1e8" offset 0, -0.6
set xlabel 'share of the keys that it sees'
set ylabel 'million cells'
set yrange [0:3]
set xrange [0.3:0.5]
set xtics 0.1
set key top left samplen 2
plot for [i = 1:4] data index 0 using 1:(column(i + 1) / 1e6) with lines lw 2 lc rgb shade(i) title word("50k 100k 1M 10M", i).(i == 1 ? ' insertions' : '')
set xtics auto

group(i) = word("#d62728 #9467bd #1b5e9e", i)
set xlabel 'functions K'
set xrange [1:10]
do for [variant = 0:1] {
  set title variant == 0 ? "example 4: a_j of (18),\nthe whole gap in each group\nthe paper: least at K = 6, 6, 5" \
                         : "the same, a_j sum to the rate,\na group sees q_j of the gap\n" offset 0, -0.6
  set ylabel variant == 0 ? '% missed' : ''
  set yrange [0:30]
  set key top center samplen 2
  plot for [i = 1:3] data index 1 using 1:i + 1 + 3 * variant with linespoints pt 7 ps 0.5 lw 2 lc rgb group(i) title 'group '.i
}

set style fill solid 0.5 noborder
set xlabel 'score'
set xrange [0:1]
set key top center samplen 2
do for [panel = 2:4] {
  set title "scores: ".system(sprintf("echo '%s' | tr '|' ' '", word("made|up,|AUC|0.91 made|up,|AUC|0.82 trees,|AUC|0.93", panel - 1))) offset 0, -0.6
  set ylabel panel == 2 ? '% of the keys in a twentieth' : ''
  set yrange [0:*]
  plot data index panel using 1:2 with boxes lc rgb '#1b5e9e' title 'told', \
       '' index panel using 1:3 with boxes lc rgb '#d62728' title 'others'
}
unset multiplot
