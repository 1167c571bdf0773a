# The filter of least cost by keys and by what a false positive costs [Stacked-early §6.1.1, experiment 2].
high = 800
load 'tests/figures/filters_style.gp'
set multiplot title "The filter of least cost: time of a negative question + EFPR x ns of a false positive\n4 to 20 bits a key; stacks: three layers, nine known negatives a key (beta 0.1); batches of 64\nnumbers: cost of the stack over that of the best plain filter, where a twentieth or more is saved" offset 0, -0.5
data = folder.'/performance.dat'
log4(x) = log(x) / log(4)
kinds = "register-blocked|Bloom split-block|Bloom Bloom cuckoo stacked|register-blocked stacked|split-block stacked|Bloom stacked|cuckoo"
kind(i) = system(sprintf("echo '%s' | tr '|' ' '", word(kinds, i)))
shade(i) = word("#fdd0a2 #fdae6b #d9d9d9 #b5b5b5 #c7e9c0 #9ecae1 #6baed6 #4292c6", i)
unset grid
unset key
set xrange [0.5:10.5]
set yrange [5.5:11.5]
set xtics ('4' 1, '64' 3, '1k' 5, '16k' 7, '256k' 9)
set ytics ('4k' 6, '16k' 7, '64k' 8, '256k' 9, '1M' 10, '4M' 11)
set border 0
set tics scale 0
do for [map = 0:3] {
  left = 0.10 + 0.475 * (map % 2)
  high_at = 0.84 - 0.36 * (map / 2)
  set lmargin at screen left
  set rmargin at screen left + 0.405
  set tmargin at screen high_at
  set bmargin at screen high_at - 0.27
  set xlabel map < 2 ? '' : 'ns that a false positive costs'
  set ylabel map % 2 == 0 ? 'keys' : ''
  set title sprintf("psi %s, %s", word('0.5 0.9', map % 2 + 1), map < 2 ? 'all kinds' : 'register-blocked and cuckoo alone') offset 0, -0.6
  plot for [i = 1:8] data index map using (log4($1)):(log4($2)):(0.49):($3 == i ? 0.48 : NaN) with boxxyerror fs solid noborder lc rgb shade(i), \
       data index map using (log4($1)):(log4($2)):(strcol(4) eq '-' ? '' : strcol(4)) with labels font ',10'
}
unset title
unset xlabel
unset ylabel
unset tics
set lmargin at screen 0.03
set rmargin at screen 0.99
set tmargin at screen 0.11
set bmargin at screen 0.01
set key at screen 0.5, 0.055 center center samplen 1.5 width 4 maxrows 4 Left reverse
plot for [i = 1:8] NaN with boxes fs solid noborder lc rgb shade(i) title kind(i)
unset multiplot
