# What a host costs against the number of hosts: bytes and nanoseconds on one scale.
load 'tests/figures/style.gp'
set title 'What an IPv4 host costs, one core'
set xlabel 'hosts in the table'
set ylabel 'bytes or nanoseconds a host'
set logscale xy 10
set xtics ('1k' 1e3, '10k' 1e4, '100k' 1e5, '1M' 1e6, '10M' 1e7, '64M' 6.4e7, '256M' 2.56e8)
set xrange [7e2:4e8]
set yrange [1:5000]
plot for [i = 2:columns] data using 1:i with linespoints lw 2.5 lc rgb word('#1b5e9e #1a9850 #7fc97f #d95f02', i - 1) \
  pt 5 ps 0.8
