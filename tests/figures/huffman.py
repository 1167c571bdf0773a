#!/usr/bin/env python3
"""Columns for the figure of random access Huffman coding, from weir-lab [Chained figure 8].

usage: huffman.py WEIR_LAB OUT_FOLDER

huffman.dat: a row for each omega from 3 to 10: bits a symbol of the entropy, Huffman codes, four-wise and three-wise maps,
shared slots, the strawman; then nanoseconds a symbol in batches of the map, shared slots and the strawman, and of codes
in a row. A million positives, as in the paper; one run at a time."""
import json
import subprocess
import sys

ARMS = ("shared_slots", "strawman")


def run(lab, omega, ways, rounds):
    done = subprocess.run([lab, "huffman", "--omega", str(omega), "--positives", "1000000", "--rounds", str(rounds),
                           "--ways", str(ways)], capture_output=True, check=True)
    return json.loads(done.stdout)


def main(lab, out):
    with open(f"{out}/huffman.dat", "w", encoding="utf-8") as file:
        for omega in range(3, 11):
            four, three = run(lab, omega, 4, 3), run(lab, omega, 3, 1)
            print(omega, four["entropy"], four["huffman_bits_per_symbol"], four["bits_per_symbol"],
                  three["bits_per_symbol"], *(four[arm]["bits_per_symbol"] for arm in ARMS),
                  four["decode_batch_ns"], *(four[arm]["decode_batch_ns"] for arm in ARMS), four["sequential_ns"],
                  file=file)


if __name__ == "__main__":
    main(*sys.argv[1:])
