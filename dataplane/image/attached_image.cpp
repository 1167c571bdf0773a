#include "dataplane/image/attached_image.hpp"

#include "dataplane/port/memory.hpp"
#include "weir/base/owned_fd.hpp"
#include "weir/image/memory_file.hpp"
#include "weir/image/reader.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weir::dataplane {
namespace {

std::string because(const char *what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

// The sender can neither cut the file under our feet nor grow it.
Status check_seals(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return fail(Errc::bad_image, "an image must come in a sealable memfd, this file is none");
  constexpr int required = F_SEAL_SHRINK | F_SEAL_GROW;
  if ((seals & required) != required)
    return fail(Errc::bad_image,
                fmt::format("the image's memfd lacks the seals {}{}: seal it before sending",
                            (seals & F_SEAL_SHRINK) ? "" : "SHRINK ", (seals & F_SEAL_GROW) ? "" : "GROW"));
  if ((seals & F_SEAL_SEAL) != 0)
    return fail(Errc::bad_image, "the image's memfd refuses further seals (SEAL): send it without that seal");
  return {};
}

Result<Mapping> map_shared(int fd, std::uint64_t image_bytes) {
  struct stat about{};
  if (fstat(fd, &about) != 0) return fail(Errc::bad_image, because("cannot examine the image's file"));
  const auto file_bytes = static_cast<std::uint64_t>(about.st_size);
  if (file_bytes < image_bytes)
    return fail(Errc::bad_image, fmt::format("the image is truncated: {} bytes announced, {} in the file",
                                             image_bytes, file_bytes));
  const std::uint64_t there = static_cast<std::uint64_t>(about.st_blocks) * 512;
  if (there < file_bytes) TRY(image::check_memory(file_bytes - there));

  void *data = mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (data == MAP_FAILED) return fail(Errc::bad_image, because("cannot map the image"));
  return Mapping(static_cast<std::byte *>(data), file_bytes);
}

Status check_claim(const image::ImageHeader &header, const image::ImageIdentity &claim) {
  const auto differs = [](const char *what, std::uint64_t image, std::uint64_t claimed) {
    return fail(Errc::bad_image, fmt::format("the image has {} {}, announced was {}", what, image, claimed));
  };
  if (header.total_bytes != claim.bytes) return differs("size", header.total_bytes, claim.bytes);
  if (header.generation != claim.generation)
    return differs("generation", header.generation.value(), claim.generation.value());
  if (header.sequence != claim.sequence) return differs("sequence", header.sequence, claim.sequence);
  if (header.store_id != claim.store_id)
    return fail(Errc::bad_image, "the image comes from another rule store than announced");
  return {};
}

void name_slots(AttachedImage &image, ListSlots &slots) {
  for (const image::ListEntry &list : image.view.lists) {
    image.lists.set(list.number.value());
    image.slot_of_list[list.number] = image.held_slots.hold(slots, list.name.data());
  }
  if (image.view.deny_filter.judges())
    image.slot_of_list[compact_list] = image.held_slots.hold(slots, image::compact_list_name);
}

// Slow where there are many: nobody waits but the peer who sent the image.
Status make_rule_tables(AttachedImage &image, const AttachContext &context) {
  const image::PacketRulesView &rules = image.view.packet_rules;
  if (rules.empty()) return {};
  if (context.rules == nullptr) return fail(Errc::bad_image, "image refused: nobody asks packet rules here");
  image.rules = TRY(RuleTables::build(rules, *context.rules));
  for (std::size_t i = 0; i < rules.rules().size(); ++i)
    image.rules->rule(RuleId(static_cast<std::uint16_t>(i))).slot =
        image.held_rule_slots.hold(context.rules->slots, rules.rules()[i].name_text());
  for (const std::string &port : image.rules->unknown_ports())
    image.warnings.push_back(
        fmt::format("packet rules of generation {} ask for port {}, which this dataplane has not: they "
                    "match nothing; it takes its ports from the configuration when it starts",
                    image.generation, port));
  return {};
}

Status make_list_actions(AttachedImage &image, const AttachContext &context) {
  if (image.view.list_actions.empty()) return {};
  if (context.rules == nullptr) return fail(Errc::bad_image, "image refused: lists can only drop here");
  image.list_actions =
      std::make_unique<const ListActions>(image.view.list_actions, context.rules->limits,
                                          [&](ListId list) { return image::list_name(image.view, list); });
  return {};
}

Status read_whole(int from, MutableBytes to) {
  for (std::size_t done = 0; done < to.size();) {
    const ssize_t got = read(from, to.data() + done, to.size() - done);
    if (got == 0) return fail(Errc::bad_image, "the file ended while it was read");
    if (got < 0 && errno != EINTR) return fail(Errc::io, because("cannot read"));
    done += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  return {};
}

} // namespace

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

// Each is asked for the whole batch: equal images change alike, also where a change has no room and is done in part.
image::ImageWriter::BatchDone AttachedImage::apply_batch(std::span<const image::Delta> deltas) {
  image::ImageWriter::BatchDone all = writer->apply_batch(deltas);
  for (const auto &copy : further) {
    if (!copy) continue;
    const image::ImageWriter::BatchDone one = copy->writer.apply_batch(deltas);
    all.applied = std::min(all.applied, one.applied);
    all.in_overlay = std::max(all.in_overlay, one.in_overlay);
    all.needs_rebuild |= one.needs_rebuild;
    all.filter_saturated |= one.filter_saturated;
    all.stack_saturated |= one.stack_saturated;
    all.map_saturated |= one.map_saturated;
  }
  return all;
}

filter::Learned AttachedImage::learn(const Address &address) {
  const filter::Learned learned = writer->learn(address);
  for (const auto &copy : further)
    if (copy) (void)copy->writer.learn(address);
  return learned;
}

image::Change AttachedImage::relieve(const Address &host, unsigned &may_displace) {
  unsigned left = may_displace;
  image::Change change = writer->relieve(host, left);
  for (const auto &copy : further) {
    unsigned left_there = may_displace;
    if (copy && copy->writer.relieve(host, left_there) == image::Change::needs_rebuild)
      change = image::Change::needs_rebuild;
  }
  may_displace = left;
  return change;
}

bool AttachedImage::waits_for_grace() const noexcept {
  return writer->waits_for_grace() || std::ranges::any_of(further, [](const auto &copy) {
           return copy && copy->writer.waits_for_grace();
         });
}

void AttachedImage::grace_passed() {
  writer->grace_passed();
  for (const auto &copy : further)
    if (copy) copy->writer.grace_passed();
}

Result<std::unique_ptr<AttachedImage>> attach_memfd(int fd, const image::ImageIdentity &claim,
                                                    const AttachContext &context) {
  TRY(check_seals(fd));
  auto mapping = TRY(map_shared(fd, claim.bytes));
  // Only now: with FUTURE_WRITE in place nobody, ourselves included, could map it writable.
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0)
    return fail(Errc::bad_image, because("cannot seal the image"));

  const MutableBytes bytes = mapping.bytes().first(claim.bytes);
  auto view = TRY(image::attach(bytes));
  TRY(check_claim(*view.header, claim));

  auto attached = std::make_unique<AttachedImage>();
  const image::ImageWriter::Grace grace = [wait = context.grace, in_force = attached->in_force] {
    if (*in_force) wait();
  };
  auto writer = TRY(image::ImageWriter::attach(bytes, grace));
  for (const int node : std::span(context.nodes).subspan(1)) {
    auto copy = copy_to_node(bytes, node, grace);
    if (!copy)
      attached->warnings.push_back(
          fmt::format("generation {} has no copy on NUMA node {}, whose workers read that of node {}: {}",
                      claim.generation, node, context.nodes.front(), copy.error().message));
    attached->further.push_back(copy ? std::make_unique<ImageCopy>(std::move(*copy)) : nullptr);
  }
  if (!view.offenders.empty() && context.offenders != nullptr) {
    auto memory = context.offenders->of(view.offenders);
    if (memory)
      attached->offenders = std::move(*memory);
    else
      attached->warnings.push_back(
          fmt::format("generation {} remembers no offenders: {}", claim.generation, memory.error().message));
  }
  attached->view = view;
  attached->mapping = std::move(mapping);
  attached->writer.emplace(std::move(writer));
  attached->hugepages = on_hugepages(fd);
  attached->image_bytes = claim.bytes;
  attached->generation = claim.generation;
  attached->sequence = claim.sequence;
  attached->store_id = claim.store_id;
  attached->packets_by_worker = std::vector<PaddedCounter>(context.workers);
  name_slots(*attached, *context.slots);
  TRY(make_rule_tables(*attached, context));
  TRY(make_list_actions(*attached, context));
  return attached;
}

Result<std::unique_ptr<AttachedImage>> attach_file(const std::filesystem::path &file,
                                                   const AttachContext &context) {
  const OwnedFd from(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about{};
  if (from.get() < 0 || fstat(from.get(), &about) != 0) return fail(Errc::io, because(file.c_str()));
  const auto bytes = static_cast<std::uint64_t>(about.st_size);
  if (bytes < sizeof(image::ImageHeader))
    return fail(Errc::bad_image, fmt::format("{}: {} bytes are too few for an image", file.string(), bytes));

  auto memory = TRY(
      image::MemoryFile::make(bytes, image::choose_pages(bytes, image::free_pages()), context.nodes.front()));
  const MutableBytes whole = memory.bytes().first(bytes);
  if (auto good = read_whole(from.get(), whole); !good)
    return fail(good.error().code, file.string() + ": " + good.error().message);
  const auto header = load_unaligned<image::ImageHeader>(whole.data());
  const image::ImageIdentity claim{header.store_id, header.generation, header.sequence, bytes};
  const auto sealed = TRY(std::move(memory).seal());
  auto attached = attach_memfd(sealed.get(), claim, context);
  if (!attached) return fail(attached.error().code, file.string() + ": " + attached.error().message);
  return attached;
}

} // namespace weir::dataplane
