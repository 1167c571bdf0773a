#!/usr/bin/env python3
"""Writes the seeds of the fuzz corpora below tests/fuzz/corpus. Same bytes on every run."""

import json
import os
import struct

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def write(target, name, data):
    os.makedirs(os.path.join(TOP, target), exist_ok=True)
    with open(os.path.join(TOP, target, name), "wb") as out:
        out.write(data)


# ---- frames ------------------------------------------------------------------------------------

MACS = bytes.fromhex("020000000002020000000001")


def tag(kind, number):
    return struct.pack(">HH", kind, number)


def ipv4(source, destination, payload=b"", protocol=17, options=b"", flags=0):
    words = 5 + len(options) // 4
    return struct.pack(">BBHHHBBH", 0x40 | words, 0, words * 4 + len(payload), 1, flags, 64, protocol, 0) + \
        bytes(source) + bytes(destination) + options + payload


def ipv6(payload, next_header, hop_limit=64, source="fe800000000000000000000000000001"):
    return struct.pack(">IHBB", 0x60000000, len(payload), next_header, hop_limit) + \
        bytes.fromhex(source) + bytes.fromhex("20010db8000000000000000000000002") + payload


def snap(kind, organisation=0, length=60):
    return struct.pack(">HBBBBHH", length, 0xAA, 0xAA, 3, 0, organisation, kind)


def udp(source, destination):
    return struct.pack(">HHHH", source, destination, 8, 0)


def frames():
    a, b = (10, 0, 0, 1), (192, 0, 2, 1)
    four = ipv4(a, b, udp(1234, 53))
    yield "ipv4", MACS + b"\x08\x00" + four
    yield "ipv4_options", MACS + b"\x08\x00" + ipv4(a, b, udp(1, 2), options=b"\x94\x04\x00\x00" * 3)
    yield "ipv4_short_ihl", MACS + b"\x08\x00" + b"\x44" + four[1:]
    yield "ipv4_cut", MACS + b"\x08\x00" + four[:19]
    yield "ipv4_later_fragment", MACS + b"\x08\x00" + ipv4((0, 0, 0, 0), b, udp(68, 67), flags=0x2001)
    yield "dhcp_request", MACS + b"\x08\x00" + ipv4((0, 0, 0, 0), (255, 255, 255, 255), udp(68, 67))
    yield "dhcp_to_one_host", MACS + b"\x08\x00" + ipv4((0, 0, 0, 0), b, udp(68, 67))
    yield "vlan", MACS + tag(0x8100, 100) + b"\x08\x00" + four
    yield "qinq", MACS + tag(0x88A8, 7) + tag(0x8100, 100) + b"\x08\x00" + four
    yield "three_tags", MACS + tag(0x9100, 1) + tag(0x88A8, 7) + tag(0x8100, 100) + b"\x08\x00" + four
    yield "priority_tags", MACS + tag(0x8100, 0) * 5 + b"\x08\x00" + four
    yield "eight_tags", MACS + tag(0x8100, 0) * 6 + tag(0x9200, 7) + tag(0x9300, 8) + b"\x08\x00" + four
    yield "nine_tags", MACS + tag(0x8100, 0xE000) * 9 + b"\x08\x00" + four
    yield "ninth_tag_cut", MACS + tag(0x8100, 0) * 8 + b"\x81\x00"
    yield "snap", MACS + snap(0x0800) + four
    yield "snap_bridged", MACS + tag(0x8100, 0) + snap(0x0800, 0xF8, 0) + four
    yield "snap_ipv6", MACS + snap(0x86DD) + ipv6(udp(1, 2), 17)
    yield "snap_cut", MACS + snap(0x0800)[:9]
    yield "snap_header_cut", MACS + snap(0x0800) + four[:19]
    yield "snap_then_tag", MACS + snap(0x8100) + b"\x00\x00\x08\x00" + four
    yield "snap_then_snap", MACS + snap(60) + snap(0x0800)[2:] + four
    yield "snap_of_another", MACS + snap(0x0800, 0x0C) + four
    yield "tag_cut", MACS + b"\x81\x00\x00"
    yield "ipv6", MACS + b"\x86\xdd" + ipv6(udp(1, 2), 17)
    yield "ipv6_wrong_version", MACS + b"\x86\xdd" + four + bytes(20)
    yield "neighbour_solicitation", MACS + b"\x86\xdd" + ipv6(b"\x87" + bytes(23), 58, 255)
    yield "neighbour_wrong_hops", MACS + b"\x86\xdd" + ipv6(b"\x87" + bytes(23), 58, 254)
    yield "neighbour_from_nobody", MACS + b"\x86\xdd" + ipv6(b"\x87" + bytes(23), 58, 255, "00" * 16)
    yield "neighbour_from_afar", MACS + b"\x86\xdd" + ipv6(b"\x87" + bytes(23), 58, 255, "2a00" + "01" * 14)
    yield "arp", MACS + b"\x08\x06" + bytes(28)
    yield "llc", MACS + b"\x00\x26" + b"\x42\x42\x03" + bytes(35)
    yield "empty", b""
    yield "thirteen_bytes", MACS + b"\x08"


