# Errors of all filters in equal space [SLBF figure 8].
high = 800
load 'tests/figures/filters_style.gp'
load 'tests/figures/slbf_style.gp'
data = folder.'/slbf_errors.dat'
set multiplot layout 2, 3 title "Filters of an endless stream in equal space: 5 % of other keys wanted, gap 2000, six groups, scores made up;\nclassifier not counted, as in the paper (173, 328, 215 Kbit); no point: none" font ',11' offset 0, -0.5 margins 0.09, 0.98, 0.16, 0.87 spacing 0.07, 0.12
set logscale y 10
set xrange [13:26]
set xtics 2
set yrange [0.001:100]
name(i) = system(sprintf("echo '%s' | tr '|' ' '", word("AUC|0.87,|69k|told|(Amazon) AUC|0.91,|739k|told|(Attack) AUC|0.82,|4.7M|told|(Higgs)", i + 1)))
do for [panel = 0:5] {
  block = panel % 3
  set title name(block) offset 0, -0.6
  set xlabel panel > 2 ? 'log2 of the bits' : ''
  set ylabel block > 0 ? '' : panel == 0 ? '% accepted' : '% missed' offset 1.6, 0
  shift = panel > 2 ? 8 : 1
  unset key
  if (panel == 2) { set key at screen 0.5, 0.03 center maxrows 2 samplen 2 width 1 Left reverse }
  plot for [i = 1:7] data index block using 1:i + shift with linespoints pt mark(i) ps 0.6 lw 2 dt dashes(i) lc rgb colour(i) title filter(i)
}
unset multiplot
