# EFPR against bits a key: URL-like strings, then each base [Stacked figures 4a and 5].
high = 760
load 'tests/figures/filters_style.gp'
set multiplot layout 2, 2 title "Share of negative questions answered wrongly, stacks and plain filters in equal space; lines end where none is left\nthe paper: stacked Bloom 1.24 to 40 times better on URLs, any base up to two orders of magnitude, never worse" offset 0, -0.5 margins 0.1, 0.98, 0.15, 0.87 spacing 0.1, 0.14
set logscale y 10
set yrange [1e-4:30]
set xrange [3.5:14.5]
shade(i) = word("#9ecae1 #4292c6 #084594", i)
skew(i) = word("0.5 0.75 1.0", i)
do for [panel = 0:3] {
  set title system(sprintf("echo '%s' | tr '|' ' '", word("URLs,|Bloom|(140k,|1.4M|negatives,|280k|known|at|most) Bloom|(100k,|10M|negatives) counting|quotient|filter cuckoo|filter", panel + 1))) offset 0, -0.6
  set ylabel panel % 2 == 0 ? '% of the questions' : ''
  set xlabel panel > 1 ? 'bits a key, headers included' : ''
  unset key
  if (panel == 3) { set key at screen 0.5, 0.03 center maxrows 1 samplen 2 width 2 Left reverse }
  data = folder.(panel == 0 ? '/stack_urls.dat' : '/stack_bases.dat')
  block = panel == 0 ? 0 : panel - 1
  plot data index block using 1:2 with linespoints pt 4 ps 0.6 dt 2 lw 2 lc rgb '#777777' title 'plain', \
       for [i = 1:3] data index block using 1:i + 2 with linespoints pt 7 ps 0.6 lw 2 lc rgb shade(i) title 'stacked, skew '.skew(i)
}
unset multiplot
