#!/usr/bin/env python3
"""Merges classic Ethernet captures into one, in time order.

  merge.py OUT IN...        OUT has nanoseconds; packets of equal time keep the order of the arguments
"""
import struct
import sys

MICROSECONDS, NANOSECONDS, ETHERNET = 0xA1B2C3D4, 0xA1B23C4D, 1


def read(path):
    """Yields (time in ns, original length, bytes) of a little-endian capture."""
    with open(path, "rb") as file:
        data = file.read()
    magic, _, _, _, _, _, link = struct.unpack_from("<IHHiIII", data)
    if magic not in (MICROSECONDS, NANOSECONDS) or link != ETHERNET:
        sys.exit(f"{path}: not a little-endian classic capture of Ethernet frames")
    unit_ns = 1000 if magic == MICROSECONDS else 1
    at = 24
    while at < len(data):
        seconds, fraction, captured, original = struct.unpack_from("<IIII", data, at)
        yield seconds * 10**9 + fraction * unit_ns, original, data[at + 16:at + 16 + captured]
        at += 16 + captured


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    packets = [packet for path in sys.argv[2:] for packet in read(path)]
    packets.sort(key=lambda packet: packet[0])
    with open(sys.argv[1], "wb") as out:
        out.write(struct.pack("<IHHiIII", NANOSECONDS, 2, 4, 0, 0, 262144, ETHERNET))
        for time_ns, original, frame in packets:
            out.write(struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(frame), original) + frame)
    print(f"{sys.argv[1]}: {len(packets)} packets")


if __name__ == "__main__":
    main()
