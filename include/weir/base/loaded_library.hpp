// A shared library that few configurations need, loaded when it is needed: what it and all that it stands on take of a process
// is paid by those alone.
#pragma once

#include "weir/base/result.hpp"

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace weir {

class LoadedLibrary {
public:
  // Stays loaded until the process ends. Errors of take(): not_found, with the package to install.
  LoadedLibrary(const char *soname, const char *package)
      : package_(package), library_(dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) note();
  }

  template <class Function> void take(Function &function, const char *name) {
    function = nullptr;
    if (library_ == nullptr) return;
    function = reinterpret_cast<std::remove_reference_t<Function>>(dlsym(library_, name));
    if (function == nullptr) note();
  }
  // Was everything there?
  [[nodiscard]] Status status() const {
    if (why_.empty()) return {};
    return fail(Errc::not_found, why_ + "; install " + package_);
  }

private:
  void note() {
    const char *why = dlerror();
    why_ = why != nullptr ? why : "a library cannot be loaded";
  }

  const char *package_;
  void *library_;
  std::string why_;
};

} // namespace weir
