#include "weir/config/sections.hpp"

namespace weir::config {
namespace {

constexpr unsigned rx_queues_max = 64;

void read_port(Reader &r, const Node &node, const std::string &path) {
  Port p;
  using Flow = std::optional<FlowControl>;
  using YesNo = std::optional<bool>;
  r.map(node, path,
        {{"name", r.text(p.name)},
         {"device", r.text(p.device)},
         {"rx_queues", r.number(p.rx_queues, 1, rx_queues_max)},
         {"side", r.word<PortSide>(p.side, {{"outside", PortSide::outside},
                                            {"inside", PortSide::inside},
                                            {"none", PortSide::none}})},
         {"peer", r.text(p.peer)},
         {"mtu", r.whole(p.mtu, mtu_min, mtu_max)},
         {"rx_descriptors", r.whole(p.rx_descriptors, descriptors_min, descriptors_max)},
         {"tx_descriptors", r.whole(p.tx_descriptors, descriptors_min, descriptors_max)},
         {"flow_control", r.word<Flow>(p.flow_control, {{"off", FlowControl::off},
                                                        {"obey", FlowControl::obey},
                                                        {"send", FlowControl::send},
                                                        {"both", FlowControl::both}})},
         {"promiscuous",
          r.word<YesNo>(p.promiscuous, {{"true", true}, {"false", false}, {"yes", true}, {"no", false}})},
         {"on_exit", r.word<OnExit>(p.on_exit, {{"close", OnExit::close}, {"bypass", OnExit::bypass}})},
         {"link", r.word<LinkLoss>(p.link, {{"stay", LinkLoss::stay}, {"follow", LinkLoss::follow}})}});
  r.config.ports.push_back(std::move(p));
  r.places.ports.push_back(node.line);
}

} // namespace

void read_eal(Reader &r, const Node &node, const std::string &path) {
  Eal &e = r.config.eal;
  using H = Eal::Hugepages;
  r.map(node, path,
        {{"lcores", r.text(e.lcores)},
         {"allow", r.texts(e.allow)},
         {"file_prefix", r.text(e.file_prefix)},
         {"vdevs", r.texts(e.vdevs)},
         {"extra", r.texts(e.extra)},
         {"hugepages", r.word<H>(e.hugepages, {{"auto", H::automatic}, {"yes", H::yes}, {"no", H::no}})},
         {"memory_mib", r.number(e.memory_mib, 0, 1u << 24)}});
}

void read_ports(Reader &r, const Node &node, const std::string &path) {
  r.sequence(node, path, [&r](const Node &item, const std::string &where) { read_port(r, item, where); });
}

} // namespace weir::config
