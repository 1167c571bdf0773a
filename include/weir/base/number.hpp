// Numbers that count different things are different types: a generation is no sequence, and the number of a
// list no place of a counter. A Number compares, counts up and is printed as the integer that it is. A literal
// becomes one by itself; a variable has to say so, in both directions.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>
#include <ios>
#include <limits>
#include <utility>

#include <fmt/core.h>

namespace weir {

template <typename Tag, std::unsigned_integral Rep> class Number {
public:
  using rep = Rep;

  constexpr Number() noexcept = default;
  template <std::same_as<int> Literal>
  consteval Number(Literal literal)
      : value_(static_cast<Rep>(literal)) { // NOLINT(google-explicit-constructor)
    if (!std::in_range<Rep>(literal)) throw "outside the number's range"; // refused by the compiler
  }
  explicit constexpr Number(Rep value) noexcept : value_(value) {}

  [[nodiscard]] constexpr Rep value() const noexcept { return value_; }

  constexpr Number &operator++() noexcept {
    ++value_;
    return *this;
  }
  [[nodiscard]] constexpr Number next() const noexcept { return Number(static_cast<Rep>(value_ + 1)); }

  friend constexpr bool operator==(const Number &, const Number &) noexcept = default;
  friend constexpr auto operator<=>(const Number &, const Number &) noexcept = default;
  // With an integer of a test or a counter; an order between the two is not asked for.
  template <std::integral I> friend constexpr bool operator==(const Number &a, I b) noexcept {
    return std::cmp_equal(a.value_, b);
  }

  template <typename Stream>
    requires std::derived_from<Stream, std::ios_base>
  friend Stream &operator<<(Stream &out, const Number &n) {
    out << +n.value_;
    return out;
  }
  template <typename Json> friend void to_json(Json &json, const Number &n) { json = n.value_; }

private:
  Rep value_ = 0;
};

// One for every number of a kind, so that none is out of range, and taken by such a number alone.
template <class N, class T>
  requires(sizeof(typename N::rep) <= 2)
struct PerNumber {
  T of[std::size_t{std::numeric_limits<typename N::rep>::max()} + 1];

  [[nodiscard]] constexpr T &operator[](N number) noexcept { return of[number.value()]; }
  [[nodiscard]] constexpr const T &operator[](N number) const noexcept { return of[number.value()]; }
};

// The number of a list of rules, counted from 0 by their store; values of tables carry it plus one in 16 bits.
using ListId = Number<struct ListIdTag, std::uint16_t>;

// Two that no list has: what a value of a table says that names none, and the one under which a host is counted
// that a filter without tables denied (compact mode), since no table says which list it is on.
inline constexpr ListId no_list = 65'535, compact_list = 65'534;

} // namespace weir

template <typename Tag, std::unsigned_integral Rep>
struct fmt::formatter<weir::Number<Tag, Rep>> : fmt::formatter<Rep> {
  template <typename Context> auto format(const weir::Number<Tag, Rep> &n, Context &context) const {
    return fmt::formatter<Rep>::format(n.value(), context);
  }
};

template <typename Tag, std::unsigned_integral Rep> struct std::hash<weir::Number<Tag, Rep>> {
  std::size_t operator()(const weir::Number<Tag, Rep> &n) const noexcept {
    return std::hash<Rep>()(n.value());
  }
};
