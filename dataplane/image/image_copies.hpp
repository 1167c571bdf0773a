// Copies of an image for workers of several NUMA nodes: a worker that reads the memory of its own node waits less
// for a line. The first copy is what control sent, in memory on the first worker's node; each further node gets
// one that the dataplane makes. Each has a writer of its own, and a change is done to all before a grace period
// begins. A node for which there was no memory reads the first copy.
#pragma once

#include "weir/base/result.hpp"
#include "weir/image/memory_file.hpp"
#include "weir/image/view.hpp"
#include "weir/image/writer.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::dataplane {

// Which copy each worker reads.
class WorkerNodes {
public:
  explicit WorkerNodes(std::span<const int> node_of_worker);

  // Each once, the first worker's first; any_node where the machine has one.
  [[nodiscard]] const std::vector<int> &nodes() const noexcept { return nodes_; }
  [[nodiscard]] unsigned copy_of(unsigned worker) const noexcept { return copy_of_[worker]; }

private:
  std::vector<int> nodes_;
  std::vector<unsigned> copy_of_;
};

struct ImageCopy {
  int node = any_node;
  image::MemoryFile memory;
  image::ImageView view;
  image::ImageWriter writer;
};

// Of an image that was verified and that nobody has changed since. `grace` as ImageWriter::attach() has it.
[[nodiscard]] Result<ImageCopy> copy_to_node(Bytes image, int node, image::ImageWriter::Grace grace);

} // namespace weir::dataplane
