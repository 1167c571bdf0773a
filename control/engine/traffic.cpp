#include "control/engine/traffic.hpp"

#include "control/engine/traffic_note.hpp"

namespace weir::control {

namespace {

constexpr const char *sources_note = "sources", *top_note = "top";
constexpr std::size_t sources_kept = 4096;

} // namespace

void Traffic::resume(watch::DenyFilterWatch &sources) {
  if (const auto kept = decode_sources(store_.note(sources_note))) sources.resume(*kept);
  if (const auto kept = decode_top(store_.note(top_note))) table_.resume(*kept);
  sources_saved_ = sources.samples();
  rows_saved_ = table_.total();
}

void Traffic::save(const watch::DenyFilterWatch &sources) {
  if (const std::uint64_t samples = sources.samples(); samples > sources_saved_)
    if (store_.set_note(sources_note, encode_sources(sources.keep(sources_kept)))) sources_saved_ = samples;
  if (table_.total() == rows_saved_) return;
  rows_saved_ = table_.total();
  (void)store_.set_note(top_note, encode_top(table_.keep())); // the next one will do
}

std::vector<plan::HotAddress> Traffic::hot_denied() const {
  std::vector<plan::HotAddress> hot;
  for (const SampleTable::Row &row : table_.top(SampleTable::rows_max))
    if (row.denied) hot.push_back({row.address, row.at_least()});
  return hot;
}

} // namespace weir::control
