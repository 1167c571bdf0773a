#include "weir/image/allow_filter_writer.hpp"

#include "weir/image/reader.hpp"

namespace weir::image {

Result<AllowFilterWriter> open_allow_filter(MutableBytes image, const ImageView &view) {
  if (view.allow_filter.empty()) return AllowFilterWriter{};
  auto filter = TRY(view.allow_filter.open(section_of(image, view, SectionKind::allow_filter)));
  return AllowFilterWriter(std::move(filter));
}

} // namespace weir::image
