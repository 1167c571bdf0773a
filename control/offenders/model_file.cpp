#include "control/offenders/model_file.hpp"

#include "control/rules/bundled_feed.hpp"
#include "weir/base/hash.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace weir::offenders {
namespace {

constexpr std::string_view magic = "WEIROML1";
constexpr std::size_t head_bytes = magic.size() + sizeof(std::uint64_t);
constexpr std::size_t bytes_most = std::size_t{16} << 20;

} // namespace

std::string model_file_of(const Model &model) {
  const std::string body = encode(model);
  const std::uint64_t checksum = XXH3_64bits(body.data(), body.size());
  std::string out(magic);
  out.append(reinterpret_cast<const char *>(&checksum), sizeof checksum);
  return out + body;
}

Result<ModelFile> parse_model_file(std::string_view text, const std::string &name) {
  if (!text.starts_with(magic) || text.size() < head_bytes)
    return fail(Errc::parse,
                fmt::format("{}: no model of offenders; weirctl offender model writes one", name));
  const std::string_view body = text.substr(head_bytes);
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, text.data() + magic.size(), sizeof checksum);
  if (text.size() > bytes_most)
    return fail(Errc::parse, fmt::format("{}: {} bytes, and a model of offenders has at most {}", name,
                                         text.size(), bytes_most));
  if (XXH3_64bits(body.data(), body.size()) != checksum)
    return fail(Errc::parse, fmt::format("{}: damaged; copy it anew", name));
  auto model = decode(body);
  if (!model) return fail(Errc::parse, fmt::format("{}: {}", name, model.error().message));
  return ModelFile{std::make_shared<const Model>(std::move(*model)), fmt::format("{:016x}", checksum)};
}

Result<std::shared_ptr<const ModelFile>> load_model_file(const config::Config &config,
                                                         const rules::Bundle *files) {
  if (!config.offenders || config.offenders->model.empty()) return nullptr;
  const std::filesystem::path &file = config.offenders->model;
  std::shared_ptr<const ModelFile> read;
  TRY(rules::with_feed(file, files, [&](std::string_view text) -> Status {
    auto parsed = parse_model_file(text, file.string());
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    read = std::make_shared<const ModelFile>(std::move(*parsed));
    return {};
  }));
  if (read->model->element != config.offenders->element)
    return fail(Errc::config,
                fmt::format("{}:{}: offenders.model: {} is of element {}; write element: {}, or take a model "
                            "that was learned so",
                            config.source.string(), config.offenders->line, file.string(),
                            name_of(read->model->element), name_of(read->model->element)));
  return read;
}

} // namespace weir::offenders
