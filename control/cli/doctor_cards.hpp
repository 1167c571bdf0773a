// What doctor says of network cards: their drivers, the IOMMU behind which they are, and locked memory.
#pragma once

#include "control/cli/doctor.hpp"
#include "weir/config/config.hpp"

#include <vector>

namespace weir::cli {

// A finding for each port on a PCI device, and one for the rights that all of them need.
void look_at_cards(std::vector<Finding> &out, const config::Config &config, const Patient &patient);

} // namespace weir::cli
