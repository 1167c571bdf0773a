// Exact flows of a packet rule, a line each:
//
//   tcp 192.0.2.1:443 198.51.100.7:51000        # from, then to
//   udp [2001:db8::1]:53 [2001:db8::2]:4000
//   icmp 192.0.2.1 198.51.100.7                 protocols without ports, by name or number
//
// Empty lines and what follows '#' or ';' say nothing. A flow that stands there twice counts once.
#pragma once

#include "control/rules/bundle.hpp"
#include "weir/base/result.hpp"
#include "weir/image/flow_table.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::rules {

// Sorted by their bytes as the store has them, unique; their words lead to no rule yet.
struct FlowBody {
  std::vector<image::FlowV4> v4;
  std::vector<image::FlowV6> v6;
  std::uint64_t duplicates = 0; // left out

  [[nodiscard]] std::uint64_t size() const noexcept { return v4.size() + v6.size(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return v4.size() * sizeof(image::FlowV4) + v6.size() * sizeof(image::FlowV6);
  }
  [[nodiscard]] std::uint64_t fingerprint() const noexcept;
};

// The flows of one rule of a configuration.
struct RuleFlows {
  std::string rule;
  std::uint64_t content_version = 0; // in the store; 0: not yet
  std::uint64_t fingerprint = 0;
  std::shared_ptr<const FlowBody> body; // never null
};

// `name` stands for the file in messages. An error names the first faults, each with file, line and what would be right.
[[nodiscard]] Result<FlowBody> parse_flows(std::string_view text, const std::string &name);
// With `files` the file is one of those, and nothing is opened.
[[nodiscard]] Result<FlowBody> load_flows(const std::filesystem::path &file, const Bundle *files);

// A flow as the store keeps it: family, addresses, ports, protocol, all in the order of a packet.
[[nodiscard]] std::string flow_bytes(const image::FlowV4 &flow);
[[nodiscard]] std::string flow_bytes(const image::FlowV6 &flow);
// As a line of a file: "tcp 192.0.2.1:443 198.51.100.7:51000".
[[nodiscard]] std::string flow_text(const image::FlowV4 &flow);
[[nodiscard]] std::string flow_text(const image::FlowV6 &flow);

// From one file of flows to another.
struct FlowChange {
  std::uint64_t before = 0, after = 0, added = 0, removed = 0;
  std::vector<std::string> added_examples, removed_examples; // as lines; at most three each
};
[[nodiscard]] FlowChange flow_change(const FlowBody &before, const FlowBody &after);

// False: no such bytes.
[[nodiscard]] bool add_flow(FlowBody &to, std::string_view bytes);

} // namespace weir::rules
