#include "control/api/request_files.hpp"

#include <fmt/format.h>

namespace weir::control {

Result<std::shared_ptr<const rules::Bundle>> files_of(const Caller &caller, const std::string &named) {
  if (named.empty()) return nullptr;
  if (caller.fds.empty())
    return fail(Errc::usage,
                fmt::format("{}: weir-control opens no file that a request names; the weirctl of "
                            "this version reads it and passes it along, an older one does not",
                            named));
  auto bundle = rules::Bundle::open(caller.fds.front()->get());
  if (!bundle) return std::unexpected(std::move(bundle.error()));
  return std::make_shared<const rules::Bundle>(std::move(*bundle));
}

} // namespace weir::control
