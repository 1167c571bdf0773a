#!/usr/bin/env python3
"""Columns for the figure of self-adaptive hashing [Chained §5.3], from weir-lab.

usage: predictor.py errors|times WEIR_LAB OUT_FOLDER

errors  predictor_rounds.dat: rounds, then the share of stored keys predicted wrongly by the chain, by the one with an exact
        last layer, by the chain of Alg. 2's size and by that of 1.02 times it; predictor_space.dat: load, Mbit of EMOMA, of the chain,
        lambda, the most rounds to zero of chain and exact; predictor_churn.dat: two blocks, 0.05 and 5 % of the keys a step:
        steps, chain, exact, Bloom filter
times   predictor_times.dat: predictor, throughput over that without one: building, questions that wait for one another,
        questions in a loop, in batches. One run, wants a quiet machine

Shares in percent, "-" where there is nothing or zero: axes are logarithmic."""
import json
import subprocess
import sys

LOADS = [0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40]


def run(program, *arguments):
    done = subprocess.run([program, "predictor", *map(str, arguments)], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{arguments}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def write(out, name, blocks):
    with open(f"{out}/predictor_{name}.dat", "w", encoding="utf-8") as file:
        for rows in blocks:
            for row in rows:
                print(*("-" if cell is None else cell for cell in row), file=file)
            print("\n", file=file)


def percent(series, at):
    return 100 * series[at] or None if at < len(series) else None


def errors(program, out):
    runs = {load: run(program, "--load", load, "--seeds", 3, "--rounds", 0) for load in LOADS}
    write(out, "space", [[[load, of["emoma"]["mbit"], of["mbit"], of["lambda"], max(of["rounds_to_zero"], default=None),
                           max(of["othello"]["rounds_to_zero"], default=None)] for load, of in runs.items()]])
    tight, roomy = (run(program, "--size", "alg2", "--room", room, "--rounds", 0) for room in (1, 1.02))
    series = [of["errors_per_round"] for of in (runs[0.40], runs[0.40]["othello"], tight, roomy)]
    write(out, "rounds", [[[at] + [percent(one, at) for one in series] for at in range(max(map(len, series)))]])
    churned = [run(program, "--churn", share, "--rounds", 0) for share in (0.0005, 0.05)]
    write(out, "churn", [[[step + 1] + [percent(part["errors_per_step"], step)
                                        for part in (of, of["othello"], of["bloom"])]
                          for step in range(len(of["errors_per_step"]))] for of in churned])


def times(program, out):
    report = run(program, "--rounds", 7)
    parts = {"none": report["raw"], "chain": report, "Othello": report["othello"], "EMOMA": report["emoma"],
             "Bloom": report["bloom"]}
    write(out, "times", [[[name, report["raw"]["build_ns"] / part["build_ns"]]
                          + [part[f"query_{kind}throughput_of_raw"] for kind in ("waiting_", "", "batch_")]
                          for name, part in parts.items()]])


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("errors", "times"):
        sys.exit(__doc__)
    {"errors": errors, "times": times}[sys.argv[1]](*sys.argv[2:])
