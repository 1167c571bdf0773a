// Lists whose files came with a request instead of being opened here.
#pragma once

#include "control/rules/bundle.hpp"
#include "control/rules/feed.hpp"

#include <functional>

namespace weir::rules {

// The file for reading. Anything but a regular file is refused.
[[nodiscard]] Result<OwnedFd> open_feed(const std::filesystem::path &file);

// Calls `use` with what the file says; with `files` the file is one of those, and nothing is opened.
[[nodiscard]] Status with_feed(const std::filesystem::path &file, const Bundle *files,
                               const std::function<Status(std::string_view)> &use);

// As load_feed() and load_list() of feed.hpp; with `files` the file is one of those, and nothing is opened.
[[nodiscard]] Result<ListContent> load_feed(const std::filesystem::path &file, const FeedOptions &options,
                                            const Bundle *files);
[[nodiscard]] Result<ListContent> load_list(const config::List &list, const Bundle *files,
                                            control::Progress *progress = nullptr);

// Bytes of the list's file, for an account of how much there is to read; 0 when it has none or cannot be looked at.
[[nodiscard]] std::uint64_t bytes_of(const config::List &list, const Bundle *files);

// lines_of() of a file as load_feed() reads it. Nothing when it cannot be read any more.
[[nodiscard]] std::vector<FeedLine> lines_of(const std::filesystem::path &file, config::Format format,
                                             std::span<const Prefix> prefixes, const Bundle *files);

} // namespace weir::rules
