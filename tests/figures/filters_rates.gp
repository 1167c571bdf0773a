# Cost-weighted rate against space, a panel for each skew [SSCF figures 11 and 12]. `keyset` says which. Counting filters
# stand there twice: thin and broken with the papers' cells of four bits, whole with their best width.
high = 800
load 'tests/figures/filters_style.gp'
data = folder.'/rates_'.keyset.'.dat'
set multiplot layout 2, 2 title "Cost-weighted rate of wrong accepts after 40 rounds of 2 % churn\n50k ".keyset.", 50k negatives with Zipf costs, the dearest 5 % known, mean of two seeds" offset 0, -0.5 margins 0.1, 0.98, 0.23, 0.88 spacing 0.09, 0.13
beside(i) = word("seesaw,|as|printed counting|Bloom,|best|cells weighted|Bloom,|best|cells stacked,|equal|rates,|best|cells", i)
beside_name(i) = system(sprintf("echo '%s' | tr '|' ' '", beside(i)))
four(i) = i >= 2 && i <= 4
dash(i) = four(i) ? 2 : 1
dash_beside(i) = i == 1 ? 3 : 1
set logscale y 10
set xrange [19:37]
set xtics 20, 4
do for [panel = 0:3] {
  skew = word('1.0 1.5 2.0 2.5', panel + 1)
  set title 'skew '.skew offset 0, -0.6
  set ylabel panel % 2 == 0 ? '% of all cost' : '' offset 0
  set xlabel panel > 1 ? 'bits a key' : ''
  unset key
  if (panel == 3) { set key at screen 0.5, 0.085 center maxrows 4 samplen 2 width -7 font ',10' Left reverse }
  set yrange [*:*]
  plot for [i = 1:6] data index panel using 1:i + 1 with linespoints lw (i == 1 ? 3 : four(i) ? 1.2 : 2) lc rgb colour(i) dt dash(i) pt point(i) ps (four(i) ? 0.4 : 0.7) title name(i).(i == 6 ? ' (model)' : four(i) ? ', 4 bits' : ''), \
       for [i = 1:4] data index panel using 1:i + 7 with linespoints lw (i == 1 ? 1.2 : 2) lc rgb colour(i) dt dash_beside(i) pt point(i) ps (i == 1 ? 0.4 : 0.7) title beside_name(i)
}
unset multiplot
