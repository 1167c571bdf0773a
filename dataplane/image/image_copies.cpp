#include "dataplane/image/image_copies.hpp"

#include "weir/image/reader.hpp"

#include <algorithm>
#include <cstring>

namespace weir::dataplane {

WorkerNodes::WorkerNodes(std::span<const int> node_of_worker) {
  for (const int node : node_of_worker) {
    const auto known = std::ranges::find(nodes_, node);
    copy_of_.push_back(static_cast<unsigned>(known - nodes_.begin()));
    if (known == nodes_.end()) nodes_.push_back(node);
  }
}

Result<ImageCopy> copy_to_node(Bytes image, int node, image::ImageWriter::Grace grace) {
  auto memory = TRY(
      image::MemoryFile::make(image.size(), image::choose_pages(image.size(), image::free_pages()), node));
  const MutableBytes bytes = memory.bytes().first(image.size());
  std::memcpy(bytes.data(), image.data(), image.size());
  const image::ImageView view = TRY(image::attach(bytes));
  auto writer = TRY(image::ImageWriter::attach(bytes, std::move(grace)));
  return ImageCopy{node, std::move(memory), view, std::move(writer)};
}

} // namespace weir::dataplane
