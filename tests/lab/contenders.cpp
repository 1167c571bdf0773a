#include "tests/lab/rivals.hpp"

#include "tests/lab/contender_model.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace weir::lab {
namespace {

// A section of an image, as far as the filter in it is concerned.
template <class View> class Seesaw {
public:
  static Result<Seesaw> make(const build::SeesawParams &params) {
    const auto bytes = TRY(build::seesaw_bytes(params));
    Seesaw made;
    made.lines_.resize(bytes / sizeof(Line));
    const MutableBytes section{made.lines_.front().bytes, bytes};
    TRY(build::build_seesaw(params, {}, {}, section));
    made.writer_ = filter::SeesawWriter::attach(section).value();
    made.view_ = View::attach(section).value();
    return made;
  }
  void insert(KeyHash key) { writer_.insert(key); }
  void erase(KeyHash key) { writer_.erase(key); }
  void learn_late(KeyHash negative) { (void)writer_.learn(negative); }
  [[nodiscard]] bool contains(KeyHash key) const { return view_.contains(key); }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const {
    return view_.contains_batch(keys);
  }
  [[nodiscard]] std::uint64_t bits() const { return lines_.size() * sizeof(Line) * 8; }
  [[nodiscard]] std::uint64_t cells_stuck() const {
    const filter::SeesawLoad load = writer_.load();
    return load.cells_stuck + load.modulator_stuck;
  }

private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
  filter::SeesawWriter writer_;
  View view_;
};

// One filter, asked in one way or another.
template <class View>
Entry seesaw_entry(std::string name, const SeesawTask &task, const SeesawChoice &choice) {
  const build::SeesawParams &p = choice.params;
  Entry entry{std::move(name), {}, choice.guarded, {choice.guarded}, {}, {}};
  const double modulator = static_cast<double>(p.modulator_words);
  entry.shape =
      fmt::format("{} hashes, {} backups; cells of {} + {}{} bits; modulator {:.1f} % of the words, {} + "
                  "{} bits; {} negatives guarded",
                  p.hashes, p.backups, p.negative_bits, p.positive_bits, p.adaptive ? " + 1" : "",
                  100 * modulator / (modulator + static_cast<double>(p.cell_words)), p.count_bits,
                  p.index_bits, choice.guarded);
  entry.make = [p, late = task.ada, guarded = choice.guarded](std::span<const KeyHash> negatives) {
    Made made = wrapped(Seesaw<View>::make(p));
    if (made && !late)
      for (const KeyHash negative : negatives.first(guarded)) (*made)->learn_late(negative);
    return made;
  };
  return entry;
}

} // namespace

Needs needs_of(const SeesawTask &task) {
  Needs needs;
  needs.keys = task.keys;
  needs.bits = static_cast<std::uint64_t>(std::llround(task.bits * static_cast<double>(task.keys)));
  needs.known = static_cast<std::uint64_t>(std::ceil(task.vulnerable * static_cast<double>(task.negatives)));
  needs.mass.assign(task.negatives + 1, 0);
  for (std::uint64_t rank = 1; rank <= task.negatives; ++rank)
    needs.mass[rank] = needs.mass[rank - 1] + std::pow(static_cast<double>(rank), -task.skew);
  const double all = needs.mass.back();
  for (double &m : needs.mass) m /= all;
  return needs;
}

Result<std::vector<Entry>> entries_for(const SeesawTask &task, const Needs &needs) {
  const auto wanted = [&](std::string_view name) {
    return task.only.empty() || std::ranges::find(task.only, name) != task.only.end();
  };
  std::vector<Entry> entries;
  if (wanted("seesaw") || wanted("seesaw_printed")) {
    const auto choice = TRY(choose_seesaw(task, needs));
    if (wanted("seesaw")) {
      entries.push_back(seesaw_entry<filter::SeesawView>("seesaw", task, choice));
      entries.back().predicted = choice.predicted;
    }
    if (wanted("seesaw_printed")) // no model: what is printed is not what is planned
      entries.push_back(
          seesaw_entry<filter::BasicSeesawView<filter::AsPrinted>>("seesaw_printed", task, choice));
  }
  for (const Rival &rival : rivals)
    if (wanted(rival.name)) entries.push_back(rival.entry(task, needs, rival.name));
  return entries;
}

} // namespace weir::lab