# ---- image: edits to an honest image, see image.cpp -------------------------------------------------

REPAIR, RAW, STACK, WORDS, PACKET_RULES, CHAINED = 1, 2, 4, 8, 16, 32
HEADER, SECTION, ANYWHERE, CUT = range(4)


def edit(kind, place, value=0):
    return struct.pack("<BIQ", kind, place, value)


def images():
    yield "honest", b"\0"
    yield "repaired", bytes([REPAIR])
    yield "flipped_bit", b"\0" + edit(ANYWHERE, 600_000, 1)
    for name, place, value in (("magic", 0, 0), ("version", 8, 2 | 192 << 32), ("total_bytes", 16, 1 << 40),
                               ("total_bytes_small", 16, 100), ("hash_family", 64, 2 | 20 << 32),
                               ("no_sections", 64, 1), ("many_sections", 64, 1 | 0xFFFFFFFF << 32)):
        yield name, bytes([REPAIR]) + edit(HEADER, place, value)
        yield name + "_unrepaired", b"\0" + edit(HEADER, place, value)
    for section in range(19):
        entry = 192 + 32 * section
        yield f"section_{section}_kind", bytes([REPAIR]) + edit(HEADER, entry, 39)
        yield f"section_{section}_optional", bytes([REPAIR]) + edit(HEADER, entry, 39 | 2 << 32)
        yield f"section_{section}_outside", bytes([REPAIR]) + edit(HEADER, entry + 8, 1 << 30)
        yield f"section_{section}_overflow", bytes([REPAIR]) + edit(HEADER, entry + 16, (1 << 64) - 64)
        yield f"section_{section}_longer", bytes([REPAIR]) + edit(HEADER, entry + 16, 1 << 20)
        yield f"section_{section}_zeroed", bytes([REPAIR]) + edit(SECTION, section * 128)
        yield f"section_{section}_huge", bytes([REPAIR]) + edit(SECTION, section * 128, 0xFFFFFFFF_FFFFFFFF)
        yield f"section_{section}_stash", bytes([REPAIR]) + edit(SECTION, section * 128 + 8, 0xFFFFFFFF << 32)
    yield "stack_honest", bytes([STACK])
    stack = 16 * 128  # of deny_judge among the sections
    for name, place, value in (("reserved0", 0, 2), ("rate", 24, 1 << 63), ("ranges", 40, 0xFFFFFFFF),
                               ("ranges_one_more", 40, 2), ("reserved", 56, 1 << 40)):
        yield "stack_" + name, bytes([REPAIR | STACK]) + edit(SECTION, stack + place, value)
        yield f"stack_{name}_unrepaired", bytes([STACK]) + edit(SECTION, stack + place, value)
    yield "words_honest", bytes([WORDS])
    words = 5 * 128  # of deny_v4_hosts among the sections
    for name, place, value in (("form", 0, 2 | 16 << 32), ("no_lines", 0, 1), ("few_lines", 0, 1 | 3 << 32),
                               ("many_lines", 0, 1 | 0xFFFFFFFF << 32), ("reserved", 24, 1)):
        yield "words_" + name, bytes([REPAIR | WORDS]) + edit(SECTION, words + place, value)
        yield f"words_{name}_unrepaired", bytes([WORDS]) + edit(SECTION, words + place, value)
    yield "words_as_optional", bytes([REPAIR | WORDS]) + edit(HEADER, 192 + 32 * 5, 52 | 3 << 32)
    yield "words_elsewhere", bytes([REPAIR | WORDS]) + edit(HEADER, 192 + 32 * 5, 53 | 1 << 32)
    yield "rules_honest", bytes([PACKET_RULES])
    rules, flows = 16 * 128, 17 * 128  # packet_rules and flow_table among the sections
    for name, place, value in (("no_rules", rules, 0), ("many_patterns", rules, 2 | 0xFFFFFFFF << 32),
                               ("many_ports", rules + 8, 0xFFFFFFFF), ("flows_seed", flows, 1),
                               ("flows_fewer", flows + 8, 19), ("flows_buckets", flows + 24, 0xFFFFFFFF_FFFFFFFF)):
        yield "rules_" + name, bytes([REPAIR | PACKET_RULES]) + edit(SECTION, place, value)
        yield f"rules_{name}_unrepaired", bytes([PACKET_RULES]) + edit(SECTION, place, value)
    actions = 18 * 128  # list_actions among the sections
    for name, place, value in (("none", 0, 0), ("many", 0, 0xFFFFFFFF), ("reserved", 8, 1), ("allow_list", 64, 4 << 16),
                               ("no_list", 64, 9 | 4 << 16), ("pass", 64, 1 | 1 << 16), ("same_list", 80, 1 | 2 << 16),
                               ("rate", 84, 0), ("unknown_per", 80, 2 | 3 << 16 | 2 << 24)):
        yield "actions_" + name, bytes([REPAIR | PACKET_RULES]) + edit(SECTION, actions + place, value)
        yield f"actions_{name}_unrepaired", bytes([PACKET_RULES]) + edit(SECTION, actions + place, value)
    yield "chained_honest", bytes([CHAINED])
    judge, class_map, offenders = 16 * 128, 17 * 128, 18 * 128  # deny_judge, deny_class_map and offenders among the sections
    for name, place, value in (("slots", judge + 64 + 16, 0xFFFFFFFF), ("map_nodes", class_map + 16, 0xFFFFFFFF),
                               ("map_no_nodes", class_map + 16, 0), ("map_loop", class_map + 64, 0),
                               ("map_other_list", class_map + 64, (1 << 31 | 5) | (1 << 31 | 5) << 32),
                               ("map_allow_list", class_map + 64, 1 << 31 | 1 << 63), ("map_tables", class_map + 72, 0xFFFFFFFF_FFFFFFFF),
                               ("map_value_bits", class_map + 80, 2), ("offenders_magic", offenders, 0),
                               ("offenders_groups", offenders + 12, 0xFF | 200 << 32), ("offenders_no_groups", offenders + 12, 200 << 32),
                               ("offenders_turn", offenders + 24, 0), ("offenders_trees", offenders + 72, 1 << 40),
                               ("offenders_neighbours", offenders + 68, 77)):
        yield "chained_" + name, bytes([REPAIR | CHAINED]) + edit(SECTION, place, value)
        yield f"chained_{name}_unrepaired", bytes([CHAINED]) + edit(SECTION, place, value)
    for size in (0, 100, 191, 192, 700, 4096, 600_000):
        yield f"cut_{size}", bytes([REPAIR]) + edit(CUT, size)
    yield "raw", bytes([RAW]) + b"WEIRIMG1" + bytes(300)


