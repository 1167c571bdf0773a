#!/usr/bin/env python3
"""Columns for the figures of the filters, measured with weir-lab.

usage: filters.py WEIR_LAB OUT_FOLDER

Writes parameters.dat, rates_<keyset>.dat, latency.dat and ada.dat: blocks of rows with two empty lines
between them, "-" where nothing was measured, rates in percent. The sizes below keep the whole at about
two minutes; the figures' titles name them."""
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

FILTERS = ["seesaw", "counting_bloom", "weighted_bloom", "stacked_counting", "stacked_optimised", "cuckoo"]
BESIDE = ["seesaw_printed", "counting_bloom_best", "weighted_bloom_best", "stacked_counting_best"]
KNOWN = ["--vulnerable", "0.05"]
RATES = ["--keys", "50000", "--negatives", "50000", "--seeds", "2", "--no-timing", *KNOWN]
SHAPES = ["--keys", "50000", "--negatives", "200000", "--seeds", "10", "--no-timing", *KNOWN, "--guarded", "0.05",
          "--skew", "1.5", "--keyset", "urls", "--only", "seesaw", "--positive-bits", "2"]
SKEWS = [1.0, 1.5, 2.0, 2.5]


class Lab:
    def __init__(self, program, out):
        self.program, self.out = program, out
        self.pool = ThreadPoolExecutor(2)

    def run(self, *arguments):
        done = subprocess.run([self.program, "seesaw", *map(str, arguments)], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def start(self, *arguments):
        return self.pool.submit(self.run, *arguments)

    def write(self, name, blocks):
        with open(f"{self.out}/{name}.dat", "w", encoding="utf-8") as file:
            for rows in blocks:
                for row in rows:
                    print(*("-" if cell is None else cell for cell in row), file=file)
                print("\n", file=file)


def percent(value):
    return None if value is None else 100 * value


def seesaw_rate(report):
    return percent(report["weighted_fpr_churned_by_class"]["seesaw"])


def parameters(lab):
    """[SSCF figure 10]: functions for each number of cells, then the modulator's count, backups, share."""
    cells = [8, 10, 12]
    ten = ["--modulator-share", 0.1]
    functions = {(k, b): lab.start(*SHAPES, "--hashes", k, "--bits", round(b * 64 / 21 / 0.9, 2), *ten,
                                   "--backups", 2, "--count-bits", 3)
                 for k in range(2, 10) for b in cells}
    budget = [*SHAPES, "--bits", 24]
    counts = {n: lab.start(*budget, *ten, "--backups", 2, "--count-bits", n) for n in range(1, 9)}
    backups = {n: lab.start(*budget, *ten, "--backups", n, "--count-bits", 3) for n in (1, 2, 3, 4, 6, 8, 12)}
    shares = {p: lab.start(*budget, "--modulator-share", p / 100, "--backups", 2, "--count-bits", 3)
              for p in (1, 2, 4, 6, 8, 10, 12, 14, 16, 20)}
    lab.write("parameters", [
        [[k] + [seesaw_rate(functions[k, b].result()) for b in cells] for k in range(2, 10)],
        *([[x, seesaw_rate(run.result())] for x, run in runs.items()] for runs in (counts, backups, shares))])


def rates(lab, keyset):
    """[SSCF figures 11 and 12]: the cost that gets through, against space, for each skew."""
    bits = [20, 24, 28, 32, 36]
    runs = {(s, b): lab.start(*RATES, "--keyset", keyset, "--skew", s, "--bits", b) for s in SKEWS for b in bits}

    def row(report):
        measured, model = report["weighted_fpr_churned_by_class"], report["weighted_fpr_predicted"]
        # A cuckoo filter accepts less than one of so few negatives: the model says what cannot be seen here.
        return [percent((model if f == "cuckoo" else measured)[f]) or None for f in FILTERS + BESIDE]

    lab.write(f"rates_{keyset}", [[[b] + row(runs[s, b].result()) for b in bits] for s in SKEWS])


def latency(lab):
    """[SSCF figure 13]: alone on the machine, as far as this script can see to it."""
    names = {"seesaw": "seesaw", "cuckoo": "cuckoo",
             "counting_bloom": "counting|four bits", "counting_bloom_best": "counting|best cells",
             "weighted_bloom": "weighted|four bits", "weighted_bloom_best": "weighted|best cells",
             "stacked_counting": "stacked|four bits", "stacked_counting_best": "stacked|best cells",
             "stacked_optimised": "stacked|best rates"}
    report = lab.run("--keys", 1000000, "--negatives", 1000000, "--bits", 24, "--seeds", 1, "--rounds", 0, "--only",
                     ",".join(names))
    members = ["insert_ns", "query_ns", "query_batch_ns", "delete_ns"]
    lab.write("latency", [[[f'"{name}"'] + [report[m][f] for m in members] for f, name in names.items()]])


def ada(lab):
    """[SSCF figure 14]: guarded late, the rate after each round, for shares replaced a round."""
    shares = [0.02, 0.05, 0.1]
    runs = [[lab.start(*RATES, "--ada", "--bits", 24, "--skew", 1.5, "--rounds", 40, "--churn", share, "--keyset",
                       keyset, "--only", "seesaw,counting_bloom") for share in shares]
            for keyset in ("urls", "ycsb")]
    blocks = []
    for of_keyset in runs:
        reports = [run.result()["rate_by_round"] for run in of_keyset]
        series = [r["seesaw"] for r in reports] + [reports[0]["counting_bloom"]]
        blocks.append([[i, *(percent(s[i]) for s in series)] for i in range(41)])
    lab.write("ada", blocks)


def main(program, out):
    lab = Lab(program, out)
    latency(lab)
    parameters(lab)
    for keyset in ("urls", "ycsb", "addresses"):
        rates(lab, keyset)
    ada(lab)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
