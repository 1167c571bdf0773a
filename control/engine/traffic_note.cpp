#include "control/engine/traffic_note.hpp"

#include "control/store/codec.hpp"
#include "weir/base/hash.hpp"

namespace weir::control {

namespace {

using store::Decoder, store::Encoder;

constexpr std::uint8_t version = 2;
constexpr std::size_t hash_bytes = 8;
constexpr std::uint64_t rows_bound = 1u << 20; // what follows a count that is no count is not read

std::string sealed(const Encoder &content) {
  const std::uint64_t hash = XXH3_64bits(content.text.data(), content.text.size());
  return Encoder(content.text).u64(hash).text;
}

// The content behind the version; nothing when it is not what was written.
std::optional<std::string_view> opened(std::string_view note) {
  if (note.size() <= hash_bytes || static_cast<std::uint8_t>(note[0]) != version) return std::nullopt;
  const std::string_view content = note.substr(0, note.size() - hash_bytes);
  if (Decoder(note.substr(content.size())).u64() != XXH3_64bits(content.data(), content.size()))
    return std::nullopt;
  return content.substr(1);
}

Encoder begun() {
  Encoder out;
  out.u8(version);
  return out;
}

void put(Encoder &out, const Address &address) {
  out.u8(static_cast<std::uint8_t>(address.family)).raw(address.bytes.data(), address_bytes(address.family));
}

Address get_address(Decoder &in) {
  Address address;
  address.family = in.u8() == static_cast<std::uint8_t>(Family::ipv6) ? Family::ipv6 : Family::ipv4;
  in.raw(address.bytes.data(), address_bytes(address.family));
  return address;
}

void put(Encoder &out, const std::vector<Address> &addresses) {
  out.u64(addresses.size());
  for (const Address &address : addresses) put(out, address);
}

// Calls `take` for each of a counted row of things.
template <class Take> void get_rows(Decoder &in, Take take) {
  const std::uint64_t count = in.u64();
  for (std::uint64_t i = 0; i < count && i < rows_bound && in.ok(); ++i) take();
}

} // namespace

std::string encode_sources(const watch::DenyFilterWatch::Kept &kept) {
  Encoder out = begun();
  out.u64(kept.negatives.total).u64(kept.negatives.once).u64(kept.negatives.twice);
  out.u64(kept.negatives.hottest.size());
  for (const auto &row : kept.negatives.hottest) {
    put(out, row.address);
    out.u64(row.count).u8(row.earned ? 1 : 0);
  }
  put(out, kept.negatives.recent);
  put(out, kept.wrong);
  return sealed(out);
}

std::optional<watch::DenyFilterWatch::Kept> decode_sources(std::string_view note) {
  const auto content = opened(note);
  if (!content) return std::nullopt;
  Decoder in(*content);
  watch::DenyFilterWatch::Kept kept;
  kept.negatives.total = in.u64();
  kept.negatives.once = in.u64();
  kept.negatives.twice = in.u64();
  get_rows(in, [&] {
    const Address address = get_address(in);
    const std::uint64_t count = in.u64();
    kept.negatives.hottest.push_back({address, count, in.u8() != 0});
  });
  get_rows(in, [&] { kept.negatives.recent.push_back(get_address(in)); });
  get_rows(in, [&] { kept.wrong.push_back(get_address(in)); });
  if (!in.ok() || !in.rest().empty()) return std::nullopt;
  return kept;
}

std::string encode_top(const SampleTable::Kept &kept) {
  Encoder out = begun();
  out.u64(kept.total).u64(kept.rows.size());
  for (const SampleTable::Row &row : kept.rows) {
    put(out, row.address);
    out.u8(row.denied ? 1 : 0).u16(row.list.value()).u64(row.count).u64(row.inherited);
  }
  return sealed(out);
}

std::optional<SampleTable::Kept> decode_top(std::string_view note) {
  const auto content = opened(note);
  if (!content) return std::nullopt;
  Decoder in(*content);
  SampleTable::Kept kept;
  kept.total = in.u64();
  get_rows(in, [&] {
    SampleTable::Row row;
    row.address = get_address(in);
    row.denied = in.u8() != 0;
    row.list = ListId(in.u16());
    row.count = in.u64();
    row.inherited = in.u64();
    kept.rows.push_back(row);
  });
  if (!in.ok() || !in.rest().empty()) return std::nullopt;
  return kept;
}

} // namespace weir::control
