// Network cards of a machine made of files: what stands in the way of giving them to DPDK.
#include "control/cli/doctor_cards.hpp"
#include "control/cli/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace weir::cli::doctor_cards_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto wan = "0000:3b:00.0", beside = "0000:3b:00.1";

class CliDoctorCards : public testing::Test {
protected:
  CliDoctorCards() {
    config_.ports = {{.name = "wan", .device = wan, .peer = {}}};
    write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
  }
  [[nodiscard]] fs::path root() const { return folder_.path(); }
  [[nodiscard]] fs::path device(const std::string &address) const {
    return root() / "sys/bus/pci/devices" / address;
  }
  void write(const fs::path &file, const std::string &text) {
    fs::create_directories((root() / file).parent_path());
    std::ofstream(root() / file) << text;
  }
  void hugepages(const std::string &pages) {
    write("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", pages + "\n");
    write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", pages + "\n");
  }
  void card(const std::string &address, const std::string &driver, const std::string &group = "") {
    fs::create_directories(device(address));
    if (!driver.empty())
      fs::create_symlink(fs::path("/sys/bus/pci/drivers") / driver, device(address) / "driver");
    if (group.empty()) return;
    const fs::path about = root() / "sys/kernel/iommu_groups" / group;
    fs::create_directories(about / "devices");
    fs::create_symlink(about, device(address) / "iommu_group");
    fs::create_symlink(device(address), about / "devices" / address);
  }
  Finding about(const std::string &topic, std::uint64_t memlock = 1ull << 40) {
    std::vector<Finding> all;
    look_at_cards(all, config_, {root() / "weir.yaml", root() / "control.sock", root(), memlock});
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Finding &one) { return one.topic == topic; });
    if (found != all.end()) return *found;
    ADD_FAILURE() << "nothing is said about " << topic;
    return {};
  }
  config::Config config_;

private:
  PrivateFolder folder_ = std::move(*PrivateFolder::make());
};

TEST_F(CliDoctorCards, one_that_is_not_there_is_wrong) {
  EXPECT_EQ(about("port wan").level, Level::wrong);
  EXPECT_THAT(about("port wan").finding, HasSubstr("there is no PCI device 0000:3b:00.0"));
}

TEST_F(CliDoctorCards, one_with_a_driver_of_the_kernel_is_wrong_and_the_way_to_dpdk_is_told) {
  card(wan, "ixgbe", "12");
  EXPECT_EQ(about("port wan").level, Level::wrong);
  EXPECT_THAT(about("port wan").finding, HasSubstr("is bound to ixgbe"));
  EXPECT_THAT(about("port wan").remedy,
              AllOf(HasSubstr("modprobe vfio-pci"), HasSubstr("dpdk-devbind.py -b vfio-pci 0000:3b:00.0"),
                    HasSubstr("driverctl set-override 0000:3b:00.0 vfio-pci")));
}

TEST_F(CliDoctorCards, one_behind_no_iommu_is_not_told_to_be_bound_to_a_driver_that_refuses_it) {
  card(wan, "ixgbe");
  EXPECT_EQ(about("port wan").level, Level::wrong);
  EXPECT_THAT(about("port wan").finding, HasSubstr("no IOMMU"));
  EXPECT_THAT(about("port wan").remedy, AllOf(HasSubstr("intel_iommu=on"), HasSubstr("firmware")));
  EXPECT_THAT(about("port wan").remedy, testing::Not(HasSubstr("devbind")));
}

TEST_F(CliDoctorCards, one_that_is_bound_to_vfio_is_good_when_its_group_can_be_opened) {
  card(wan, "vfio-pci", "12");
  EXPECT_EQ(about("port wan").level, Level::note);
  EXPECT_THAT(about("port wan").finding, HasSubstr("dev/vfio/12"));
  write("dev/vfio/12", "");
  EXPECT_EQ(about("port wan").level, Level::good);
}

TEST_F(CliDoctorCards, one_whose_group_has_others_that_the_kernel_drives_is_wrong) {
  card(wan, "vfio-pci", "12");
  write("dev/vfio/12", "");
  card("0000:00:1c.0", "pcieport", "12");
  EXPECT_EQ(about("port wan").level, Level::good) << "a bridge may stay";
  card(beside, "ixgbe", "12");
  EXPECT_EQ(about("port wan").level, Level::wrong);
  EXPECT_THAT(about("port wan").finding, HasSubstr("shares IOMMU group 12 with 0000:3b:00.1 (ixgbe)"));
}

TEST_F(CliDoctorCards, one_that_is_reached_by_physical_addresses_needs_hugepages) {
  card(wan, "uio_pci_generic");
  EXPECT_EQ(about("port wan").level, Level::wrong);
  EXPECT_THAT(about("port wan").remedy, HasSubstr("vm.nr_hugepages"));
  hugepages("512");
  EXPECT_NE(about("port wan").level, Level::wrong);
}

TEST_F(CliDoctorCards, one_of_mellanox_keeps_its_driver) {
  card(wan, "mlx5_core");
  EXPECT_EQ(about("port wan").level, Level::good);
}

TEST_F(CliDoctorCards, a_user_who_may_lock_less_than_they_need_is_told_how_much) {
  card(wan, "vfio-pci", "12");
  EXPECT_EQ(about("locked memory", 256 << 20).level, Level::good);
  EXPECT_EQ(about("locked memory", 8 << 20).level, Level::note);
  EXPECT_THAT(about("locked memory", 8 << 20).finding,
              AllOf(HasSubstr("cards need 256 MiB"), HasSubstr("may lock 8 MiB")));
  EXPECT_THAT(about("locked memory", 8 << 20).remedy, HasSubstr("ulimit -l 262144"));
  hugepages("512");
  EXPECT_EQ(about("locked memory", 40 << 20).level, Level::good) << "packets alone";
}

TEST_F(CliDoctorCards, nothing_is_said_where_there_are_none) {
  config_.ports = {{.name = "wan", .device = "net_af_packet0", .peer = {}}};
  std::vector<Finding> all;
  look_at_cards(all, config_, {root() / "weir.yaml", root() / "control.sock", root(), 0});
  EXPECT_TRUE(all.empty());
}

} // namespace
} // namespace weir::cli::doctor_cards_test
