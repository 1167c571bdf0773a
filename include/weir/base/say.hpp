// What a program has to say of itself while it runs: lines on standard error, "weir-dataplane: port lan: link is up".
//
// A service outlives its log. Where standard error takes nothing, since its disk is full, its file is at a limit or its
// reader is gone (SIGPIPE has to be ignored for that), the line is lost and nothing else: fmt::print would throw, which
// ends a process whose threads expect no exception.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace weir {

// One line, in one write where the system takes it whole, so that lines of several threads do not mix.
void say_sentence(std::string_view program, std::string_view sentence) noexcept;

template <class... Values>
void say(std::string_view program, fmt::format_string<Values...> text, Values &&...values) noexcept {
  try {
    say_sentence(program, fmt::format(text, std::forward<Values>(values)...));
  } catch (...) { // no memory for a sentence
    say_sentence(program, "there is no memory for a message");
  }
}

} // namespace weir
