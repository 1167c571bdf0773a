#include "control/cli/doctor_cards.hpp"

#include "control/cli/text.hpp"
#include "weir/base/memory_free.hpp"
#include "weir/config/cards.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include <unistd.h>

namespace weir::cli {

namespace {

namespace fs = std::filesystem;

// Drivers by which DPDK reaches a card. With all but the first two it uses physical addresses.
constexpr std::string_view vfio = "vfio-pci", mellanox = "mlx5_core";

bool by_physical_addresses(std::string_view driver) {
  return driver == "uio_pci_generic" || driver == "igb_uio";
}

// The name of what a link in sysfs leads to; empty when there is none.
std::string led_to(const fs::path &link) {
  std::error_code none;
  return fs::read_symlink(link, none).filename();
}

struct Card {
  std::string port, address;
  fs::path folder;
  std::string driver, group; // empty: none

  Card(const config::Port &port_, const fs::path &root)
      : port(port_.name), address(port_.device), folder(root / "sys/bus/pci/devices" / address),
        driver(led_to(folder / "driver")), group(led_to(folder / "iommu_group")) {}
  [[nodiscard]] Finding says(Level level, std::string finding, std::string remedy) const {
    return {level, "port " + port, std::move(finding), std::move(remedy)};
  }
};

// Others behind the IOMMU in the card's place, which a driver of the kernel holds: vfio gives all or none.
// Bridges do not count.
std::string held_beside(const Card &card) {
  std::error_code none;
  std::string text;
  for (const auto &other : fs::directory_iterator(card.folder / "iommu_group/devices", none)) {
    const std::string address = other.path().filename();
    const std::string driver = led_to(other.path() / "driver");
    if (address != card.address && !driver.empty() && driver != vfio && driver != "pcieport")
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", address, driver);
  }
  return text;
}

std::string how_to_give(const Card &card) {
  return fmt::format("`modprobe vfio-pci`, then `dpdk-devbind.py -b vfio-pci {0}` gives it to DPDK until the "
                     "machine starts anew, and `driverctl set-override {0} vfio-pci` for good.",
                     card.address);
}

Finding without_iommu(const Card &card) {
  return card.says(
      Level::wrong, card.address + " stands behind no IOMMU",
      "vfio-pci takes no card without one. Switch it on in the firmware (VT-d, AMD-Vi), and with "
      "intel_iommu=on on the kernel's command line where `dmesg` names no DMAR; a virtual machine "
      "gets one from its host (QEMU: -device intel-iommu).");
}

Finding bound_to_vfio(const Card &card, const fs::path &root) {
  if (const std::string others = held_beside(card); !others.empty())
    return card.says(
        Level::wrong, fmt::format("{} shares IOMMU group {} with {}", card.address, card.group, others),
        "A group is given to DPDK as a whole: bind the others to vfio-pci too, or put the card into another "
        "slot.");
  const fs::path device = root / "dev/vfio" / card.group;
  if (access(device.c_str(), R_OK | W_OK) != 0)
    return card.says(
        Level::note, fmt::format("{}: {}", device.string(), std::strerror(errno)),
        "The user of weir-dataplane must be able to open it: the package's udev rule gives it to "
        "group weir-dataplane. Run doctor as that user or as root to be sure.");
  return card.says(Level::good,
                   fmt::format("{} is bound to {}, IOMMU group {}", card.address, vfio, card.group), "");
}

// Reserved, and perhaps in use by a dataplane that runs.
bool has_hugepages(const fs::path &root) {
  std::error_code none;
  for (const auto &size : fs::directory_iterator(root / "sys/kernel/mm/hugepages", none)) {
    std::uint64_t pages = 0;
    if (std::ifstream(size.path() / "nr_hugepages") >> pages && pages > 0) return true;
  }
  return false;
}

Finding bound_by_uio(const Card &card, const fs::path &root) {
  if (!has_hugepages(root))
    return card.says(
        Level::wrong,
        fmt::format("{} is bound to {}, and no hugepages are reserved", card.address, card.driver),
        "Without an IOMMU cards work with physical addresses, which only hugepages keep: sysctl "
        "vm.nr_hugepages=512.");
  if (geteuid() != 0)
    return card.says(Level::note, fmt::format("{} is bound to {}", card.address, card.driver),
                     "weir-dataplane has to run as root for it: only root reads physical addresses. With "
                     "vfio-pci it need not.");
  return card.says(Level::good, fmt::format("{} is bound to {}", card.address, card.driver), "");
}

Finding about(const Card &card, const fs::path &root) {
  std::error_code none;
  if (!fs::exists(card.folder, none))
    return card.says(Level::wrong, fmt::format("there is no PCI device {}", card.address),
                     "`dpdk-devbind.py --status` lists the devices that there are.");
  if (by_physical_addresses(card.driver)) return bound_by_uio(card, root);
  if (card.driver == mellanox)
    return card.says(Level::good, fmt::format("{} is bound to {}", card.address, card.driver), "");
  if (card.group.empty()) return without_iommu(card);
  if (card.driver == vfio) return bound_to_vfio(card, root);
  return card.says(
      Level::wrong,
      fmt::format("{} is bound to {}", card.address, card.driver.empty() ? "no driver" : card.driver),
      how_to_give(card));
}

Finding about_locked_memory(const config::Config &config, bool hugepages, std::uint64_t allowed) {
  const std::uint64_t needed = config::locked_bytes(config, hugepages);
  if (allowed >= needed)
    return {Level::good, "locked memory", fmt::format("{} for cards may be locked", bytes_text(needed)), ""};
  return {Level::note, "locked memory",
          fmt::format("cards need {}, this user may lock {}", bytes_text(needed), bytes_text(allowed)),
          fmt::format("Started by this user weir-dataplane ends at once: raise the limit (`ulimit -l {}`, or "
                      "memlock in /etc/security/limits.conf). Its unit sets LimitMEMLOCK=infinity.",
                      (needed + 1023) / 1024)};
}

} // namespace

void look_at_cards(std::vector<Finding> &out, const config::Config &config, const Patient &patient) {
  const auto memory = memory_free(patient.root);
  const std::uint64_t free_bytes = memory ? memory->hugepages_free_bytes : 0;
  using Hugepages = config::Eal::Hugepages;
  const bool hugepages =
      config.eal.hugepages != Hugepages::no &&
      (config.eal.hugepages == Hugepages::yes || free_bytes >= config::hugepages_needed_bytes);
  bool any = false;
  for (const config::Port &port : config.ports) {
    if (!config::is_card(port.device)) continue;
    any = true;
    out.push_back(about(Card(port, patient.root), patient.root));
  }
  if (any) out.push_back(about_locked_memory(config, hugepages, patient.memlock_bytes));
}

} // namespace weir::cli
