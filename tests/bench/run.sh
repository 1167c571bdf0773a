#!/bin/bash
# usage: run.sh PROGRAM
# Lends the benchmark 2 MiB pages when root can get them, and takes back what it lent however it ends.
set -u
knob=/proc/sys/vm/nr_hugepages
wanted=3300 # 64M keys in rte_hash, in the candidates' images and in LIMIT's table
case ${BENCH_QUICK:-0} in '' | 0) ;; *) wanted=1024 ;; esac
free=$(awk '/HugePages_Free/ {print $2}' /proc/meminfo)

if [ "$free" -lt "$wanted" ] && [ -w "$knob" ]; then
  before=$(cat "$knob")
  echo $((before + wanted - free)) >"$knob" || echo "no hugepages to be had" >&2
  lent=$(($(cat "$knob") - before))
  give_back() { echo $(($(cat "$knob") - lent)) >"$knob"; }
  trap give_back EXIT
  trap 'exit 130' INT TERM
fi
"$1"
