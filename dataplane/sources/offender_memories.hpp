// Which memory of offenders an image gets: one of the same shape that is in use, else the one that was saved, else a
// new one. Every minute, and at the end, the memory in force goes to the state folder: file `offenders`.
//
// Images are attached on a background thread; all other calls come from the service thread.
#pragma once

#include "dataplane/sources/offender_memory.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weir::dataplane {

class OffenderMemories {
public:
  // `keeps` false: nothing is read or written (replay).
  OffenderMemories(std::filesystem::path folder, unsigned workers, bool keeps);

  // Any thread. Errors: those of OffenderMemory::make().
  [[nodiscard]] Result<std::shared_ptr<OffenderMemory>> of(const image::OffendersView &view);

  // What the image in force has; null: nothing is remembered.
  void in_force(std::shared_ptr<OffenderMemory> memory);
  [[nodiscard]] const std::shared_ptr<OffenderMemory> &now() const noexcept { return now_; }
  // How often what was remembered has been given up for another shape.
  [[nodiscard]] std::uint64_t cleared() const noexcept { return cleared_; }

  // The memory in force, if a minute has passed since it was saved last; its words are written by write().
  [[nodiscard]] std::shared_ptr<OffenderMemory> due_to_save();
  // Any thread; the file is whole or what it was. Errors: io.
  [[nodiscard]] Status write(const OffenderMemory &memory);
  // What went wrong with the file last; empty: nothing. Any thread.
  [[nodiscard]] std::string warning() const;
  [[nodiscard]] std::filesystem::path file() const { return folder_ / "offenders"; }

private:
  void load(OffenderMemory &memory);
  void warn(std::string what);

  const std::filesystem::path folder_;
  const unsigned workers_;
  const bool keeps_;
  std::shared_ptr<OffenderMemory> now_;
  std::uint64_t cleared_ = 0;
  std::chrono::steady_clock::time_point save_due_;
  std::mutex writing_;
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<OffenderMemory>> alive_;
  std::string warning_;
};

} // namespace weir::dataplane
