// weir's pipeline in P4_16 (PNA), for p4c-dpdk 1.2.4.2 and DPDK's P4 engine (SWX). It decides as the C++
// dataplane does from an image of hash family jhash; what the image holds stands here in registers, which
// p4/export/register_map.hpp describes. p4/README.md draws the pipeline and says what it cannot do.
//
//   parser    port header, Ethernet, tags, SNAP, IPv4 or IPv6  ->  kind: a reason, or "judged by lists"
//   control   policy; deny lists, then allow lists: length map, then of every length from the longest on
//             hash, Seesaw filter, overlay, stack, predictor, one line; counters
//   output    port = reason for what passes, 16 + reason for what is dropped
//
// In front of every frame stands a header from its port: neither PNA nor SWX know how long a packet is.
//
// How it is written follows from what executes it:
// - No loops, no calls. A piece that is needed often is an action behind a table without a key, whose one
//   action is its default: apply() calls it.
// - All state is metadata, every field written before it is read, 255 bytes at most. Results of hashes lie in
//   the first 32 bytes, words that are hashed together lie side by side.
// - Before a header is extracted its length is compared with what is left of the packet.
// - The subset of P4 in use: headers and a struct of bit<8> to bit<64>; Register, Counter, Hash; parser states
//   of assignments and extract() with a transition to a state or select() of one field; actions without
//   parameters; if and else on one comparison of two simple operands; assignments of a simple operand, of one
//   operator (+ - & | ^ << >>) on two of them, of a cast that widens, of read() or get_hash(); write nothing
//   else. A simple operand is meta.x, hdr.y.x or a number. Numbers are unsigned, of the width of what they are
//   assigned to; a shift by that width or more gives 0.
// - The compiler's copy propagation is off (p4/README.md has the command): it would rebuild the large
//   expressions that were taken apart here, and put each part into a metadata field of its own. A last pass
//   that cannot be turned off takes away a field that a block copies something to once and reads once,
//   whatever other blocks do with it: no field is used like that.
#include <core.p4>
#include <dpdk/pna.p4>

// Parameters, numbered as in p4/export/register_map.hpp.
#define CFG_VALID 0
#define CFG_VERDICT_NO_IMAGE 1
#define CFG_VERDICT_MALFORMED 2
#define CFG_VERDICT_NON_IP 3
#define CFG_VERDICT_LINK_LOCAL 4
#define CFG_VERDICT_DEFAULT 5
#define CFG_VERDICT_TOO_MANY_TAGS 8
#define CFG_LOOKUP 32
#define CFG_LOOKUP_STRIDE 32
#define CFG_DEEP_SALT 160
#define CFG_DEEP_SALT_STRIDE 2
#define CFG_GUARD 176
#define CFG_GUARD_LATE 177
#define CFG_GUARD_HASHES 178
#define CFG_GUARD_CELLS_BASE 179
#define CFG_GUARD_CELLS_SHIFT 180
#define CFG_GUARD_MODULATOR_BASE 181
#define CFG_GUARD_MODULATOR_SHIFT 182
#define CFG_GUARD_SALT 184
#define CFG_GUARD_SALT_STRIDE 2
#define CFG_STACK_DEPTH 192
#define CFG_STACK_LAYER 200
#define CFG_STACK_LAYER_STRIDE 8
#define CFG_LENGTH_V4 256
#define CFG_LENGTH_V4_STRIDE 4
#define CFG_LENGTH_V6 320
#define CFG_LENGTH_V6_SIDE_STRIDE 64
#define CFG_LENGTH_V6_STRIDE 8
#define CFG_PORT_JUDGES 448
#define SIDE_IN_USE 0
#define SIDE_DEFAULT_VALUE 1
#define SIDE_TABLE1_BASE 2
#define SIDE_TABLE1_SHIFT 3
#define SIDE_TABLE2_BASE 4
#define SIDE_TABLE2_SHIFT 5
#define SIDE_CHAIN_BASE 6
#define SIDE_GROUP_SHIFT 7
#define SIDE_GROUP_MASK 8
#define SIDE_DEEP_LAYERS 9
#define SIDE_OVERLAY_KEYS 10
#define SIDE_OVERLAY_BASE 11
#define SIDE_OVERLAY_SHIFT 12
#define SIDE_LENGTHS 13
#define SIDE_DEEP 16
#define SIDE_DEEP_SHIFT 17
#define SIDE_DEEP_STRIDE 2
#define LAYER_BASE 0
#define LAYER_SHIFT 1
#define LAYER_HASHES 2
#define LAYER_SALT 3
#define LENGTH_V4_MASK 0
#define LENGTH_V4_SEED 1
#define LENGTH_V6_MASK 0
#define LENGTH_V6_SEED 4
#define LENGTH_V6_LENGTH 6

// Reasons, numbered as weir::Reason; above them what a lookup has to decide yet.
#define NO_IMAGE 0
#define MALFORMED 1
#define NON_IP 2
#define TOO_MANY_TAGS 3
#define LINK_LOCAL 4
#define ALLOW 5
#define DENY 6
#define DEFAULT 8
#define LOOKUP_V4 64
#define LOOKUP_V6 65

#define NO_PORT 63
#define HOST_V4 0x200000 // a length as it stands in a value: 32, 128
#define HOST_V6 0x800000
#define LISTED 0x10000 // a slot's value less what was looked for: below this the list is left
#define TOMBSTONE 0x1000000
#define LMAP_SIDE 0x10000 // cells of a side
#define LENGTH_V4_LAST 60 // 32 - 17 strides
#define CFG_LOOKUP_ALLOW 96 // CFG_LOOKUP and two strides
#define CFG_GUARD_MODULATOR_SALT 188 // the third of CFG_GUARD_SALT
#define NOWHERE 0xFFFFFFFF
#define STEP_GROWTH 0x9E3779B97F4A7C15 // of the positions in a Bloom layer

