// What weir-control and weir-dataplane say to each other over a SOCK_SEQPACKET unix socket. The
// dataplane listens, control connects. One datagram is one message: a Header, then a payload whose
// size the header repeats. A peer of another version is told so and left.
//
//   control                                  dataplane
//      | <--- hello {store, generation, seq} --- |   at connect; again when another peer has committed
//      | ---- stage {generation, base} + fd ---> |   verified, attached, not published
//      | <--- staged | refused ----------------- |
//      | ---- deltas (target staged) s+1..n ---> |   what happened since the image's base
//      | <--- applied {n} ---------------------- |   only after a grace period
//      | ---- commit {generation, n} ----------> |   publish
//      | <--- committed {swap latency} --------- |   all workers have seen it
//      | ---- deltas (target live) ------------> |   while staged, control sends these to both
//      | <--- applied {n} ---------------------- |
//      | ---- learn {generation, addresses} ---> |   the allow side's filter should not accept these
//      | <--- learned {what could be done} ----- |   after a grace period
//      | ---- relieve {generation, addresses} -> |   compact mode: no rule denies these hosts
//      | <--- relieved {what could be done} ---- |   after a grace period
//      | ---- mark {addresses} --------------> |   offenders by the operator's word, or no longer
//      | <--- marked {what could be done} ---- |
//      | ---- query {json} --------------------> |   stats, explain, info
//      | <--- answer {json}, more flag --------- |
//      | <--- samples {Sample...} -------------- |   unasked
//
// Every request is answered by exactly one message (answers to a query may span several) carrying
// the request's id: staged, applied, committed, learned, relieved, marked, answer, or refused with an Errc and a
// sentence. Deltas, learn and relieve name the store that they come from: they are refused where the image
// is of another one. What is staged belongs to the peer that staged it: deltas to it, commit and discard are
// that peer's alone. After a commit every other peer is greeted anew, so that none takes its rules for those
// in force when they are not. What is to be learned or relieved is no rule: it has no place in the order of
// deltas, and one that is lost costs rate alone, until the next image.
#pragma once

#include "weir/image/delta.hpp"
#include "weir/image/identity.hpp"
#include "weir/key/address.hpp"

#include <array>
#include <cstdint>

namespace weir::wire {

inline constexpr std::uint32_t magic = 0x52494557; // "WEIR"
inline constexpr std::uint16_t version = 6;
inline constexpr std::size_t message_bytes_max = 128 * 1024;

enum class Type : std::uint16_t {
  hello = 1,
  stage = 2,
  staged = 3,
  deltas = 4,
  applied = 5,
  commit = 6,
  committed = 7,
  query = 8,
  answer = 9,
  samples = 10, // followed by one Sample or more, as many as fit
  refused = 11,
  discard = 12, // drop what this peer staged, if anything; answered by `staged` with generation 0
  learn = 13,
  learned = 14,
  relieve = 15,
  relieved = 16,
  mark = 17,
  marked = 18,
};

struct Header {
  std::uint32_t magic = wire::magic;
  std::uint16_t version = wire::version;
  Type type{};
  std::uint32_t payload_bytes = 0;
  std::uint32_t request = 0; // chosen by control, repeated in the answer; 0 in hello and samples
};
static_assert(sizeof(Header) == 16);

inline constexpr std::size_t payload_bytes_max = message_bytes_max - sizeof(Header);

struct Hello {
  image::ImageIdentity live{}; // with the last delta applied; zero when nothing is attached, bytes always
  std::uint32_t process = 0;   // pid, for people
  std::uint32_t began = 0;     // in seconds since 1970, modulo 2^32: a pid comes back, in a container
};
static_assert(sizeof(Hello) == 48);

using Stage = image::ImageIdentity; // one file descriptor comes along
static_assert(sizeof(Stage) == 40);

struct Staged {
  Generation generation{};
  std::uint64_t verify_us = 0;
};

enum class Target : std::uint32_t { live = 0, staged = 1 };

struct Deltas { // followed by `count` image::Delta
  image::StoreId store_id{};
  std::uint64_t first_sequence = 0; // of the first delta; the others follow without gaps
  Target target = Target::live;
  std::uint32_t count = 0;
};
static_assert(sizeof(Deltas) == 32);
inline constexpr std::size_t deltas_max = (payload_bytes_max - sizeof(Deltas)) / sizeof(image::Delta);

struct Applied {
  std::uint64_t sequence = 0; // last delta in force on every worker
  Target target = Target::live;
  std::uint32_t in_overlay = 0;       // of this batch
  std::uint32_t filter_saturated = 0; // 1: the allow side's filter has outgrown its plan, an image is due
  std::uint16_t stack_saturated = 0;  // 1: so has the stacked filter of denied hosts
  std::uint16_t map_saturated = 0;    // 1: many hosts came for which the range map had no room
};
static_assert(sizeof(Applied) == 24);

struct HostAddress {
  Family family = Family::ipv4;
  std::array<std::uint8_t, 7> reserved{};
  std::array<std::uint8_t, 16> address{}; // as Address::bytes
};
static_assert(sizeof(HostAddress) == 24 && std::has_unique_object_representations_v<HostAddress>);

struct Learn { // followed by `count` HostAddress
  image::StoreId store_id{};
  Generation generation{}; // that must be live, else refused
  std::uint32_t count = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Learn) == 32);
