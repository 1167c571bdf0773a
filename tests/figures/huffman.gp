# Bits and nanoseconds a symbol of random access Huffman coding [Chained figure 8].
high = 420
load 'tests/figures/filters_style.gp'
set multiplot layout 1, 2 title "Random access Huffman coding: symbol k as often as omega^-k, a million positives, four-wise" offset 0, -0.5 margins 0.08, 0.98, 0.14, 0.76 spacing 0.10, 0.17
data = folder.'/huffman.dat'
set xrange [3:10]
set xlabel 'omega'
set yrange [0:2.8]
set title "bits a symbol; the paper: at omega 10\n48.3 and 39.2 % below the strawman" offset 0, -0.6
set ylabel 'bits a symbol'
set key top right samplen 2
plot data using 1:7 with linespoints pt 5 ps 0.6 lw 2 lc rgb '#d95f02' title 'one exact filter (strawman)', \
     '' using 1:6 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#9ecae1' title 'shared slots', \
     '' using 1:5 with lines dt 2 lw 2 lc rgb '#084594' title 'ChainedFilter, three-wise', \
     '' using 1:4 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#084594' title 'ChainedFilter', \
     '' using 1:3 with lines dt 4 lw 2 lc rgb '#777777' title 'Huffman codes in a row', \
     '' using 1:2 with lines dt 3 lw 2 lc rgb '#000000' title 'entropy'
set yrange [0:*]
set title "ns a symbol, decoded anywhere; the paper:\n15.5 and 1.17 % slower than the strawman" offset 0, -0.6
set ylabel 'ns a symbol'
set offsets 0, 0, graph 0.55, 0 # for the key
set key top right samplen 2
plot data using 1:8 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#084594' title 'ChainedFilter', \
     '' using 1:9 with linespoints pt 7 ps 0.6 lw 2 lc rgb '#9ecae1' title 'shared slots', \
     '' using 1:10 with linespoints pt 5 ps 0.6 lw 2 lc rgb '#d95f02' title 'one exact filter (strawman)', \
     '' using 1:11 with lines dt 4 lw 2 lc rgb '#777777' title 'Huffman codes in a row'
unset multiplot
