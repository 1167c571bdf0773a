// A model of offenders as a file, for a gate to begin with: key offenders.model, weirctl offender model.
//
//   | "WEIROML1" | XXH3 of the rest, 8 bytes | encode(model) |
//
// What such a file says is as good as the configuration that names it: the checksum finds damage, not malice.
#pragma once

#include "control/offenders/model.hpp"
#include "control/rules/bundle.hpp"
#include "weir/config/config.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace weir::offenders {

struct ModelFile {
  std::shared_ptr<const Model> model;
  std::string digest; // of its bytes: the same file is taken up once
};

// What there is to classify with, and the file that was taken up last.
struct ModelAtHand {
  std::shared_ptr<const Model> model; // null: nothing
  std::string digest;
  // Under a configuration that names this file (null: none): a file counts once, and what is learned later stays under it.
  [[nodiscard]] std::shared_ptr<const Model> with(const ModelFile *file) const {
    return file != nullptr && file->digest != digest ? file->model : model;
  }
};

[[nodiscard]] std::string model_file_of(const Model &model);
// `name` stands for the file in messages. Errors: parse, with what is wrong.
[[nodiscard]] Result<ModelFile> parse_model_file(std::string_view text, const std::string &name);
// That of the configuration; null where it names none. With `files` the file is one of those, and nothing is opened. Errors: io;
// parse; config, for a model of another element.
[[nodiscard]] Result<std::shared_ptr<const ModelFile>> load_model_file(const config::Config &config,
                                                                       const rules::Bundle *files);

} // namespace weir::offenders
