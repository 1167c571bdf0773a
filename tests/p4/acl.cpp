#include "tests/p4/acl.hpp"

#include <algorithm>
#include <utility>

namespace weir::test {
namespace {

constexpr std::uint32_t dropped = 16;
constexpr std::size_t port_header_bytes = 8;

} // namespace

Result<P4Acl> P4Acl::load(const std::string &path) {
  auto program = TRY(p4_16::Program::load(path));
  return P4Acl(program);
}

Result<p4_16::RegisterArray *> P4Acl::array(std::string_view name) {
  p4_16::RegisterArray *const found = machine_.find(name);
  if (!found) return fail(Errc::not_found, "the program has no array " + std::string(name));
  return found;
}

Status P4Acl::enlarge(std::string_view name, std::uint64_t elements) {
  const auto of = TRY(array(name));
  if (elements < of->elements.size())
    return fail(Errc::refused,
                std::string(name) + " has more than " + std::to_string(elements) + " elements");
  of->elements.resize(elements);
  return {};
}

Result<std::uint64_t> P4Acl::capacity(std::string_view name) {
  const auto of = TRY(array(name));
  return of->elements.size();
}

Status P4Acl::write(std::string_view name, std::uint64_t first, std::span<const std::uint64_t> values) {
  const auto of = TRY(array(name));
  std::vector<std::uint64_t> &elements = of->elements;
  if (first > elements.size() || values.size() > elements.size() - first)
    return fail(Errc::refused, "a write past the end of " + std::string(name));
  std::ranges::copy(values, elements.begin() + static_cast<std::ptrdiff_t>(first));
  return {};
}

Status P4Acl::flip(unsigned bank) {
  const std::uint64_t value = bank;
  return write("bank", 0, {&value, 1});
}

Result<P4Acl::Answer> P4Acl::judge(std::span<const std::uint8_t> frame, std::uint16_t port) {
  return judge(frame, port, static_cast<std::uint32_t>(frame.size()));
}

Result<P4Acl::Answer> P4Acl::judge(std::span<const std::uint8_t> frame, std::uint16_t port,
                                   std::uint32_t wire_bytes) {
  const std::size_t captured = std::min<std::size_t>(frame.size(), 0xFFFF);
  packet_.clear();
  const auto put = [&](std::uint64_t value, unsigned bytes) {
    while (bytes-- > 0) packet_.push_back(static_cast<std::byte>(value >> 8 * bytes));
  };
  put(port, 2);
  put(captured, 2);
  put(wire_bytes, 4);
  const Bytes bytes = std::as_bytes(frame.first(captured));
  packet_.insert(packet_.end(), bytes.begin(), bytes.end());

  const auto outcome = TRY(machine_.run(packet_, port));
  if (outcome.dropped) return fail(Errc::refused, "the program dropped a packet: it has a port for that");
  if (!std::ranges::equal(machine_.output(), Bytes(packet_).subspan(port_header_bytes)))
    return fail(Errc::refused, "the program changed a frame");
  return answer_of(outcome.port, wire_bytes);
}

// The port, and what the counters say of the same packet.
Result<P4Acl::Answer> P4Acl::answer_of(std::uint32_t output_port, std::uint32_t wire_bytes) {
  Answer answer;
  answer.verdict = output_port >= dropped ? Verdict::drop : Verdict::pass;
  const std::uint32_t reason = output_port % dropped;
  if (output_port >= 2 * dropped || reason >= reason_count)
    return fail(Errc::refused, "no reason has output port " + std::to_string(output_port));
  answer.reason = static_cast<Reason>(reason);

  bool packets = false, bytes = false;
  for (const p4_16::RegisterChange &change : machine_.changes()) {
    const std::string &name = machine_.arrays()[change.array].name;
    const std::uint64_t more = change.after - change.before;
    const bool of_reason = change.index == reason;
    if (name == "packets" && !std::exchange(packets, true) && of_reason && more == 1) continue;
    if (name == "bytes" && !std::exchange(bytes, true) && of_reason && more == wire_bytes) continue;
    if (name == "list_hits" && answer.list_hit == 0 && more == 1) {
      answer.list_hit = static_cast<std::uint32_t>(change.index);
      continue;
    }
    return fail(Errc::refused, name + "[" + std::to_string(change.index) + "] grew by " +
                                   std::to_string(more) + " for reason " + std::to_string(reason));
  }
  if (!packets || !bytes) return fail(Errc::refused, "no counter knows of the packet");
  return answer;
}

} // namespace weir::test
