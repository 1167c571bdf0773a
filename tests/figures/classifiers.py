#!/usr/bin/env python3
"""The rows of [SLBF Tables 2, 3] in docs/filters.md, from weir-lab.

usage: classifiers.py WEIR_LAB OUT_FOLDER

classifiers.dat  a block for each data set of the paper: the set that it stands for, keys told and others to train with, AUC that
                 the law allows, then classifier, AUC of unseen keys, Kbit, seconds of training, million predictions a second

One run at a time, wants a quiet machine."""
import json
import subprocess
import sys

from blocks import write

# As many keys as a fifth of the paper's, in its shares; trees of as many bits.
SETS = [("Amazon", 17_276, 1_062, 0.937, 226), ("Attack", 184_643, 271_095, 0.913, 430), ("Higgs", 1_165_919, 1_034_081, 0.82, 282)]


def rows(lab, name, members, others, auc, trees):
    arguments = ["--members", members, "--others", others, "--auc", auc, "--trees", trees]
    done = subprocess.run([lab, "classifiers", *map(str, arguments)], stdout=subprocess.PIPE, check=True)
    report = json.loads(done.stdout)
    return [(name, members, others, report["auc_possible"], one["name"], one["auc"], one["bits"] / 1000, one["training_seconds"], one["mops"])
            for one in report["classifiers"]]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(f"{sys.argv[2]}/classifiers.dat", [rows(sys.argv[1], *of) for of in SETS])
