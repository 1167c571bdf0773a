# Negatives learnt late: the rate after each round of churn [SSCF figure 14].
high = 420
load 'tests/figures/filters_style.gp'
data = folder.'/ada.dat'
set multiplot layout 1, 2 title "Seesaw filter that learns its negatives when the keys are in\n50k keys, 24 bits a key, skew 1.5, the dearest 5 % of 50k negatives, mean of two seeds" offset 0, -0.5 margins 0.09, 0.98, 0.23, 0.8 spacing 0.09, 0.1
set logscale y 10
set yrange [0.1:10]
set ylabel '% of all cost' offset 1
set xlabel 'rounds of churn' offset 0, 0.4
set xrange [0:40]
do for [panel = 0:1] {
  set title word('urls ycsb', panel + 1) offset 0, -0.6
  unset key
  if (panel == 1) { set key at screen 0.5, 0.04 center maxrows 1 samplen 2 width 2 Left reverse }
  plot for [i = 1:3] data index panel using 1:i + 1 with lines lw 2.5 lc rgb word('#f2a3a3 #e0585a #a50f15', i) title word('2 5 10', i).' % a round', \
       data index panel using 1:5 with lines lw 2 dt 2 lc rgb colour(2) title 'counting Bloom'
}
unset multiplot
