#include "control/rules/normalise.hpp"

#include "weir/base/hash.hpp"
#include "weir/base/hex.hpp"

#include <cstring>
#include <memory>

namespace weir::rules {
namespace {

// Two independent 128-bit hashes of one stream.
class Hasher {
public:
  Hasher() {
    XXH3_128bits_reset_withSeed(low_.get(), 0x7765697272756C65ull);
    XXH3_128bits_reset_withSeed(high_.get(), 0x6469676573743031ull);
  }
  void add(const void *bytes, std::size_t size) {
    if (size == 0) return;
    XXH3_128bits_update(low_.get(), bytes, size);
    XXH3_128bits_update(high_.get(), bytes, size);
  }
  template <class T> void add_number(T value) { add(&value, sizeof value); }
  // Counts first, so that no two different sequences make the same stream.
  template <class T> void add_all(std::span<const T> values) {
    static_assert(std::has_unique_object_representations_v<T>);
    add_number<std::uint64_t>(values.size());
    add(values.data(), values.size_bytes());
  }
  [[nodiscard]] image::Digest digest() const {
    image::Digest out;
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(low_.get()));
    std::memcpy(out.data(), &canonical, 16);
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(high_.get()));
    std::memcpy(out.data() + 16, &canonical, 16);
    return out;
  }

private:
  struct Free {
    void operator()(XXH3_state_t *state) const noexcept { XXH3_freeState(state); }
  };
  using State = std::unique_ptr<XXH3_state_t, Free>;
  State low_{XXH3_createState()}, high_{XXH3_createState()};
};

} // namespace

image::Digest rules_digest(const Effective &rules, const Policy &policy) {
  Hasher hasher;
  hasher.add_number(policy.match);
  hasher.add_number(policy.fallthrough);
  hasher.add_number(policy.non_ip);
  hasher.add_number(policy.link_local);
  hasher.add_number(policy.malformed);
  hasher.add_number(policy.confirm);
  hasher.add_number(policy.too_many_tags);
  hasher.add_number(policy.tunnels);
  hasher.add_number<std::uint64_t>(rules.lists.size());
  for (const build::ListInput &list : rules.lists) {
    hasher.add_number(list.number);
    hasher.add_number(list.side);
    hasher.add_all(std::span<const char>(list.name));
  }
  for (const SideState *side : {&rules.deny, &rules.allow}) {
    hasher.add_all(std::span<const EntryV4>(side->v4));
    hasher.add_all(std::span<const EntryV6>(side->v6));
  }
  return hasher.digest();
}

std::string to_hex(const image::Digest &digest) { return hex_of(digest.data(), digest.size()); }

} // namespace weir::rules
