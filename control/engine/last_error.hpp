// What failed last, for `status`. A change that was refused names lines of lists, which are for those who may
// change rules: others are told which change it was.
#pragma once

#include <string>
#include <utility>

namespace weir::control {

struct LastError {
  std::string text, brief; // for who may change rules, for anybody

  LastError &operator=(std::string of_all) {
    text = std::move(of_all);
    brief = text;
    return *this;
  }
  void of_change(const std::string &cause, const std::string &why) {
    text = cause + ": " + why;
    brief = cause + ": refused; those who may change rules are told why";
  }
  void add(const std::string &more) {
    text += more;
    brief += more;
  }
  void clear() { *this = std::string(); }
};

} // namespace weir::control
