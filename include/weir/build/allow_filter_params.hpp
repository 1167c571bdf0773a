// What the filter in front of the allow tables is to be built of: parameters of any kind, or none.
//
// Parameters of a kind are a value that says how large its section is, which hashes it takes and how keys and
// guarded negatives become its bytes; seesaw_builder.hpp, cuckoo_builder.hpp and stacked_counting_builder.hpp
// have one each. Nothing here has to know of a kind.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/base/result.hpp"

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace weir::build {

template <class Params>
concept BuildsAllowFilter = requires(const Params &params, std::span<const KeyHash> keys,
                                     std::span<const KeyHash> guarded, MutableBytes section) {
  { params.bytes() } -> std::same_as<Result<std::uint64_t>>;
  { params.hash_family() } -> std::same_as<HashFamily>;
  { params.build(keys, guarded, section) } -> std::same_as<Status>;
};

class AllowFilterParams {
public:
  AllowFilterParams() = default; // there is no filter
  template <class Params>
    requires(!std::same_as<Params, AllowFilterParams>) && BuildsAllowFilter<Params>
  AllowFilterParams(Params params) : kind_(std::make_shared<const KindOf<Params>>(std::move(params))) {}

  [[nodiscard]] bool has_value() const noexcept { return kind_ != nullptr; } // do not ask the rest without
  explicit operator bool() const noexcept { return has_value(); }

  // Of the whole section. Errors: usage, for parameters outside their bounds.
  [[nodiscard]] Result<std::uint64_t> bytes() const { return kind_->bytes(); }
  // Of the hashes that the filter takes.
  [[nodiscard]] HashFamily hash_family() const { return kind_->hash_family(); }
  // Fills `section`, of bytes() bytes, aligned to 64. `guarded` negatives should not be accepted, the first
  // before the last; a kind that favours no key takes no notice of them. Errors: needs_rebuild, when the keys
  // do not fit: other hashes may.
  [[nodiscard]] Status build(std::span<const KeyHash> keys, std::span<const KeyHash> guarded,
                             MutableBytes section) const {
    return kind_->build(keys, guarded, section);
  }

  // The parameters, if they are of this kind.
  template <BuildsAllowFilter Params> [[nodiscard]] const Params *as() const noexcept {
    const auto *kind = dynamic_cast<const KindOf<Params> *>(kind_.get());
    return kind != nullptr ? &kind->params : nullptr;
  }

private:
  struct Kind {
    Kind() = default;
    Kind(const Kind &) = delete;
    Kind &operator=(const Kind &) = delete;
    virtual ~Kind() = default;
    [[nodiscard]] virtual Result<std::uint64_t> bytes() const = 0;
    [[nodiscard]] virtual HashFamily hash_family() const = 0;
    [[nodiscard]] virtual Status build(std::span<const KeyHash> keys, std::span<const KeyHash> guarded,
                                       MutableBytes section) const = 0;
  };
  template <class Params> struct KindOf final : Kind {
    Params params;

    explicit KindOf(Params of) : params(std::move(of)) {}
    Result<std::uint64_t> bytes() const override { return params.bytes(); }
    HashFamily hash_family() const override { return params.hash_family(); }
    Status build(std::span<const KeyHash> keys, std::span<const KeyHash> guarded,
                 MutableBytes section) const override {
      return params.build(keys, guarded, section);
    }
  };

  std::shared_ptr<const Kind> kind_;
};

} // namespace weir::build
