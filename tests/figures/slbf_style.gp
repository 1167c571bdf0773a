# Shared by the figures of filters of an endless stream: a filter keeps its colour and its mark. Columns of all filters stand
# in the order bf, lbf, sbf, s-slbf, g-slbf, rotating, rotating_learned.
filters = "Bloom learned|Bloom stable|Bloom s-SLBF g-SLBF taking|turns -|behind|scores"
filter(i) = system(sprintf("echo '%s' | tr '|' ' '", word(filters, i)))
colour(i) = word("#777777 #d95f02 #7fb3d5 #4292c6 #084594 #74c476 #006d2c", i)
mark(i) = word("4 6 8 10 7 13 5", i) + 0
dashes(i) = i < 3 ? 2 : 1
shade(i) = word("#9ecae1 #4292c6 #084594 #252525 #d62728", i)
