// What the deny lists of a configuration do besides dropping, as a section of an image.
#pragma once

#include "weir/build/list_input.hpp"
#include "weir/config/config.hpp"
#include "weir/image/identity.hpp"
#include "weir/image/list_actions.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace weir::build {

// Of one list of a configuration, under this number. Of one that drops too.
[[nodiscard]] image::ListActionEntry action_of(const config::List &list, ListId number) noexcept;

// Section list_actions; empty where all deny lists drop. `lists`: the numbers that the image has them under.
[[nodiscard]] std::vector<std::byte> list_action_section(const config::Config &config,
                                                         std::span<const ListInput> lists);

// Of lists and what they do.
[[nodiscard]] image::Digest digest_with(image::Digest lists,
                                        std::span<const std::byte> list_actions) noexcept;

} // namespace weir::build
