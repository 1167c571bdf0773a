// Feeds and files of flows: any bytes, read in every format. What is accepted is sorted, unique, masked, and survives
// being written out and read again.
#include "control/rules/feed.hpp"
#include "control/rules/flows.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "weir/key/text.hpp"

#include <string>

namespace {

using namespace weir;
using fuzz::require;

template <class Entry> void check_order(const std::vector<Entry> &entries) {
  for (std::size_t i = 1; i < entries.size(); ++i)
    require(rules::before(entries[i - 1], entries[i]), "entries are sorted and unique");
}

std::string as_plain(const rules::ListContent &content) {
  std::string text;
  for (const auto &entry : content.v4) text += to_string(rules::to_prefix(entry)) + '\n';
  for (const auto &entry : content.v6) text += to_string(rules::to_prefix(entry)) + '\n';
  return text;
}

void check_content(const rules::ListContent &content) {
  check_order(content.v4);
  check_order(content.v6);
  require(content.format != config::Format::automatic, "the format found is a format");
  for (const auto &entry : content.v4) {
    const Prefix prefix = rules::to_prefix(entry);
    require(masked(prefix.address, prefix.length) == prefix.address, "no address bits beyond the length");
    require(content.contains(prefix), "an entry is found");
    (void)content.note_of(prefix);
  }
  for (const auto &entry : content.v6) {
    const Prefix prefix = rules::to_prefix(entry);
    require(masked(prefix.address, prefix.length) == prefix.address, "no address bits beyond the length");
    (void)content.note_of(prefix);
  }
  const auto again = rules::parse_feed(as_plain(content), "again", {.format = config::Format::plain});
  require(again.has_value(), "what was accepted is accepted as plain text");
  require(again->v4 == content.v4 && again->v6 == content.v6, "and says the same");
}

void check_flows(const rules::FlowBody &body) {
  rules::FlowBody again;
  std::string before;
  const auto check = [&](const auto &flows) {
    for (const auto &flow : flows) {
      std::string bytes = rules::flow_bytes(flow);
      require(before < bytes, "flows are sorted and unique");
      require(rules::add_flow(again, bytes), "the bytes of a flow are those of one");
      before = std::move(bytes);
    }
  };
  check(body.v4);
  check(body.v6);
  require(again.v4 == body.v4 && again.v6 == body.v6, "flows come back from their bytes");
}

} // namespace

FUZZ_TARGET(rules, data) {
  const auto copy = weir::fuzz::exact_copy(data);
  const std::string_view text(reinterpret_cast<const char *>(copy.data()), copy.size());
  if (const auto flows = rules::parse_flows(text, "flows"); flows)
    check_flows(*flows);
  else
    require(!flows.error().message.empty(), "a refusal says why");
  using config::Format;
  for (const Format format :
       {Format::automatic, Format::plain, Format::spamhaus_text, Format::spamhaus_json, Format::ipset_save}) {
    const auto strict = rules::parse_feed(text, "feed", {.format = format});
    const auto lenient =
        rules::parse_feed(text, "feed", {.format = format, .on_error = config::OnError::skip});
    if (strict) {
      require(strict->skipped_count == 0, "a feed that is taken whole skips nothing");
      require(lenient.has_value() && lenient->v4 == strict->v4 && lenient->v6 == strict->v6,
              "skipping bad lines changes nothing where there are none");
      check_content(*strict);
    } else {
      require(!strict.error().message.empty(), "a refusal says why");
      if (lenient) check_content(*lenient);
    }
  }
}
