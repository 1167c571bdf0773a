# When a stack is smaller, and where it wins [Stacked figure 8; Stacked-early figures 4 to 10].
high = 760
load 'tests/figures/filters_style.gp'
set multiplot layout 2, 3 title "When to stack Bloom filters (the paper: at 1 % and as many known negatives as keys 7 % of the questions\nare enough, by its theorem 9.6; half of the questions always)" offset 0, -0.5 margins 0.07, 0.95, 0.09, 0.86 spacing 0.09, 0.2
set title "psi from which Theorem 6.1\npromises a smaller stack" offset 0, -0.6
set xlabel 'known negatives a key'
set ylabel 'psi'
set logscale x 10
set yrange [0:1]
set key top left samplen 1
rate(i) = word("5 3 1 0.1", i)
tone(i) = word("#777777 #9ecae1 #4292c6 #084594", i)
plot for [i = 1:4] folder.'/stack_when.dat' index 0 using 1:i + 1 with lines lw 2 lc rgb tone(i) title rate(i).' %'
unset logscale x
unset key
set xlabel 'psi'
set ylabel 'beta = keys / (keys + known)'
set xrange [0:1]
set cbrange [0:1]
unset colorbox
set palette defined (0 '#084594', 0.5 '#9ecae1', 1 '#ffffff')
do for [panel = 0:2] {
  set title sprintf("EFPR over the plain filter's\n%s bits a key (white: 1, dark: 0)", word('6 9 12', panel + 1)) offset 0, -0.6
  plot folder.'/stack_early.dat' index panel using 1:2:(0.09):(0.1):(column(3) < 0.001 ? 0.001 : column(3)) with boxxyerror fs solid noborder lc palette
}
set xrange [*:*]
set yrange [1e-5:30]
set logscale y 10
set title "EFPR against bits, beta 0.1" offset 0, -0.6
set xlabel 'bits a key'
set ylabel '% of questions'
set key top right samplen 1
plot folder.'/stack_early.dat' index 3 using 1:2 with lines dt 2 lw 2 lc rgb '#777777' title 'plain', \
     '' index 3 using 1:3 with lines lw 2 lc rgb '#4292c6' title 'psi 0.5', \
     '' index 3 using 1:4 with lines lw 2 lc rgb '#084594' title 'psi 0.9'
unset logscale y
set yrange [1:*]
set title "layers asked, beta 0.5, psi 0.9\n(the paper: towards 2 and 1)" offset 0, -0.6
set ylabel 'layers a question'
plot folder.'/stack_early.dat' index 4 using 1:2 with lines lw 2 lc rgb '#9ecae1' title 'present, three', \
     '' index 4 using 1:4 with lines lw 2 lc rgb '#084594' title 'present, five', \
     '' index 4 using 1:3 with lines dt 2 lw 2 lc rgb '#9ecae1' title 'absent, three', \
     '' index 4 using 1:5 with lines dt 2 lw 2 lc rgb '#084594' title 'absent, five'
unset multiplot
