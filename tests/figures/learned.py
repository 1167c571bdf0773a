#!/usr/bin/env python3
"""Columns for the figures of learned filters, from weir-lab.

usage: learned.py rates|times WEIR_LAB OUT_FOLDER

rates: two runs at a time

learned_space.dat   bits against the share of the keys that the trees were trained with: a block for each setting and way to
                    count the model; rows of the share in percent, then learned Bloom, Bloomier and chained filter, the bound
                    of filters that know of no law, the chained filter without trees, a Bloom filter without trees
learned_rival.dat   learned Bloom filter beside stacked and plain one: EFPR against bits for three skews; bits for 1 % against
                    swapped keys; bits for rates, with stacks of [Stacked-early §6.1.2]
times: one run at a time, wants a quiet machine
learned_times.dat   ns of a question, cost with stores behind, cost against the share of questions for present keys

Blocks of rows with two empty lines between them, "-" where a filter takes no bits at all."""
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from blocks import write

SHARES = [0, 0.05, 0.1, 0.25, 0.5, 0.75, 1]
# Trees that can learn the keys by heart, as the paper's network can; ten others a member.
SETTINGS = [["--members", 30000, "--others", 30000, "--auc", 0.99, "--trees", 400, "--depth", 6],
            ["--members", 30000, "--others", 300000, "--auc", 0.99, "--trees", 100, "--depth", 4]]


BITS, SKEWS, SWAPPED = [4, 6, 8, 10, 12, 14], [0.5, 0.75, 1.0], [0, 0.01, 0.02, 0.03, 0.05]
KINDS = ["learned", "stacked", "plain"]


def run(program, experiment, *arguments):
    done = subprocess.run([program, experiment, *map(str, arguments)], capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{arguments}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def listed(values):
    return ",".join(map(str, values))


def space(program, pool):
    """[Chained figure 13]."""
    runs = [{share: pool.submit(run, program, "learned", "--no-classifiers", *setting, "--shares", share) for share in SHARES} for setting in SETTINGS]
    blocks = []
    for of in runs:
        for counted in ("model_not_counted", "model_counted"):
            blocks.append([])
            for share in SHARES:
                report = of[share].result()
                row = report["shares"][0][counted]
                blocks[-1].append([100 * share] + [row[name]["bits"] or None for name in ("bloom", "bloomier", "chained")]
                                  + [report[name] for name in ("lower_bound_bits", "plain_chained_bits", "plain_bloom_bits")])
    return blocks


def row_of(report, zipf, wanted, value):
    return next(row for row in report["rows"] if row["zipf"] == zipf and row[wanted] == value)


def rival(program, pool):
    """[Stacked figures 4a and 6d], [Stacked-early §6.1.2]."""
    rates = [0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4]
    at_bits = pool.submit(run, program, "learned-rival", "--no-timing", "--bits", listed(BITS), "--zipf", listed(SKEWS))
    swapped = [pool.submit(run, program, "learned-rival", "--no-timing", "--efpr", 0.01, "--swapped", s) for s in SWAPPED]
    early = pool.submit(run, program, "learned-rival", "--no-timing", "--known", 140000, "--zipf", 0, "--efpr", listed(rates))
    curves = pool.submit(run, program, "stacking", "--only", "size_against_psi,size_against_rate").result()
    blocks = [[[b] + [100 * row_of(at_bits.result(), z, "wanted_bits", b)[kind]["efpr"] for z in SKEWS for kind in KINDS]
               for b in BITS]]
    blocks.append([[100 * s] + [report.result()["rows"][0][kind]["bits_per_key"] for kind in KINDS]
                   for s, report in zip(SWAPPED, swapped)])
    sizes = {rate: row_of(early.result(), 0, "wanted_efpr", rate)["learned"]["bits_per_key"] for rate in rates}
    blocks.append([row + [sizes[0.01], sizes[1e-4]] for row in curves["size_against_psi"]])
    blocks.append([[100 * rate, *row] for rate, *row in curves["size_against_rate"]])
    blocks.append([[100 * rate, bits] for rate, bits in sizes.items()])
    return blocks


def times(program):
    """[Stacked figures 4b to 4d and 7]."""
    shares = [i / 10 for i in range(11)]
    report = run(program, "learned-rival", "--bits", listed(BITS), "--zipf", "0.75,1.0", "--iops", "1000,40000",
                 "--positive-share", listed(shares))
    ready = report["features_ns"]

    def costs(bits, zipf, iops, share):
        points = [row_of(report, zipf, "wanted_bits", bits)[kind]["workload"] for kind in KINDS]
        return [next(w["total_ns"] / 1000 for w in point if w["iops"] == iops and w["positive_share"] == share) for point in points]

    def ns(bits):
        row = row_of(report, 0.75, "wanted_bits", bits)
        return [row[kind][side] for side in ("ns_present", "ns_absent") for kind in KINDS] + [ready + row["learned"]["ns_absent"]]
    return [[[b] + ns(b) for b in BITS]] + [[[b] + costs(b, 0.75, iops, 0) + costs(b, 1.0, iops, 0) for b in BITS]
                                            for iops in (1000, 40000)] \
        + [[[100 * share] + costs(10, 1.0, 1000, share) for share in shares]]


def main(kind, program, out):
    if kind == "rates":
        pool = ThreadPoolExecutor(2)
        write(f"{out}/learned_space.dat", space(program, pool))
        write(f"{out}/learned_rival.dat", rival(program, pool))
    else:
        write(f"{out}/learned_times.dat", times(program))


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("rates", "times"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
