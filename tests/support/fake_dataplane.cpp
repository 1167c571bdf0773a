#include "tests/support/fake_dataplane.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace weir::test {

struct FakeDataplane::Attached {
  MutableBytes bytes;
  std::optional<image::ImageWriter> writer;
  image::StoreId store_id{};
  std::uint64_t generation = 0, sequence = 0;

  ~Attached() {
    if (!bytes.empty()) munmap(bytes.data(), bytes.size());
  }
};

namespace {

template <class T> std::vector<std::byte> bytes_of(const T &value) {
  const auto *from = reinterpret_cast<const std::byte *>(&value);
  return {from, from + sizeof value};
}

bool send_message(int fd, wire::Type type, std::uint32_t request, std::span<const std::byte> payload) {
  wire::Header header;
  header.type = type;
  header.request = request;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  std::vector<std::byte> message = bytes_of(header);
  message.insert(message.end(), payload.begin(), payload.end());
  return send(fd, message.data(), message.size(), MSG_NOSIGNAL) >= 0;
}

std::string overlay_json(const image::ImageView &view) {
  const table::OverlayView<table::LineV4> &overlay = view.v4[Side::deny].overlay;
  return R"({"name":"deny ipv4","keys":)" + std::to_string(*overlay.keys) + R"(,"room":)" +
         std::to_string(overlay.count * table::LineV4::slots) + "}";
}

std::string allow_filter_json(const image::AllowFilterWriter &guard) {
  const auto load = guard.load();
  if (!load) return "null";
  return R"({"keys":)" + std::to_string(load->keys) + R"(,"planned_keys":)" +
         std::to_string(load->planned_keys) + R"(,"saturated":)" + (guard.is_saturated() ? "true" : "false") +
         "}";
}

int receive(int connection, std::vector<std::byte> &buffer, ssize_t &got) {
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  head.msg_control = control;
  head.msg_controllen = sizeof control;
  got = recvmsg(connection, &head, MSG_CMSG_CLOEXEC);
  const cmsghdr *rights = CMSG_FIRSTHDR(&head);
  if (got <= 0 || rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
  return fd;
}

} // namespace

FakeDataplane::FakeDataplane(std::filesystem::path socket_path) : socket_(std::move(socket_path)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_.c_str(), sizeof address.sun_path - 1);
  unlink(socket_.c_str());
  listening_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bind(listening_, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0 ||
      listen(listening_, 4) != 0)
    throw std::runtime_error("the fake dataplane cannot listen at " + socket_.string());
  thread_ = std::thread([this] { run(); });
}

FakeDataplane::~FakeDataplane() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  const std::uint64_t one = 1;
  (void)!write(bell_, &one, sizeof one);
  thread_.join();
  close(listening_);
  close(bell_);
  unlink(socket_.c_str());
}

void FakeDataplane::run() {
  for (;;) {
    pollfd wait[2] = {{listening_, POLLIN, 0}, {bell_, POLLIN, 0}};
    poll(wait, 2, -1);
    {
      const std::lock_guard lock(mutex_); // who rings afterwards is heard by the next poll
      if (stopping_) return;
      hanging_up_ = false;
      std::uint64_t count = 0;
      (void)!read(bell_, &count, sizeof count);
    }
    if (!(wait[0].revents & POLLIN)) continue;
    const int connection = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    serve(connection);
    close(connection);
    const std::lock_guard lock(mutex_);
    staged_.reset(); // staged images die with the connection
  }
}

void FakeDataplane::serve(int connection) {
  wire::Hello greeting;
  {
    const std::lock_guard lock(mutex_);
    greeting = hello();
  }
  if (!send_message(connection, wire::Type::hello, 0, bytes_of(greeting))) return;
  std::vector<std::byte> buffer(wire::message_bytes_max);
  for (;;) {
    pollfd wait[2] = {{connection, POLLIN, 0}, {bell_, POLLIN, 0}};
    poll(wait, 2, -1);
    if (wait[1].revents & POLLIN) {
      const std::lock_guard lock(mutex_);
      if (stopping_ || hanging_up_) return;
      std::uint64_t count = 0;
      (void)!read(bell_, &count, sizeof count);
      const auto samples = std::as_bytes(std::span(unsent_));
      if (!unsent_.empty())
        send_message(connection, wire::Type::samples, 0, {samples.begin(), samples.end()});
      unsent_.clear();
    }
    if (!(wait[0].revents & (POLLIN | POLLHUP))) continue;
    ssize_t got = 0;
    const int fd = receive(connection, buffer, got);
    if (got <= 0) return;
    const bool goes_on =
        take(connection, std::span<const std::byte>(buffer).first(static_cast<std::size_t>(got)), fd);
    if (fd >= 0) close(fd);
    if (!goes_on) return;
  }
}

