#!/usr/bin/env python3
"""Runs Google Test programs one after the other and sums what they report.

usage: run_tests.py --out DIR [--filter PATTERN] [--timeout SECONDS] [--shards N] [--alone NAME,...] PROGRAM[=PATTERN]...

Each program writes its report (JSON) and its output (log) to DIR. Shown are what failed, with its
output, and what was skipped, with the reason. A program that crashes, hangs or leaves no report
counts as one failure; what it had finished before still counts. The last line is the sum.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby


def run(program, args, shard=None):
    program, _, pattern = program.partition("=")
    name = os.path.basename(program) + (f"-{shard + 1}" if shard is not None else "")
    shards = {"GTEST_TOTAL_SHARDS": str(args.shards), "GTEST_SHARD_INDEX": str(shard)}
    report, log = (os.path.join(args.out, name + end) for end in (".json", ".log"))
    if os.path.exists(report):
        os.remove(report)
    command = [program, "--gtest_output=json:" + report, "--gtest_color=no"]
    if pattern or args.filter:
        command.append("--gtest_filter=" + (pattern or args.filter))
    started = time.monotonic()
    with open(log, "wb") as out:
        # A session of its own, so that whatever a hanging test has started goes with it.
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                                 env=os.environ if shard is None else {**os.environ, **shards})
        try:
            code = child.wait(timeout=args.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            code = None
    result = result_of(name, report, log, code, args.timeout)
    print(f"  {name:<12} {len(result['passed']):5} passed {len(result['failed']):4} failed "
          f"{len(result['skipped']):4} skipped   {time.monotonic() - started:6.1f} s", flush=True)
    return result


def result_of(name, report, log, code, timeout):
    """What a program that ended with `code`, or did not end in time (None), has to say of its tests."""
    with open(log, encoding="utf-8", errors="replace") as text:
        lines = text.read().splitlines()
    result = from_report(name, report, lines) if os.path.exists(report) else from_log(name, lines)
    if code is None:
        result["failed"].append((name, f"still running after {timeout} s in {result['unfinished'] or 'no test'}", lines[-30:]))
    elif code < 0:
        last = f"killed by {signal.Signals(-code).name} in {result['unfinished'] or 'no test'}"
        result["failed"].append((name, last, lines[-30:]))
    elif code != 0 and not result["failed"]:
        result["failed"].append((name, f"exited with {code}", lines[-30:]))
    elif not os.path.exists(report) and not result["failed"]:
        result["failed"].append((name, "left no report", lines[-30:]))
    return result


def output_of(test, lines):
    """What a test printed between its RUN line and its end."""
    try:
        first = next(i for i, line in enumerate(lines) if line.startswith("[ RUN") and line.endswith("] " + test))
    except StopIteration:
        return []
    last = next((i for i in range(first + 1, len(lines)) if re.match(r"\[\s+(OK|FAILED|SKIPPED)", lines[i])), len(lines))
    return lines[first + 1:last]


def foremost(output):
    """What was expected and what came, where much was said beside it."""
    begins = [i for i, line in enumerate(output) if re.search(r":\d+: Failure$", line)] if len(output) > 20 else []
    return [line for i in begins[:3] for line in output[i:i + 8]] + (["..."] if begins else [])


def reason(said):
    """Why a test was skipped, without the place where it says so."""
    return " ".join(re.sub(r"\S+:\d+: Skipped", "", " ".join(said)).split())


def from_report(name, report, lines):
    result = {"passed": [], "failed": [], "skipped": [], "unfinished": None}
    with open(report, encoding="utf-8") as text:
        suites = json.load(text).get("testsuites", [])
    for suite in suites:
        for case in suite.get("testsuite", []):
            test = f"{case.get('classname', suite['name'])}.{case['name']}"
            if case.get("result") == "SKIPPED":
                said = [m["message"].split("\n", 1)[-1].strip() for m in case.get("skipped", []) if m.get("message")]
                said = said or output_of(test, lines)
                result["skipped"].append((f"{name}: {test}", reason(said)))
            elif case.get("failures"):
                result["failed"].append((f"{name}: {test}", "", output_of(test, lines)))
            elif case.get("result") == "COMPLETED":
                result["passed"].append(test)
    return result


def from_log(name, lines):
    """What can be said of a program that died: its log names every test it finished."""
    result = {"passed": [], "failed": [], "skipped": [], "unfinished": None}
    for line in lines:
        match = re.match(r"\[\s+(RUN|OK|FAILED|SKIPPED)\s+\] (\S+\.\S+)", line)
        if not match:
            continue
        what, test = match[1], match[2].rstrip(",")
        result["unfinished"] = test if what == "RUN" else None
        if what == "OK":
            result["passed"].append(test)
        elif what == "FAILED":
            result["failed"].append((f"{name}: {test}", "", output_of(test, lines)))
        elif what == "SKIPPED":
            result["skipped"].append((f"{name}: {test}", reason(output_of(test, lines))))
    return result


def is_alone(program, args):
    return args.shards == 1 or os.path.basename(program.partition("=")[0]) in args.alone


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--filter")
    parser.add_argument("--timeout", type=int, default=900)
    parser.add_argument("--shards", type=int, default=1, help="parts of each program that run side by side")
    parser.add_argument("--alone", type=lambda names: names.split(","), default=[], help="programs that are not parted")
    parser.add_argument("programs", nargs="+")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)

    results = []
    with ThreadPoolExecutor(args.shards) as pool:
        for alone, programs in groupby(args.programs, lambda program: is_alone(program, args)):
            if alone:
                results += [run(program, args) for program in programs]
            else:
                runs = [pool.submit(run, program, args, shard) for program in programs for shard in range(args.shards)]
                results += [each.result() for each in runs]
    passed, failed, skipped = ([item for r in results for item in r[kind]] for kind in ("passed", "failed", "skipped"))
    for test, why in skipped:
        print(f"skipped  {test}" + (f": {why}" if why else ""))
    for test, why, output in failed:
        print(f"FAILED   {test}" + (f": {why}" if why else ""))
        for line in foremost(output) + output[-60:]:
            print("         | " + line)
    if not passed and not failed and not skipped:
        failed = [("nothing ran", "", [])]
        print("FAILED   no test ran at all")
    print(f"{len(passed)} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
