#!/usr/bin/env python3
"""Columns for the maps of the filter of least cost, from weir-lab [Stacked-early §6.1.1, experiment 2].

usage: performance.py WEIR_LAB OUT_FOLDER

performance.dat: four blocks of rows, psi 0.5 and 0.9 with all kinds, then both with register-blocked and cuckoo filters
alone, which are the layers that the paper names. A row has the ns that a false positive costs, the number of keys, the
number of the kind that wins (1 to 4 the plain ones, 5 to 8 stacks, in the order of BASES), and its cost over that of the
best plain filter, "-" where a plain one wins. Stacks that save less than a twentieth do not count as winners: times are
no more exact. One run at a time, wants a quiet machine, five minutes."""
import json
import subprocess
import sys

BASES = ["register_blocked", "split_block", "bloom", "cuckoo"]
NAMED = ["register_blocked", "cuckoo"]
LEAST_SAVED = 0.05


def run(lab, psi):
    done = subprocess.run([lab, "performance", "--psi", str(psi)], capture_output=True, check=True)
    return json.loads(done.stdout)


def base(candidate):
    return candidate["kind"].removeprefix("stacked_")


def rows(report, bases):
    for size in report["sizes"]:
        all_kinds = [c for c in size["candidates"] if base(c) in bases]
        plain_kinds = [c for c in all_kinds if not c["stacked"]]
        for work in (best["work_ns"] for best in size["best"]):
            def cost(candidate, work=work):
                return candidate["ns_negative"] + candidate["efpr_predicted"] * work
            best, plain = min(all_kinds, key=cost), min(plain_kinds, key=cost)
            over = cost(best) / cost(plain)
            if over > 1 - LEAST_SAVED:
                best, over = plain, None
            yield [work, size["keys"], 1 + BASES.index(base(best)) + (4 if best["stacked"] else 0),
                   "-" if over is None else f"{over:.2f}"]


def main(lab, out):
    reports = [run(lab, psi) for psi in (0.5, 0.9)]
    with open(f"{out}/performance.dat", "w", encoding="utf-8") as file:
        for bases in (BASES, NAMED):
            for report in reports:
                for row in rows(report, bases):
                    print(*row, file=file)
                print("\n", file=file)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
