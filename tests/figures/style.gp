# Shared by all figures. `data` and `svg` are set on the command line. weir's candidates come first in
# the data, the peer is last but one, LIMIT is last: they keep their colours in every figure.
if (!exists("terminal")) terminal = "svg size 860,400 noenhanced font 'sans-serif,13' background rgb '#ffffff'"
eval "set terminal ".terminal
set output svg
set datafile missing '-'
set key autotitle columnhead outside right center vertical Left reverse width 1
set grid ytics lc rgb '#dddddd' lw 1
set border 3 lc rgb '#666666'
set tics nomirror
stats data skip 1 using 0 nooutput
columns = system(sprintf("awk -F'\"' 'NR==1 {print int(NF / 2)}' '%s'", data)) + 1

# Column 2 on: candidates, then rte_hash, then LIMIT.
colour(i) = i == columns ? '#777777' : i == columns - 1 ? '#d95f02' : word("#1b5e9e #4aa3df #1a9850 #7fc97f #7b3294 #c2a5cf", i - 1)
width(i) = i >= columns - 1 ? 2 : 2.5
dashes(i) = i == columns ? 2 : 1
point(i) = i == columns ? 0 : i == columns - 1 ? 4 : 5 + 2 * ((i - 2) % 3)