# ---- filter: edits to an honest section of a base filter, see filter.cpp ---------------------------

IN_HEADER, IN_CELLS, CUT_FILTER = range(3)
ONES = (1 << 64) - 1


def filters():
    kinds = ("bloom", "split_block", "counting", "cuckoo", "quotient", "xor", "fuse", "fuse_4", "othello",
             "chained", "chained_shared", "retrieval_3", "retrieval_4", "ribbon", "ribbon_filter")
    numbers = {"fuse_4": 11, "othello": 14, "chained": 16, "chained_shared": 17, "retrieval_3": 12, "retrieval_4": 13,
               "ribbon": 18, "ribbon_filter": 19}  # in headers, where they are not those of this list
    for kind, name in enumerate(kinds):
        first = bytes([kind])
        yield f"{name}_honest", first
        yield f"{name}_magic", first + edit(IN_HEADER, 0)
        yield f"{name}_kind", first + edit(IN_HEADER, 8, (kind + 1) % 7 + 1)
        yield f"{name}_size", first + edit(IN_HEADER, 16, 1 << 31)
        yield f"{name}_widths", first + edit(IN_HEADER, 20, 1 | 1 << 32)
        yield f"{name}_layer", first + edit(IN_HEADER, 32, 9)
        yield f"{name}_reserved", first + edit(IN_HEADER, 8, numbers.get(name, kind + 1) | 1 << 32)
        yield f"{name}_cut", first + edit(CUT_FILTER, 100)
        yield f"{name}_full", first + b"".join(edit(IN_CELLS, place, ONES) for place in range(0, 400, 8))
        yield f"{name}_first_cell", first + edit(IN_CELLS, 0, 0xFE)
    first = bytes([128])
    yield "huffman_honest", first
    yield "huffman_kind", first + edit(IN_HEADER, 8, 13)
    yield "huffman_nodes", first + edit(IN_HEADER, 16, 1 << 31)
    yield "huffman_tables", first + edit(IN_HEADER, 20, 17 | 1 << 16 | 4 << 32)
    yield "huffman_root", first + edit(IN_HEADER, 28, 1)
    yield "huffman_back", first + edit(IN_CELLS, 0, 0)
    yield "huffman_children", first + edit(IN_CELLS, 8, ONES)
    yield "huffman_full", first + b"".join(edit(IN_CELLS, place, ONES) for place in range(64, 200, 8))
    yield "huffman_cut", first + edit(CUT_FILTER, 100)


