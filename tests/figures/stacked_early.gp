# EFPR against bits, layers asked, size against psi and against rate [Stacked-early figures 7 to 10, §6.1].
high = 800
load 'tests/figures/filters_style.gp'
set multiplot layout 2, 2 title "Stacked Bloom filters of up to five layers, 100k keys; lines as planned, circles as built" offset 0, -0.5 margins 0.09, 0.98, 0.08, 0.88 spacing 0.11, 0.17
data = folder.'/stack_early.dat'
set yrange [1e-3:30]
set logscale y 10
set title "EFPR against bits, nine known negatives a key (beta 0.1)\nthe paper: apart from some size on, further with psi" offset 0, -0.6
set xlabel 'bits a key'
set ylabel '% of negative questions wrong'
set key bottom left samplen 2
plot data index 0 using 1:2 with lines dt 2 lw 2 lc rgb '#777777' title 'plain', \
     '' index 0 using 1:3 with lines lw 2 lc rgb '#4292c6' title 'psi 0.5', \
     '' index 0 using 1:4 with lines lw 2 lc rgb '#084594' title 'psi 0.9', \
     '' index 4 using 1:2 with points pt 6 ps 0.8 lw 1.5 lc rgb '#084594' notitle
unset logscale y
set yrange [1:3]
set title "layers that a question asks, beta 0.5, psi 0.9\nthe paper: towards 2 (present) and 1 (absent)" offset 0, -0.6
set ylabel 'layers a question'
set key top right samplen 2
plot data index 1 using 1:2 with lines lw 2 lc rgb '#9ecae1' title 'present, three layers', \
     '' index 1 using 1:4 with lines lw 2 lc rgb '#084594' title 'present, five', \
     '' index 1 using 1:3 with lines dt 2 lw 2 lc rgb '#9ecae1' title 'absent, three', \
     '' index 1 using 1:5 with lines dt 2 lw 2 lc rgb '#084594' title 'absent, five'
set yrange [0:32]
set title "bits for a rate against psi, beta 0.5\nan experiment that the paper proposes (§6.1)" offset 0, -0.6
set xlabel 'psi'
set ylabel 'bits a key'
plot data index 2 using 1:2 with lines dt 2 lw 2 lc rgb '#4292c6' title 'plain, 1 %', \
     '' index 2 using 1:3 with lines lw 2 lc rgb '#4292c6' title 'stacked, 1 %', \
     '' index 2 using 1:4 with lines dt 2 lw 2 lc rgb '#084594' title 'plain, 0.01 %', \
     '' index 2 using 1:5 with lines lw 2 lc rgb '#084594' title 'stacked, 0.01 %', \
     '' index 5 using 1:2 with points pt 6 ps 0.8 lw 1.5 lc rgb '#084594' notitle
set title "bits against rate, psi 0.75\nan experiment that the paper proposes (§6.1)" offset 0, -0.6
set xlabel '% of negative questions wrong'
set logscale x 10
set xrange [0.001:10]
plot data index 3 using 1:2 with lines dt 2 lw 2 lc rgb '#777777' title 'plain', \
     '' index 3 using 1:3 with lines lw 2 lc rgb '#9ecae1' title 'beta 0.1', \
     '' index 3 using 1:4 with lines lw 2 lc rgb '#4292c6' title 'beta 0.2', \
     '' index 3 using 1:5 with lines lw 2 lc rgb '#084594' title 'beta 0.5', \
     '' index 6 using 1:2 with points pt 6 ps 0.8 lw 1.5 lc rgb '#084594' notitle
unset multiplot
