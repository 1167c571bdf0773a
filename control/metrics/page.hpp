// One page of metrics: families, each with its help and type, then its series.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weir::metrics {

class Page {
public:
  using Label = std::pair<std::string_view, std::string_view>;

  void counter(std::string_view name, std::string_view help) { family(name, "counter", help); }
  void gauge(std::string_view name, std::string_view help) { family(name, "gauge", help); }

  // Of the family that was named last.
  void value(std::initializer_list<Label> labels, std::uint64_t number) {
    series(name_, labels, fmt::format("{}", number));
  }
  void value(std::initializer_list<Label> labels, double number) {
    series(name_, labels, std::isfinite(number) ? fmt::format("{:.9g}", number) : "NaN");
  }

  // Counts by bound, one more for what is beyond; the sum of all values.
  void histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                 std::span<const std::uint64_t> counts, double sum) {
    family(name, "histogram", help);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      below += counts[i];
      const std::string bound = i < bounds.size() ? fmt::format("{:g}", bounds[i]) : "+Inf";
      series(name_ + "_bucket", {{"le", bound}}, fmt::format("{}", below));
    }
    series(name_ + "_sum", {}, fmt::format("{:.9g}", sum));
    series(name_ + "_count", {}, fmt::format("{}", below));
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

private:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(help, false), name, type);
  }
  void series(std::string_view name, std::initializer_list<Label> labels, std::string_view number) {
    text_ += name;
    char before = '{';
    for (const auto &[label, value] : labels) {
      text_ += fmt::format("{}{}=\"{}\"", before, label, escaped(value, true));
      before = ',';
    }
    if (labels.size() != 0) text_ += '}';
    text_ += fmt::format(" {}\n", number);
  }
  [[nodiscard]] static std::string escaped(std::string_view text, bool quoted) {
    std::string out;
    for (const char c : text) {
      if (c == '\n') {
        out += "\\n";
        continue;
      }
      if (c == '\\' || (quoted && c == '"')) out += '\\';
      out += c;
    }
    return out;
  }

  std::string name_, text_;
};

} // namespace weir::metrics
