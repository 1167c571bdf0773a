# Time for an address against the number of prefix lengths in use for it.
load 'tests/figures/style.gp'
set title 'IPv4 addresses asked at 1 to 16 prefix lengths, 1 % host hits, one core'
set xlabel 'prefix lengths in use below every /16'
set ylabel 'nanoseconds an address'
set xtics 1, 1
set xrange [0.5:16.5]
set yrange [0:*]
plot for [i = 2:columns] data using 1:i with linespoints lw width(i) lc rgb colour(i) dt dashes(i) pt point(i) ps 0.8
