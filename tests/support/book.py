#!/usr/bin/env python3
"""The commands of docs/operating.md, for the tests that run them.

usage: book.py FILE faults          blocks that do not say what they are, or that nothing runs; exit 1 when there are some
       book.py FILE scripts WHERE FOLDER    writes each block of WHERE as FOLDER/LINE.sh (or .yaml), names them in order

A fenced block begins with its language and where it is run:

  sh pair      beside a running pair of daemons, the blocks in the order of the page
  sh alone     a machine of its own, with no daemon
  sh server    on a server with systemd and cards: run by no test
  sh make      a target of the Makefile, which tests of its own run
  yaml         a configuration, or a part of one; `weirctl check` takes it
  text, conf   shown, not run

A command that is expected to fail says so in its comment: (exit 1).
"""
import os
import re
import sys

PLACES = {"pair", "alone", "server", "make"}
EXPECTED = re.compile(r"^(?P<command>.*?)\s*#.*\(exit (?P<code>\d+)\)")


class Block:
    def __init__(self, line, info):
        self.line = line  # of its first line
        words = info.split()
        self.language, self.where = (words + ["", ""])[:2]
        self.lines = []

    def fault(self, makefile):
        if self.language == "sh" and self.where in PLACES:
            others = [line for line in self.lines if self.where == "make" and not re.match(r"make [\w-]+", line)]
            wanted = [re.match(r"make ([\w-]+)", line).group(1) for line in self.lines if self.where == "make" and not others]
            unknown = [target for target in wanted if not re.search(rf"(?m)^{target}:", makefile)]
            return f"no target of the Makefile: {', '.join(others + unknown)}" if others + unknown else None
        if self.language in ("yaml", "text", "conf") and not self.where:
            return None
        return f"```{self.language} {self.where}".rstrip() + ": write sh pair|alone|server|make, yaml, text or conf"

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


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    file, verb = sys.argv[1:3]
    with open(file, encoding="utf-8") as page:
        text = page.read()
    if verb == "faults":
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Makefile"), encoding="utf-8") as makefile:
            targets = makefile.read()
        faults = [f"{file}:{block.line}: {fault}" for block in blocks(text) if (fault := block.fault(targets))]
        print("\n".join(faults), end="\n" if faults else "")
        return 1 if faults else 0
    where, folder = sys.argv[3:5]
    for block in of(text, where):
        name = f"{block.line}.{'yaml' if block.language == 'yaml' else 'sh'}"
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write(block.text())
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
