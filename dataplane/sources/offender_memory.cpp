#include "dataplane/sources/offender_memory.hpp"

#include "weir/image/memory_file.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace weir::dataplane {
namespace {

using filter::GroupAnswer;
using image::OffenderAnswer;

std::vector<float> thresholds_of(const image::OffendersView &view) {
  std::vector<float> thresholds;
  for (const image::OffenderGroup &group : view.groups().first(view.groups().size() - 1))
    thresholds.push_back(group.below);
  return thresholds;
}

// `make(group, j)`: its filter.
template <class F, class Make>
Result<filter::ScoreGroups<F>> groups_of(const image::OffendersView &view, Make make) {
  std::vector<typename filter::ScoreGroups<F>::Group> groups;
  for (const image::OffenderGroup &group : view.groups()) {
    std::optional<F> filter;
    if (group.answer == OffenderAnswer::filter) filter = TRY(make(group, groups.size()));
    groups.push_back({std::move(filter),
                      group.answer == OffenderAnswer::accept ? GroupAnswer::accept : GroupAnswer::reject});
  }
  return filter::ScoreGroups<F>::make(thresholds_of(view), std::move(groups));
}

Result<std::variant<filter::StableGroups, filter::RotatingGroups>>
cells_of(const image::OffendersView &view) {
  const std::uint64_t seed = view.header().seed;
  if (view.filter() == OffenderFilter::stable)
    return TRY(groups_of<filter::StableBloom>(view, [&](const image::OffenderGroup &group, std::uint64_t j) {
      return filter::StableBloom::make({group.words, group.max, group.hashes, group.decrements}, seed + j,
                                       seed);
    }));
  auto groups =
      TRY(groups_of<filter::RotatingBloom>(view, [&](const image::OffenderGroup &group, std::uint64_t j) {
        return filter::RotatingBloom::make({group.words, group.hashes, 0}, seed + j);
      }));
  return filter::RotatingGroups(std::move(groups), view.header().turn);
}

template <class Cells, class Each> void each_filter(Cells &cells, Each each) {
  std::visit(
      [&](auto &groups) {
        for (auto &group : groups.groups())
          if (group.filter) each(*group.filter);
      },
      cells);
}

} // namespace

bool OffenderDesk::takes_token(unsigned group, std::uint64_t now_ns, double limit, double burst) noexcept {
  Bucket &bucket = buckets[group];
  if (bucket.filled_ns == 0) {
    bucket.tokens = burst;
  } else if (now_ns > bucket.filled_ns) {
    bucket.tokens =
        std::min(burst, bucket.tokens + static_cast<double>(now_ns - bucket.filled_ns) * limit * 1e-9);
  }
  bucket.filled_ns = std::max(bucket.filled_ns, now_ns);
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

OffenderMemory::OffenderMemory(const image::OffendersView &view, Cells cells)
    : digest_(view.shape_digest()), cells_(std::move(cells)), marks_(view.header().seed),
      shadow_(view.header().gap) {}

Result<std::shared_ptr<OffenderMemory>> OffenderMemory::make(const image::OffendersView &view,
                                                             unsigned workers) {
  TRY(image::check_memory(view.cell_bits() / 8 + workers * OffenderDesk::bytes_for(view.header().gap)));
  try {
    std::shared_ptr<OffenderMemory> memory(new OffenderMemory(view, TRY(cells_of(view))));
    for (unsigned i = 0; i < workers; ++i)
      memory->desks_.push_back(std::make_unique<OffenderDesk>(view.header().gap));
    return memory;
  } catch (const std::bad_alloc &) {
    return fail(Errc::no_memory, "no memory for " + std::to_string(view.cell_bits() / 8) + " bytes of cells");
  }
}

void OffenderMemory::insert_batch(std::span<const KeyHash> keys, std::span<const float> scores) noexcept {
  const std::uint64_t before = told_.fetch_add(keys.size(), std::memory_order_relaxed);
  std::visit([&](auto &cells) { cells.insert_batch(keys, scores); }, cells_);
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (Shadow::has(keys[i])) shadow_.tell(keys[i], before + i);
}

std::vector<double> OffenderMemory::in_use() const {
  std::vector<double> out;
  const auto share = [](const auto &filter) {
    if constexpr (requires { filter.zeros(); })
      return 1 - filter.zeros();
    else
      return filter.in_use();
  };
  std::visit(
      [&](const auto &groups) {
        for (const auto &group : groups.groups()) out.push_back(group.filter ? share(*group.filter) : -1.0);
      },
      cells_);
  return out;
}

// Under which traits the memory knows the address is not to be told.
Mark OffenderMemory::forgetting(const image::OffendersView &view, const Address &address) const noexcept {
  if (view.element() == OffenderElement::header) return Mark::forgotten;
  return contains(view.key_of(address, {}), view.score_of(address, {})) ? Mark::forgotten : Mark::none;
}

void OffenderMemory::adopt_marks(const OffenderMemory &from) {
  std::vector<std::uint64_t> words(Marks::saved_words());
  from.marks_.save(words);
  marks_.restore(words);
}

void OffenderMemory::restore_marks(std::span<const std::uint64_t> words) noexcept {
  constexpr std::size_t before = 2; // digest and told
  if (words.size() >= before + Marks::saved_words())
    marks_.restore(words.subspan(before, Marks::saved_words()));
}

// | digest | told | marks | each filter |
std::vector<std::uint64_t> OffenderMemory::saved() const {
  std::vector<std::uint64_t> words{digest_, told()};
  const auto room = [&words](std::size_t count) {
    words.resize(words.size() + count);
    return std::span(words).last(count);
  };
  marks_.save(room(Marks::saved_words()));
  each_filter(cells_, [&](const auto &filter) { filter.save(room(filter.saved_words())); });
  return words;
}

bool OffenderMemory::restore(std::span<const std::uint64_t> words) noexcept {
  std::size_t wanted = 2 + Marks::saved_words();
  each_filter(cells_, [&](const auto &filter) { wanted += filter.saved_words(); });
  if (words.size() != wanted || words[0] != digest_) return false;
  told_.store(words[1], std::memory_order_relaxed);
  words = words.subspan(2);
  const auto take = [&words](std::size_t count) {
    const auto part = words.first(count);
    words = words.subspan(count);
    return part;
  };
  marks_.restore(take(Marks::saved_words()));
  each_filter(cells_, [&](auto &filter) { filter.restore(take(filter.saved_words())); });
  if (auto *rotating = std::get_if<filter::RotatingGroups>(&cells_)) rotating->restore_told(told());
  return restored_ = true;
}

} // namespace weir::dataplane
