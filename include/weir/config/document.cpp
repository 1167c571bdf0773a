#include "weir/config/document.hpp"

#include "weir/config/values.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

namespace weir::config {
namespace {

class Builder final : public YAML::EventHandler {
public:
  void OnDocumentStart(const YAML::Mark &) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark &mark, YAML::anchor_t anchor) override {
    place(make(Node::Kind::nothing, mark, anchor));
  }
  void OnAlias(const YAML::Mark &, YAML::anchor_t anchor) override { place(anchors_.at(anchor)); }
  void OnScalar(const YAML::Mark &mark, const std::string &, YAML::anchor_t anchor,
                const std::string &value) override {
    Node *const node = make(Node::Kind::scalar, mark, anchor);
    node->text = value;
    place(node);
  }
  void OnSequenceStart(const YAML::Mark &mark, const std::string &, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open_.push_back({make(Node::Kind::list, mark, anchor), nullptr});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark &mark, const std::string &, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open_.push_back({make(Node::Kind::map, mark, anchor), nullptr});
  }
  void OnMapEnd() override { close(); }

  std::deque<Node> nodes;
  const Node *root = nullptr;

private:
  struct Open {
    Node *node;
    const Node *key; // of a map, while its value is awaited
  };

  Node *make(Node::Kind kind, const YAML::Mark &mark, YAML::anchor_t anchor) {
    Node &node = nodes.emplace_back();
    node.kind = kind;
    node.line = mark.line + 1;
    if (anchor != YAML::NullAnchor) anchors_[anchor] = &node;
    return &node;
  }
  void place(const Node *node) {
    if (open_.empty()) {
      root = node;
      return;
    }
    Open &around = open_.back();
    if (around.node->is_list())
      around.node->items.push_back(node);
    else if (around.key == nullptr)
      around.key = node;
    else
      around.node->pairs.push_back({std::exchange(around.key, nullptr), node});
  }
  void close() {
    const Node *const node = open_.back().node;
    open_.pop_back();
    place(node);
  }

  std::vector<Open> open_; // outermost first
  std::unordered_map<YAML::anchor_t, const Node *> anchors_;
};

} // namespace

bool Node::has(std::string_view key) const noexcept {
  return std::ranges::any_of(pairs, [&](const Pair &pair) { return pair.key->text == key; });
}

Result<Document> Document::parse(const std::string &text, const std::filesystem::path &name) {
  Builder builder, further;
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) builder.root = &builder.nodes.emplace_back();
    if (parser.HandleNextDocument(further))
      return fail(Errc::config, fmt::format("{}:{}: a second document begins here, after \"---\" or \"...\"; "
                                            "put all keys into one",
                                            name.string(), further.root->line));
  } catch (const YAML::Exception &e) {
    return fail(Errc::config,
                fmt::format("{}:{}: not YAML: {}", name.string(), e.mark.line + 1, printable(e.msg)));
  }
  return Document(std::move(builder.nodes), builder.root);
}

} // namespace weir::config
