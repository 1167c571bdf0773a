// Register contents as text, for targets that this tree does not drive itself: one line an element.
//
//   weir-registers 1
//   generation 42
//   digest 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//   array bank 1                          name and elements of every array, in the order of register_map.hpp
//   array cfg 1024
//   ...
//   bank 0 1                              array, index, value; index decimal, value hexadecimal
//   cfg 512 1
//   ...
//   end 196619                            so many lines of elements stand before it
//
// Elements that are not named are 0. They stand in the order of the arrays, each by rising index; counters
// are never named. The same image gives the same text. The bank in use is written like every other element,
// and first: whoever loads the text into a program that handles packets writes `bank` last.
//
// read_text() takes nothing else: unknown arrays, elements beyond an array, out of order or standing twice,
// numbers of another form and a text that was cut are errors, with the line.
//
// Errors: parse; of to_text(): refused.
#pragma once

#include "p4/export/contents.hpp"
#include "p4/export/sink.hpp"
#include "weir/base/result.hpp"
#include "weir/image/identity.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::p4 {

inline constexpr unsigned register_text_version = 1;

struct Registers {
  Capacities capacities{};
  std::array<std::vector<std::uint64_t>, array_count> elements; // of every array as many as its capacity

  [[nodiscard]] const std::vector<std::uint64_t> &of(Array array) const noexcept {
    return elements[static_cast<std::size_t>(array)];
  }
};

struct RegisterText {
  Generation generation{};
  image::Digest digest{}; // of the rules
  Registers registers;
};

// Keeps what is written; arrays have the capacities given, and are 0 at first.
class TextSink final : public RegisterSink {
public:
  explicit TextSink(const Capacities &capacities);

  [[nodiscard]] Result<std::uint64_t> capacity(std::string_view array) override;
  [[nodiscard]] Status write(std::string_view array, std::uint64_t first,
                             std::span<const std::uint64_t> values) override;
  [[nodiscard]] Status flip(unsigned bank) override;

  [[nodiscard]] const Registers &registers() const noexcept { return registers_; }
  [[nodiscard]] std::string text(Generation generation, const image::Digest &digest) const;

private:
  [[nodiscard]] Result<std::vector<std::uint64_t> *> array_called(std::string_view name);

  Registers registers_;
};

[[nodiscard]] Result<RegisterText> read_text(std::string_view text);

// The registers of a program that was loaded with capacities_for(view) and given this image.
[[nodiscard]] Result<std::string> to_text(const image::ImageView &view, const Setting &setting = {});

} // namespace weir::p4
