#include "control/cli/gather.hpp"

#include "control/rules/bundled_feed.hpp"
#include "weir/config/config.hpp"
#include "weir/config/groups.hpp"

namespace weir::cli {

namespace {

Status add_file(rules::BundleWriter &writer, const std::filesystem::path &file) {
  const auto opened = TRY(rules::open_feed(file));
  return writer.add(file.string(), opened.get());
}

// A configuration that does not speak of files names none, and needs no reading here.
Status add_lists(rules::BundleWriter &writer, const std::string &text, const std::filesystem::path &file) {
  if (text.find("file") == std::string::npos && text.find("model") == std::string::npos) return {};
  const auto config = config::parse(text, file);
  if (!config) return std::unexpected(config.error());
  Error faults{Errc::io, ""};
  const auto add = [&](const std::filesystem::path &named) {
    if (named.empty()) return;
    const Status added = add_file(writer, named);
    if (added) return;
    faults.code = added.error().code;
    faults.message += (faults.message.empty() ? "" : "\n") + added.error().message;
  };
  for (const config::List &list : config->lists) add(list.file);
  for (const config::PacketRule &rule : config->rules) add(rule.file);
  if (config->offenders) add(config->offenders->model);
  if (!faults.message.empty()) return std::unexpected(std::move(faults));
  return {};
}

} // namespace

Result<OwnedFd> gather_configuration(const std::filesystem::path &file) {
  const auto text = TRY(config::read(file));
  auto writer = rules::BundleWriter::make();
  if (!writer) return std::unexpected(std::move(writer.error()));
  Status added = writer->add(file.string(), text);
  if (added) added = add_lists(*writer, text, file);
  if (!added) return std::unexpected(std::move(added.error()));
  return std::move(*writer).seal();
}

Result<OwnedFd> gather_list(const std::filesystem::path &file) {
  auto writer = rules::BundleWriter::make();
  if (!writer) return std::unexpected(std::move(writer.error()));
  if (auto added = add_file(*writer, file); !added) return std::unexpected(std::move(added.error()));
  return std::move(*writer).seal();
}

} // namespace weir::cli