# ---- trees: edits to an honest section of boosted trees, see trees.cpp -----------------------------

DEPTHS = [2, 0, 3, 4, 5, 6, 1]


def trees():
    def edited(kind, place, value=b""):
        return struct.pack("<BI8s", kind, place, value)
    leaves = sum(1 << depth for depth in DEPTHS)
    nodes = leaves - len(DEPTHS)
    first_node = 64 + 4 * leaves
    depths = first_node + 2 * nodes
    yield "honest", b""
    yield "magic", edited(0, 0, b"XXXXXXXX")
    yield "features", edited(1, 8, struct.pack("<II", 300, 7))
    yield "fewer_features", edited(1, 8, struct.pack("<II", 2, 7))
    yield "more_features", edited(1, 8, struct.pack("<II", 256, 7))
    yield "trees", edited(1, 8, struct.pack("<II", 5, 0))
    yield "many_trees", edited(1, 8, struct.pack("<II", 5, 5000))
    yield "leaves", edited(0, 16, struct.pack("<Q", 1 << 62))
    yield "nodes", edited(0, 24, struct.pack("<Q", nodes + 1))
    yield "base", edited(0, 32, struct.pack("<fI", float("inf"), 0))
    yield "leaf_infinite", edited(1, 72, struct.pack("<ff", 0.5, float("-inf")))
    yield "leaf_huge", edited(1, 64, struct.pack("<ff", 3e38, 3e38))
    yield "feature", edited(1, first_node + 4, bytes([200, 1, 200, 1, 200, 1, 0, 0]))
    yield "thresholds", edited(1, first_node, bytes([0, 0, 0, 255, 0, 128, 0, 127]))
    yield "depth", edited(1, depths - 1, bytes([9] * 8))
    yield "depths_swapped", edited(1, depths - 1, bytes([0, 0, 2, 3, 4, 5, 6, 1]))
    yield "cut", edited(2, 500)
    yield "cut_header", edited(2, 40)
    yield "reserved", edited(0, 48, struct.pack("<Q", 1))


# ---- wire messages -----------------------------------------------------------------------------

MAGIC, VERSION = 0x52494557, 5
STORE = bytes(range(16))
HONEST_STORE = bytes(16)  # of the image in force, see honest_image.hpp


def message(kind, payload, request=1, magic=MAGIC, version=VERSION, claimed=None):
    size = len(payload) if claimed is None else claimed
    return struct.pack("<IHHII", magic, version, kind, size, request) + payload


def delta(operation, side, family, length, number, address):
    return struct.pack("<BBBBHH", operation, side, family, length, number, 0) + bytes(address).ljust(16, b"\0")


