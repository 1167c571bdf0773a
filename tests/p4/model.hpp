// The judge that knows registers alone: what p4/acl.p4 computes, one number after the other, in plain C++.
//
// It holds the contract of p4/export/register_map.hpp from the reader's side. It sees no image and shares
// neither hash nor tables with the packet path: jhash is DPDK's, everything else is spelled out here. Only
// the parser of frames is weir's own; the program's parser is compared elsewhere.
#pragma once

#include "p4/export/text_sink.hpp"
#include "weir/image/layout.hpp"
#include "weir/key/address.hpp"
#include "weir/key/verdict.hpp"

#include <cstdint>
#include <span>

namespace weir::test {

class P4Model {
public:
  struct Answer {
    Verdict verdict = Verdict::pass;
    Reason reason = Reason::no_image;
    std::uint32_t list_hit = 0; // list number + 1; 0: no list
  };
  struct Hash {
    std::uint32_t h0 = 0, h1 = 0;
  };

  // Reads what the registers hold at each question; they have to outlive it.
  explicit P4Model(const p4::Registers &registers) noexcept : registers_(registers) {}

  [[nodiscard]] Answer judge(std::span<const std::uint8_t> frame, unsigned port) const;

  // The value of the longest matching prefix, 0: none.
  [[nodiscard]] std::uint32_t lookup(Side side, const Address &address) const;

  // The filters' own answers about an address at a length that is in use on their side.
  [[nodiscard]] bool guard_accepts(const Hash &hash) const;
  [[nodiscard]] bool stack_accepts(const Hash &hash) const;
  [[nodiscard]] bool has_allow_filter() const { return cfg(p4::cfg::guard) != 0; }
  [[nodiscard]] bool has_stack() const { return cfg(p4::cfg::stack_depth) != 0; }

  [[nodiscard]] static Hash hash_v4(std::uint32_t address, std::uint64_t seed);
  [[nodiscard]] static Hash hash_v6(const Address &address, std::uint64_t seed);

private:
  struct Probe;

  [[nodiscard]] std::uint64_t cfg(std::uint32_t parameter) const;
  [[nodiscard]] std::uint64_t cfg_wide(std::uint32_t parameter) const;
  [[nodiscard]] std::uint64_t element(p4::Array array, std::uint64_t index) const;

  [[nodiscard]] std::uint32_t lookup_v4(unsigned side, std::uint32_t address) const;
  [[nodiscard]] std::uint32_t lookup_v6(unsigned side, const Address &address) const;
  [[nodiscard]] std::uint32_t probe(const Probe &probe) const;
  [[nodiscard]] std::uint32_t find_in_line(const Probe &probe, std::uint64_t base, std::uint64_t line) const;
  [[nodiscard]] bool in_table2(std::uint32_t parameters, const Hash &hash) const;
  [[nodiscard]] bool layer_holds(std::uint32_t parameters, const Hash &hash) const;
  [[nodiscard]] Answer judge_address(const Address &address) const;

  const p4::Registers &registers_;
};

} // namespace weir::test
