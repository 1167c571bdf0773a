#include "p4/export/text_sink.hpp"

#include "p4/export/exporter.hpp"
#include "weir/image/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <optional>

namespace weir::p4 {
namespace {

constexpr std::string_view first_word = "weir-registers";
// As many elements as a text may ask its reader to keep of one array.
constexpr std::uint64_t elements_max = std::uint64_t{1} << 28;

[[nodiscard]] const ArrayInfo *find_array(std::string_view name) noexcept {
  const auto *found = std::ranges::find(arrays, name, &ArrayInfo::name);
  return found == arrays.end() ? nullptr : found;
}

// The number that is the whole of `text`, written as this file writes it: no sign, no leading zeros.
[[nodiscard]] std::optional<std::uint64_t> number(std::string_view text, int base) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  const bool plain = (text.size() == 1 || !text.starts_with('0')) &&
                     std::ranges::none_of(text, [](char c) { return c >= 'A' && c <= 'F'; });
  return whole && plain ? std::optional(value) : std::nullopt;
}

[[nodiscard]] std::optional<image::Digest> digest_of(std::string_view text) noexcept {
  image::Digest digest;
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const auto read = [&](std::size_t at) { return number(text.substr(at, 1), 16); };
    const auto high = read(2 * i), low = read(2 * i + 1);
    if (!high || !low) return std::nullopt;
    digest[i] = static_cast<std::uint8_t>(*high << 4 | *low);
  }
  return digest;
}

class Reader {
public:
  explicit Reader(std::string_view text) noexcept : text_(text) {}

  [[nodiscard]] Result<RegisterText> read() {
    TRY(head());
    TRY(elements());
    if (!text_.empty()) return fail_here("nothing may stand behind the last line");
    return std::move(out_);
  }

private:
  // The words of the next line; false at the end of the text, or where the line does not end.
  [[nodiscard]] bool next() noexcept {
    const std::size_t end = text_.find('\n');
    if (end == std::string_view::npos) return false;
    line_ = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    ++number_;
    std::string_view rest = line_;
    for (std::string_view &word : words_) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      word = rest.substr(0, space);
      rest.remove_prefix(std::min(space + 1, rest.size()));
    }
    return true;
  }
  [[nodiscard]] std::unexpected<Error> fail_here(std::string_view why) const {
    return fail(Errc::parse, fmt::format("registers as text, line {}, '{}': {}; export it again", number_,
                                         line_.substr(0, 80), why));
  }
  [[nodiscard]] std::unexpected<Error> cut() const {
    return fail(
        Errc::parse,
        fmt::format("registers as text: it ends after line {}, before 'end'; export it again", number_));
  }
  // Does the line consist of the first `count` words, with one space between two?
  [[nodiscard]] bool has_words(std::size_t count) const noexcept {
    std::size_t length = count - 1;
    for (std::size_t i = 0; i < count; ++i) {
      if (words_[i].empty()) return false;
      length += words_[i].size();
    }
    return length == line_.size();
  }

  [[nodiscard]] Status head() {
    if (!next()) return cut();
    if (!has_words(2) || words_[0] != first_word) return fail_here("it does not begin as registers do");
    if (number(words_[1], 10) != register_text_version)
      return fail_here(fmt::format("this program reads version {}", register_text_version));
    if (!next()) return cut();
    const auto generation = number(words_[1], 10);
    if (!has_words(2) || words_[0] != "generation" || !generation)
      return fail_here("a generation has to stand here");
    out_.generation = Generation(*generation);
    if (!next()) return cut();
    const auto digest = digest_of(words_[1]);
    if (!has_words(2) || words_[0] != "digest" || !digest) return fail_here("a digest has to stand here");
    out_.digest = *digest;
    for (const ArrayInfo &info : arrays) TRY(array(info));
    return {};
  }

  [[nodiscard]] Status array(const ArrayInfo &info) {
    if (!next()) return cut();
    const auto capacity = number(words_[2], 10);
    if (!has_words(3) || words_[0] != "array" || words_[1] != info.name || !capacity)
      return fail_here(fmt::format("the size of array {} has to stand here", info.name));
    if (!std::has_single_bit(*capacity) || *capacity > elements_max)
      return fail_here("sizes are powers of two up to 2^28");
    const auto n = static_cast<std::size_t>(info.array);
    out_.registers.capacities[n] = *capacity;
    out_.registers.elements[n].resize(*capacity);
    return {};
  }

  [[nodiscard]] Status elements() {
    std::uint64_t count = 0, expected = 0; // the least index that may come next
    Array current{};
    for (;; ++count) {
      if (!next()) return cut();
      if (words_[0] == "end") break;
      const ArrayInfo *info = find_array(words_[0]);
      const auto index = number(words_[1], 10), value = number(words_[2], 16);
      if (!has_words(3) || info == nullptr || !index || !value)
        return fail_here("an array, an index and a hexadecimal value have to stand here");
      if (info->array < current) return fail_here(fmt::format("array {} has passed", info->name));
      if (info->array != current) expected = 0;
      current = info->array;
      std::vector<std::uint64_t> &to = out_.registers.elements[static_cast<std::size_t>(current)];
      if (*index < expected) return fail_here("indices rise, and no element stands twice");
      if (*index >= to.size()) return fail_here(fmt::format("the array has {} elements", to.size()));
      if (*value == 0) return fail_here("elements that are 0 are left out");
      to[*index] = *value;
      expected = *index + 1;
    }
    if (!has_words(2) || number(words_[1], 10) != count)
      return fail_here(fmt::format("{} elements stand before it", count));
    return {};
  }

  std::string_view text_, line_;
  std::array<std::string_view, 3> words_;
  std::size_t number_ = 0;
  RegisterText out_;
};

} // namespace

