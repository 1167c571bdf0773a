#!/usr/bin/env python3
"""What differs from a commit, and the unit and property tests that it touches.

usage: changed.py files BASE             the files, one a line: committed since BASE, edited or new
       changed.py filter BASE OBJECTS KIND    a Google Test filter for tests/KIND; nothing when no test is touched

A test file is touched when it was changed itself, when it includes a changed header, or the header of a
changed .cpp. A header that no test includes stands for those that read it by way of others, which
OBJECTS/tests/KIND/**/*.d name: then all tests that were compiled together count as touched.
"""

import os
import re
import subprocess
import sys


def git(*arguments):
    return subprocess.run(["git", *arguments], stdout=subprocess.PIPE, check=True, text=True).stdout.split("\n")


def changed(base):
    """Files that are there now and are not as they were where this branch left BASE."""
    try:
        fork = git("merge-base", base, "HEAD")[0]
    except subprocess.CalledProcessError:
        sys.exit(f"BASE={base}: git knows no such commit; name a branch or a commit of this repository")
    names = git("diff", "--name-only", fork) + git("ls-files", "--others", "--exclude-standard")
    return sorted({name for name in names if name and os.path.exists(name)})


def includes(file):
    """What a source includes by name, as a path in the tree."""
    with open(file, encoding="utf-8") as text:
        names = re.findall(r'^#include "([^"]+)"', text.read(), re.M)
    return {name if os.path.exists(name) else os.path.join("include", name) for name in names}


def read_together(objects, kind):
    """For each object of tests/kind that was compiled, the files that it was compiled from, by its .d file."""
    for at, _, names in os.walk(os.path.join(objects, "tests", kind)):
        for name in names:
            if name.endswith(".d"):
                with open(os.path.join(at, name), encoding="utf-8") as text:
                    words = text.read().replace("\\\n", " ").split()
                yield {os.path.normpath(word) for word in words if not word.endswith(":")}


def suites(file):
    with open(file, encoding="utf-8") as text:
        return set(re.findall(r"^(?:TYPED_)?TEST(?:_F|_P|_SUITE(?:_P)?)?\(\s*(\w+)", text.read(), re.M))


def filter_of(base, objects, kind):
    folder = os.path.join("tests", kind)
    tests = sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".cpp"))
    files = set(changed(base))
    headers = {name for name in files if name.endswith(".hpp")}
    headers |= {name[:-4] + ".hpp" for name in files if name.endswith(".cpp") and os.path.exists(name[:-4] + ".hpp")}
    named = {test: includes(test) for test in tests}
    touched = {test for test in tests if test in files or named[test] & headers}
    rest = headers - set().union(*named.values())
    if rest:
        touched |= {test for files_read in read_together(objects, kind) if files_read & rest
                    for test in tests if test in files_read}
    names = sorted(set().union(*(suites(test) for test in touched)))
    # A suite may have parameters, of values (Prefix/Suite.) or of types (Suite/0.), or both.
    return ":".join(pattern for name in names for pattern in (f"{name}.*", f"{name}/*", f"*/{name}.*", f"*/{name}/*"))


def main(arguments):
    if arguments[:1] == ["files"] and len(arguments) == 2:
        print("\n".join(changed(arguments[1])))
    elif arguments[:1] == ["filter"] and len(arguments) == 4:
        print(filter_of(*arguments[1:]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
