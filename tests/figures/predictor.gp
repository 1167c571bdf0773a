# Self-adaptive hashing [Chained figure 10, Table 3].
high = 760
load 'tests/figures/filters_style.gp'
set multiplot layout 2, 2 title "Which of two tables has a key: cuckoo hashing, one slot a bucket, a million buckets" offset 0, -0.5 margins 0.08, 0.97, 0.08, 0.87 spacing 0.11, 0.16
tone(i) = word("#d62728 #1b5e9e #7fb3d5 #2ca02c", i)

set title "stored keys predicted wrongly, r = 0.4\nthe paper: 0.34 % after three rounds, 0 after seven" offset 0, -0.6
set xlabel 'rounds of questions for all keys'
set ylabel 'percent'
set logscale y 10
set yrange [0.001:100]
set xrange [-0.2:14]
set key top right samplen 2
plot folder.'/predictor_rounds.dat' using 1:2 with linespoints pt 7 lw 2 lc rgb tone(1) title 'chain, 0.92 Mbit', \
     '' using 1:3 with linespoints pt 9 lw 2 lc rgb tone(2) title 'Othello last, 0.92 Mbit', \
     '' using 1:4 with linespoints pt 6 lw 2 lc rgb tone(3) title "Alg. 2's size, 0.745 Mbit", \
     '' using 1:5 with linespoints pt 4 lw 2 lc rgb tone(4) title '1.02 times that'

set title "after churn and a question for each key, r = 0.4\nof the keys 5 % a step (whole), 0.05 % (broken)" offset 0, -0.6
set xlabel 'steps'
set ylabel ''
set yrange [0.0005:100]
set xrange [1:20]
set key bottom right samplen 2
plot folder.'/predictor_churn.dat' index 1 using 1:2 with lines lw 2 lc rgb tone(1) title 'chain', \
     '' index 1 using 1:3 with lines lw 2 lc rgb tone(2) title 'Othello last', \
     '' index 1 using 1:4 with lines lw 2 lc rgb tone(4) title 'Bloom filter, 4 Mbit', \
     '' index 0 using 1:2 with lines lw 2 dt 2 lc rgb tone(1) notitle, \
     '' index 0 using 1:3 with lines lw 2 dt 2 lc rgb tone(2) notitle, \
     '' index 0 using 1:4 with lines lw 2 dt 2 lc rgb tone(4) notitle

set title "space [Chained Table 3]" offset 0, -0.6
set xlabel 'r, keys a bucket'
set ylabel 'Mbit'
set yrange [0.05:10]
set xrange [0.08:0.42]
set key bottom right samplen 2
plot folder.'/predictor_space.dat' using 1:2 with linespoints pt 5 lw 2 lc rgb '#777777' title 'EMOMA', \
     '' using 1:3 with linespoints pt 7 lw 2 lc rgb tone(1) title 'chain, no error'

set title "throughput over that without a predictor\nkeys of 36, values of 64 bytes, r = 0.4" offset 0, -0.6
unset logscale y
set xlabel ''
set ylabel ''
set yrange [0:2]
set xrange [-0.6:4.6]
set key top left vertical maxrows 2 samplen 1 width -4
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.85 noborder
set xtics format '%s'
plot folder.'/predictor_times.dat' using 2:xtic(1) lc rgb '#777777' title 'building', \
     '' using 3 lc rgb tone(1) title 'questions, waiting', \
     '' using 4 lc rgb tone(3) title 'in a loop', \
     '' using 5 lc rgb tone(2) title 'in batches'
unset multiplot
