# What the seesaw filter's parameters do [SSCF figure 10].
high = 660
load 'tests/figures/filters_style.gp'
data = folder.'/parameters.dat'
set multiplot layout 2, 2 title "Seesaw filter, cost-weighted rate after 40 rounds of 2 % churn, skew 1.5\n50k urls, 200k negatives, 5 % guarded; cells of 1 + 2 bits; (b) to (d): 24 bits a key; mean of ten seeds" offset 0, -0.5 margins 0.09, 0.97, 0.09, 0.86 spacing 0.1, 0.17
set ylabel '% of all cost' offset 1
set logscale y 10
set yrange [*:*]
set title '(a) functions, for so many cells a key' offset 0, -0.6
set xlabel 'hash functions' offset 0, 0.4
set xrange [1.5:9.5]
set xtics 2, 1
set key top left Left reverse samplen 2
plot for [i = 1:3] data index 0 using 1:i + 1 with linespoints lw 2 lc rgb word('#7fb3d5 #1b5e9e #d62728', i) pt 7 ps 0.7 title word('8 10 12', i)
unset key
unset logscale y
set yrange [0:*]
set title '(b) bits of the modulator''s count' offset 0, -0.6
set xlabel 'bits' offset 0, 0.4
set xrange [0.5:8.5]
set xtics 1, 1
plot data index 1 using 1:2 with linespoints lw 2 lc rgb colour(1) pt 7 ps 0.7
set title '(c) backup functions' offset 0, -0.6
set xlabel 'functions' offset 0, 0.4
set xrange [0.5:12.5]
plot data index 2 using 1:2 with linespoints lw 2 lc rgb colour(1) pt 7 ps 0.7
set title '(d) modulator''s share of the space' offset 0, -0.6
set xlabel '%' offset 0, 0.4
set xrange [0:21]
set xtics 0, 4
plot data index 3 using 1:2 with linespoints lw 2 lc rgb colour(1) pt 7 ps 0.7
unset multiplot
