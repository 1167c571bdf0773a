// The log of what entries touched: a sequence names the same record whatever is trimmed, and there are never
// holes.
#include "control/engine/touched_log.hpp"

#include "weir/key/text.hpp"

#include <gtest/gtest.h>

namespace weir::control::touched_log_test {
namespace {

// Records of sequences `first` to `last`, each with a prefix of its own.
std::vector<store::Touched> records(std::uint64_t first, std::uint64_t last) {
  std::vector<store::Touched> all;
  for (std::uint64_t s = first; s <= last; ++s)
    all.push_back({Side::deny, {Address::from_host(static_cast<std::uint32_t>(s)), 32}});
  return all;
}
bool says(const TouchedLog &log, std::uint64_t first, std::uint64_t last) {
  if (log.first() != first || log.last() != last) return false;
  for (std::uint64_t s = first; s <= last; ++s)
    if (log.at(s).prefix.address.host() != s) return false;
  return true;
}

TEST(TouchedLog, begins_empty_in_front_of_the_first_sequence) {
  const TouchedLog log;
  EXPECT_EQ(log.first(), 1u);
  EXPECT_EQ(log.last(), 0u);
}

TEST(TouchedLog, names_records_by_sequence_through_appends_and_trims) {
  TouchedLog log;
  log.append(5, records(1, 5));
  log.append(5, {});
  EXPECT_TRUE(says(log, 1, 5));
  log.append(9, records(6, 9));
  EXPECT_TRUE(says(log, 1, 9));
  log.trim(4);
  EXPECT_TRUE(says(log, 6, 9));
  log.append(10, records(10, 10));
  EXPECT_TRUE(says(log, 6, 10));
  log.trim(100);
  EXPECT_TRUE(says(log, 6, 10));
}

TEST(TouchedLog, forgets_what_a_skipped_sequence_would_leave_a_hole_behind) {
  TouchedLog log;
  log.append(3, records(1, 3));
  log.append(9, records(8, 9)); // 4 to 7 were never here
  EXPECT_TRUE(says(log, 8, 9));
}

TEST(TouchedLog, leaves_out_what_is_older_than_its_beginning) {
  TouchedLog log;
  log.restart(20);
  EXPECT_EQ(log.last(), 19u);
  log.append(12, records(10, 12)); // written before the restart
  EXPECT_EQ(log.first(), 20u);
  EXPECT_EQ(log.last(), 19u);
  log.append(21, records(20, 21));
  EXPECT_TRUE(says(log, 20, 21));
}

} // namespace
} // namespace weir::control::touched_log_test
