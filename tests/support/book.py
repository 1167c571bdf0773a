#!/usr/bin/env python3
"""The commands of docs/operating.md, for the tests that run them.

usage: book.py FILE faults          blocks that do not say what they are, or that nothing runs; exit 1 when there are some
       book.py FILE scripts WHERE FOLDER    writes each block of WHERE as FOLDER/LINE.sh (or .yaml), names them in order

A fenced block begins with its language and where it is run:

  sh pair           beside a running pair of daemons, the blocks in the order of the page
  sh alone [NAME]   a machine of its own, with no daemon; NAME is what is prepared there (tests/system/book_test.cpp)
  sh server NAME    on a server with systemd and cards: the guest of tests/nic/packages.py, which runs each by its name
  sh make           targets of the Makefile, which tests of its own run
  yaml              a configuration, or a part of one; `weirctl check` takes it
  conf              of another program; the guest of the package runs each `script "..."` in it
  text              shown: output, or a file of the machine. A command in it, behind "$ ", stands in a block that is run

A command that is expected to fail says so in its comment: (exit 1).
"""
import os
import re
import sys

EXPECTED = re.compile(r"^(?P<command>.*?)\s*#.*\(exit (?P<code>\d+)\)")
TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
WAYS = "write sh pair, sh alone [NAME], sh server NAME, sh make, yaml, text or conf"


def read(name):
    with open(os.path.join(TREE, name), encoding="utf-8") as file:
        return file.read()


class Block:
    def __init__(self, line, info):
        self.line = line  # of its first line
        words = info.split()
        self.language, self.where, self.name = (words + ["", "", ""])[:3]
        self.info = info
        self.lines = []

    def faults(self):
        """Why nothing runs it."""
        kind = f"{self.language} {self.where}".rstrip()
        if kind in ("sh pair", "yaml", "text", "conf") and not self.name:
            return []
        if kind == "sh make" and not self.name:
            targets = [re.match(r"make ([\w-]+)", line) for line in self.lines]
            makefile = read("Makefile")
            return [f"no target of the Makefile: {line}" for line, target in zip(self.lines, targets)
                    if not target or not re.search(rf"(?m)^{target[1]}:", makefile)]
        if kind == "sh alone":
            prepared = not self.name or f'"prepare-{self.name}.sh"' in read("tests/system/book_test.cpp")
            return [] if prepared else [f"tests/system/book_test.cpp prepares no {self.name}"]
        if kind == "sh server" and self.name:
            run = f'g.book("{self.name}")' in read("tests/nic/packages.py")
            return [] if run else [f"tests/nic/packages.py does not run {self.name}"]
        return [f"```{self.info}: {WAYS}"]

    def script(self):
        """Lines of bash that end with the first command that ends otherwise than the page says."""
        out = []
        for line in self.lines:
            expected = EXPECTED.match(line)
            if expected:
                command, code = expected.group("command"), expected.group("code")
                out.append(f"{{ {command}; }} && {{ echo 'ended with 0'; exit 1; }} || [ $? = {code} ]")
            else:
                out.append(line)
        return "\n".join(out) + "\n"

    def text(self):
        return self.script() if self.language == "sh" else "\n".join(self.lines) + "\n"


def blocks(text):
    found, inside = [], None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            if inside is None:
                inside = Block(number + 1, line[3:])
            else:
                found.append(inside)
                inside = None
        elif inside is not None:
            inside.lines.append(line)
    if inside is not None:
        raise ValueError(f"the block of line {inside.line} has no end")
    return found


def of(text, where):
    return [block for block in blocks(text) if where in (block.where, block.language)]


def faults(text):
    """Of all blocks: those that nothing runs, names that two have, and commands that are only shown."""
    all_blocks = blocks(text)
    run = "\n".join(line for block in all_blocks if block.language == "sh" for line in block.lines)
    names = set()
    for block in all_blocks:
        yield from ((block.line, fault) for fault in block.faults())
        if block.where == "server":
            if block.name in names:
                yield block.line, f"two blocks are called {block.name}"
            names.add(block.name)
        if block.language == "text":
            for number, line in enumerate(block.lines):
                shown = re.match(r"\$ (\S+( [a-z]+)?)", line)
                if shown and not re.search(rf"(?m)(^|[ |]){re.escape(shown[1])}\b", run):
                    yield block.line + number, f"no block that is run has {shown[1]}"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    file, verb = sys.argv[1:3]
    with open(file, encoding="utf-8") as page:
        text = page.read()
    if verb == "faults":
        found = [f"{file}:{line}: {fault}" for line, fault in faults(text)]
        print("\n".join(found), end="\n" if found else "")
        return 1 if found else 0
    where, folder = sys.argv[3:5]
    for block in of(text, where):
        name = f"{block.line}{'.' + block.name if block.name else ''}.{'yaml' if block.language == 'yaml' else 'sh'}"
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write(block.text())
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
