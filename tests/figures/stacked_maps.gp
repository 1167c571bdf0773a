# Where stacks win: EFPR at given bits, bits at given rates [Stacked-early figures 4 to 6, §6.1].
high = 760
load 'tests/figures/filters_style.gp'
set multiplot title "Stacked Bloom filters over plain ones, 100k keys, up to five layers: maps as planned, numbers as built; white: no gain\npsi: share of the negative questions that ask for known negatives, all of them alike\nthe paper: the more bits, the more the stack wins; always when half of the questions ask for as many negatives as keys" offset 0, -0.5
set xrange [0.025:0.975]
set yrange [0.05:0.95]
set xtics 0.2, 0.2, 0.8
set ytics 0.1, 0.2, 0.9
unset grid
unset key
data = folder.'/stack_maps.dat'
left(i) = 0.075 + 0.29 * i
set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.6, 0.6
set palette defined (0 '#084594', 0.6 '#6baed6', 1 '#deebf7')
do for [row = 0:1] {
  set xlabel row == 1 ? 'psi' : ''
  if (row == 0) { set logscale cb 10; set cbrange [0.05:1]; set format cb '%g' } else { unset logscale cb; set cbrange [0.4:1] }
  set cbtics
  do for [i = 0:2] {
    set lmargin at screen left(i)
    set rmargin at screen left(i) + 0.25
    set tmargin at screen 0.84 - 0.42 * row
    set bmargin at screen 0.49 - 0.42 * row
    set ylabel i == 0 ? 'beta = keys / (keys + known)' : ''
    if (i == 2) { set colorbox user origin 0.925, 0.49 - 0.42 * row size 0.018, 0.3 } else { unset colorbox }
    set title row == 0 ? sprintf("EFPR over plain, %s bits a key", word('6 9 12', i + 1)) : sprintf("bits over plain, rate %s %%", word('1 0.01 0.001', i + 1)) offset 0, -0.6
    map = 3 * row + i
    plot data index map using (column(3) > 0.995 ? NaN : $1):2:(0.025):(0.05):3 with boxxyerror fs solid noborder lc palette, \
         data index map + 6 using 1:2:(sprintf('%.2g', column(3))) with labels boxed font ',9'
  }
}
unset multiplot
