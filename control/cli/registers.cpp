#include "control/cli/registers.hpp"

#include "control/build/sealed_image.hpp"
#include "control/cli/check.hpp"
#include "p4/export/text_sink.hpp"
#include "weir/config/no_image.hpp"
#include "weir/image/reader.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/mman.h>

#include <fstream>
#include <memory>

namespace weir::cli {

namespace {

struct Unmap {
  std::size_t bytes = 0;
  void operator()(void *memory) const noexcept { munmap(memory, bytes); }
};

Result<std::string> text_of(const build::SealedImage &image, const config::Config &config) {
  void *memory = mmap(nullptr, image.identity.bytes, PROT_READ, MAP_SHARED, image.fd.get(), 0);
  if (memory == MAP_FAILED) return fail(Errc::io, "the image cannot be read back");
  const std::unique_ptr<void, Unmap> mapping(memory, {image.identity.bytes});
  const auto view = TRY(image::attach({static_cast<const std::byte *>(memory), image.identity.bytes}));
  std::vector<PortSide> sides;
  for (const config::Port &port : config.ports) sides.push_back(port.side);
  return p4::to_text(view, {.ports = sides, .no_image = config::verdict_of(config.no_image)});
}

} // namespace

Result<nlohmann::json> write_registers(const std::filesystem::path &config, const std::filesystem::path &out,
                                       control::Progress *progress) {
  const auto read = TRY(read_rules(config, progress));
  const auto image =
      build::build_sealed(read.effective, read.config,
                          {.identity = {.generation = 1}, .target = build::Target::p4, .progress = progress});
  if (!image) return std::unexpected(image.error());
  const auto text = TRY(text_of(*image, read.config));
  std::ofstream file(out, std::ios::binary);
  file << text;
  if (!file.flush()) return fail(Errc::io, fmt::format("{}: cannot be written", out.string()));
  return nlohmann::json{{"ok", true},
                        {"out", out.string()},
                        {"bytes", text.size()},
                        {"image_bytes", image->identity.bytes},
                        {"entries", read.effective.entries()}};
}

} // namespace weir::cli
