#!/usr/bin/env python3
"""Sends frames as they are.

  send_frames.py DEVICE HEX...        one frame each, without its checksum (FCS)
"""
import socket
import sys

with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as port:
    port.bind((sys.argv[1], 0))
    for frame in sys.argv[2:]:
        port.send(bytes.fromhex(frame))
