// Packets into capture files of the form pcapng, with what weir knows of each: an interface for each port, nanoseconds,
// a comment, the queue, and how many packets before it are missing (draft-ietf-opsawg-pcapng).
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace weir::cli {

struct NotedPacket {
  std::string port;                    // an interface of the file
  std::uint64_t at_ns = 0;             // since the epoch
  std::uint32_t length = 0;            // on the wire
  std::span<const std::uint8_t> bytes; // that were captured
  std::uint32_t queue = 0;
  std::uint64_t left_out = 0; // packets since the one before that are not in the file
  std::string comment;        // UTF-8
};

class PcapngWriter {
public:
  // A file that is there is overwritten. With `bytes_max` (0: none) a full file becomes FILE.1, and that FILE.2, until there are
  // `files` (at least 2).
  [[nodiscard]] static Result<PcapngWriter> create(const std::filesystem::path &file,
                                                   std::uint64_t bytes_max = 0, unsigned files = 2);
  [[nodiscard]] Status write(const NotedPacket &packet);
  [[nodiscard]] Status flush(); // what was written is a whole file then

private:
  struct Close {
    void operator()(std::FILE *file) const { (void)std::fclose(file); }
  };
  PcapngWriter() = default;
  [[nodiscard]] Status open();
  [[nodiscard]] Status rotate();
  [[nodiscard]] Status put(const std::string &block);
  [[nodiscard]] Result<std::uint32_t> interface_of(const std::string &port);

  std::filesystem::path path_;
  std::uint64_t bytes_max_ = 0;
  unsigned files_ = 2;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t bytes_ = 0;                         // of this file
  std::map<std::string, std::uint32_t> interfaces_; // of this file
};

} // namespace weir::cli
