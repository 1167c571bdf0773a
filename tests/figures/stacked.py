#!/usr/bin/env python3
"""Columns for the figures of stacked filters, from weir-lab.

usage: stacked.py rates|times WEIR_LAB OUT_FOLDER

rates  stack_urls.dat, stack_bases.dat, stack_shift.dat, stack_skew.dat, stack_depth.dat, stack_keys.dat,
       stack_when.dat, stack_maps.dat and stack_early.dat: rates and sizes, two runs at a time
times  stack_queries.dat, stack_cost.dat, stack_share.dat and stack_build.dat: one run at a time, wants a
       quiet machine

Blocks of rows with two empty lines between them, "-" where there is nothing, rates in percent. The sizes below
keep the whole under three minutes on two cores; the figures' titles name them."""
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

SMALL = ["--positives", 100000, "--negatives", 1000000]
WIDE = ["--positives", 100000, "--negatives", 10000000]
URLS = ["--urls", "--positives", 140000, "--negatives", 1400000, "--known", 280000]
SKEWS = [0.5, 0.75, 1.0]
RATES = {"1": 0.01, "0.01": 1e-4, "0.001": 1e-5}


class Lab:
    def __init__(self, program, out, at_once):
        self.program, self.out = program, out
        self.pool = ThreadPoolExecutor(at_once)

    def run(self, *arguments):
        """None where no filter keeps the constraint."""
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, check=False)
        if done.returncode == 0:
            return json.loads(done.stdout)
        if done.returncode == 1 and b"allow more" in done.stderr:
            return None
        sys.exit(f"{arguments}: {done.stderr.decode()}")

    def start(self, *arguments):
        return self.pool.submit(self.run, *arguments)

    def rates(self, *arguments):
        return self.start("stacked", "--no-timing", *arguments)

    def two_numbers(self, keys, psi, beta, *arguments, depth=5):
        """A workload that asks with probability psi for (1 - beta) / beta negatives a key, all alike."""
        return self.rates("--positives", keys, "--negatives", round(keys * (1 - beta) / beta), "--psi", psi,
                          "--depth", depth, *arguments)

    def write(self, name, blocks):
        with open(f"{self.out}/stack_{name}.dat", "w", encoding="utf-8") as file:
            for rows in blocks:
                for row in rows:
                    print(*("-" if cell is None else cell for cell in row), file=file)
                print("\n", file=file)


def percent(value):
    return None if not value else 100 * value


def of(run, member, scale=1):
    report = run.result()
    return scale * report[member] or None if report else None


# ---- rates and sizes -------------------------------------------------------------------------------

def against_bits(lab, name, blocks, bits):
    """[Stacked figures 4a and 5]: rows of bits, then plain filter and stacks for each skew."""
    runs = [{(b, z): lab.rates(*task, "--bits", b, "--zipf", z) for b in bits for z in SKEWS} for task in blocks]
    return lambda: lab.write(name, [[[b, of(block[b, 1.0], "plain_fpr_by_class", 100)]
                                     + [of(block[b, z], "efpr_measured", 100) for z in SKEWS] for b in bits]
                                    for block in runs])


def shift(lab):
    """[Stacked figure 6a]: the known negatives lose a share of their questions to others. Rows of shares, then the
    plain filter, stacks with a hundred negatives a key as in the paper, stacks with ten."""
    runs = [lab.rates(*task, "--bits", 8, "--zipf", z) for task in (WIDE, SMALL) for z in SKEWS]

    def at(run, share):
        report = run.result()
        psi, unseen = report["psi"], report["efpb_measured"]
        known = max((report["efpr_by_class"] - (1 - psi) * unseen) / psi, 0) if psi else 0
        return share * psi * known + (1 - share * psi) * unseen
    shares = [i / 20 for i in range(21)]
    return lambda: lab.write("shift", [[[100 * s, of(runs[0], "plain_fpr_by_class", 100)]
                                        + [percent(at(run, s)) for run in runs] for s in shares]])


def sizes(lab):
    """[Stacked figure 6c]: bits for a rate against skew, beside the plain filter."""
    skews, rates = [0, 0.25, 0.5, 0.75, 1.0, 1.25], [0.01, 0.001]
    plain = {e: lab.rates(*SMALL, "--efpr", e, "--depth", 1) for e in rates}
    runs = {(z, e): lab.rates(*WIDE, "--efpr", e, "--zipf", z) for z in skews for e in rates}
    return lambda: lab.write("skew", [[[z] + [of(run, "bits_per_key") for e in rates for run in (plain[e], runs[z, e])]
                                       for z in skews]])


def depth(lab):
    """[Stacked figure 7]: at most so many layers, eight bits a key."""
    depths = (1, 3, 5, 7, 9)
    runs = {(d, z): lab.rates(*WIDE, "--bits", 8, "--depth", d, "--zipf", z) for d in depths for z in SKEWS}
    return lambda: lab.write("depth", [[[d] + [of(runs[d, z], "efpr_by_class", 100) for z in SKEWS] for d in depths]])


def against_keys(lab):
    """[Stacked figure 7]: bits for a rate against the number of keys: planned, then built."""
    curves = lab.start("stacking", "--only", "size_against_keys")
    runs = {(n, e): lab.two_numbers(n, 0.75, 0.5, "--efpr", e)
            for n in (10000, 100000, 1000000, 3000000) for e in (0.01, 0.001)}
    return lambda: lab.write("keys", [curves.result()["size_against_keys"],
                                      [[n, e, of(run, "bits_per_key")] for (n, e), run in runs.items()]])