header from_port_t {
    bit<16> port;
    bit<16> captured; // bytes of the frame that are there
    bit<32> wire; // bytes that it had
}

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header tag_t {
    bit<16> tci;
    bit<16> ether_type;
}

header snap_t {
    bit<32> llc; // DSAP, SSAP, control and the first byte of the organisation
    bit<16> organisation; // the other two
    bit<16> ether_type;
}

header ipv4_t {
    bit<8> version_ihl;
    bit<8> service;
    bit<16> total_length;
    bit<16> identification;
    bit<16> fragment;
    bit<8> hops;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header word_t {
    bit<32> bits;
}

header ipv6_t {
    bit<32> version_class_flow;
    bit<16> payload_length;
    bit<8> next_header;
    bit<8> hops;
    bit<32> source0;
    bit<32> source1;
    bit<32> source2;
    bit<32> source3;
    bit<32> destination0;
    bit<32> destination1;
    bit<32> destination2;
    bit<32> destination3;
}

header icmp_t {
    bit<8> type;
}

struct headers_t {
    from_port_t from_port;
    ethernet_t ethernet;
    tag_t tag1;
    tag_t tag2;
    tag_t tag3;
    tag_t tag4;
    tag_t tag5;
    tag_t tag6;
    tag_t tag7;
    tag_t tag8;
    snap_t snap;
    ipv4_t ipv4;
    word_t option10; // the last of ten words of options, and so on
    word_t option9;
    word_t option8;
    word_t option7;
    word_t option6;
    word_t option5;
    word_t option4;
    word_t option3;
    word_t option2;
    word_t option1;
    word_t ports;
    ipv6_t ipv6;
    icmp_t icmp;
}

struct metadata_t {
    bit<32> h0; // of the key; a hash moves the one before it down: h0 = h1, h1 = new
    bit<32> h1;
    bit<32> g0; // of the key under a salt, the same way
    bit<32> g1;
    bit<32> seed;
    bit<32> a0; // the judged address under the mask of a length, as numbers
    bit<32> a1;
    bit<32> a2;
    bit<32> a3;
    bit<32> b0; // the judged address
    bit<32> b1;
    bit<32> b2;
    bit<32> b3;
    bit<32> kind;
    bit<32> bank; // where in cfg the parameters begin
    bit<32> side; // and those of a side of a family
    bit<32> cells; // where in lmap the cells of a side begin
    bit<32> length_at; // where in cfg the parameters of a length are
    bit<32> layer_at; // and of a layer of the stack or of a predictor
    bit<32> seed_at; // where in cfg the next seed or salt is
    bit<32> mask;
    bit<32> left; // layers or hashes; in the parser, bytes of the packet
    bit<32> line; // the Seesaw filter's first line
    bit<32> i; // index into a register
    bit<32> n;
    bit<32> s; // by how much to shift
    bit<32> t;
    bit<8> go; // 1: this length is not settled yet
    bit<8> guarded; // 1: the Seesaw filter has a say
    bit<8> overlaid; // 1: so has the overlay
    bit<8> home; // 1, 2: the table that a key lives in, if in any
    bit<32> stack_left; // layers that are still to be asked
    bit<64> lens; // IPv4: lengths to be asked for, the longest in the top bit; IPv6: how many
    bit<64> length; // the one asked for, as it stands in a value
    bit<64> wanted; // IPv4: address << 32 | length; IPv6: the first half of the address
    bit<64> wanted2; // the other half
    bit<64> list; // answer of a side: list number + 1, 0 for none
    bit<64> denied; // answer of the deny side
    bit<64> w;
    bit<64> x;
    bit<64> y;
    bit<64> at; // position in a Bloom layer
    bit<64> step;
    bit<64> base; // of the layer
}

// ---- parser ------------------------------------------------------------------------------------

// meta.t becomes 1 if fewer than `bytes` are left.
#define IS_SHORT(bytes) \
    meta.t = meta.left - bytes; \
    meta.t = meta.t >> 31;

#define TAG_TYPES(next) \
            0x8100: next; \
            0x88A8: next; \
            0x9100: next; \
            0x9200: next; \
            0x9300: next;

// A tag: meta.n counts those that name a VLAN, meta.s becomes the type of what follows.
#define TAG(number, next) \
    state tag##number##_fits { \
        IS_SHORT(4) \
        transition select(meta.t) { \
            0: tag##number; \
            default: accept; \
        } \
    } \
    state tag##number { \
        pkt.extract(hdr.tag##number); \
        meta.left = meta.left - 4; \
        meta.s = (bit<32>)hdr.tag##number.tci; \
        meta.s = meta.s & 0xFFF; \
        meta.s = meta.s + 0xFFF; \
        meta.s = meta.s >> 12; \
        meta.n = meta.n + meta.s; \
        meta.s = (bit<32>)hdr.tag##number.ether_type; \
        transition select(meta.n) { \
            3: too_many_tags; \
            default: tag##number##_type; \
        } \
    } \
    state tag##number##_type { \
        transition select(hdr.tag##number.ether_type) { \
            0x0800: ipv4_fits; \
            0x86DD: ipv6_fits; \
            TAG_TYPES(next) \
            default: not_ip; \
        } \
    }

#define OPTION(n, next) \
    state option_##n { \
        pkt.extract(hdr.option##n); \
        transition next; \
    }

// The first ten bits of such an address.
#define OF_THE_LINK \
            0x3FA: link_local; \
            0x3FC: link_local; \
            0x3FD: link_local; \
            0x3FE: link_local; \
            0x3FF: link_local;

