// RocksDB as the store wants it, and the only door to it: two sets of keys in order, atomic writes that
// are on the disk when they return, sorted files taken in whole, and what it takes to write again after an
// error. All texts are bytes. Functions may be called from any thread.
#pragma once

#include "control/store/store.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace weir::store {

enum class Keys : std::uint8_t {
  state,    // everything but
  contents, // what files said
};

class Database;

class Batch { // one atomic write
public:
  explicit Batch(const Database &database);
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;
  ~Batch();

  void put(std::string_view key, std::string_view value, Keys of = Keys::state);
  void put_or_erase(std::string_view key, std::string_view value); // erases for an empty value
  void erase(std::string_view key);
  void erase_range(std::string_view first, std::string_view end, Keys of = Keys::state);
  [[nodiscard]] bool empty() const;

private:
  friend class Database;
  struct State;
  std::unique_ptr<State> state_;
};

// Entries in order of their keys, on their way into the contents.
class SortedFile {
public:
  SortedFile(SortedFile &&) noexcept;
  SortedFile &operator=(SortedFile &&) noexcept;
  ~SortedFile(); // removes the file

  [[nodiscard]] Status put(std::string_view key, std::string_view value);
  [[nodiscard]] Status take_in(); // all of it, at once

private:
  friend class Database;
  struct State;
  explicit SortedFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Database {
public:
  [[nodiscard]] static Result<Database> open(const std::filesystem::path &folder);
  Database(Database &&) noexcept;
  Database &operator=(Database &&) noexcept;
  ~Database();

  [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key, Keys of = Keys::state) const;
  // Calls `each(key, value)` for all keys that begin with `start`, until it returns false, which is an error.
  [[nodiscard]] Status scan(Keys of, std::string_view start,
                            const std::function<bool(std::string_view, std::string_view)> &each) const;
  // All keys from `first` up to `end`, which is not one of them.
  [[nodiscard]] Status scan(Keys of, std::string_view first, std::string_view end,
                            const std::function<void(std::string_view, std::string_view)> &each) const;
  // The first key that is not below `from`.
  [[nodiscard]] Result<std::optional<std::string>> first_key(Keys of, std::string_view from) const;
  [[nodiscard]] std::optional<std::string> last_key(Keys of) const;

  [[nodiscard]] Status commit(Batch &batch);
  [[nodiscard]] Status put(std::string_view key, std::string_view value);
  [[nodiscard]] Result<SortedFile> sorted_file(const std::string &name); // below ingest/

  // Failure leaves garbage, which the next open removes: nobody refers to it.
  void drop_contents(std::string_view first, std::string_view end);
  void compact_contents();

  [[nodiscard]] std::uint64_t bytes() const; // on disk
  [[nodiscard]] Space space() const;
  // Memory was refused in the middle of a write: nothing can be written until the process starts again.
  [[nodiscard]] bool damaged() const;

private:
  friend class Batch;
  friend class SortedFile;
  struct State;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace weir::store
