#!/usr/bin/env python3
"""Columns for the figures of filters of an endless stream [SLBF], from weir-lab. No times: the machine may be busy.

usage: slbf.py WEIR_LAB OUT_FOLDER

slbf_model.dat      what formulas say: F_n, cells after 5e4 to 1e7 insertions (figure 6); functions, misses of the groups of
                    example 4 as the paper sets them, then as they see the stream themselves (figure 7); score, share of the
                    keys told and of the others: made up at an AUC of 0.91 and 0.82, and of trees (figure 10)
slbf_errors.dat     a block for each data set: log2 bits, wrong accepts of all filters, misses of all (figure 8)
slbf_settings.dat   epsilon, misses of g-SLBF by data set, of both pairs that take turns (figure 9a); groups, misses by bits, a
                    block for each data set (9b to 9d)
slbf_stream.dat     insertions, wrong accepts of learned Bloom filters by cut, of the Bloom filter, of both pairs (figure 2); of g-SLBF by bits,
                    of both pairs (figure 11); gap, misses, two blocks (figure 13); share of the stream that changed sides, wrong
                    accepts, two blocks (figure 14)

Blocks of rows with two empty lines between them. Shares in percent, "-" where nothing was missed or accepted: axes are logarithmic."""
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from blocks import write

FILTERS = ["bf", "lbf", "sbf", "s-slbf", "g-slbf", "rotating", "rotating_learned"]
FORGETFUL = FILTERS[2:]
# AUC of [SLBF Table 3] and keys told, four fifths of [SLBF Table 2].
AMAZON, ATTACK, HIGGS = (0.87, 69_106), (0.91, 738_573), (0.82, 4_663_678)
SETS = [AMAZON, ATTACK, HIGGS]
LOG_BITS = [13, 14, 15, 16, 17, 18, 20, 22, 24, 26]
CUTS = [0.5, 0.7, 0.9, 0.97]


class Lab:
    def __init__(self, program):
        self.program, self.pool = program, ThreadPoolExecutor(2)

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"{arguments}: {done.stderr.decode()}")
        return json.loads(done.stdout)

    def slbf(self, auc, insertions, *arguments, gap=2000):
        return self.pool.submit(self.run, "slbf", "--no-timing", "--auc", auc, "--insertions", insertions, "--gap", gap, *arguments)


def percent(share):
    return 100 * share or None


def named(future):
    return {one["name"]: one for one in future.result()["filters"]}


def histogram(report):
    groups = report["groups"]
    return [[(j + 0.5) / len(groups), 100 * group["q"], 100 * group["p"]] for j, group in enumerate(groups)]


def model(lab):
    curves = lab.run("slbf-model")
    convergence = [[row["false_negatives"], *row["cells"]] for row in curves["equal_convergence"]["rows"]]
    groups = [group["fnr_by_hashes"] for group in curves["example4"]["groups"]]
    misses = [[k + 1] + [100 * group[how][k] for how in ("solved", "own_gap") for group in groups] for k in range(10)]
    few = ["--groups", 20, "--others", 1000]
    scores = [lab.slbf(0.91, 6000, *few), lab.slbf(0.82, 6000, *few), lab.slbf(0.98, 6000, *few, "--data", "addresses", "--trees", 430)]
    return [convergence, misses] + [histogram(one.result()) for one in scores]


def errors(lab):
    runs = [{log: lab.slbf(*of, "--bits", 2**log) for log in LOG_BITS} for of in SETS]
    return [[[log] + [percent(named(run)[name]["fpr"]) for name in FILTERS] + [percent(named(run)[name]["fnr"]) for name in FILTERS]
             for log, run in of.items()] for of in runs]


def settings(lab):
    rates, groups, logs, stream = [0.005, 0.01, 0.05, 0.1, 0.2], [2, 4, 6, 8, 10], [14, 15, 16], 200_000
    by_rate = {rate: [lab.slbf(auc, stream, "--bits", 2**15, "--epsilon", rate) for auc, _ in SETS] for rate in rates}
    by_groups = [{g: [lab.slbf(auc, stream, "--bits", 2**log, "--groups", g) for log in logs] for g in groups} for auc, _ in SETS]
    rows = [[100 * rate] + [percent(named(run)["g-slbf"]["fnr"]) for run in runs]
            + [percent(named(runs[1])[name]["fnr"]) for name in FORGETFUL[3:]] for rate, runs in by_rate.items()]
    return [rows] + [[[g] + [percent(named(run)["g-slbf"]["fnr"]) for run in runs] for g, runs in of.items()] for of in by_groups]


def stream(lab):
    cuts = [lab.slbf(0.91, 80_000, "--bits", 9850, "--planned", 1000, "--cut", cut) for cut in CUTS]
    settling = [lab.slbf(*AMAZON, "--epsilon", 0.1, "--bits", 2**log) for log in (13, 14, 15, 16, 18)]
    gaps, shares = [10, 20, 50, 100, 200, 500, 1000, 1500, 2000], [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5]
    by_gap = [{gap: lab.slbf(auc, 200_000, "--bits", 2**14, gap=gap) for gap in gaps} for auc, _ in (ATTACK, HIGGS)]
    flipped = [{share: lab.slbf(auc, 200_000, "--bits", 2**16, "--flipped", share) for share in shares} for auc, _ in (AMAZON, HIGGS)]

    def looks(series):
        """Of each series: a run and the filter of it."""
        at = series[0][0].result()["looked_after"]
        return [[insertions] + [percent(named(run)[name]["fpr_by_look"][i]) for run, name in series] for i, insertions in enumerate(at)]
    pairs = [(run, name) for run in (cuts[0], settling[1]) for name in FORGETFUL[3:]]
    decay = looks([(run, "lbf") for run in cuts] + [(cuts[0], "bf")] + pairs[:2])
    return [decay, looks([(run, "g-slbf") for run in settling] + pairs[2:])] \
        + [[[gap] + [percent(named(run)[name]["fnr"]) for name in FORGETFUL] for gap, run in of.items()] for of in by_gap] \
        + [[[100 * share] + [percent(named(run)[name]["fpr"]) for name in FILTERS] for share, run in of.items()] for of in flipped]


def main(program, out):
    lab = Lab(program)
    for name, part in {"model": model, "errors": errors, "settings": settings, "stream": stream}.items():
        write(f"{out}/slbf_{name}.dat", part(lab))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
