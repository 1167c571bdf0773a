# g-SLBF under other rates, groups and sizes [SLBF figure 9].
high = 760
load 'tests/figures/filters_style.gp'
load 'tests/figures/slbf_style.gp'
data = folder.'/slbf_settings.dat'
set multiplot layout 2, 2 title "Keys told that g-SLBF misses after a gap of 2000, by wanted rate, groups and bits" offset 0, -0.5 margins 0.08, 0.98, 0.08, 0.89 spacing 0.1, 0.17
set ylabel '% missed'
set yrange [0:100]
set xrange [0.4:25]
set title "32,768 bits, six groups" offset 0, -0.6
set xlabel '% of other keys that may be accepted'
set logscale x 10
set xtics (0.5, 1, 5, 10, 20)
set key top right samplen 2
plot for [i = 1:3] data index 0 using 1:i + 1 with linespoints pt mark(5) ps 0.6 lw 2 lc rgb shade(i) title 'g-SLBF, AUC '.word("0.87 0.91 0.82", i), \
     for [i = 1:2] '' index 0 using 1:i + 4 with linespoints pt mark(5 + i) ps 0.6 lw 2 lc rgb colour(5 + i) title (i == 1 ? 'taking turns' : '- behind scores')
unset logscale x
set yrange [0:60]
set xlabel 'groups'
set xtics 2
set xrange [2:10]
do for [block = 1:3] {
  set title 'AUC '.word("0.87 0.91 0.82", block).", 5 % accepted\nthe paper: a valley; here nearly flat from six on" offset 0, -0.6
  set ylabel block == 2 ? '% missed' : ''
  plot for [i = 1:3] data index block using 1:i + 1 with linespoints pt mark(5) ps 0.6 lw 2 lc rgb shade(i) title word("16,384 32,768 65,536", i).' bits'
}
unset multiplot