bool FakeDataplane::take(int connection, std::span<const std::byte> message, int fd) {
  const auto header = load_unaligned<wire::Header>(message.data());
  const auto payload = message.subspan(sizeof header);
  Seen seen{.type = header.type};
  if (header.type == wire::Type::deltas) {
    const auto about = load_unaligned<wire::Deltas>(payload.data());
    seen.target = about.target;
    seen.first_sequence = about.first_sequence;
  }
  Hook hook;
  {
    const std::lock_guard lock(mutex_);
    hook = hook_;
  }
  const Reaction reaction = hook ? hook(seen) : Reaction();
  if (reaction.act == Act::hang_up) return false;
  wire::Type type{};
  auto said = reaction.refuse ? Result<std::vector<std::byte>>(std::unexpected(*reaction.refuse))
                              : answer(header, payload, fd, type);
  if (said) return send_message(connection, type, header.request, *said);
  const wire::Refused refused{static_cast<std::uint32_t>(said.error().code), 0};
  std::vector<std::byte> text = bytes_of(refused);
  const auto *from = reinterpret_cast<const std::byte *>(said.error().message.data());
  text.insert(text.end(), from, from + said.error().message.size());
  return send_message(connection, wire::Type::refused, header.request, text);
}

namespace {

constexpr const char *dropped_json =
    R"({"next":3,"overwritten":0,"packets":[{"number":1,"reason":"deny","list":"drop","address":"10.0.0.1","bytes":"00"},)"
    R"({"number":2,"reason":"malformed","bytes":"00"}]})";

} // namespace

Result<std::vector<std::byte>> FakeDataplane::answer(const wire::Header &header,
                                                     std::span<const std::byte> payload, int fd,
                                                     wire::Type &type) {
  const std::lock_guard lock(mutex_);
  switch (header.type) {
  case wire::Type::stage:
    type = wire::Type::staged;
    return stage(load_unaligned<wire::Stage>(payload.data()), fd);
  case wire::Type::deltas:
    type = wire::Type::applied;
    return apply(load_unaligned<wire::Deltas>(payload.data()), payload.subspan(sizeof(wire::Deltas)));
  case wire::Type::commit:
    type = wire::Type::committed;
    return commit(load_unaligned<wire::Commit>(payload.data()));
  case wire::Type::learn: {
    type = wire::Type::learned;
    const auto about = load_unaligned<wire::Learn>(payload.data());
    if (!live_ || about.generation != live_->generation) return fail(Errc::refused, "that is not live");
    wire::Learned done{.generation = about.generation};
    for (std::uint32_t i = 0; i < about.count; ++i) {
      const auto one =
          load_unaligned<wire::HostAddress>(payload.data() + sizeof about + i * sizeof(wire::HostAddress));
      guarded_.push_back({one.family, one.address});
      done.sealed += live_->writer->learn(guarded_.back()).sealed;
    }
    return bytes_of(done);
  }
  case wire::Type::relieve: {
    type = wire::Type::relieved;
    const auto about = load_unaligned<wire::Relieve>(payload.data());
    if (!live_ || about.generation != live_->generation) return fail(Errc::refused, "that is not live");
    for (std::uint32_t i = 0; i < about.count; ++i) {
      const auto one = load_unaligned<wire::RelievedAddress>(payload.data() + sizeof about +
                                                             i * sizeof(wire::RelievedAddress));
      relieved_.push_back({one.family, one.address});
    }
    return bytes_of(wire::Relieved{.generation = about.generation, .relieved = about.count});
  }
  case wire::Type::mark: {
    type = wire::Type::marked;
    const auto about = load_unaligned<wire::Mark>(payload.data());
    for (std::uint32_t i = 0; i < about.count; ++i) {
      const auto host =
          load_unaligned<wire::HostAddress>(payload.data() + sizeof about + i * sizeof(wire::HostAddress));
      marked_.emplace_back(Address{host.family, host.address}, about.forget != 0);
    }
    return bytes_of(
        wire::Marked{.done = about.count, .in_memory = static_cast<std::uint32_t>(marked_.size())});
  }
  case wire::Type::discard:
    type = wire::Type::staged;
    staged_.reset();
    return bytes_of(wire::Staged{});
  case wire::Type::query: {
    type = wire::Type::answer;
    std::vector<std::byte> text = bytes_of(wire::Answer{});
    const std::string_view question(reinterpret_cast<const char *>(payload.data()), payload.size());
    const std::string json =
        question.contains(R"("what":"drops")")
            ? dropped_json
            : R"({"lost":0,"families":{"ipv4":{"pass":)" + std::to_string(judged_ - judged_denied_) +
                  R"(,"drop":)" + std::to_string(judged_denied_) + R"(}},"reasons":{"deny":{"drop":)" +
                  std::to_string(judged_denied_) +
                  R"(}},"lists":{},"generations":{},"verdict":"drop","reason":"deny",)"
                  R"("workers":[{"id":0},{"id":1,"timed_packets":20,"receive_cycles":100,"count_cycles":50}],)"
                  R"("list":"bans","path":[],"overlays":[)" +
                  (live_ ? overlay_json(live_->writer->view()) : "") + R"(],"allow_filter":)" +
                  (live_ ? allow_filter_json(live_->writer->allow_filter()) : "null") +
                  R"(,"allow_filter_generation":{"generation":)" +
                  std::to_string(live_ ? live_->generation : 0) + R"(,"asked":)" +
                  std::to_string(filter_asked_) + R"(,"accepted":)" + std::to_string(filter_wrong_) +
                  R"(,"false_accepted":)" + std::to_string(filter_wrong_) +
                  R"(},"deny_filter_generation":{"generation":)" +
                  std::to_string(live_ ? live_->generation : 0) + R"(,"asked":)" +
                  std::to_string(stack_did_.asked) + R"(,"accepted":)" + std::to_string(stack_did_.accepted) +
                  R"(,"false_accepted":)" + std::to_string(stack_did_.false_accepted) + R"(,"denied":)" +
                  std::to_string(stack_did_.denied) + "}}";
    const auto *from = reinterpret_cast<const std::byte *>(json.data());
    text.insert(text.end(), from, from + json.size());
    return text;
  }
  default: return fail(Errc::parse, "a message that is not for a dataplane");
  }
}

