#!/usr/bin/env python3
"""Columns for the figure of exact and general membership by ChainedFilter, from weir-lab.

usage: chained.py WEIR_LAB OUT_FOLDER

chained_membership.dat  a block for each rate: lambda, the bound, one filter, two chained, the same as built ("-": not built)
chained_dictionary.dat  lambda, then for `&`, slots shared, and the exact Bloomier filter bits a positive, then million keys a
                        second built, then asked in batches, then the bound; at last asked one by one
chained_construction.dat  [Chained Table 2]: filter, keys of the universe, nanoseconds a key to build it, bits a positive, and bits a key
                        of the universe beside keys and filter at the highest

One run at a time, wants a quiet machine; three minutes."""
import json
import subprocess
import sys

from blocks import write

RATES = [0, 0.001, 0.01, 0.05]


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def membership(report):
    points = report["figure_4"]
    return [[(p["lambda"], p["lower_bound"], p["single"], p["chained"], p["built_bits_per_positive"])
             for p in points if p["rate"] == rate] for rate in RATES]


def construction(report):
    return [[('"' + row["filter"] + '"', row["universe"], row["build_ns_per_key"], row["bits_per_positive"],
              row["peak_bits_per_key"]) for row in report["table_2"]]]


def dictionary(program):
    rows = []
    for negatives in range(2, 17):
        report = run(program, "dictionary", "--lambda", negatives, "--rounds", 3)
        arms = [report, report["shared_slots"], report["exact_bloomier"]]
        rows.append((negatives, *(arm["bits_per_positive"] for arm in arms), *(1e3 / arm["build_ns"] for arm in arms),
                     *(1e3 / arm["query_batch_ns"] for arm in arms), report["lower_bound"],
                     *(1e3 / arm["query_ns"] for arm in arms)))
    return [rows]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    measured = run(sys.argv[1], "membership", "--rates", ",".join(map(str, RATES)))
    write(f"{sys.argv[2]}/chained_membership.dat", membership(measured))
    write(f"{sys.argv[2]}/chained_construction.dat", construction(measured))
    write(f"{sys.argv[2]}/chained_dictionary.dat", dictionary(sys.argv[1]))
