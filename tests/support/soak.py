#!/usr/bin/env python3
"""Runs every seeded test again and again, each time under a fresh seed, for as long as it is told.

usage: soak.py --seconds N --out DIR [--seed FIRST] [--filter REGEX] PROGRAM...

Seeded tests are those of files that ask for a seed (tests/support/seed.hpp).

Half of the time a busy loop runs beside the tests for each core. What fails is shown with its seed and
the command that repeats it, and is repeated once on a quiet machine: what fails again is wrong for that
seed, what passes depends on time. Nothing new is begun once the time is up, and loops and tests end with
this program. The last line is the sum; the exit code is 1 when anything failed.
"""

import argparse
import ctypes
import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run_tests

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def end_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class BusyLoops:
    """One process a core that does nothing, as fast as it can."""

    def __init__(self, wanted):
        command = [sys.executable, "-c", "while True: pass"]
        count = (os.cpu_count() or 1) if wanted else 0
        self.loops = [subprocess.Popen(command, preexec_fn=end_with_parent) for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
        for loop in self.loops:
            loop.wait()


class Program:
    def __init__(self, path, args):
        self.path, self.args = path, args
        self.name = os.path.basename(path)

    def run(self, seed, tests=None):
        """What the given tests made of a seed: passed, failed and skipped, as run_tests has it."""
        report, log = (os.path.join(self.args.out, self.name + end) for end in (".json", ".log"))
        if os.path.exists(report):
            os.remove(report)
        command = [self.path, "--gtest_output=json:" + report, "--gtest_color=no"]
        if tests:
            command.append("--gtest_filter=" + ":".join(tests))
        environment = dict(os.environ, WEIR_SEED=str(seed))
        with open(log, "wb") as out:
            child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment,
                                     start_new_session=True, preexec_fn=end_with_parent)
            try:
                code = child.wait(timeout=self.args.timeout)
            except subprocess.TimeoutExpired:
                code = None
            finally: # also when this program is ended
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
        return run_tests.result_of(self.name, report, log, code, self.args.timeout)

    def seeded_tests(self):
        listed = os.path.join(self.args.out, self.name + ".tests.json")
        subprocess.run([self.path, "--gtest_list_tests", "--gtest_output=json:" + listed],
                       check=True, stdout=subprocess.DEVNULL)
        with open(listed, encoding="utf-8") as text:
            suites = json.load(text).get("testsuites", [])
        return [f"{suite['name']}.{case['name']}"
                for suite in suites for case in suite.get("testsuite", []) if asks_for_seed(case["file"])]


@functools.cache
def asks_for_seed(file):
    with open(file, encoding="utf-8") as text:
        return re.search(r"\b(seed_or|test_seed)\(", text.read()) is not None


def telling(output, most=40):
    """What a failure is told by: each assertion with what follows it, then the end, `most` lines in all."""
    asserted = [at for at, line in enumerate(output) if re.search(r"(: Failure|\bERROR: |\bWARNING: )", line)]
    wanted = sorted({at for first in asserted[:4] for at in range(first, min(first + 8, len(output)))})
    wanted = wanted[:most]
    rest = most - len(wanted)
    wanted += [at for at in range(max(0, len(output) - rest), len(output)) if at not in wanted] if rest else []
    return [output[at] for at in wanted]


class Soak:
    def __init__(self, args):
        self.args = args
        self.seeds = random.Random(args.seed)
        self.passed = self.failed = 0
        self.skipped = {}
        self.seconds = {False: 0.0, True: 0.0}  # quiet, busy
        self.wrong_seeds = {}
        self.runs = {}  # of a suite: quiet, busy

    def fresh_seed(self):
        return self.seeds.randrange(1, 1 << 32)

    def turn(self, program, tests, busy):
        seed, started = self.fresh_seed(), time.monotonic()
        with BusyLoops(busy):
            result = program.run(seed, tests)
        self.seconds[busy] += time.monotonic() - started
        self.take(program, seed, busy, result)

    def take(self, program, seed, busy, result):
        self.passed += len(result["passed"])
        self.failed += len(result["failed"])
        for test, why in result["skipped"]:
            self.skipped[test] = why
        for failure in result["failed"]:
            self.show(program, seed, busy, result, *failure)

    def show(self, program, seed, busy, result, title, why, output):
        test = title.partition(": ")[2] or result["unfinished"]
        only = f" --gtest_filter='{test}'" if test else ""
        print(f"FAILED   {program.name}: {test or 'as a whole'}" + (f": {why}" if why else "") +
              f"  (seed {seed}, {'beside busy loops' if busy else 'quiet'})")
        for line in telling(output):
            print("         | " + line)
        kept = os.path.join(self.args.out, f"{program.name}-{seed}.log")
        shutil.copyfile(os.path.join(self.args.out, program.name + ".log"), kept)
        print(f"         all it printed: {kept}")
        print(f"         repeat: WEIR_SEED={seed} {program.path}{only}", flush=True)
        self.wrong_seeds.setdefault(f"{program.name}: {test}", []).append(seed)
        if test:
            again = program.run(seed, [test])
            print("         repeated alone: " + ("fails again" if again["failed"] else "passes"), flush=True)

    def run(self):
        deadline = time.monotonic() + self.args.seconds
        suites = {}
        for program in [Program(path, self.args) for path in self.args.programs]:
            names = [name for name in program.seeded_tests() if re.search(self.args.filter, name)]
            print(f"  {program.name:<12} {len(names)} seeded tests", flush=True)
            for name in names:
                suites.setdefault((program, name.rpartition(".")[0]), []).append(name)
        runs = self.runs = {suite: [0, 0] for suite in suites}
        while suites and time.monotonic() < deadline:
            order = list(suites)
            self.seeds.shuffle(order)
            for suite in order:
                if time.monotonic() >= deadline:
                    break
                quiet, loops = runs[suite]
                busy = loops < quiet if quiet != loops else self.seconds[True] < self.seconds[False]
                runs[suite][busy] += 1
                self.turn(suite[0], suites[suite], busy)

    def sum_up(self):
        rounds = min((sum(count) for count in self.runs.values()), default=0)
        for test, why in sorted(self.skipped.items()):
            print(f"skipped  {test}" + (f": {why}" if why else ""))
        for test, seeds in sorted(self.wrong_seeds.items()):
            print(f"failed   {test} under " + ", ".join(map(str, seeds)))
        print(f"  {self.seconds[False]:.0f} s quiet, {self.seconds[True]:.0f} s beside busy loops; "
              f"every suite ran {rounds} times or more")
        if self.passed + self.failed == 0:
            print("FAILED   no seeded test ran at all")
            self.failed = 1
        print(f"{self.passed} passed, {self.failed} failed", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--timeout", type=int, default=900)
    parser.add_argument("programs", nargs="+")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for number in (signal.SIGTERM, signal.SIGINT):  # what was started is ended, and what was found is said
        signal.signal(number, signal.default_int_handler)
    print(f"  seeds from --seed {args.seed}, {args.seconds:.0f} s", flush=True)
    soak = Soak(args)
    interrupted = False
    try:
        soak.run()
    except KeyboardInterrupt:
        interrupted = True
    soak.sum_up()
    return 1 if soak.failed else 130 if interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