parser MainParser(packet_in pkt, out headers_t hdr, inout metadata_t meta,
                  in pna_main_parser_input_metadata_t istd) {
    state start {
        pkt.extract(hdr.from_port);
        meta.kind = MALFORMED;
        meta.b0 = 0;
        meta.b1 = 0;
        meta.b2 = 0;
        meta.b3 = 0;
        meta.a0 = 0;
        meta.a1 = 0;
        meta.a2 = 0;
        meta.a3 = 0;
        meta.left = (bit<32>)hdr.from_port.captured;
        IS_SHORT(14)
        transition select(meta.t) {
            0: ethernet;
            default: accept;
        }
    }
    state ethernet {
        pkt.extract(hdr.ethernet);
        meta.left = meta.left - 14;
        meta.n = 0;
        meta.s = (bit<32>)hdr.ethernet.ether_type;
        transition select(hdr.ethernet.ether_type) {
            0x0800: ipv4_fits;
            0x86DD: ipv6_fits;
            TAG_TYPES(tag1_fits)
            default: not_ip;
        }
    }
    TAG(1, tag2_fits)
    TAG(2, tag3_fits)
    TAG(3, tag4_fits)
    TAG(4, tag5_fits)
    TAG(5, tag6_fits)
    TAG(6, tag7_fits)
    TAG(7, tag8_fits)
    TAG(8, too_many_tags)

    // A length may be followed by a SNAP header, and that by IP.
    state not_ip {
        meta.kind = NON_IP;
        meta.s = meta.s - 0x0600;
        meta.s = meta.s >> 31;
        transition select(meta.s) {
            1: snap_fits;
            default: accept;
        }
    }
    state snap_fits {
        IS_SHORT(8)
        transition select(meta.t) {
            0: snap;
            default: accept;
        }
    }
    state snap {
        pkt.extract(hdr.snap);
        meta.left = meta.left - 8;
        meta.s = (bit<32>)hdr.snap.ether_type;
        meta.s = meta.s - 0x0600;
        meta.s = meta.s >> 31;
        meta.t = hdr.snap.llc >> 8;
        transition select(meta.t) {
            0xAAAA03: snap_type;
            default: accept;
        }
    }
    state snap_type {
        transition select(hdr.snap.ether_type) {
            0x0800: snap_ipv4;
            0x86DD: snap_ipv6;
            TAG_TYPES(too_many_tags)
            default: snap_other;
        }
    }
    state snap_ipv4 {
        meta.kind = MALFORMED;
        transition ipv4_fits;
    }
    state snap_ipv6 {
        meta.kind = MALFORMED;
        transition ipv6_fits;
    }
    state snap_other {
        transition select(meta.s) {
            1: snap_length;
            default: accept;
        }
    }
    // It is a length only of the organisations 00-00-00 and 00-00-F8.
    state snap_length {
        meta.t = hdr.snap.llc & 0xFF;
        transition select(meta.t) {
            0: snap_organisation;
            default: accept;
        }
    }
    state snap_organisation {
        transition select(hdr.snap.organisation) {
            0: too_many_tags;
            0xF8: too_many_tags;
            default: accept;
        }
    }
    state too_many_tags {
        meta.kind = TOO_MANY_TAGS;
        transition accept;
    }
    state link_local {
        meta.kind = LINK_LOCAL;
        transition accept;
    }

    state ipv4_fits {
        IS_SHORT(20)
        transition select(meta.t) {
            0: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        pkt.extract(hdr.ipv4);
        meta.n = (bit<32>)hdr.ipv4.version_ihl;
        meta.t = meta.n >> 4;
        transition select(meta.t) {
            4: ipv4_length;
            default: accept;
        }
    }
    // meta.n becomes the header's length; it is negative what makes the header malformed.
    state ipv4_length {
        meta.n = meta.n & 15;
        meta.n = meta.n << 2;
        meta.t = meta.n - 20;
        meta.s = meta.left - meta.n;
        meta.t = meta.t | meta.s;
        meta.s = (bit<32>)hdr.ipv4.total_length;
        meta.s = meta.s - meta.n;
        meta.t = meta.t | meta.s;
        meta.t = meta.t >> 31;
        transition select(meta.t) {
            0: ipv4_addresses;
            default: accept;
        }
    }
    state ipv4_addresses {
        meta.kind = LOOKUP_V4;
        meta.b0 = hdr.ipv4.source;
        meta.a0 = hdr.ipv4.destination;
        transition select(hdr.ipv4.source) {
            0: to_everybody;
            default: accept;
        }
    }
    // A request of a DHCP client: no address yet, to everybody, UDP, no later fragment, from port 68 to
    // port 67.
    state to_everybody {
        transition select(hdr.ipv4.destination) {
            0xFFFFFFFF: udp;
            default: accept;
        }
    }
    state udp {
        transition select(hdr.ipv4.protocol) {
            17: first_fragment;
            default: accept;
        }
    }
    state first_fragment {
        meta.t = (bit<32>)hdr.ipv4.fragment;
        meta.t = meta.t & 0x1FFF;
        transition select(meta.t) {
            0: ports_fit;
            default: accept;
        }
    }
    state ports_fit {
        meta.left = meta.left - meta.n;
        IS_SHORT(4)
        transition select(meta.t) {
            0: options;
            default: accept;
        }
    }
    state options {
        transition select(meta.n) {
            20: ports;
            24: option_1;
            28: option_2;
            32: option_3;
            36: option_4;
            40: option_5;
            44: option_6;
            48: option_7;
            52: option_8;
            56: option_9;
            default: option_10;
        }
    }
    OPTION(10, option_9)
    OPTION(9, option_8)
    OPTION(8, option_7)
    OPTION(7, option_6)
    OPTION(6, option_5)
    OPTION(5, option_4)
    OPTION(4, option_3)
    OPTION(3, option_2)
    OPTION(2, option_1)
    OPTION(1, ports)
    state ports {
        pkt.extract(hdr.ports);
        transition select(hdr.ports.bits) {
            0x00440043: link_local;
            default: accept;
        }
    }

    state ipv6_fits {
        IS_SHORT(40)
        transition select(meta.t) {
            0: ipv6;
            default: accept;
        }
    }
    state ipv6 {
        pkt.extract(hdr.ipv6);
        meta.left = meta.left - 40;
        meta.t = hdr.ipv6.version_class_flow >> 28;
        transition select(meta.t) {
            6: ipv6_addresses;
            default: accept;
        }
    }
    state ipv6_addresses {
        meta.kind = LOOKUP_V6;
        meta.b0 = hdr.ipv6.source0;
        meta.b1 = hdr.ipv6.source1;
        meta.b2 = hdr.ipv6.source2;
        meta.b3 = hdr.ipv6.source3;
        meta.a0 = hdr.ipv6.destination0;
        meta.a1 = hdr.ipv6.destination1;
        meta.a2 = hdr.ipv6.destination2;
        meta.a3 = hdr.ipv6.destination3;
        transition select(hdr.ipv6.next_header) {
            58: from_the_link;
            default: accept;
        }
    }
    // Neighbour and router discovery, of which one address must be of the link: fe80::/10, ff00::/8 or `::`.
    state from_the_link {
        transition select(hdr.ipv6.hops) {
            255: icmp_fits;
            default: accept;
        }
    }
    state icmp_fits {
        IS_SHORT(1)
        transition select(meta.t) {
            0: icmp;
            default: accept;
        }
    }
    state icmp {
        pkt.extract(hdr.icmp);
        transition select(hdr.icmp.type) {
            133: from_link;
            134: from_link;
            135: from_link;
            136: from_link;
            137: from_link;
            default: accept;
        }
    }
    state from_link {
        meta.t = meta.b0 >> 22;
        transition select(meta.t) {
            OF_THE_LINK
            0: from_nobody;
            default: to_link;
        }
    }
    state from_nobody {
        meta.t = meta.b0 | meta.b1;
        meta.t = meta.t | meta.b2;
        meta.t = meta.t | meta.b3;
        transition select(meta.t) {
            0: link_local;
            default: to_link;
        }
    }
    state to_link {
        meta.t = meta.a0 >> 22;
        transition select(meta.t) {
            OF_THE_LINK
            0: to_nobody;
            default: accept;
        }
    }
    state to_nobody {
        meta.t = meta.a0 | meta.a1;
        meta.t = meta.t | meta.a2;
        meta.t = meta.t | meta.a3;
        transition select(meta.t) {
            0: link_local;
            default: accept;
        }
    }
}

control PreControl(in headers_t hdr, inout metadata_t meta, in pna_pre_input_metadata_t istd,
                   inout pna_pre_output_metadata_t ostd) {
    apply {
    }
}

// ---- registers ---------------------------------------------------------------------------------

Register<bit<32>, bit<32>>(1) bank;
Register<bit<32>, bit<32>>(1024) cfg;
Register<bit<64>, bit<32>>(262144) lmap;
Register<bit<64>, bit<32>>(1048576) slots4;
Register<bit<64>, bit<32>>(262144) slots6;
Register<bit<64>, bit<32>>(131072) chain;
Register<bit<64>, bit<32>>(131072) filter;
Register<bit<64>, bit<64>>(131072) stack;
Counter<bit<64>, bit<32>>(64, PNA_CounterType_t.PACKETS) packets;
Counter<bit<64>, bit<32>>(64, PNA_CounterType_t.BYTES) bytes;
Counter<bit<64>, bit<64>>(65536, PNA_CounterType_t.PACKETS) list_hits;
Hash<bit<32>>(PNA_HashAlgorithm_t.IDENTITY) jhash; // the first of them is SWX's jhash, start value 0

// ---- control -----------------------------------------------------------------------------------

#define PARAMETER(field, number) \
    meta.i = meta.bank + number; \
    meta.field = cfg.read(meta.i);
#define SIDE_PARAMETER(field, number) \
    meta.i = meta.side + number; \
    meta.field = cfg.read(meta.i);

#define SUBROUTINE(name) \
    table name { \
        actions = { \
            do_##name; \
        } \
        const default_action = do_##name(); \
        size = 1; \
    }

// Is the slot at i the one wanted? Less what was wanted, its value is the list alone; in an overlay, with
// the flag of a tombstone, it says that there is none.
#define FOUND \
    meta.list = meta.w; \
    meta.lens = 0; \
    meta.go = 0;
#define ABSENT_IF_TOMBSTONE \
    meta.w = meta.w ^ TOMBSTONE; \
    if (meta.w < LISTED) { \
        meta.go = 0; \
    }
#define SLOT_V4(unless_found) \
    meta.w = slots4.read(meta.n); \
    meta.w = meta.w ^ meta.wanted; \
    if (meta.w < LISTED) { \
        FOUND \
    } \
    unless_found \
    meta.n = meta.n + 1;
#define LINE_V4(unless_found) \
    meta.n = meta.n << 3; \
    meta.n = meta.n + meta.t; \
    SLOT_V4(unless_found) \
    SLOT_V4(unless_found) \
    SLOT_V4(unless_found) \
    SLOT_V4(unless_found) \
    SLOT_V4(unless_found) \
    SLOT_V4(unless_found) \
    SLOT_V4(unless_found) \
    SLOT_V4(unless_found)
#define SLOT_V6(unless_found) \
    meta.w = slots6.read(meta.n); \
    if (meta.w == meta.wanted) { \
        meta.i = meta.n + 1; \
        meta.w = slots6.read(meta.i); \
        if (meta.w == meta.wanted2) { \
            meta.i = meta.i + 1; \
            meta.w = slots6.read(meta.i); \
            meta.w = meta.w ^ meta.length; \
            if (meta.w < LISTED) { \
                FOUND \
            } \
            unless_found \
        } \
    } \
    meta.n = meta.n + 3;
#define LINE_V6(unless_found) \
    meta.n = meta.n << 4; \
    meta.n = meta.n + meta.t; \
    SLOT_V6(unless_found) \
    SLOT_V6(unless_found) \
    SLOT_V6(unless_found)

// n becomes the 32 bits of g below those that g0 >> s takes.
#define REST_OF_G \
    meta.n = meta.g1 >> meta.s; \
    meta.i = 32; \
    meta.i = meta.i - meta.s; \
    meta.g0 = meta.g0 << meta.i; \
    meta.n = meta.n | meta.g0;
// w becomes the next cell of the line at t: 0 to 3 its count, 4 if it is sealed.
#define GUARD_CELL \
    meta.s = meta.n >> 28; \
    meta.s = meta.s << 2; \
    meta.n = meta.n << 4; \
    meta.i = meta.n >> 29; \
    meta.i = meta.i + meta.t; \
    meta.n = meta.n << 3; \
    meta.w = filter.read(meta.i); \
    meta.w = meta.w >> meta.s; \
    meta.w = meta.w & 7;
// One of the key's functions. Absent: no count, unless in the first sealed cell, which y keeps.
#define GUARD_FUNCTION \
    GUARD_CELL \
    if (meta.w == 0) { \
        meta.go = 0; \
    } \
    if (meta.w >= 4) { \
        if (meta.y == 0) { \
            meta.y = meta.w; \
        } else if (meta.w == 4) { \
            meta.go = 0; \
        } \
    }

// One position in a Bloom layer; left becomes 0 at the first bit that is not set.
#define BLOOM_BIT(number) \
    if (meta.left > number) { \
        meta.x = meta.at >> meta.s; \
        meta.y = meta.x >> 6; \
        meta.y = meta.y + meta.base; \
        meta.x = meta.x & 63; \
        meta.w = stack.read(meta.y); \
        meta.w = meta.w >> meta.x; \
        meta.w = meta.w & 1; \
        if (meta.w == 0) { \
            meta.left = 0; \
        } \
        meta.at = meta.at + meta.step; \
        meta.step = meta.step + STEP_GROWTH; \
    }

// ---- what is applied again and again -----------------------------------------------------------

#define SALT \
    salted_hash.apply(); \
    salted_hash.apply();
#define DEEP_LAYER \
    if (meta.left != 0) { \
        SALT \
        ask_deep_layer.apply(); \
    }
#define STACK_LAYER \
    if (meta.stack_left != 0) { \
        begin_stack_layer.apply(); \
        SALT \
        ask_stack_layer.apply(); \
    }
#define WHOLE_STACK \
    STACK_LAYER STACK_LAYER STACK_LAYER STACK_LAYER STACK_LAYER STACK_LAYER STACK_LAYER
#define NO_STACK

// The next length, from the longest on: a filter may settle it, the line where its key would live does.
#define LENGTH(STACK) \
    if (meta.lens != 0) { \
        if (meta.kind == LOOKUP_V4) { \
            next_v4.apply(); \
        } else { \
            next_v6.apply(); \
            hash_v6.apply(); \
            hash_v6.apply(); \
        } \
        if (meta.guarded != 0) { \
            begin_guard.apply(); \
            SALT \
            ask_guard_line.apply(); \
            if (meta.left != 0) { \
                SALT \
                ask_guard_line.apply(); \
            } \
            if (meta.y != 0) { \
                begin_modulator.apply(); \
                SALT \
                ask_modulator.apply(); \
            } \
        } \
        if (meta.go != 0) { \
            if (meta.overlaid != 0) { \
                ask_overlay.apply(); \
            } \
            if (meta.go != 0) { \
                STACK \
                if (meta.go != 0) { \
                    predict.apply(); \
                    DEEP_LAYER DEEP_LAYER DEEP_LAYER DEEP_LAYER DEEP_LAYER DEEP_LAYER \
                    ask_line.apply(); \
                } \
            } \
        } \
    }
#define FIVE_LENGTHS LENGTH(NO_STACK) LENGTH(NO_STACK) LENGTH(NO_STACK) LENGTH(NO_STACK) LENGTH(NO_STACK)
// Hosts, which alone the stack knows, come first if at all.
#define SIXTEEN_LENGTHS LENGTH(WHOLE_STACK) FIVE_LENGTHS FIVE_LENGTHS FIVE_LENGTHS

#define LEAVE(number) \
    if (meta.t == number) { \
        send_to_port((PortId_t)number); \
    }

control MainControl(inout headers_t hdr, inout metadata_t meta, in pna_main_input_metadata_t istd,
                    inout pna_main_output_metadata_t ostd) {
    // ---- a packet ------------------------------------------------------------------------------

    action do_begin() {
        meta.i = 0;
        meta.bank = bank.read(meta.i);
        meta.cells = meta.bank << 17;
        meta.bank = meta.bank << 9;
        meta.list = 0;
        meta.denied = 0;
        meta.mask = 0;
        meta.length = 0;
        meta.wanted2 = 0;
        meta.seed_at = 0;
        PARAMETER(t, CFG_VALID)
        if (meta.t == 0) {
            meta.kind = NO_IMAGE;
        }
        // Which address is judged.
        meta.i = (bit<32>)hdr.from_port.port;
        if (meta.i < 64) {
            meta.i = meta.i + CFG_PORT_JUDGES;
            meta.i = meta.i + meta.bank;
            meta.t = cfg.read(meta.i);
            if (meta.t != 0) {
                meta.b0 = meta.a0;
                meta.b1 = meta.a1;
                meta.b2 = meta.a2;
                meta.b3 = meta.a3;
            }
        }
    }
    SUBROUTINE(begin)

    // t becomes the output port.
    action do_finish() {
        meta.t = 0;
        if (meta.kind == DEFAULT) {
            PARAMETER(t, CFG_VERDICT_DEFAULT)
        } else if (meta.kind == DENY) {
            meta.t = 1;
        } else if (meta.kind == NO_IMAGE) {
            PARAMETER(t, CFG_VERDICT_NO_IMAGE)
        } else if (meta.kind == MALFORMED) {
            PARAMETER(t, CFG_VERDICT_MALFORMED)
        } else if (meta.kind == LINK_LOCAL) {
            PARAMETER(t, CFG_VERDICT_LINK_LOCAL)
        } else if (meta.kind == TOO_MANY_TAGS) {
            PARAMETER(t, CFG_VERDICT_TOO_MANY_TAGS)
        } else if (meta.kind != ALLOW) {
            PARAMETER(t, CFG_VERDICT_NON_IP)
        }
        meta.t = meta.t << 4;
        meta.t = meta.t + meta.kind;
        packets.count(meta.kind);
        bytes.count(meta.kind, hdr.from_port.wire);
        if (meta.list != 0) {
            list_hits.count(meta.list);
        }
    }
    SUBROUTINE(finish)

    // ---- a side of a family --------------------------------------------------------------------

    action do_begin_v4() {
        meta.mask = 0xFFFFFFFF;
        meta.length = HOST_V4;
        meta.length_at = meta.bank + CFG_LENGTH_V4;
        meta.length_at = meta.length_at + LENGTH_V4_LAST;
        SIDE_PARAMETER(t, SIDE_IN_USE)
        if (meta.t != 0) {
            meta.i = meta.b0 >> 16;
            meta.i = meta.i + meta.cells;
            meta.w = lmap.read(meta.i);
            meta.list = meta.w & 0xFFFF;
            meta.lens = meta.w & 0xFFFF00000000;
            meta.lens = meta.lens << 16;
        }
        if (meta.list == 0) {
            SIDE_PARAMETER(t, SIDE_DEFAULT_VALUE)
            meta.t = meta.t & 0xFFFF;
            meta.list = (bit<64>)meta.t;
        }
        SIDE_PARAMETER(t, SIDE_OVERLAY_KEYS)
        if (meta.t != 0) {
            meta.overlaid = 1;
        }
    }
    SUBROUTINE(begin_v4)

    action do_begin_v6() {
        meta.side = meta.side + CFG_LOOKUP_STRIDE;
        SIDE_PARAMETER(t, SIDE_LENGTHS)
        meta.lens = (bit<64>)meta.t;
        SIDE_PARAMETER(t, SIDE_OVERLAY_KEYS)
        if (meta.t != 0) {
            meta.overlaid = 1;
        }
    }
    SUBROUTINE(begin_v6)

    // ---- a length ------------------------------------------------------------------------------

#define SKIP_V4(bits, lengths, strides, limit) \
        if (meta.lens < limit) { \
            meta.lens = meta.lens << bits; \
            meta.mask = meta.mask << bits; \
            meta.length = meta.length - lengths; \
            meta.length_at = meta.length_at - strides; \
        }

    // Eight bytes side by side are hashed: the seed, then the address.
    action do_next_v4() {
        SKIP_V4(8, 0x80000, 32, 0x0100000000000000)
        SKIP_V4(4, 0x40000, 16, 0x1000000000000000)
        SKIP_V4(2, 0x20000, 8, 0x4000000000000000)
        SKIP_V4(1, 0x10000, 4, 0x8000000000000000)
        meta.a0 = meta.b0 & meta.mask;
        meta.wanted = (bit<64>)meta.a0;
        meta.wanted = meta.wanted << 32;
        meta.i = meta.length_at + LENGTH_V4_SEED;
        meta.seed = cfg.read(meta.i);
        meta.x = (bit<64>)meta.seed;
        meta.x = meta.x | meta.wanted;
        meta.h0 = jhash.get_hash(meta.x);
        meta.i = meta.i + 1;
        meta.seed = cfg.read(meta.i);
        meta.x = (bit<64>)meta.seed;
        meta.x = meta.x | meta.wanted;
        meta.h1 = jhash.get_hash(meta.x);
        meta.wanted = meta.wanted | meta.length;
        if (meta.length != HOST_V4) {
            meta.stack_left = 0;
        }
        meta.lens = meta.lens << 1;
        meta.mask = meta.mask << 1;
        meta.length = meta.length - 0x10000;
        meta.length_at = meta.length_at - CFG_LENGTH_V4_STRIDE;
        meta.go = 1;
    }
    SUBROUTINE(next_v4)

    action do_next_v6() {
        meta.i = meta.length_at + LENGTH_V6_MASK;
        meta.t = cfg.read(meta.i);
        meta.a0 = meta.b0 & meta.t;
        meta.i = meta.i + 1;
        meta.t = cfg.read(meta.i);
        meta.a1 = meta.b1 & meta.t;
        meta.i = meta.i + 1;
        meta.t = cfg.read(meta.i);
        meta.a2 = meta.b2 & meta.t;
        meta.i = meta.i + 1;
        meta.t = cfg.read(meta.i);
        meta.a3 = meta.b3 & meta.t;
        meta.wanted = (bit<64>)meta.a0;
        meta.wanted = meta.wanted << 32;
        meta.x = (bit<64>)meta.a1;
        meta.wanted = meta.wanted | meta.x;
        meta.wanted2 = (bit<64>)meta.a2;
        meta.wanted2 = meta.wanted2 << 32;
        meta.x = (bit<64>)meta.a3;
        meta.wanted2 = meta.wanted2 | meta.x;
        meta.i = meta.length_at + LENGTH_V6_LENGTH;
        meta.t = cfg.read(meta.i);
        meta.length = (bit<64>)meta.t;
        meta.length = meta.length << 16;
        if (meta.length != HOST_V6) {
            meta.stack_left = 0;
        }
        meta.seed_at = meta.length_at + LENGTH_V6_SEED;
        meta.length_at = meta.length_at + CFG_LENGTH_V6_STRIDE;
        meta.lens = meta.lens - 1;
        meta.h1 = 0;
        meta.go = 1;
    }
    SUBROUTINE(next_v6)

    action do_hash_v6() {
        meta.seed = cfg.read(meta.seed_at);
        meta.seed_at = meta.seed_at + 1;
        meta.h0 = meta.h1;
        meta.h1 = jhash.get_hash({ meta.seed, meta.a0, meta.a1, meta.a2, meta.a3 });
    }
    SUBROUTINE(hash_v6)

    action do_salted_hash() {
        meta.seed = cfg.read(meta.seed_at);
        meta.seed_at = meta.seed_at + 1;
        meta.g0 = meta.g1;
        meta.g1 = jhash.get_hash({ meta.seed, meta.h0, meta.h1 });
    }
    SUBROUTINE(salted_hash)

    // ---- the Seesaw filter ---------------------------------------------------------------------

    // Up to four functions stand two to a line, more three.
    action do_begin_guard() {
        meta.seed_at = meta.bank + CFG_GUARD_SALT;
        PARAMETER(left, CFG_GUARD_HASHES)
        meta.home = 2;
        if (meta.left > 4) {
            meta.home = 3;
        }
        meta.line = NOWHERE;
        meta.y = 0;
    }
    SUBROUTINE(begin_guard)

    action do_ask_guard_line() {
        PARAMETER(s, CFG_GUARD_CELLS_SHIFT)
        PARAMETER(t, CFG_GUARD_CELLS_BASE)
        meta.i = meta.g0 >> meta.s;
        meta.i = meta.i << 3;
        meta.t = meta.t + meta.i;
        REST_OF_G
        if (meta.line == NOWHERE) {
            meta.line = meta.line & meta.t; // of all ones: t
        }
        GUARD_FUNCTION
        if (meta.left > 1) {
            GUARD_FUNCTION
        }
        if (meta.home == 2) {
            meta.t = 2;
        } else {
            if (meta.left > 2) {
                GUARD_FUNCTION
            }
            meta.t = 3;
        }
        if (meta.left > meta.t) {
            meta.left = meta.left - meta.t;
        } else {
            meta.left = 0;
        }
    }
    SUBROUTINE(ask_guard_line)

    action do_begin_modulator() {
        meta.seed_at = meta.bank + CFG_GUARD_MODULATOR_SALT;
    }
    SUBROUTINE(begin_modulator)

    // The second round, for a key with a sealed cell. Absent: no count in the modulator; none in the backup
    // cell or, if that is sealed too, in the first sealed one.
    action do_ask_modulator() {
        PARAMETER(s, CFG_GUARD_MODULATOR_SHIFT)
        PARAMETER(t, CFG_GUARD_MODULATOR_BASE)
        meta.i = meta.g0 >> meta.s;
        meta.t = meta.t + meta.i;
        REST_OF_G
        meta.w = filter.read(meta.t);
        meta.s = meta.n >> 27;
        meta.s = meta.s << 1;
        meta.w = meta.w >> meta.s;
        meta.w = meta.w & 3;
        if (meta.w == 0) {
            meta.go = 0;
        }
        meta.n = meta.n << 5;
        meta.t = meta.line;
        GUARD_CELL
        if (meta.w == 0) {
            meta.go = 0;
        }
        if (meta.w >= 4) {
            if (meta.y == 4) {
                meta.go = 0;
            }
        }
    }
    SUBROUTINE(ask_modulator)

    // ---- the stack of denied hosts -------------------------------------------------------------

    action do_begin_stack_layer() {
        meta.seed_at = meta.layer_at + LAYER_SALT;
    }
    SUBROUTINE(begin_stack_layer)

    // The first layer that rejects decides: an odd one that the host is absent, an even one that it is not.
    action do_ask_stack_layer() {
        meta.at = (bit<64>)meta.g0;
        meta.at = meta.at << 32;
        meta.x = (bit<64>)meta.g1;
        meta.at = meta.at | meta.x;
        meta.step = meta.x << 32;
        meta.x = (bit<64>)meta.g0;
        meta.step = meta.step | meta.x;
        meta.i = meta.layer_at + LAYER_BASE;
        meta.t = cfg.read(meta.i);
        meta.base = (bit<64>)meta.t;
        meta.i = meta.layer_at + LAYER_SHIFT;
        meta.s = cfg.read(meta.i);
        meta.i = meta.layer_at + LAYER_HASHES;
        meta.left = cfg.read(meta.i);
        BLOOM_BIT(0)
        BLOOM_BIT(1)
        BLOOM_BIT(2)
        BLOOM_BIT(3)
        BLOOM_BIT(4)
        BLOOM_BIT(5)
        BLOOM_BIT(6)
        BLOOM_BIT(7)
        BLOOM_BIT(8)
        BLOOM_BIT(9)
        BLOOM_BIT(10)
        BLOOM_BIT(11)
        BLOOM_BIT(12)
        BLOOM_BIT(13)
        BLOOM_BIT(14)
        BLOOM_BIT(15)
        meta.layer_at = meta.layer_at + CFG_STACK_LAYER_STRIDE;
        if (meta.left == 0) {
            meta.stack_left = 0;
            if (meta.home == 1) {
                meta.go = 0;
            }
        } else {
            meta.stack_left = meta.stack_left - 1;
            meta.home = meta.home ^ 3;
        }
    }
    SUBROUTINE(ask_stack_layer)

    // ---- the tables ----------------------------------------------------------------------------

    action do_ask_overlay() {
        SIDE_PARAMETER(s, SIDE_OVERLAY_SHIFT)
        SIDE_PARAMETER(t, SIDE_OVERLAY_BASE)
        meta.n = meta.h0 >> meta.s;
        if (meta.kind == LOOKUP_V4) {
            LINE_V4(ABSENT_IF_TOMBSTONE)
            meta.n = meta.h1 >> meta.s;
            LINE_V4(ABSENT_IF_TOMBSTONE)
        } else {
            LINE_V6(ABSENT_IF_TOMBSTONE)
            meta.n = meta.h1 >> meta.s;
            LINE_V6(ABSENT_IF_TOMBSTONE)
        }
    }
    SUBROUTINE(ask_overlay)

    // The predictor's first layer, a bit for each line of table 1 and group.
    action do_predict() {
        SIDE_PARAMETER(s, SIDE_TABLE1_SHIFT)
        meta.t = meta.h0 >> meta.s;
        SIDE_PARAMETER(s, SIDE_GROUP_SHIFT)
        meta.t = meta.t << meta.s;
        SIDE_PARAMETER(s, SIDE_GROUP_MASK)
        meta.s = meta.s & meta.h1;
        meta.t = meta.t | meta.s;
        SIDE_PARAMETER(n, SIDE_CHAIN_BASE)
        meta.s = meta.t >> 6;
        meta.n = meta.n + meta.s;
        meta.w = chain.read(meta.n);
        meta.s = meta.t & 63;
        meta.w = meta.w >> meta.s;
        meta.w = meta.w & 1;
        meta.home = 1;
        meta.left = 0;
        if (meta.w != 0) {
            meta.home = 2;
            SIDE_PARAMETER(left, SIDE_DEEP_LAYERS)
            meta.seed_at = meta.bank + CFG_DEEP_SALT;
            meta.layer_at = meta.side + SIDE_DEEP;
        }
    }
    SUBROUTINE(predict)

    // A key that a deeper layer does not hold stays where it was sent; another one goes the other way, and
    // the next layer is asked.
    action do_ask_deep_layer() {
        meta.t = cfg.read(meta.layer_at);
        meta.i = meta.layer_at + 1;
        meta.s = cfg.read(meta.i);
        meta.layer_at = meta.layer_at + SIDE_DEEP_STRIDE;
        meta.i = meta.g0 >> meta.s;
        meta.i = meta.i + meta.t;
        meta.w = chain.read(meta.i);
        meta.s = meta.g1 & 63;
        meta.x = meta.w >> meta.s;
        meta.g1 = meta.g1 >> 6;
        meta.s = meta.g1 & 63;
        meta.y = meta.w >> meta.s;
        meta.x = meta.x & meta.y;
        meta.g1 = meta.g1 >> 6;
        meta.s = meta.g1 & 63;
        meta.y = meta.w >> meta.s;
        meta.x = meta.x & meta.y;
        meta.x = meta.x & 1;
        if (meta.x == 0) {
            meta.left = 0;
        } else {
            meta.left = meta.left - 1;
            meta.home = meta.home ^ 3;
        }
    }
    SUBROUTINE(ask_deep_layer)

    action do_ask_line() {
        if (meta.home == 1) {
            SIDE_PARAMETER(s, SIDE_TABLE1_SHIFT)
            SIDE_PARAMETER(t, SIDE_TABLE1_BASE)
            meta.n = meta.h0 >> meta.s;
        } else {
            SIDE_PARAMETER(s, SIDE_TABLE2_SHIFT)
            SIDE_PARAMETER(t, SIDE_TABLE2_BASE)
            meta.n = meta.h1 >> meta.s;
        }
        if (meta.kind == LOOKUP_V4) {
            LINE_V4()
        } else {
            LINE_V6()
        }
    }
    SUBROUTINE(ask_line)

    // ---- all of it -----------------------------------------------------------------------------

#define SIDE \
            meta.list = 0; \
            meta.lens = 0; \
            meta.overlaid = 0; \
            meta.go = 0; \
            meta.g1 = 0; \
            if (meta.kind == LOOKUP_V4) { \
                begin_v4.apply(); \
            } else { \
                begin_v6.apply(); \
            } \
            SIXTEEN_LENGTHS

    apply {
        begin.apply();
        if (meta.kind >= LOOKUP_V4) {
            meta.side = meta.bank + CFG_LOOKUP;
            meta.length_at = meta.bank + CFG_LENGTH_V6;
            meta.guarded = 0;
            meta.layer_at = meta.bank + CFG_STACK_LAYER;
            meta.home = 1;
            PARAMETER(stack_left, CFG_STACK_DEPTH)
            SIDE
            meta.denied = meta.list;
            meta.list = 0;

            // The allow side, which may be left out where nothing is denied.
            PARAMETER(t, CFG_GUARD_LATE)
            if (meta.denied != 0) {
                meta.t = 0;
            }
            if (meta.t == 0) {
                meta.side = meta.bank + CFG_LOOKUP_ALLOW;
                meta.length_at = meta.bank + CFG_LENGTH_V6;
                meta.length_at = meta.length_at + CFG_LENGTH_V6_SIDE_STRIDE;
                meta.cells = meta.cells + LMAP_SIDE;
                meta.stack_left = 0;
                PARAMETER(t, CFG_GUARD)
                if (meta.t != 0) {
                    meta.guarded = 1;
                }
                SIDE
            }
            meta.kind = DEFAULT;
            if (meta.list != 0) {
                meta.kind = ALLOW;
            } else if (meta.denied != 0) {
                meta.kind = DENY;
                meta.list = meta.denied;
            }
        }
        finish.apply();
        // PNA takes nothing but constants here. No port: a verdict that is neither 0 nor 1.
        send_to_port((PortId_t)NO_PORT);
        LEAVE(0)
        LEAVE(1)
        LEAVE(2)
        LEAVE(3)
        LEAVE(4)
        LEAVE(5)
        LEAVE(8)
        LEAVE(16)
        LEAVE(17)
        LEAVE(18)
        LEAVE(19)
        LEAVE(20)
        LEAVE(22)
        LEAVE(24)
    }
}

control MainDeparser(packet_out pkt, in headers_t hdr, in metadata_t meta, in pna_main_output_metadata_t ostd) {
    apply {
        pkt.emit(hdr.ethernet);
        pkt.emit(hdr.tag1);
        pkt.emit(hdr.tag2);
        pkt.emit(hdr.tag3);
        pkt.emit(hdr.tag4);
        pkt.emit(hdr.tag5);
        pkt.emit(hdr.tag6);
        pkt.emit(hdr.tag7);
        pkt.emit(hdr.tag8);
        pkt.emit(hdr.snap);
        pkt.emit(hdr.ipv4);
        pkt.emit(hdr.option10);
        pkt.emit(hdr.option9);
        pkt.emit(hdr.option8);
        pkt.emit(hdr.option7);
        pkt.emit(hdr.option6);
        pkt.emit(hdr.option5);
        pkt.emit(hdr.option4);
        pkt.emit(hdr.option3);
        pkt.emit(hdr.option2);
        pkt.emit(hdr.option1);
        pkt.emit(hdr.ports);
        pkt.emit(hdr.ipv6);
        pkt.emit(hdr.icmp);
    }
}

PNA_NIC(MainParser(), PreControl(), MainControl(), MainDeparser()) main;