inline constexpr std::size_t learn_max = 1024; // addresses a message

struct Learned { // positions of the addresses in the filter's cells
  Generation generation{};
  std::uint32_t sealed = 0, waiting = 0; // now or before; once the keys there have gone
  std::uint32_t refused = 0;             // in use, and cells have no bit to remember it
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Learned) == 24);

// Hosts that a stacked filter denies wrongly: from now on, and in the image that is staged as well, they are
// denied by rules that came as deltas and by prefixes alone. The sender has made sure that no rule names
// them.
struct Relieve { // followed by `count` RelievedAddress
  image::StoreId store_id{};
  Generation generation{}; // that must be live, else refused
  std::uint32_t count = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Relieve) == 32);
using RelievedAddress = HostAddress;
inline constexpr std::size_t relieve_max = 1024; // addresses a message

struct Relieved { // addresses
  Generation generation{};
  std::uint32_t relieved = 0;  // were denied by the filter, and are not any more
  std::uint32_t unchanged = 0; // were not, or a rule that came as a delta denies them
  std::uint32_t no_room = 0;   // the overlay is full: an image is due
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Relieved) == 24);

// The memory of offenders: by address, whatever the element is. `forget`: not an offender until it is told again.
struct Mark { // followed by `count` HostAddress
  std::uint32_t forget = 0;
  std::uint32_t count = 0;
};
static_assert(sizeof(Mark) == 8);
inline constexpr std::size_t mark_max = 1024; // addresses a message

struct Marked {                // addresses
  std::uint32_t done = 0;      // marked or forgotten from now on
  std::uint32_t no_room = 0;   // so many marks are there already
  std::uint32_t in_memory = 0; // marks after this
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Marked) == 16);

struct Commit {
  Generation generation{};
  std::uint64_t sequence = 0; // the staged image must have reached it, else refused bad_sequence
};

struct Committed {
  Generation generation{};
  std::uint64_t swap_ns = 0; // publish to quiesced on every worker
};

struct Answer { // followed by JSON text; texts of one request are joined until more == 0
  std::uint32_t more = 0;
  std::uint32_t reserved = 0;
};

struct Refused {          // followed by the message text
  std::uint32_t code = 0; // Errc
  std::uint32_t reserved = 0;
};

enum class SampleKind : std::uint8_t { passed = 1, denied = 2, filter_false_positive = 3 };

// What else is known of a sampled packet.
inline constexpr std::uint16_t sample_by_default = 1; // no list matched: a negative of the deny side
inline constexpr std::uint16_t sample_by_stack = 2;   // denied by a stacked filter alone: to be checked
inline constexpr std::uint16_t sample_again = 4;      // the same, and the worker met this address of late
inline constexpr std::uint16_t sample_judged = 8;     // of the traffic, denied by such a filter

// Of the memory of offenders: what was told, what no list decided about and the memory did not know, what it knew.
inline constexpr std::uint16_t sample_offender_told = 16, sample_offender_other = 32,
                               sample_offender_met = 64;

struct Sample {
  SampleKind kind = SampleKind::passed;
  Family family = Family::ipv4;
  ListId list{};            // for denied
  std::uint16_t flags = 0;  // sample_by_...
  std::uint16_t one_in = 0; // it stands for so many packets of its sort; 0: the configured samples.rate
  std::array<std::uint8_t, 16> address{};
  std::array<std::uint8_t, 5> traits{}; // key/traits.hpp; of samples of offenders
  std::array<std::uint8_t, 3> reserved{};
};
static_assert(sizeof(Sample) == 32);

} // namespace weir::wire
