#!/usr/bin/env python3
"""JSON lines to columns for gnuplot.

usage: columns.py FILE.jsonl X Y [SERIES] [NAME=VALUE ...]

One row for each X, one column for each value of SERIES (default: contender) in the order of its first
line; rows are those whose fields have the values given. The first line names the columns, "-" stands
where nothing was measured."""
import json
import sys


def main(path, x, y, *rest):
    wanted = dict(a.split("=", 1) for a in rest if "=" in a)
    series = next((a for a in rest if "=" not in a), "contender")
    names, rows = [], {}
    with open(path, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if any(str(line.get(name)) != value for name, value in wanted.items()):
                continue
            name = str(line[series])
            if name not in names:
                names.append(name)
            rows.setdefault(line[x], {})[name] = line[y]
    if not rows:
        sys.exit(f"{path}: no line with {wanted}: run `make bench` again")
    print(x, *(f'"{name}"' for name in names))
    for at in sorted(rows):
        print(at, *(rows[at].get(name, "-") for name in names))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
