# Lookups a second of one worker and of two, side by side.
load 'tests/figures/style.gp'
set title 'One worker and two on one image, '.share
set ylabel 'million lookups a second, in sum'
set style data histogram
set style histogram clustered gap 1
set style fill solid 1.0
set boxwidth 0.9
set xrange [-0.6:1.6]
set yrange [0:*]
set xtics ('1 worker' 0, '2 workers' 1)
plot for [i = 2:columns] data using i lc rgb colour(i)
