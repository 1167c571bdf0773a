// A weir-control of a few lines for tests that want to say exactly which image is in force when: it
// speaks the wire messages to a real weir-dataplane and waits for every answer.
#pragma once

#include "tests/support/replay_run.hpp"
#include "tests/support/test_image.hpp"
#include "weir/wire/messages.hpp"

#include <filesystem>
#include <string>

namespace weir::test {

class ImagePusher {
public:
  // Waits until the dataplane listens. Throws std::runtime_error, as every call here does.
  explicit ImagePusher(const std::filesystem::path &socket);
  ~ImagePusher();
  ImagePusher(const ImagePusher &) = delete;
  ImagePusher &operator=(const ImagePusher &) = delete;

  // Builds, stages and commits; when it returns, every worker has seen the generation.
  void push(const RuleSet &rules, const ImageOptions &options);

  [[nodiscard]] std::string query(const std::string &json);
  [[nodiscard]] ReplayReport stats() { return parse_report(query(R"({"what": "stats"})")); }

private:
  void send(wire::Type type, const void *payload, std::size_t bytes, int fd = -1);
  // Waits for the answer to the last request; returns its payload, throws on `refused`.
  [[nodiscard]] std::string receive(wire::Type wanted);

  int fd_ = -1;
  std::uint32_t request_ = 0;
};

} // namespace weir::test