TextSink::TextSink(const Capacities &capacities) {
  registers_.capacities = capacities;
  for (std::size_t i = 0; i < array_count; ++i) registers_.elements[i].resize(capacities[i]);
}

Result<std::vector<std::uint64_t> *> TextSink::array_called(std::string_view name) {
  const ArrayInfo *info = find_array(name);
  if (info == nullptr)
    return fail(Errc::not_found, fmt::format("the P4 program has no register array {}", name));
  return &registers_.elements[static_cast<std::size_t>(info->array)];
}

Result<std::uint64_t> TextSink::capacity(std::string_view array) {
  const auto elements = TRY(array_called(array));
  return elements->size();
}

Status TextSink::write(std::string_view array, std::uint64_t first, std::span<const std::uint64_t> values) {
  const auto elements = array_called(array);
  if (!elements) return std::unexpected(elements.error());
  std::vector<std::uint64_t> &to = **elements;
  if (first > to.size() || values.size() > to.size() - first)
    return fail(Errc::usage, fmt::format("elements {} to {} of register array {}, which has {}", first,
                                         first + values.size(), array, to.size()));
  std::ranges::copy(values, to.begin() + static_cast<std::ptrdiff_t>(first));
  return {};
}

Status TextSink::flip(unsigned bank) {
  const std::uint64_t value = bank;
  return write(info_of(Array::bank).name, 0, {&value, 1});
}

std::string TextSink::text(Generation generation, const image::Digest &digest) const {
  fmt::memory_buffer out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{} {}\ngeneration {}\ndigest ", first_word, register_text_version, generation);
  for (const std::uint8_t byte : digest) fmt::format_to(to, "{:02x}", byte);
  fmt::format_to(to, "\n");
  for (const ArrayInfo &info : arrays)
    fmt::format_to(to, "array {} {}\n", info.name, registers_.of(info.array).size());
  std::uint64_t lines = 0;
  for (const ArrayInfo &info : arrays) {
    const std::vector<std::uint64_t> &elements = registers_.of(info.array);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (elements[i] == 0) continue;
      fmt::format_to(to, "{} {} {:x}\n", info.name, i, elements[i]);
      ++lines;
    }
  }
  fmt::format_to(to, "end {}\n", lines);
  return fmt::to_string(out);
}

Result<RegisterText> read_text(std::string_view text) { return Reader(text).read(); }

Result<std::string> to_text(const image::ImageView &view, const Setting &setting) {
  const auto capacities = TRY(capacities_for(view));
  TextSink sink(capacities);
  Exporter exporter(sink);
  TRY(exporter.write(view, setting));
  return sink.text(view.generation, view.header->rules_digest);
}

} // namespace weir::p4