def messages():
    deltas = delta(1, 0, 4, 32, 0, (203, 0, 113, 9)) + delta(1, 0, 4, 24, 1, (198, 51, 100)) + \
        delta(2, 1, 6, 64, 0, bytes.fromhex("20010db8"))
    yield "hello", message(1, STORE + struct.pack("<QQQII", 3, 17, 0, 4242, 0), request=0)
    yield "stage", message(2, STORE + struct.pack("<QQQ", 4, 17, 65536))
    yield "staged", message(3, struct.pack("<QQ", 4, 120))
    yield "deltas", message(4, HONEST_STORE + struct.pack("<QII", 1, 0, 3) + deltas)
    yield "deltas_none", message(4, HONEST_STORE + struct.pack("<QII", 18, 1, 0))
    yield "deltas_too_many", message(4, HONEST_STORE + struct.pack("<QII", 18, 0, 4) + deltas)
    yield "deltas_count_overflow", message(4, HONEST_STORE + struct.pack("<QII", 18, 0, 0x0AAAAAAB) + deltas)
    yield "deltas_bad_length", message(4, HONEST_STORE + struct.pack("<QII", 1, 0, 1) + delta(1, 0, 4, 33, 0, (1, 2, 3, 4)))
    yield "deltas_unmasked", message(4, HONEST_STORE + struct.pack("<QII", 1, 0, 1) + delta(1, 0, 4, 8, 0, (10, 0, 0, 5)))
    yield "applied", message(5, struct.pack("<QIIII", 20, 0, 1, 1, 0))
    yield "commit", message(6, struct.pack("<QQ", 4, 20))
    yield "committed", message(7, struct.pack("<QQ", 4, 2100))
    yield "query", message(8, b'{"what":"stats"}')
    yield "answer", message(9, struct.pack("<II", 0, 0) + b'{"packets":10000}')
    yield "samples", message(10, struct.pack("<BBHI", 2, 4, 1, 0) + bytes((203, 0, 113, 9)).ljust(16, b"\0"), request=0)
    yield "samples_none", message(10, b"", request=0)
    yield "refused", message(11, struct.pack("<II", 8, 0) + b"sequence 21 expected")
    yield "discard", message(12, b"")
    guard = struct.pack("<B7x", 4) + bytes((203, 0, 113, 9)).ljust(16, b"\0")
    yield "guard", message(13, HONEST_STORE + struct.pack("<QII", 4, 1, 0) + guard)
    yield "guard_too_many", message(13, HONEST_STORE + struct.pack("<QII", 4, 2, 0) + guard)
    yield "guarded", message(14, struct.pack("<QIIII", 4, 3, 1, 0, 0))
    yield "relieve", message(15, HONEST_STORE + struct.pack("<QII", 4, 1, 0) + guard)
    yield "relieve_too_many", message(15, HONEST_STORE + struct.pack("<QII", 4, 2, 0) + guard)
    yield "relieved", message(16, struct.pack("<QIIII", 4, 1, 0, 0, 0))
    yield "wrong_magic", message(12, b"", magic=0x12345678)
    yield "wrong_version", message(12, b"", version=1)
    yield "unknown_type", message(99, b"")
    yield "size_lies", message(6, struct.pack("<QQ", 4, 20), claimed=8)
    yield "header_cut", message(12, b"")[:15]


# ---- captures: see capture.cpp ---------------------------------------------------------------------

MICRO, NANO, MODIFIED = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34
SHORT = MACS + b"\x08\x00" + ipv4((10, 0, 0, 1), (192, 0, 2, 1), udp(1234, 53))


def classic(records, magic=MICRO, snapshot=65535, link=1, order="<"):
    data = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snapshot, link)
    for captured, original, frame in records:
        data += struct.pack(order + "IIII", 1_700_000_000, 123_456, captured, original)
        data += (b"\0" * 8 if magic == MODIFIED else b"") + frame
    return data


