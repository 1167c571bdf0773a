# Latency of LSM point lookups by percentile [Chained figure 12], and stacks under Zipf reads [Stacked-early §6.2].
high = 1120
load 'tests/figures/filters_style.gp'
set multiplot layout 3, 2 title "Point lookups in overlapping sorted runs: RocksDB table files in the page cache, 36 + 64 bytes an entry\n20,000 lookups, each at the median of fifteen rounds" offset 0, -0.5 margins 0.09, 0.98, 0.06, 0.9 spacing 0.11, 0.115
data = folder.'/lsm_latency.dat'
arm(i) = system(sprintf("echo '%s' | tr '|' ' '", word("no|filter Bloom Bloom,|twice|the|memory chained,|oldest|first|[§5.4] chained,|newest|first Get|of|RocksDB", i)))
tint(i) = word("#000000 #777777 #bbbbbb #1b5e9e #2ca02c #d95f02", i)
line(i) = i <= 3 ? 2 : 1
nines(p) = -log10(1 - p / 100.0)
set xrange [0:3]
set xtics ('P0' 0, 'P50' nines(50), 'P90' 1, 'P95' nines(95), 'P99' 2, 'P99.9' 3)
set yrange [0.1:400]
set logscale y 10
set ylabel 'microseconds'
do for [block = 0:3] {
  set title word("4 4 16 16", block + 1)." million keys in ".word("7 7 30 30", block + 1)." runs, ".word("present absent present absent", block + 1)."\n".(block == 2 ? "the paper: P99 36 % below Bloom filters" : block == 3 ? "the paper: one run in vain at most" : " ") offset 0, -0.6
  set key bottom right samplen 2
  if (block % 2 == 1) { unset key }
  plot for [i = 1:6] data index block using (nines($1)):i + 1 with lines dt line(i) lw 2 lc rgb tint(i) title arm(i)
}
set xtics autofreq 2
set xrange [3:15]
shade(i) = word("#9ecae1 #6baed6 #2171b5 #08306b", i)
skew(i) = word('0.5 0.75 1.0 1.25', i)
set xlabel 'bits a key'
set title "Zipf reads, half of them absent: 500,000 keys, 7 runs\nproposed, no figures; none of 20,000 where a line ends" offset 0, -0.6
set ylabel 'runs read in vain, a lookup'
set yrange [1e-4:3]
set key top right samplen 2
plot for [i = 1:4] folder.'/lsm_zipf.dat' index i - 1 using 1:4 with linespoints pt 7 ps 0.5 lw 2 lc rgb shade(i) title 'stacked, skew '.skew(i), \
     for [i = 1:4] '' index i - 1 using 1:2 with lines dt 2 lw 1.5 lc rgb shade(i) title (i == 1 ? 'Bloom' : '')
unset logscale y
set title "the same in lookups\nproposed: that more filters to ask cost no lookups" offset 0, -0.6
set ylabel 'thousand lookups a second'
set yrange [0:*]
unset key
plot for [i = 1:4] folder.'/lsm_zipf.dat' index i - 1 using 1:($5 / 1000) with linespoints pt 7 ps 0.5 lw 2 lc rgb shade(i) title 'stacked, skew '.skew(i), \
     for [i = 1:4] '' index i - 1 using 1:($3 / 1000) with lines dt 2 lw 1.5 lc rgb shade(i) title (i == 1 ? 'Bloom' : '')
unset multiplot
