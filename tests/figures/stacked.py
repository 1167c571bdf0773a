#!/usr/bin/env python3
"""Columns for the figures of stacked filters, measured with weir-lab.

usage: stacked.py WEIR_LAB OUT_FOLDER

Writes stack_urls.dat, stack_bases.dat, stack_shift.dat, stack_skew.dat, stack_depth.dat, stack_when.dat and
stack_early.dat: blocks of rows with two empty lines between them, "-" where there is nothing, rates in
percent. The sizes below keep the whole at about a minute; the figures' titles name them."""
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

SMALL = ["--positives", 100000, "--negatives", 1000000, "--no-timing"]
URLS = ["--urls", "--positives", 140000, "--negatives", 1400000, "--known", 280000, "--no-timing"]
SKEWS = [0.5, 0.75, 1.0]


class Lab:
    def __init__(self, program, out):
        self.program, self.out = program, out
        self.pool = ThreadPoolExecutor(2)

    def run(self, *arguments):
        """None where no filter keeps the constraint."""
        done = subprocess.run([self.program, *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def stacked(self, *arguments):
        return self.pool.submit(self.run, "stacked", *arguments)

    def write(self, name, blocks):
        with open(f"{self.out}/stack_{name}.dat", "w", encoding="utf-8") as file:
            for rows in blocks:
                for row in rows:
                    print(*("-" if cell is None else cell for cell in row), file=file)
                print("\n", file=file)


def percent(value):
    return None if not value else 100 * value


def pair(report):
    return [percent(report["plain_fpr_measured"]), percent(report["efpr_measured"])] if report else [None, None]


def against_bits(lab, name, blocks, bits):
    """[Stacked figures 4a and 5]: rows of bits, then plain and stacked for each skew."""
    runs = [{(b, z): lab.stacked(*task, "--bits", b, "--zipf", z) for b in bits for z in SKEWS} for task in blocks]
    lab.write(name, [[[b] + [cell for z in SKEWS for cell in pair(of[b, z].result())] for b in bits] for of in runs])


def shift(lab):
    """[Stacked figure 6a]: the known negatives lose a share of their questions to others."""
    def rows(report, psi_left):
        known = (report["efpr_measured"] - (1 - report["psi"]) * report["efpb_measured"]) / report["psi"]
        for share in psi_left:
            psi = share * report["psi"]
            yield psi * max(known, 0) + (1 - psi) * report["efpb_measured"]
    shares = [i / 20 for i in range(21)]
    # A seed's plain rate hangs on its few hottest negatives: the plain rate of unseen keys is what its model says.
    reports = [lab.stacked(*SMALL, "--bits", 8, "--zipf", z) for z in SKEWS]
    plain = lab.stacked(*SMALL, "--bits", 8, "--zipf", 0, "--depth", 1).result()["efpb_measured"]
    columns = [list(rows(r.result(), shares)) for r in reports]
    lab.write("shift", [[[100 * s, percent(plain)] + [percent(c[i]) for c in columns] for i, s in enumerate(shares)]])


def sizes(lab):
    """[Stacked figure 6c]: bits for a rate against skew, beside the plain filter."""
    skews, rates = [0, 0.25, 0.5, 0.75, 1.0, 1.25], [0.01, 0.001]
    runs = {(z, e, d): lab.stacked(*SMALL, "--efpr", e, "--zipf", z, "--depth", d)
            for z in skews for e in rates for d in (1, 9)}
    lab.write("skew", [[[z] + [(runs[z, e, d].result() or {}).get("bits_per_key") for e in rates for d in (1, 9)]
                        for z in skews]])


def depth(lab):
    """[Stacked figure 7]: at most so many layers, eight bits a key."""
    runs = {(d, z): lab.stacked(*SMALL, "--bits", 8, "--depth", d, "--zipf", z) for d in (1, 3, 5, 7, 9) for z in SKEWS}
    lab.write("depth", [[[d] + [percent(runs[d, z].result()["efpr_predicted"]) for z in SKEWS]
                         for d in (1, 3, 5, 7, 9)]])


def when(lab):
    """[Stacked figure 8], and the maps and curves of [Stacked-early figures 4 to 10]."""
    curves = lab.run("stacking")
    lab.write("when", [curves["psi_needed"], curves["bits_saved"]])
    maps = [curves["wins"][bits] for bits in ("6", "9", "12")]
    lab.write("early", [*maps, [[b] + [percent(x) for x in row] for b, *row in curves["efpr_against_bits"]],
                        curves["probes_against_bits"]])


def main(program, out):
    lab = Lab(program, out)
    when(lab)
    against_bits(lab, "urls", [URLS], [4, 6, 8, 10, 12, 14])
    against_bits(lab, "bases", [["--base", b, *SMALL] for b in ("bloom", "cqf", "cuckoo")], [6, 8, 10, 12, 14])
    shift(lab)
    sizes(lab)
    depth(lab)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
