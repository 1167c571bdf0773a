#!/usr/bin/env python3
"""Puts the tables of the last `make bench` into a document.

usage: paste.py DOCUMENT BENCH_FOLDER

Between <!-- bench:NAME --> and <!-- /bench:NAME --> goes BENCH_FOLDER/NAME.md. A table that the last
run did not write stays as it is and is named."""
import pathlib
import re
import sys

PLACE = re.compile(r"(<!-- bench:(\w+) -->\n).*?(<!-- /bench:\2 -->)", re.S)


def pasted(text, table_of):
    """The text with each table replaced by table_of(name), and the names that had none."""
    missing = []

    def replace(place):
        table = table_of(place[2])
        if table is None:
            missing.append(place[2])
            return place[0]
        return place[1] + table + place[3]

    return PLACE.sub(replace, text), missing


def main(document, folder):
    def table_of(name):
        path = pathlib.Path(folder) / f"{name}.md"
        return path.read_text(encoding="utf-8") if path.exists() else None

    path = pathlib.Path(document)
    text, missing = pasted(path.read_text(encoding="utf-8"), table_of)
    path.write_text(text, encoding="utf-8")
    places = len(PLACE.findall(text))
    if places == 0:
        sys.exit(f"{document} has no place for a table")
    print(f"{document}: {places - len(missing)} of {places} tables pasted")
    known = {place[1] for place in PLACE.findall(text)} | {"standings_partial"}
    homeless = sorted(p.stem for p in pathlib.Path(folder).glob("*.md") if p.stem not in known)
    if homeless:
        print("without a place in the document:", ", ".join(homeless))
    if missing:
        print("not in the last run, left as they were:", ", ".join(missing))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
