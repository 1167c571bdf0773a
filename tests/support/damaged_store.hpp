// Harm done to a closed store behind its back, for tests of what then happens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

namespace weir::test {

class DamagedStore {
public:
  explicit DamagedStore(const std::filesystem::path &folder);
  DamagedStore(const DamagedStore &) = delete;
  DamagedStore &operator=(const DamagedStore &) = delete;
  ~DamagedStore();

  // The first entry of a content version goes, or has another comment.
  void lose_entry(std::uint64_t version);
  void change_entry(std::uint64_t version);

  void make_version_1(); // as version 1 of the store left it

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace weir::test
