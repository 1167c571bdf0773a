// Keys to fill filters with and to ask them for: generated, reproducible, never one twice.
//
//   urls        "http://www.gardenriver7.net/shop/4f2a91.html", like a blacklist's
//   ycsb        "user6284781860667377211", as that benchmark numbers its records
//   addresses   IPv4 addresses, hashed as an image does
//
// Strings are hashed with XXH3 to the 64 bits that filters take.
#pragma once

#include "weir/base/hash.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::lab {

enum class KeySet : std::uint8_t { urls, ycsb, addresses };

// Present and absent keys never meet. At most 2^31 of each.
enum class Side : std::uint8_t { positive, negative };

[[nodiscard]] std::string key_text(KeySet set, Side side, std::uint64_t index, std::uint64_t seed);
[[nodiscard]] std::vector<KeyHash> make_keys(KeySet set, Side side, std::uint64_t count, std::uint64_t seed);

} // namespace weir::lab
