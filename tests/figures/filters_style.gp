# Shared by the figures of the filters. `folder` and `svg` are set on the command line; `high` is the
# height. A filter keeps its colour in every figure; columns stand in the order of names.
if (!exists("terminal")) terminal = sprintf("svg size 860,%d noenhanced font 'sans-serif,12' background rgb '#ffffff'", high)
eval "set terminal ".terminal
set output svg
set datafile missing '-'
set grid ytics lc rgb '#dddddd' lw 1
set border 3 lc rgb '#666666'
set tics nomirror
set format y '%g'

names = "seesaw counting|Bloom weighted|Bloom stacked,|equal|rates stacked,|best|rates cuckoo"
name(i) = system(sprintf("echo '%s' | tr '|' ' '", word(names, i)))
colour(i) = word("#d62728 #777777 #9467bd #7fb3d5 #1b5e9e #2ca02c", i)
dashes(i) = i == 2 ? 2 : 1
point(i) = word("7 0 9 4 6 13", i) + 0