def block(kind, body, order="<"):
    body += b"\0" * (-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def section(order="<"):
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(snapshot=262144, link=1, options=b"", order="<"):
    return block(1, struct.pack(order + "HHI", link, 0, snapshot) + options, order)


def packet(frame, number=0, captured=None, order="<"):
    size = len(frame) if captured is None else captured
    return block(6, struct.pack(order + "IIIII", number, 0x60000, 7, size, size) + frame, order)


def captures():
    one = (len(SHORT), len(SHORT), SHORT)
    yield "micro", classic([one, one])
    yield "nano", classic([one], magic=NANO)
    yield "modified", classic([one], magic=MODIFIED)
    yield "swapped", classic([one], order=">")
    yield "no_packets", classic([])
    yield "empty_packet", classic([(0, 60, b""), one])
    yield "cut_packet", classic([one, (60, 60, SHORT[:20])])
    yield "cut_header", classic([])[:20]
    yield "not_ethernet", classic([one], link=113)
    yield "beyond_snapshot", classic([(64, 64, SHORT.ljust(64, b"\1")), (65, 65, SHORT.ljust(65, b"\1"))], snapshot=64)
    yield "captured_huge", classic([(0xFFFFFFFF, 60, SHORT)])
    yield "snapshot_zero", classic([one], snapshot=0)
    yield "snapshot_huge", classic([one], snapshot=0x7FFFFFFF)
    yield "version", b"\xd4\xc3\xb2\xa1" + bytes(20)
    ng = section() + interface()
    yield "ng", ng + packet(SHORT) + packet(SHORT)
    yield "ng_swapped", section(">") + interface(order=">") + packet(SHORT, order=">")
    yield "ng_no_interface", section() + packet(SHORT)
    yield "ng_second_interface", ng + interface() + packet(SHORT, 1)
    yield "ng_other_link", ng + interface(link=113) + packet(SHORT, 1)
    yield "ng_other_snapshot", ng + interface(snapshot=64) + packet(SHORT, 1)
    yield "ng_unknown_interface", ng + packet(SHORT, 7)
    yield "ng_nanoseconds", section() + interface(options=struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)) + packet(SHORT)
    yield "ng_resolution", section() + interface(options=struct.pack("<HHB3xHH", 9, 1, 0xFF, 0, 0)) + packet(SHORT)
    yield "ng_simple", ng + block(3, struct.pack("<I", len(SHORT)) + SHORT)
    yield "ng_old_packet", ng + block(2, struct.pack("<HHIIII", 0, 0, 0x60000, 7, len(SHORT), len(SHORT)) + SHORT)
    yield "ng_unknown_block", ng + block(0x0BAD, b"something") + packet(SHORT)
    yield "ng_new_section", ng + packet(SHORT) + section() + interface() + packet(SHORT)
    yield "ng_swapped_section", ng + packet(SHORT) + section(">") + interface(order=">") + packet(SHORT, order=">")
    yield "ng_captured_beyond_block", ng + packet(SHORT, captured=5000)
    yield "ng_cut", ng + packet(SHORT)[:-6]


def large_captures():
    """Name, where zeros go, how many, the file without them."""
    for name, size in (("limit", 262144), ("limit_and_one", 262145), ("mebibyte", 1 << 20)):
        whole = section() + interface(snapshot=0x7FFFFFFF) + packet(b"\0" * size)
        at = len(section() + interface()) + 28
        yield "ng_" + name, at, size - 4, whole[:at] + whole[at + size - 4:]
    yield "zero_records", 24, 16 * 9000, classic([])
    yield "classic_mebibyte", 40, 1 << 20, classic([(1 << 20, 1 << 20, b"")], snapshot=0x7FFFFFFF)


# ---- rules -------------------------------------------------------------------------------------

RULES = {
    "plain": "# a comment\n10.0.0.0/8\n192.0.2.1\n2001:db8::/32\n\n198.51.100.7   # trailing\n",
    "plain_faults": "10.0.0.5/8\n1.2.3\n1.2.3.4/33\n01.2.3.4\n::1/129\nnonsense\n1.2.3.4 5.6.7.8\n",
    "netset": "#\n# firehol_level1\n#\n# Maintainer : nobody\n0.0.0.0/8\n5.188.10.0/23\n",
    "crlf": "10.0.0.1\r\n10.0.0.2\r\n",
    "no_newline": "10.0.0.1",
    "nul": "10.0.0.1\0\n10.0.0.2\n",
    "long_line": "1" * 5000 + "\n",
    "zero": "0.0.0.0/0\n::/0\n",
    "spamhaus_text": "; Spamhaus DROP List\n1.10.16.0/20 ; SBL256894\n1.19.0.0/16 ; SBL434604\n",
    "spamhaus_json": '{"cidr":"1.10.16.0/20","sblid":"SBL256894","rir":"apnic"}\n'
                     '{"type":"metadata","timestamp":1700000000,"size":1,"records":1}\n',
    "spamhaus_json_faults": '{"cidr":"1.10.16.0/20"\n{"cidr":7}\n[]\n{"sblid":"x"}\n"\\ud800"\n',
    "ipset_save": "create bad hash:net family inet hashsize 1024 maxelem 65536\nadd bad 10.0.0.0/8\n"
                  'add bad 1.2.3.0/24 timeout 600 comment "x y"\n',
    "ipset_faults": "add bad 1.2.3.4\ncreate bad hash:ip,port\nadd bad 1.2.3.4 nomatch\nadd bad 1.2.3.4 timeout x\n"
                    'add bad 1.2.3.4 comment "open\n',
    "empty": "",
}


