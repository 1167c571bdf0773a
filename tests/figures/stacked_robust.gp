# Shift of the workload, size against skew, depth, and the size gain [Stacked figures 6a, 6c, 7, 8].
high = 760
load 'tests/figures/filters_style.gp'
set multiplot layout 2, 2 title "Stacked Bloom filters, 100k keys and a million negatives" offset 0, -0.5 margins 0.09, 0.98, 0.09, 0.88 spacing 0.11, 0.19
shade(i) = word("#9ecae1 #4292c6 #084594", i)
skew(i) = word("0.5 0.75 1.0", i)

set title "known negatives lose questions, 8 bits\n(the paper: plain wins below 40 %, 1.5 times at worst)" offset 0, -0.6
set xlabel '% of their questions left'
set ylabel '% of negative questions wrong'
set yrange [0:*]
set key top right samplen 2
plot folder.'/stack_shift.dat' using 1:2 with lines dt 2 lw 2 lc rgb '#777777' title 'plain', \
     for [i = 1:3] '' using 1:i + 2 with lines lw 2 lc rgb shade(i) title 'skew '.skew(i)

set title "bits for a rate\n(the paper: smaller for every skew at 0.1 %)" offset 0, -0.6
set xlabel 'skew'
set ylabel 'bits a key'
set yrange [0:20]
plot folder.'/stack_skew.dat' using 1:2 with lines dt 2 lw 2 lc rgb '#777777' title 'plain, 1 %', \
     '' using 1:3 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#777777' title 'stacked, 1 %', \
     '' using 1:4 with lines dt 2 lw 2 lc rgb '#084594' title 'plain, 0.1 %', \
     '' using 1:5 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#084594' title 'stacked, 0.1 %'

set yrange [0:*]
set title "layers at most, 8 bits\n(the paper: three are often enough)" offset 0, -0.6
set xlabel 'layers'
set ylabel '% of negative questions wrong'
set xtics (1, 3, 5, 7, 9)
plot for [i = 1:3] folder.'/stack_depth.dat' using 1:i + 1 with linespoints pt 7 ps 0.6 lw 2 lc rgb shade(i) title 'skew '.skew(i)

set title "bits saved at 1 % by layers of equal rates\n(the paper: up to 7)" offset 0, -0.6
set xlabel 'psi, share of questions for known negatives'
set ylabel 'bits a key'
set xtics auto
set key top left samplen 2
ratio(i) = word("0.5 1 2 5", i)
tone(i) = word("#084594 #4292c6 #9ecae1 #777777", i)
plot for [i = 1:4] folder.'/stack_when.dat' index 1 using 1:i + 1 with lines lw 2 lc rgb tone(i) title ratio(i).' known negatives a key'
unset multiplot
