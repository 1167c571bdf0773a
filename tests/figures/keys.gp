# Time for a lookup against the number of keys. `share` says which queries were asked.
load 'tests/figures/style.gp'
set title 'IPv4 hosts, '.share.', one core'
set xlabel 'keys in the table'
set ylabel 'nanoseconds a lookup'
set logscale x 10
set xtics ('10k' 1e4, '100k' 1e5, '1M' 1e6, '10M' 1e7, '64M' 6.4e7)
set xrange [8e3:8e7]
set yrange [0:*]
plot for [i = 2:columns] data using 1:i with linespoints lw width(i) lc rgb colour(i) dt dashes(i) pt point(i) ps 0.8
