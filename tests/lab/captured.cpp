#include "tests/lab/captured.hpp"

#include "weir/base/bits.hpp"
#include "weir/image/offenders.hpp"
#include "weir/key/parse.hpp"
#include "weir/key/text.hpp"

#include <bit>
#include <cstddef>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <sstream>

namespace weir::lab {
namespace {

Result<std::map<Address, bool>> read_labels(const std::string &path) {
  std::ifstream file(path);
  if (!file) return fail(Errc::io, path + ": cannot be read");
  std::map<Address, bool> labels;
  std::string text;
  for (std::uint64_t line = 1; std::getline(file, text); ++line) {
    if (text.empty() || text.front() == '#') continue;
    std::istringstream words(text);
    std::string source, label, more;
    words >> source >> label;
    const auto address = parse_address(source);
    if (!address || (label != "0" && label != "1") || (words >> more))
      return fail(Errc::parse,
                  fmt::format("{}: line {}: '{}' is not an address and a label, 1 for a source that "
                              "misbehaves and 0 for another",
                              path, line, text));
    const auto [at, is_new] = labels.emplace(*address, label == "1");
    if (!is_new && at->second != (label == "1"))
      return fail(Errc::parse,
                  fmt::format("{}: line {}: {} has the other label further up; leave one of the lines", path,
                              line, source));
  }
  if (labels.empty()) return fail(Errc::parse, path + ": no line with an address and a label");
  return labels;
}

// Records of a classic capture, of either byte order.
class Records {
public:
  Records(const std::string &path, std::string_view bytes) : path_(path), bytes_(bytes) {}

  [[nodiscard]] Status open() {
    constexpr std::size_t header_bytes = 24;
    constexpr std::uint32_t micro = 0xA1B2C3D4, nano = 0xA1B23C4D, ethernet = 1;
    if (bytes_.size() < header_bytes) return fail(Errc::parse, path_ + ": too short for a capture");
    const std::uint32_t magic = number(0);
    swapped_ = byteswap32(magic) == micro || byteswap32(magic) == nano;
    if (!swapped_ && magic != micro && magic != nano)
      return fail(Errc::parse,
                  fmt::format("{}: begins with {:#010x}, which no classic capture does; convert it with "
                              "editcap -F pcap",
                              path_, magic));
    if (const std::uint32_t link = number(20); link != ethernet)
      return fail(Errc::parse,
                  fmt::format("{}: link type {} in place of Ethernet (1); record at an Ethernet device",
                              path_, link));
    at_ = header_bytes;
    return {};
  }
  [[nodiscard]] bool at_end() const noexcept { return at_ == bytes_.size(); }
  [[nodiscard]] Result<std::span<const std::uint8_t>> next() {
    constexpr std::size_t record_bytes = 16;
    ++packet_;
    if (bytes_.size() - at_ < record_bytes || bytes_.size() - at_ - record_bytes < number(at_ + 8))
      return fail(Errc::parse,
                  fmt::format("{}: packet {}: the file ends inside of it; record again", path_, packet_));
    const std::size_t captured = number(at_ + 8), from = at_ + record_bytes;
    at_ = from + captured;
    return std::span(reinterpret_cast<const std::uint8_t *>(bytes_.data()) + from, captured); // plain bytes
  }

private:
  [[nodiscard]] std::uint32_t number(std::size_t at) const noexcept {
    const auto value =
        load_unaligned<std::uint32_t>(reinterpret_cast<const std::uint8_t *>(bytes_.data()) + at);
    return swapped_ ? byteswap32(value) : value;
  }

  const std::string &path_;
  std::string_view bytes_;
  bool swapped_ = false;
  std::size_t at_ = 0;
  std::uint64_t packet_ = 0;
};

Address source_of(std::span<const std::uint8_t> frame, const ParsedPacket &parsed) {
  const std::uint8_t *const at = frame.data() + parsed.source_offset;
  return parsed.kind == PacketKind::ipv6 ? Address::from_v6(at)
                                         : Address::from_wire(load_unaligned<std::uint32_t>(at));
}

} // namespace

Result<CapturedElements> read_captured(const std::string &capture, const std::string &labels_path,
                                       std::uint64_t seed) {
  const auto labels = TRY(read_labels(labels_path));
  std::ifstream file(capture, std::ios::binary);
  if (!file) return fail(Errc::io, capture + ": cannot be read");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Records records(capture, bytes);
  TRY(records.open());
  CapturedElements out;
  std::set<std::uint64_t> known;
  std::set<Address> sources;
  while (!records.at_end()) {
    const auto frame = TRY(records.next());
    ++out.counts.packets;
    const ParsedPacket parsed = parse_packet(frame.data(), frame.size());
    if (!parsed.is_judged()) {
      ++out.counts.not_judged;
      continue;
    }
    CapturedElement element{.address = source_of(frame, parsed),
                            .traits = traits_of(frame.data(), frame.size(), parsed),
                            .key = {},
                            .told = false};
    const auto label = labels.find(element.address);
    if (label == labels.end()) {
      ++out.counts.unlabelled;
      continue;
    }
    sources.insert(element.address);
    element.told = label->second;
    element.key = image::offender_key(OffenderElement::header, element.address, element.traits, seed);
    if (!known.insert(element.key.bits).second) continue;
    ++(element.told ? out.counts.told : out.counts.others);
    out.elements.push_back(element);
  }
  out.counts.sources = sources.size();
  return out;
}

} // namespace weir::lab
