// When another image is due because the one in force is full, and how its load is read.
#include "control/watch/overlay_watch.hpp"

#include <gtest/gtest.h>

namespace weir::watch::overlay_watch_test {
namespace {

TEST(OverlayWatch, asks_for_an_image_when_the_fullest_overlay_is_half_full) {
  ImageLoad load;
  load.overlays = {{"deny ipv4", 49, 100}, {"deny ipv6", 7, 1'000}, {"allow ipv4", 0, 0}};
  EXPECT_FALSE(look_at_load(load));
  EXPECT_FALSE(look_at_load({}));
  load.overlays[1].keys = 500;
  const auto reason = look_at_load(load);
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->cause, ImageCause::entries);
  EXPECT_EQ(reason->words, "the overlay of deny ipv6 holds 500 of 1000 entries");
  EXPECT_EQ(reason->first_wait, std::chrono::seconds(1));
}

TEST(OverlayWatch, asks_for_one_when_a_filter_has_outgrown_its_plan) {
  ImageLoad load;
  load.allow_filter = {.keys = 70, .planned_keys = 64, .cells = 512, .cells_stuck = 9, .slots = 0};
  load.deny_filter = {.hosts = 300, .planned_hosts = 256};
  EXPECT_FALSE(look_at_load(load));
  load.deny_filter->saturated = true;
  EXPECT_EQ(look_at_load(load)->words, "the stacked filter of denied hosts holds 300 of 256 planned");
  EXPECT_EQ(look_at_load(load)->cause, ImageCause::entries);
  load.allow_filter->saturated = true;
  EXPECT_EQ(look_at_load(load)->words,
            "the filter of the allow lists holds 70 keys of 64 planned, 9 of 512 cells are stuck");
  EXPECT_EQ(look_at_load(load)->cause, ImageCause::allow_saturated);
  load.allow_filter->cells.reset();
  load.allow_filter->slots = 80;
  EXPECT_EQ(look_at_load(load)->words,
            "the filter of the allow lists holds 70 keys of 64 planned in 80 slots");
}

TEST(OverlayWatch, wants_an_image_when_many_hosts_stand_beside_the_map_that_has_the_others) {
  ImageLoad load;
  load.host_map = {.lines = 4096, .hosts_beside = 255};
  EXPECT_FALSE(look_at_load(load));
  load.host_map = {.lines = 4096, .hosts_beside = 256, .saturated = true};
  ASSERT_TRUE(look_at_load(load));
  EXPECT_EQ(look_at_load(load)->words,
            "the range map of 4096 lines had no room for 256 hosts, which stand in the table");
  EXPECT_EQ(look_at_load(load)->cause, ImageCause::entries);
}

TEST(ImageLoad, is_read_from_what_the_dataplane_says_and_from_nonsense_as_nothing) {
  const ImageLoad load = decode_image_load(
      R"({"overlays":[{"name":"deny ipv4","keys":3,"room":8},7],
          "allow_filter":{"kind":"seesaw","keys":5,"planned_keys":6,"cells":64,"cells_stuck":2,"saturated":true},
          "deny_filter":{"hosts":9,"planned_hosts":10,"saturated":false},
          "host_map":{"lines":64,"free_lines":2,"hosts_beside":300,"saturated":true}})");
  ASSERT_EQ(load.overlays.size(), 2u);
  EXPECT_EQ(load.overlays[0].name, "deny ipv4");
  EXPECT_EQ(load.overlays[0].keys, 3u);
  EXPECT_EQ(load.overlays[0].room, 8u);
  EXPECT_EQ(load.overlays[1].room, 0u);
  ASSERT_TRUE(load.allow_filter);
  EXPECT_TRUE(load.allow_filter->saturated);
  EXPECT_EQ(load.allow_filter->cells, 64u);
  ASSERT_TRUE(load.deny_filter);
  EXPECT_FALSE(load.deny_filter->saturated);
  EXPECT_EQ(load.deny_filter->planned_hosts, 10u);
  ASSERT_TRUE(load.host_map);
  EXPECT_TRUE(load.host_map->saturated);
  EXPECT_EQ(load.host_map->hosts_beside, 300u);
  for (const char *nonsense : {"", "7", "[]", R"({"overlays":7,"allow_filter":null,"deny_filter":"x"})"}) {
    const ImageLoad none = decode_image_load(nonsense);
    EXPECT_TRUE(none.overlays.size() <= 1 && !none.allow_filter && !none.deny_filter && !none.host_map)
        << nonsense;
    EXPECT_FALSE(look_at_load(none)) << nonsense;
  }
}

} // namespace
} // namespace weir::watch::overlay_watch_test
