#!/usr/bin/env python3
"""Columns for the figure of LSM point lookups, from weir-lab.

usage: lsm.py WEIR_LAB OUT_FOLDER

lsm_latency.dat  four blocks (7 runs, present and absent keys; 30 runs, present and absent): percentile, then
                 microseconds of each filter of ARMS
lsm_zipf.dat     a block for each skew: bits a key, runs read in vain and lookups a second with Bloom filters, the same with stacks

One run at a time, wants a quiet machine, 16 GB of memory, and 2 GB in TMPDIR; five minutes."""
import json
import subprocess
import sys

ARMS = ["none", "bloom", "bloom_2x", "chained", "chained_static", "rocksdb_get"]
SIZES = [(4000000, 7), (16000000, 30)]
SKEWS = [0.5, 0.75, 1.0, 1.25]
BITS = [4, 6, 8, 10, 12]


def run(program, *arguments):
    done = subprocess.run([program, "lsm", *map(str, arguments)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def write(path, blocks):
    with open(path, "w", encoding="utf-8") as file:
        for rows in blocks:
            for row in rows:
                print(*row, file=file)
            print("\n", file=file)


def latency(program):
    blocks = []
    for keys, runs in SIZES:
        common = ["--keys", keys, "--runs", runs, "--curve", "--hot", 1000]
        arms = run(program, *common, "--rounds", 15, "--only", ",".join(ARMS[1:]))["arms"]
        arms |= run(program, *common, "--rounds", 3, "--bits", 8, "--only", "none")["arms"]
        for kind in ("present", "absent"):
            curves = [arms[arm][kind]["curve_us"] for arm in ARMS]
            rows = [(percent, *values) for percent, values in enumerate(zip(*curves))]
            rows.append((99.9, *(arms[arm][kind]["p999_us"] for arm in ARMS)))
            blocks.append(rows)
    return blocks


def zipf(program):
    blocks = []
    for skew in SKEWS:
        rows = []
        for bits in BITS:
            arms = run(program, "--keys", 500000, "--only", "bloom,stacked", "--bits", bits, "--skew", skew,
                       "--rounds", 3)["arms"]
            reads = [arms[arm]["zipf"] for arm in ("bloom", "stacked")]
            rows.append((bits, *(x for r in reads for x in (r["runs_read_in_vain"], r["lookups_per_second"]))))
        blocks.append(rows)
    return blocks


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(f"{sys.argv[2]}/lsm_zipf.dat", zipf(sys.argv[1]))
    write(f"{sys.argv[2]}/lsm_latency.dat", latency(sys.argv[1]))
