// p4/acl.p4 as an exporter and a sender of packets see it, run by the interpreter from its source text.
//
// A packet is handed over with the port header in front that the program's port writes: port, captured
// bytes, bytes on the wire (p4/swx/window.hpp). It leaves on the output port `reason` when it passes,
// 16 + reason when it is dropped; the frame itself must leave as it came.
#pragma once

#include "p4/export/sink.hpp"
#include "tests/p4/model/interpreter.hpp"
#include "weir/key/verdict.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::test {

class P4Acl final : public p4::RegisterSink {
public:
  struct Answer {
    Verdict verdict = Verdict::pass;
    Reason reason = Reason::no_image;
    std::uint32_t list_hit = 0; // list number + 1; 0: no list

    friend bool operator==(const Answer &, const Answer &) = default;
  };

  [[nodiscard]] static Result<P4Acl> load(const std::string &path = "p4/acl.p4");
  explicit P4Acl(const p4_16::Program &program) : machine_(program) {} // the text in other words

  // Errors: whatever ends the run; an output that is not the frame or the answer of no counter.
  [[nodiscard]] Result<Answer> judge(std::span<const std::uint8_t> frame, std::uint16_t port = 0);
  // `wire_bytes`: what the frame had before it was cut to `frame`.
  [[nodiscard]] Result<Answer> judge(std::span<const std::uint8_t> frame, std::uint16_t port,
                                     std::uint32_t wire_bytes);

  // As the loader does before anything is written. Errors: not_found; refused where it would shrink.
  [[nodiscard]] Status enlarge(std::string_view array, std::uint64_t elements);

  [[nodiscard]] Result<std::uint64_t> capacity(std::string_view array) override;
  [[nodiscard]] Status write(std::string_view array, std::uint64_t first,
                             std::span<const std::uint64_t> values) override;
  [[nodiscard]] Status flip(unsigned bank) override;

  [[nodiscard]] p4_16::Machine &machine() noexcept { return machine_; }

private:
  [[nodiscard]] Result<p4_16::RegisterArray *> array(std::string_view name);
  [[nodiscard]] Result<Answer> answer_of(std::uint32_t output_port, std::uint32_t wire_bytes);

  p4_16::Machine machine_;
  std::vector<std::byte> packet_; // the port header and the frame
};

} // namespace weir::test
