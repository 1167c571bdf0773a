# What membership takes by Bloomier filters [Chained figure 4], and the static dictionary [Chained figures 6, 7].
high = 760
load 'tests/figures/filters_style.gp'
set multiplot layout 2, 2 title "ChainedFilter with &, four-wise tables" offset 0, -0.5 margins 0.08, 0.98, 0.08, 0.86 spacing 0.11, 0.16
set title "General membership: bits a positive and slot\nthe paper, rate 0, 16 negatives: 8, 210 % over it" offset 0, -0.6
set xlabel 'negatives a positive'
set logscale x 2
set xrange [1:64]
set yrange [0:24]
set ylabel 'bits a positive'
set key top left samplen 2
upto(y) = y <= 10 ? y : 1/0 # below the key
rate(i) = word('0 0.1 1 5', i)
shade(i) = word('#08306b #2171b5 #6baed6 #9ecae1', i)
plot for [i = 1:4] folder.'/chained_membership.dat' index i - 1 using 1:4 with lines lw 2 lc rgb shade(i) title 'chained, rate '.rate(i).' %', \
     for [i = 1:4] '' index i - 1 using 1:2 with lines dt 3 lw 1.5 lc rgb shade(i) title (i == 1 ? 'the bound' : ''), \
     for [i = 1:4] '' index i - 1 using 1:(upto(column(3))) with lines dt 2 lw 1.5 lc rgb shade(i) title (i == 1 ? 'one filter' : ''), \
     for [i = 1:4] '' index i - 1 using 1:5 with points pt 7 ps 0.5 lc rgb shade(i) title (i == 1 ? 'built' : '')
unset logscale x
set xrange [1:17]
set xtics 2
data = folder.'/chained_dictionary.dat'
arm(i) = system(sprintf("echo '%s' | tr '|' ' '", word('chained,|two|stages chained,|shared|slots exact|Bloomier', i)))
tint(i) = word('#1b5e9e #2ca02c #777777', i)
set yrange [0:30]
set title "Static dictionary, a million positives\nthe paper: 64 % less than the exact filter at 16" offset 0, -0.6
plot for [i = 1:3] data using 1:i + 1 with linespoints pt 7 ps 0.4 lw 2 lc rgb tint(i) title arm(i), \
     data using 1:11 with lines dt 3 lw 2 lc rgb '#000000' title 'the bound', \
     data using 1:(1.26*$11) with lines dt 2 lw 1.5 lc rgb '#000000' title 'the bound and 26 %'
set ylabel 'million keys of the universe a second'
set yrange [0:60]
set title "Construction\nthe paper at 16: 5.07 times the exact filter" offset 0, -0.6
plot for [i = 1:3] data using 1:i + 4 with linespoints pt 7 ps 0.4 lw 2 lc rgb tint(i) title arm(i)
set yrange [0:*]
set title "Questions in batches; dashed: one by one\nthe paper at 16: 2.03 times the exact filter" offset 0, -0.6
set key bottom left
plot for [i = 1:3] data using 1:i + 7 with linespoints pt 7 ps 0.4 lw 2 lc rgb tint(i) title arm(i), \
     for [i = 1:3] data using 1:i + 11 with lines dt 2 lw 1.5 lc rgb tint(i) title ''
unset multiplot
