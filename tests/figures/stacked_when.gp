# When a stack is smaller, and by how much [Stacked figure 8].
high = 420
load 'tests/figures/filters_style.gp'
set multiplot layout 1, 2 title "When to stack Bloom filters, by the formulas alone" offset 0, -0.5 margins 0.07, 0.98, 0.14, 0.76 spacing 0.1, 0.2
set title "psi from which Theorem 6.1 promises a smaller stack\nthe paper: at 1 %, as many known as keys, 7 % are enough\n(by its theorem 9.6)" offset 0, -0.6
set xlabel 'known negatives a key'
set ylabel 'psi, share of questions for them'
set logscale x 10
set yrange [0:1]
set key top left samplen 2
rate(i) = word("5 3 1 0.1", i)
tone(i) = word("#777777 #9ecae1 #4292c6 #084594", i)
plot for [i = 1:4] folder.'/stack_when.dat' index 0 using 1:i + 1 with lines lw 2 lc rgb tone(i) title 'rate '.rate(i).' %'
unset logscale x
set title "bits a key saved at 1 % by layers of equal rates\nthe paper: up to 7; nothing only where psi is next to none" offset 0, -0.6
set xlabel 'psi, share of questions for known negatives'
set ylabel 'bits a key'
set yrange [0:8]
ratio(i) = word("0.5 1 2 5", i)
shade(i) = word("#084594 #4292c6 #9ecae1 #777777", i)
plot for [i = 1:4] folder.'/stack_when.dat' index 1 using 1:i + 1 with lines lw 2 lc rgb shade(i) title ratio(i).' known negatives a key'
unset multiplot
