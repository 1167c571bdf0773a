#include "p4/export/exporter.hpp"

#include <span>
#include <utility>
#include <vector>

namespace weir::p4 {
namespace {

using Elements = std::vector<std::uint64_t>;

// Calls `write(first, values)` for every longest run of elements that are not what `old` has in their place.
template <class Write>
[[nodiscard]] Status each_difference(const Elements &now, const Elements *old, Write write) {
  const auto differs = [&](std::size_t i) {
    return old == nullptr || i >= old->size() || (*old)[i] != now[i];
  };
  for (std::size_t i = 0; i < now.size();) {
    if (!differs(i)) {
      ++i;
      continue;
    }
    const std::size_t first = i;
    while (i < now.size() && differs(i)) ++i;
    if (const Status ok = write(first, std::span(now).subspan(first, i - first)); !ok) return ok;
  }
  return {};
}

// What a bank still holds beyond what was written now.
void keep_tail(Elements &now, const Elements &old) {
  if (old.size() > now.size())
    now.insert(now.end(), old.begin() + static_cast<std::ptrdiff_t>(now.size()), old.end());
}

} // namespace

Result<Capacities> Exporter::capacities() {
  Capacities all{};
  for (const ArrayInfo &info : arrays) {
    const auto has = TRY(sink_.capacity(info.name));
    all[static_cast<std::size_t>(info.array)] = has;
  }
  return all;
}

Status Exporter::finish_flip() {
  if (!flipping_) return {};
  TRY(sink_.flip(1 - bank_));
  flipping_ = false;
  bank_ = 1 - bank_;
  return {};
}

Result<ExportReport> Exporter::write(const image::ImageView &view, const Setting &setting) {
  TRY(finish_flip());
  const auto have = TRY(capacities());
  auto contents = TRY(contents_of(view, setting, 1 - bank_, have));
  return replace(std::move(contents), have);
}

Result<ExportReport> Exporter::write_none(const Setting &setting) {
  TRY(finish_flip());
  const auto have = TRY(capacities());
  auto contents = TRY(contents_without_image(setting, have));
  return replace(std::move(contents), have);
}

Result<ExportReport> Exporter::replace(BankContents contents, const Capacities &capacities) {
  ExportReport report;
  report.bank = 1 - bank_;
  std::optional<BankContents> old = std::exchange(shadow_[report.bank], std::nullopt);
  for (const ArrayInfo &info : arrays) {
    if (!info.banked) continue;
    const auto n = static_cast<std::size_t>(info.array);
    const std::uint64_t half = half_of(info.array, report.bank, capacities);
    report.elements += contents[n].size();
    TRY(each_difference(contents[n], old ? &(*old)[n] : nullptr,
                        [&](std::size_t first, std::span<const std::uint64_t> values) {
                          report.written += values.size();
                          ++report.runs;
                          return sink_.write(info.name, half + first, values);
                        }));
    if (old) keep_tail(contents[n], (*old)[n]);
  }
  shadow_[report.bank] = std::move(contents);
  flipping_ = true;
  TRY(finish_flip());
  return report;
}

} // namespace weir::p4
