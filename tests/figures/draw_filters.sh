#!/bin/bash
# usage: draw_filters.sh LAB_FOLDER OUT_FOLDER [TERMINAL]
# Draws the figures of docs/filters.md from what the other scripts measured in LAB_FOLDER. TERMINAL is gnuplot's, for looking
# at them as bitmaps: "pngcairo noenhanced size 860,720".
set -eu
from=$1 to=$2 terminal=${3:-}
suffix=svg
[ -z "$terminal" ] || suffix=png
mkdir -p "$to"

draw() { # NAME SCRIPT [KEYSET]
  gnuplot ${terminal:+-e "terminal = '$terminal'"} -e "folder = '$from'; svg = '$to/$1.$suffix'; keyset = '${3:-}'" \
    "tests/figures/$2.gp"
  echo "  PLOT $to/$1.$suffix"
}

draw seesaw_parameters filters_parameters
for keyset in urls ycsb addresses; do draw "seesaw_rates_$keyset" filters_rates "$keyset"; done
draw seesaw_latency filters_latency
draw seesaw_ada filters_ada
for part in rates robust when maps early times performance; do draw "stacked_$part" "stacked_$part"; done
draw lsm lsm
draw chained chained
draw predictor predictor
draw learned_space learned_space
draw learned_rival learned_rival
draw huffman huffman
for part in model errors settings stream; do draw "slbf_$part" "slbf_$part"; done
