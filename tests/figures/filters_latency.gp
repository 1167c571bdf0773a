# Time for one key [SSCF figure 13]: counting filters with cells of four bits, as in the paper, and of their best width.
high = 400
load 'tests/figures/filters_style.gp'
data = folder.'/latency.dat'
set title '1M addresses, 24 bits a key, half of the questions about absent keys, one thread'
set ylabel 'nanoseconds a key'
set style data histogram
set style histogram clustered gap 1.2
set style fill solid 1.0
set boxwidth 0.9
set yrange [0:*]
set xtics scale 0 font ',9'
set bmargin 5
set key outside bottom center horizontal Left reverse samplen 1
in_lines(text) = strstrt(text, '|') == 0 ? text : text[1:strstrt(text, '|') - 1]."\n".text[strstrt(text, '|') + 1:*]
plot for [i = 2:5] data index 0 using i:xtic(in_lines(strcol(1))) lc rgb word('#1b5e9e #7fb3d5 #2ca02c #bbbbbb', i - 1) title i == 2 ? 'insert' : i == 3 ? 'query' : i == 4 ? 'query in batches' : 'delete'
