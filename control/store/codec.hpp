// How the store writes keys and values: big-endian numbers, so that byte order is key order, and
// strings behind their length. A reader that runs out of bytes says so once, at the end, by ok().
#pragma once

#include "weir/key/address.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weir::store {

class Encoder {
public:
  explicit Encoder(std::string_view start = {}) : text(start) {}

  Encoder &u8(std::uint8_t v) {
    text.push_back(static_cast<char>(v));
    return *this;
  }
  Encoder &u16(std::uint16_t v) {
    return u8(static_cast<std::uint8_t>(v >> 8)).u8(static_cast<std::uint8_t>(v));
  }
  Encoder &u64(std::uint64_t v) {
    const std::uint64_t big = __builtin_bswap64(v);
    text.append(reinterpret_cast<const char *>(&big), sizeof big);
    return *this;
  }
  Encoder &raw(const void *from, std::size_t bytes) {
    text.append(static_cast<const char *>(from), bytes);
    return *this;
  }
  Encoder &string(std::string_view s) {
    u64(s.size());
    text.append(s);
    return *this;
  }
  // Sorts as Prefix does: family, address, length.
  Encoder &prefix(const Prefix &p) {
    u8(static_cast<std::uint8_t>(p.family()));
    return raw(p.address.bytes.data(), address_bytes(p.family())).u8(p.length);
  }

  std::string text;
};

class Decoder {
public:
  explicit Decoder(std::string_view text) : rest_(text) {}

  std::uint8_t u8() {
    std::uint8_t v = 0;
    raw(&v, 1);
    return v;
  }
  std::uint16_t u16() {
    const unsigned high = u8();
    return static_cast<std::uint16_t>(high << 8 | u8());
  }
  std::uint64_t u64() {
    std::uint64_t v = 0;
    raw(&v, sizeof v);
    return __builtin_bswap64(v);
  }
  void raw(void *to, std::size_t bytes) {
    if (rest_.size() < bytes) {
      ok_ = false;
      std::memset(to, 0, bytes);
      return;
    }
    std::memcpy(to, rest_.data(), bytes);
    rest_.remove_prefix(bytes);
  }
  std::string string() {
    const std::uint64_t size = u64();
    if (size > rest_.size()) {
      ok_ = false;
      return {};
    }
    std::string s(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return s;
  }
  Prefix prefix() {
    Prefix p;
    const std::uint8_t family = u8();
    if (family != 4 && family != 6) ok_ = false;
    p.address.family = family == 6 ? Family::ipv6 : Family::ipv4;
    raw(p.address.bytes.data(), address_bytes(p.address.family));
    p.length = u8();
    return p;
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::string_view rest() const { return rest_; }

private:
  std::string_view rest_;
  bool ok_ = true;
};

} // namespace weir::store
