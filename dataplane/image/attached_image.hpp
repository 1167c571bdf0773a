// An image that passed the trust border, with what the dataplane keeps beside it: the mapping, the
// only writer, copies for other NUMA nodes, the applied sequence, list number -> counter slot, packets judged by
// each worker.
#pragma once

#include "dataplane/count/counters.hpp"
#include "dataplane/image/image_copies.hpp"
#include "dataplane/image/list_actions.hpp"
#include "dataplane/image/rule_tables.hpp"
#include "dataplane/sources/offender_memories.hpp"
#include "weir/base/result.hpp"
#include "weir/image/view.hpp"
#include "weir/image/writer.hpp"

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::dataplane {

// Owns a mapping of a whole image file; unmaps at the end.
class Mapping {
public:
  Mapping() = default;
  Mapping(std::byte *data, std::size_t bytes) noexcept : data_(data), bytes_(bytes) {}
  Mapping(Mapping &&other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping &operator=(Mapping &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();
  [[nodiscard]] MutableBytes bytes() const noexcept { return {data_, bytes_}; }

private:
  std::byte *data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct alignas(cache_line_bytes) PaddedCounter {
  Counter packets;
};

// The counter slots that an image's lists hold; lets go of them at the end, when no worker has the image.
class HeldSlots {
public:
  HeldSlots() = default;
  HeldSlots(const HeldSlots &) = delete;
  HeldSlots &operator=(const HeldSlots &) = delete;
  ~HeldSlots() {
    for (const CounterSlot slot : held_) from_->let_go(slot);
  }
  [[nodiscard]] CounterSlot hold(ListSlots &from, std::string_view name) {
    from_ = &from;
    held_.push_back(from.hold(name));
    return held_.back();
  }

private:
  ListSlots *from_ = nullptr;
  std::vector<CounterSlot> held_;
};

struct AttachedImage {
  image::ImageView view;
  Mapping mapping;
  bool hugepages = false;
  std::uint64_t image_bytes = 0; // of the image, without the rounding of the mapping
  Generation generation{};
  std::atomic<std::uint64_t> sequence{0}; // last delta applied; the service thread writes, others look
  image::StoreId store_id{};
  std::optional<image::ImageWriter> writer;
  // Makes the writer's grace callback wait for workers; false while nobody reads this image.
  std::shared_ptr<bool> in_force = std::make_shared<bool>(false);
  PerNumber<ListId, CounterSlot> slot_of_list{};
  HeldSlots held_slots;
  std::bitset<image::lists_max> lists; // numbers that the image has
  std::vector<PaddedCounter> packets_by_worker;

  std::unique_ptr<RuleTables> rules;               // null: the image has no packet rules
  std::unique_ptr<const ListActions> list_actions; // null: all deny lists drop
  HeldSlots held_rule_slots;

  std::shared_ptr<OffenderMemory> offenders; // null: the image asks for none, or there was no memory

  std::vector<std::unique_ptr<ImageCopy>> further; // one for each node but the first; null: no memory for it
  std::vector<std::string> warnings;               // of copies and memory that there are not

  // What a worker reads; `copy` as WorkerNodes::copy_of() has it.
  [[nodiscard]] const image::ImageView &view_of(unsigned copy) const noexcept {
    return copy == 0 || copy > further.size() || !further[copy - 1] ? view : further[copy - 1]->view;
  }

  // Changes go to every copy; what they answer is the writer's answer, and saturated where one is.
  [[nodiscard]] image::ImageWriter::BatchDone apply_batch(std::span<const image::Delta> deltas);
  [[nodiscard]] filter::Learned learn(const Address &address);
  [[nodiscard]] image::Change relieve(const Address &host, unsigned &may_displace);
  [[nodiscard]] bool waits_for_grace() const noexcept;
  void grace_passed();

  [[nodiscard]] std::uint64_t packets() const noexcept {
    std::uint64_t sum = 0;
    for (const PaddedCounter &c : packets_by_worker) sum += c.packets.get();
    return sum;
  }
};

// What the loader needs besides the file.
struct AttachContext {
  unsigned workers = 1;
  ListSlots *slots = nullptr;
  std::function<void()> grace;           // waits until every worker has passed a quiescent state
  std::vector<int> nodes = {any_node};   // NUMA nodes of the workers, each once
  OffenderMemories *offenders = nullptr; // null: nothing is remembered
  RuleKeeping *rules = nullptr;          // null: images with packet rules are refused
};

// Takes a memfd from a peer, whose image must be what the peer claims: requires the seals SHRINK and GROW,
// maps it shared, adds FUTURE_WRITE and SEAL, verifies everything once and attaches. `fd` stays the caller's.
[[nodiscard]] Result<std::unique_ptr<AttachedImage>> attach_memfd(int fd, const image::ImageIdentity &claim,
                                                                  const AttachContext &context);

// The last accepted image of an earlier run, copied into memory of our own.
[[nodiscard]] Result<std::unique_ptr<AttachedImage>> attach_file(const std::filesystem::path &file,
                                                                 const AttachContext &context);

} // namespace weir::dataplane
