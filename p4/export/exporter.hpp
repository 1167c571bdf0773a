// Images into the registers of a running P4 program, so that an update is seen whole or not at all.
//
//   write(view)   1  what the idle bank is to hold        can fail: nothing was written
//                 2  what differs from its shadow: sink   can fail: the bank in use is untouched
//                 3  flip                                 can fail: see below
//
// The exporter remembers what it has written to each bank (its shadow), so an image that was changed by a few
// deltas costs a few writes more than twice: each bank learns of them once. What a failed write has left in
// the idle bank is unknown, and written again as a whole the next time.
//
// One exporter a loaded program, from the moment when it was loaded: bank 0 is in use then and holds no
// image.
//
// Errors: refused, as contents_of(); those of the sink.
#pragma once

#include "p4/export/contents.hpp"
#include "p4/export/sink.hpp"
#include "weir/base/result.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace weir::p4 {

struct ExportReport {
  unsigned bank = 0;          // in use from now on
  std::uint64_t elements = 0; // that the bank holds
  std::uint64_t written = 0;  // of them, those that were written now
  std::uint64_t runs = 0;     // calls of the sink for that
};

class Exporter {
public:
  // `sink` has to outlive it.
  explicit Exporter(RegisterSink &sink) noexcept : sink_(sink) {}

  [[nodiscard]] Result<ExportReport> write(const image::ImageView &view, const Setting &setting = {});
  // There is no image any more: every packet gets the verdict of `setting`.
  [[nodiscard]] Result<ExportReport> write_none(const Setting &setting = {});

  // In use, or the one before while a flip is not done.
  [[nodiscard]] unsigned bank() const noexcept { return bank_; }

private:
  [[nodiscard]] Result<Capacities> capacities();
  [[nodiscard]] Status finish_flip();
  [[nodiscard]] Result<ExportReport> replace(BankContents contents, const Capacities &capacities);

  RegisterSink &sink_;
  unsigned bank_ = 0;
  bool flipping_ = false;                                 // to the other bank
  std::array<std::optional<BankContents>, banks> shadow_; // none: unknown
};

} // namespace weir::p4
