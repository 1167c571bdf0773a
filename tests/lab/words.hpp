// What URL-like keys are put together from.
#pragma once

#include <array>
#include <string_view>

namespace weir::lab {

inline constexpr std::array<std::string_view, 32> words{
    "garden", "river", "market",  "cloud", "stone",   "paper", "light",  "music", "travel", "green", "house",
    "silver", "north", "kitchen", "photo", "motor",   "deal",  "sport",  "forum", "media",  "game",  "data",
    "health", "water", "planet",  "net",   "fashion", "book",  "credit", "radio", "city",   "home"};
inline constexpr std::array<std::string_view, 8> domains{"com", "net",  "org",   "de",
                                                         "ru",  "info", "co.uk", "com.br"};
inline constexpr std::array<std::string_view, 8> folders{"",     "shop/",  "index/",      "news/archive/",
                                                         "img/", "users/", "wp-content/", "cgi-bin/"};
inline constexpr std::array<std::string_view, 4> endings{".html", ".php", ".aspx", ""};

} // namespace weir::lab