def when(lab):
    """[Stacked figure 8]."""
    curves = lab.start("stacking", "--only", "psi_needed,bits_saved")
    return lambda: lab.write("when", [curves.result()["psi_needed"], curves.result()["bits_saved"]])


def maps(lab):
    """[Stacked-early figures 4 to 6, and the first experiment of §6.1]: maps as planned, then points as built."""
    wins, size_wins = (lab.start("stacking", "--only", part) for part in ("wins", "size_wins"))
    places = [(psi, beta) for psi in (0.2, 0.5, 0.8) for beta in (0.2, 0.5, 0.8)]
    at_bits = {(b, p): lab.two_numbers(100000, *p, "--bits", b) for b in (6, 9, 12) for p in places}
    singles = {e: lab.two_numbers(100000, 0.5, 0.5, "--efpr", e, depth=1) for e in RATES.values()}
    at_rate = {(e, p): lab.two_numbers(100000, *p, "--efpr", e) for e in RATES.values() for p in places}

    def write():
        lab.write("maps", [*wins.result()["wins"].values(), *size_wins.result()["size_wins"].values(),
                           *([[*p, of(at_bits[b, p], "efpr_by_class") / of(at_bits[b, p], "plain_fpr_by_class")]
                              for p in places] for b in (6, 9, 12)),
                           *([[*p, of(at_rate[e, p], "bits_per_key") / of(singles[e], "bits_per_key")]
                              for p in places] for e in RATES.values())])
    return write


def early(lab):
    """[Stacked-early figures 7 to 10, and the curves of §6.1]: as planned, then points as built."""
    names = ["efpr_against_bits", "probes_against_bits", "size_against_psi", "size_against_rate"]
    curves = [lab.start("stacking", "--only", name) for name in names]
    at_bits = {(b, psi): lab.two_numbers(100000, psi, 0.1, "--bits", b) for b in (6, 8, 10, 12) for psi in (0.5, 0.9)}
    at_psi = {(psi, e): lab.two_numbers(100000, psi, 0.5, "--efpr", e) for psi in (0.25, 0.5, 0.75) for e in (0.01, 1e-4)}
    at_rate = {(e, beta): lab.two_numbers(100000, 0.75, beta, "--efpr", e) for e in (0.01, 0.001) for beta in (0.1, 0.2, 0.5)}

    def write():
        efpr, probes, by_psi, by_rate = (curve.result()[name] for curve, name in zip(curves, names))
        lab.write("early", [[[bits, *map(percent, row)] for bits, *row in efpr], probes, by_psi,
                            [[percent(rate), *row] for rate, *row in by_rate],
                            [[b, of(run, "efpr_measured", 100)] for (b, _), run in at_bits.items()],
                            [[psi, of(run, "bits_per_key")] for (psi, _), run in at_psi.items()],
                            [[percent(rate), of(run, "bits_per_key")] for (rate, _), run in at_rate.items()]])
    return write


def measure_rates(lab):
    parts = [shift(lab), maps(lab), early(lab), when(lab), against_keys(lab), sizes(lab), depth(lab),
             against_bits(lab, "urls", [URLS], [4, 6, 8, 10, 12, 14]),
             against_bits(lab, "bases", [["--base", b, *WIDE] for b in ("bloom", "cqf", "cuckoo")], [6, 8, 10, 12, 14])]
    for write in parts:
        write()


# ---- times -----------------------------------------------------------------------------------------

def queries(lab):
    """[Stacked figures 4b and 5]: rows of bits, then ns of present and unseen keys, plain filter and stack."""
    blocks = []
    for task in (URLS, *(["--base", b, *SMALL] for b in ("cqf", "cuckoo"))):
        rows = []
        for bits in (6, 8, 10, 12, 14):
            report = lab.run("stacked", *task, "--bits", bits, "--zipf", 0.75)
            if report:
                rows.append([bits] + [report[side][kind] for kind in ("positive", "unknown_negative")
                                      for side in ("plain_query_ns", "query_ns")])
        blocks.append(rows)
    lab.write("queries", blocks)


def costs(lab):
    """[Stacked figures 4c, 4d]: microseconds of a negative question, the store behind disks, behind an SSD;
    a block each, rows of bits, then plain filter and stack for each skew. [Stacked figure 7]: ms of a question
    against the share of positive ones, disks, ten bits."""
    bits, shares = (4, 6, 8, 10, 12, 14), [i / 10 for i in range(11)]
    runs = {(b, z): lab.run("stacked", *URLS, "--bits", b, "--zipf", z, "--iops", "1000,40000")["workload"]
            for b in bits for z in (0.75, 1.0)}
    lab.write("cost", [[[b] + [runs[b, z][device][side]["total_ns"] / 1000 for z in (0.75, 1.0)
                               for side in ("plain", "stacked")] for b in bits] for device in (0, 1)])
    mixed = lab.run("stacked", *URLS, "--bits", 10, "--zipf", 1.0, "--iops", 1000,
                    "--positive-share", ",".join(map(str, shares)))["workload"]
    lab.write("share", [[[100 * row["positive_share"]]
                         + [row[side][what] for what in ("total_ns", "filter_ns") for side in ("plain", "stacked")]
                         for row in mixed]])


def building(lab):
    """[Stacked figure 6b]: rows of known negatives a key, then seconds for sizing, and for sizing and building."""
    report = lab.run("building")
    rows = [[row["known_negatives"] / report["positives"], row["optimiser_seconds"],
             row["optimiser_seconds"] + row["build_seconds"]] for row in report["rows"]]
    lab.write("build", [rows])


def main(kind, program, out):
    lab = Lab(program, out, 2)
    if kind == "rates":
        measure_rates(lab)
    else:
        for part in (queries, costs, building):
            part(lab)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("rates", "times"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
