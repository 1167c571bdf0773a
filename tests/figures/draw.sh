#!/bin/bash
# usage: draw.sh BENCH_FOLDER OUT_FOLDER [TERMINAL]
# Draws every figure of docs/performance.md from the JSON lines of the last `make bench`. TERMINAL is
# gnuplot's, for looking at the figures as bitmaps: "pngcairo noenhanced size 860,400".
set -eu
from=$1 to=$2 terminal=${3:-}
suffix=svg
[ -z "$terminal" ] || suffix=png
mkdir -p "$to"

draw() { # NAME SCRIPT SHARE FILE COLUMNS_ARGUMENTS...
  local name=$1 script=$2 share=$3 data=$from/$1.dat
  tests/figures/columns.py "$from/$4" "${@:5}" >"$data"
  gnuplot ${terminal:+-e "terminal = '$terminal'"} -e "data = '$data'; svg = '$to/$name.$suffix'; share = '$share'" \
    "tests/figures/$script.gp"
  echo "  PLOT $to/$name.$suffix"
}

draw keys_hits keys 'all queries hit' lookup.jsonl keys ns_per_key hit_percent=100
draw keys_misses keys '1 % of the queries hit' lookup.jsonl keys ns_per_key hit_percent=1
draw lengths lengths '' prefixes.jsonl lengths ns_per_key family=IPv4
draw workers workers '1M keys, 10 % hits' workers.jsonl workers mlookups_per_s keys=1000000
draw cost cost '' cost.jsonl keys value cost
