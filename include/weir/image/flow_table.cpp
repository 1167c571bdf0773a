#include "weir/image/flow_table.hpp"

#include <algorithm>
#include <string>

namespace weir::image {
namespace {

std::unexpected<Error> bad_flows(std::string why) { return fail(Errc::bad_image, std::move(why)); }

// Each flow stands where a reader looks for it.
template <class Flow>
Status check_buckets(const FlowBuckets<Flow> &table, std::uint64_t flows, std::size_t rules) {
  std::uint64_t found = 0;
  const auto buckets = table.buckets();
  for (std::uint32_t at = 0; at < buckets.size(); ++at) {
    if constexpr (requires { buckets[at].reserved; })
      if (buckets[at].reserved != 0) return bad_flows("reserved bytes are not zero");
    for (const Flow &slot : buckets[at].slots) {
      if (slot.word == 0) {
        if (slot != Flow{}) return bad_flows("an unused slot is not zero");
        continue;
      }
      ++found;
      Flow question = slot;
      question.word &= flow_word::asked_mask;
      if ((question.word >> 40) != 1) return bad_flows("a slot that is neither used nor unused");
      if (flow_word::rule_of(slot.word).value() >= rules)
        return bad_flows("a flow leads to a rule that is not there");
      const FlowPlaces places = table.places(question);
      if (places.first != at && places.second != at)
        return bad_flows("a flow stands where nobody looks for it");
    }
  }
  if (found != flows)
    return bad_flows("it has " + std::to_string(found) + " flows, and says " + std::to_string(flows));
  return {};
}

} // namespace

Result<FlowTableView> FlowTableView::attach(Bytes section, std::size_t rules) {
  if (section.size() < sizeof(FlowsHeader)) return bad_flows("too short");
  const auto &h = *reinterpret_cast<const FlowsHeader *>(section.data());
  if (h.reserved != decltype(h.reserved){}) return bad_flows("reserved bytes are not zero");
  const std::uint64_t v4_bytes = std::uint64_t{h.buckets_v4} * sizeof(FlowBucketV4);
  const std::uint64_t v6_bytes = std::uint64_t{h.buckets_v6} * sizeof(FlowBucketV6);
  if (sizeof h + v4_bytes + v6_bytes != section.size()) return bad_flows("size does not match its buckets");
  const std::byte *const v4 = section.data() + sizeof h;
  FlowTableView view;
  view.v4_ = {{reinterpret_cast<const FlowBucketV4 *>(v4), h.buckets_v4}, h.seed};
  view.v6_ = {{reinterpret_cast<const FlowBucketV6 *>(v4 + v4_bytes), h.buckets_v6}, h.seed};
  TRY(check_buckets(view.v4_, h.flows_v4, rules));
  TRY(check_buckets(view.v6_, h.flows_v6, rules));
  view.flows_ = h.flows_v4 + h.flows_v6;
  return view;
}

} // namespace weir::image