# ---- requests to weir-control ------------------------------------------------------------------

def requests():
    verbs = ("status", "ping", "list_show", "list_add", "list_del", "list_replace", "list_export", "check", "plan", "diff",
             "apply", "confirm", "rollback", "generations", "explain", "stats", "drops", "top")
    for verb in verbs:
        yield verb + "_alone", {"verb": verb}
        yield verb + "_more", {"verb": verb, "nobody": 1}
    for verb, fields in (("list_show", {"list": "bans"}), ("list_add", {"list": "bans", "entries": ["203.0.113.9"]}),
                         ("list_add", {"list": "bans", "entries": [{"prefix": "2001:db8::/32", "ttl": 600, "comment": "ssh"}]}),
                         ("list_del", {"list": "bans", "entries": ["203.0.113.9", {"prefix": "10.0.0.0/8"}]}),
                         ("list_replace", {"list": "drop", "file": "list", "force": True}),
                         ("list_export", {"list": "drop", "file": "out"}), ("check", {"config": "weir.yaml"}),
                         ("plan", {"config": "weir.yaml"}), ("plan", {"apply": True}), ("diff", {"config": "weir.yaml"}),
                         ("apply", {"config": "weir.yaml", "confirm_s": 60, "force": False}), ("rollback", {"generation": 1}),
                         ("explain", {"address": "203.0.113.9"}), ("top", {"n": 5})):
        yield verb + "_right_" + str(len(json.dumps(fields))), {"verb": verb, **fields}
        for field in fields:
            for kind, value in (("text", "60"), ("empty", ""), ("negative", -1), ("huge", 2**64 - 1), ("real", 60.5), ("null", None),
                                ("array", [[["x"]]]), ("object", {"prefix": 5, "ttl": -1}), ("flag", True)):
                yield f"{verb}_{field}_{kind}", {"verb": verb, **fields, field: value}
    for name, entry in (("ttl", {"prefix": "192.0.2.7", "ttl": -1}), ("ttl_wraps", {"prefix": "192.0.2.7", "ttl": 2**64 - 1}),
                        ("no_prefix", {"ttl": 5}), ("comment", {"prefix": "192.0.2.7", "comment": "\x1b[2J\n10.0.0.1"}),
                        ("long", "1" * 500), ("number", 5), ("array", ["192.0.2.7"])):
        yield "entry_" + name, {"verb": "list_add", "list": "bans", "entries": ["203.0.113.9", entry]}


RAW_REQUESTS = {
    "nonsense": b"nonsense",
    "deep": b"[" * 2000,
    "deep_field": b'{"verb":"status","x":' + b"[" * 1000 + b"]" * 1000 + b"}",
    "not_utf8": b'{"verb":"explain","address":"caf\xe9"}',
    "nul": b'{"verb":"list_show","list":"a\\u0000b"}\0',
    "twice": b'{"verb":"status","verb":"apply","confirm_s":"60"}',
    "many": b'{"verb":"ping"}\n{"verb":"list_add","list":"bans","entries":["192.0.2.9"]}\n[]\n\n{"verb":"status"}',
}


def main():
    for name, frame in frames():
        write("parse", name, frame)
    for name, data in images():
        write("image", name, data)
    for name, data in filters():
        write("filter", name, data)
    for name, data in trees():
        write("trees", name, data)
    for name, data in messages():
        framed = struct.pack("<H", len(data)) + data
        write("wire", "dataplane_" + name, b"\0" + framed)
        write("wire", "control_" + name, b"\1" + framed)
    every = b"".join(struct.pack("<H", len(data)) + data for _, data in list(messages())[:12])
    write("wire", "dataplane_all", b"\0" + every)
    write("wire", "control_all", b"\1" + every)
    for name, data in captures():
        write("capture", name, struct.pack("<BII", 0, 0, 0) + data)
    write("capture", "twice", struct.pack("<BII", 1, 0, 0) + dict(captures())["micro"])
    for name, at, zeros, data in large_captures():
        write("capture", name, struct.pack("<BII", 0, at, zeros) + data)
    for name, text in RULES.items():
        write("rules", name, text.encode())
    for name, request in requests():
        write("api", name, json.dumps(request).encode())
    for name, data in RAW_REQUESTS.items():
        write("api", name, data)


if __name__ == "__main__":
    main()
