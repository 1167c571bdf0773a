#!/bin/bash
# usage: run_fuzzers.sh SECONDS PROGRAM...
# Each fuzzer starts from its committed corpus; what it finds beyond that goes to build/fuzz/corpus/,
# what it breaks to build/fuzz/crashes/. Ends with a failure when one of them found a fault.
set -u
seconds=$1
shift
mkdir -p build/fuzz/crashes
status=0
for program in "$@"; do
  name=$(basename "$program")
  grown=build/fuzz/corpus/$name
  mkdir -p "$grown"
  echo "== $name: $seconds s"
  if ! "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/crashes/$name-" "$grown" "tests/fuzz/corpus/$name" >"build/fuzz/$name.log" 2>&1; then
    status=1
    echo "$name found a fault:"
    tail -40 "build/fuzz/$name.log"
  else
    grep -E 'stat::(number_of_executed_units|average_exec_per_sec|new_units_added)' "build/fuzz/$name.log"
  fi
done
exit $status