Result<std::vector<std::byte>> FakeDataplane::stage(const wire::Stage &claim, int fd) {
  void *memory = mmap(nullptr, claim.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return fail(Errc::bad_image, "the image cannot be mapped");
  auto attached = std::make_unique<Attached>();
  attached->bytes = {static_cast<std::byte *>(memory), claim.bytes};
  auto writer = TRY(image::ImageWriter::attach(attached->bytes, [] {}, image::Check::everything));
  const image::ImageHeader &header = *writer.view().header;
  if (header.store_id != claim.store_id || header.generation != claim.generation ||
      header.sequence != claim.sequence)
    return fail(Errc::bad_image, "the image is not the one that was announced");
  attached->writer.emplace(std::move(writer));
  attached->store_id = claim.store_id;
  attached->generation = claim.generation.value();
  attached->sequence = claim.sequence;
  staged_ = std::move(attached);
  ++stages_;
  return bytes_of(wire::Staged{claim.generation, 0});
}

Result<std::vector<std::byte>> FakeDataplane::apply(const wire::Deltas &about,
                                                    std::span<const std::byte> rest) {
  Attached *image = about.target == wire::Target::live ? live_.get() : staged_.get();
  if (image == nullptr) return fail(Errc::refused, "deltas for an image that is not there");
  if (about.store_id != image->store_id) return fail(Errc::refused, "deltas of another rule store");
  if (about.first_sequence > image->sequence + 1) return fail(Errc::bad_sequence, "deltas after a gap");
  std::uint32_t in_overlay = 0;
  for (std::uint32_t i = 0; i < about.count; ++i) {
    const auto delta = load_unaligned<image::Delta>(rest.data() + i * sizeof(image::Delta));
    TRY(image::check(delta));
    const image::Change change = image->writer->apply(delta);
    if (change == image::Change::needs_rebuild) return fail(Errc::needs_rebuild, "no room for a delta");
    in_overlay += change == image::Change::overlay ? 1 : 0;
    image->sequence = std::max(image->sequence, about.first_sequence + i);
  }
  image->writer->grace_passed();
  const image::ImageWriter::BatchDone nothing = image->writer->apply_batch({});
  if (about.target == wire::Target::live) deltas_ += about.count;
  return bytes_of(wire::Applied{.sequence = image->sequence,
                                .target = about.target,
                                .in_overlay = in_overlay,
                                .filter_saturated = nothing.filter_saturated ? 1u : 0u});
}

Result<std::vector<std::byte>> FakeDataplane::commit(const wire::Commit &wanted) {
  if (!staged_ || staged_->generation != wanted.generation) return fail(Errc::refused, "that is not staged");
  if (staged_->sequence < wanted.sequence) return fail(Errc::bad_sequence, "the staged image is behind");
  if (live_ && live_->store_id == staged_->store_id && live_->sequence > staged_->sequence)
    return fail(Errc::bad_sequence, "acknowledged entries would be lost");
  live_ = std::move(staged_);
  filter_asked_ = filter_wrong_ = 0;
  stack_did_ = {};
  return bytes_of(wire::Committed{Generation(live_->generation), 1000});
}

wire::Hello FakeDataplane::hello() const {
  wire::Hello greeting;
  greeting.process = static_cast<std::uint32_t>(getpid());
  greeting.began = began_;
  if (!live_) return greeting;
  greeting.live.store_id = live_->store_id;
  greeting.live.generation = Generation(live_->generation);
  greeting.live.sequence = live_->sequence;
  return greeting;
}

// ---- for tests ---------------------------------------------------------------------------------

void FakeDataplane::set_hook(Hook hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

std::vector<Address> FakeDataplane::guarded() const {
  const std::lock_guard lock(mutex_);
  return guarded_;
}

void FakeDataplane::filter_did(std::uint64_t asked, std::uint64_t wrong) {
  const std::lock_guard lock(mutex_);
  filter_asked_ = asked;
  filter_wrong_ = wrong;
}

FakeDataplane::Remembers FakeDataplane::remembers() const {
  const std::lock_guard lock(mutex_);
  if (!live_ || live_->writer->view().offenders.empty()) return {};
  const image::OffendersView &offenders = live_->writer->view().offenders;
  return {offenders.shape_digest(), offenders.header().model};
}

std::vector<std::pair<Address, bool>> FakeDataplane::marked() const {
  const std::lock_guard lock(mutex_);
  return marked_;
}

std::vector<Address> FakeDataplane::relieved() const {
  const std::lock_guard lock(mutex_);
  return relieved_;
}

void FakeDataplane::stack_did(const StackDid &did) {
  const std::lock_guard lock(mutex_);
  stack_did_ = did;
}

void FakeDataplane::judged(std::uint64_t packets, std::uint64_t denied) {
  const std::lock_guard lock(mutex_);
  judged_ = packets;
  judged_denied_ = denied;
}

void FakeDataplane::send(std::vector<wire::Sample> samples) {
  {
    const std::lock_guard lock(mutex_);
    unsent_.insert(unsent_.end(), samples.begin(), samples.end());
  }
  const std::uint64_t one = 1;
  (void)!write(bell_, &one, sizeof one);
}

void FakeDataplane::hang_up() {
  {
    const std::lock_guard lock(mutex_);
    hanging_up_ = true;
  }
  const std::uint64_t one = 1;
  (void)!write(bell_, &one, sizeof one);
}

void FakeDataplane::forget() {
  const std::lock_guard lock(mutex_);
  live_.reset();
}

void FakeDataplane::restart() {
  {
    const std::lock_guard lock(mutex_);
    ++began_;
  }
  hang_up();
}

void FakeDataplane::pretend(image::StoreId store, std::uint64_t generation, std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (!live_) return;
  live_->store_id = store;
  live_->generation = generation;
  if (sequence != 0) live_->sequence = sequence;
}

std::uint64_t FakeDataplane::generation() const {
  const std::lock_guard lock(mutex_);
  return live_ ? live_->generation : 0;
}

std::uint64_t FakeDataplane::sequence() const {
  const std::lock_guard lock(mutex_);
  return live_ ? live_->sequence : 0;
}

std::uint64_t FakeDataplane::stages() const {
  const std::lock_guard lock(mutex_);
  return stages_;
}

std::optional<image::DynamicFilterLoad> FakeDataplane::allow_filter() const {
  const std::lock_guard lock(mutex_);
  return live_ ? live_->writer->allow_filter().load() : std::nullopt;
}

std::uint64_t FakeDataplane::deltas() const {
  const std::lock_guard lock(mutex_);
  return deltas_;
}

std::string FakeDataplane::list_of(Side side, std::string_view address) const {
  const std::lock_guard lock(mutex_);
  if (!live_) return {};
  const image::ImageView &view = live_->writer->view();
  const std::uint32_t value = image::lookup(view, side, parse_address(address).value());
  return table::value::is_set(value) ? std::string(image::list_name(view, table::value::list_of(value)))
                                     : std::string();
}

} // namespace weir::test
