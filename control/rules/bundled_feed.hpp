// Lists whose files came with a request instead of being opened here.
#pragma once

#include "control/rules/bundle.hpp"
#include "control/rules/feed.hpp"

namespace weir::rules {

// The file for reading. Anything but a regular file is refused.
[[nodiscard]] Result<OwnedFd> open_feed(const std::filesystem::path &file);

// As load_feed() and load_list() of feed.hpp; with `files` the file is one of those, and nothing is opened.
[[nodiscard]] Result<ListContent> load_feed(const std::filesystem::path &file, const FeedOptions &options,
                                            const Bundle *files);
[[nodiscard]] Result<ListContent> load_list(const config::List &list, const Bundle *files);

} // namespace weir::rules
