#!/bin/bash
# usage: run.sh PROGRAM
# Lends the benchmark 2 MiB pages when root can get them, and gives them back however it ends.
set -u
knob=/proc/sys/vm/nr_hugepages
wanted=1024
before=$(cat "$knob")
free=$(awk '/HugePages_Free/ {print $2}' /proc/meminfo)

if [ "$free" -lt "$wanted" ] && [ -w "$knob" ]; then
  trap 'echo "$before" >"$knob"' EXIT
  trap 'exit 130' INT TERM
  echo $((before + wanted - free)) >"$knob" || echo "no hugepages to be had" >&2
fi
"$1"
