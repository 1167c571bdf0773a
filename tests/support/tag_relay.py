#!/usr/bin/env python3
"""Carries frames between two interfaces and adds or removes VLAN tags on the way.

  tag_relay.py PLAIN TRUNK TPID:VID [TPID:VID]        outer tag first, for example 88a8:200 8100:100

A frame from PLAIN leaves through TRUNK with the tags pushed. A frame from TRUNK leaves through PLAIN
without them; one that does not carry exactly these tags is left alone. It is for kernels without the
8021q module: the endpoints see an ordinary wire, and between two relays every frame is tagged.
Prints "ready" once both sockets are open; SIGTERM ends it.
"""
import os
import select
import socket
import struct
import sys

SOL_PACKET = 263
PACKET_AUXDATA = 8
ETH_P_ALL = 3
STATUS_VLAN_VALID = 1 << 4
STATUS_VLAN_TPID_VALID = 1 << 6
FRAME_BYTES_MAX = 65536


def open_port(name):
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    port.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    port.bind((name, 0))
    return port


def receive(port):
    """One frame as it was on the wire, or None for our own echo. The kernel moves the outermost tag
    of a received frame into auxiliary data; it is put back here."""
    frame, ancillary, _, sender = port.recvmsg(FRAME_BYTES_MAX, 128)
    if sender[2] == socket.PACKET_OUTGOING:
        return None
    for level, kind, data in ancillary:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", data[:20])
            if status & STATUS_VLAN_VALID:
                tpid = tpid if status & STATUS_VLAN_TPID_VALID else 0x8100
                frame = frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
    return frame


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    tags = b""
    for text in sys.argv[3:]:
        tpid, vid = text.split(":")
        tags += struct.pack("!HH", int(tpid, 16), int(vid))
    plain, trunk = open_port(sys.argv[1]), open_port(sys.argv[2])
    print("ready", flush=True)
    while True:
        for port in select.select([plain, trunk], [], [])[0]:
            frame = receive(port)
            if frame is None or len(frame) < 14:
                continue
            try:
                if port is plain:
                    trunk.send(frame[:12] + tags + frame[12:])
                elif frame[12:12 + len(tags)] == tags:
                    plain.send(frame[:12] + frame[12 + len(tags):])
            except OSError as error:  # a frame too long for the wire is lost, as on any wire
                print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
