// Asks weir-control how far the change is that somebody waits for, over a connection of its own and without waiting
// long: what carries out the change is not held up, and neither is who waits.
#pragma once

#include "control/cli/client.hpp"
#include "control/cli/options.hpp"

#include <optional>
#include <string>

namespace weir::cli {

class ChangeWatch {
public:
  explicit ChangeWatch(const Options &options);

  // For a progress line: what weir-control says, or what the verb does when it says nothing.
  [[nodiscard]] std::string text();

private:
  [[nodiscard]] std::string said();

  std::filesystem::path socket_;
  std::string asked_;   // how the change is called there; empty: the verb makes none
  std::string meaning_; // of the verb; empty: it is answered at once
  std::optional<Client> client_;
};

} // namespace weir::cli
