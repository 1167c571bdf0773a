#include "control/cli/follow_drops.hpp"

#include "control/cli/capture.hpp"
#include "control/cli/client.hpp"
#include "control/cli/fields.hpp"
#include "control/cli/pcapng.hpp"
#include "weir/base/hex.hpp"
#include "weir/config/values.hpp"
#include "weir/key/text.hpp"
#include "weir/key/tunnel.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <ctime>
#include <optional>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

namespace weir::cli {

namespace {

using namespace std::chrono_literals;
constexpr auto between_questions = 200ms;
constexpr std::size_t answer_full = 256; // packets: there may be more at once

volatile std::sig_atomic_t interrupted = 0;

class Interruptible { // ^C ends the loop and not the process, while this lives
public:
  Interruptible() {
    interrupted = 0;
    struct sigaction action{};
    action.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &action, &before_int_);
    sigaction(SIGTERM, &action, &before_term_);
  }
  ~Interruptible() {
    sigaction(SIGINT, &before_int_, nullptr);
    sigaction(SIGTERM, &before_term_, nullptr);
  }
  Interruptible(const Interruptible &) = delete;
  Interruptible &operator=(const Interruptible &) = delete;

private:
  struct sigaction before_int_{}, before_term_{};
};

std::vector<std::uint8_t> bytes_in(const Json &packet) {
  return bytes_of_hex(text_in(packet, "bytes", "")).value_or(std::vector<std::uint8_t>());
}

std::string protocol_text(const std::vector<std::uint8_t> &frame, const ParsedPacket &parsed) {
  const detail::Carried carried = detail::carried_by(frame.data(), frame.size(), parsed);
  const std::string port = carried.offset != 0 && carried.offset + 4 <= frame.size()
                               ? fmt::format(" {}", detail::load_be16(frame.data() + carried.offset + 2))
                               : std::string();
  switch (carried.protocol) {
  case 1: return "icmp";
  case 6: return "tcp" + port;
  case 17: return "udp" + port;
  case 58: return "icmp6";
  default: return fmt::format("protocol {}", carried.protocol);
  }
}

// "203.0.113.9 > 192.0.2.1 tcp 443", as far as the headers are there.
std::string headers_text(const Json &packet) {
  const std::vector<std::uint8_t> frame = bytes_in(packet);
  if (frame.empty()) return text_in(packet, "address", "");
  const ParsedPacket parsed = parse_packet(frame.data(), frame.size());
  if (!parsed.is_ip()) return fmt::format("EtherType {:#06x}", parsed.ethertype);
  return fmt::format("{} > {} {}", to_string(address_at(parsed, frame.data(), parsed.source_offset)),
                     to_string(address_at(parsed, frame.data(), parsed.destination_offset)),
                     protocol_text(frame, parsed));
}

std::string time_text(std::uint64_t at_ns) {
  const auto seconds = static_cast<std::time_t>(at_ns / 1'000'000'000);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return fmt::format("{:%H:%M:%S}.{:06}", parts, at_ns % 1'000'000'000 / 1000);
}

class Follower {
public:
  Follower(const Options &options, std::ostream &out) : options_(options), out_(out) {}

  Status run() {
    const DropsOptions &drops = options_.drops;
    if (!drops.filter.empty()) filter_ = TRY(PacketFilter::compile(drops.filter));
    if (!drops.write.empty()) writer_ = TRY(PcapngWriter::create(drops.write, drops.file_bytes, drops.files));
    Client client = TRY(Client::connect(options_.socket));
    const Interruptible while_it_runs;
    for (std::uint64_t from = 0; interrupted == 0 && !done();) {
      const Json answer = TRY(asked(client, from));
      const std::uint64_t next = count_in(answer, "next");
      count_missed(count_in(answer, "overwritten"));
      from = next;
      TRY(take(child(answer, "packets")));
      if (child(answer, "packets").size() < answer_full && !done())
        std::this_thread::sleep_for(between_questions);
    }
    return {};
  }

  [[nodiscard]] std::string sum() const {
    std::string text = fmt::format("{} packet{}", shown_, shown_ == 1 ? "" : "s");
    if (filter_) text += fmt::format(" of {}", seen_);
    if (missed_ > 0) text += fmt::format("; {} more were dropped and not seen", missed_);
    if (writer_) text += ", in " + options_.drops.write.string();
    return text;
  }

private:
  // Whoever reads what is printed may have seen enough, too.
  [[nodiscard]] bool done() const { return !out_ || (options_.count && shown_ >= *options_.count); }

  Result<Json> asked(Client &client, std::uint64_t from) {
    const auto line = TRY(client.ask(Json{{"verb", "drops_follow"}, {"from", from}}.dump(), 10s));
    Json answer = Json::parse(line, nullptr, false);
    if (!answer.is_object())
      return fail(Errc::parse, "weir-control answered something that is no JSON object.");
    if (flag_in(answer, "ok")) return answer;
    const bool silent = text_in(answer, "code") == name_of(Errc::unreachable);
    return fail(silent ? Errc::unreachable : Errc::refused, text_in(answer, "message"));
  }

  Status take(const Json &packets) {
    for (const Json &packet : packets) {
      if (done()) break;
      ++seen_;
      count_missed(count_in(packet, "left_out"));
      const std::vector<std::uint8_t> bytes = bytes_in(packet);
      if (bytes.empty() && (filter_ || writer_))
        return fail(Errc::refused,
                    "what packets carry is shown to those who may change rules: neither --write nor "
                    "--filter without.");
      if (filter_ && !filter_->takes(bytes, static_cast<std::uint32_t>(count_in(packet, "length")))) continue;
      ++shown_;
      TRY(writer_ ? write(packet, bytes) : print(packet));
    }
    if (writer_) return writer_->flush();
    out_.flush();
    return {};
  }

  Status print(const Json &packet) {
    out_ << (options_.json ? json_line(packet) : config::printable(drop_line(packet))) << '\n';
    return {};
  }

  // Told with the next packet that is written, whichever a filter leaves out in between.
  void count_missed(std::uint64_t packets) {
    missed_ += packets;
    missed_untold_ += packets;
  }

  Status write(const Json &packet, const std::vector<std::uint8_t> &bytes) {
    return writer_->write({.port = text_in(packet, "port"),
                           .at_ns = count_in(packet, "at_ns"),
                           .length = static_cast<std::uint32_t>(count_in(packet, "length")),
                           .bytes = bytes,
                           .queue = static_cast<std::uint32_t>(count_in(packet, "queue")),
                           .left_out = std::exchange(missed_untold_, 0),
                           .comment = drop_comment(packet)});
  }

  const Options &options_;
  std::ostream &out_;
  std::optional<PacketFilter> filter_;
  std::optional<PcapngWriter> writer_;
  std::uint64_t seen_ = 0, shown_ = 0, missed_ = 0, missed_untold_ = 0;
};

} // namespace

std::string drop_comment(const Json &packet) {
  std::string text = text_in(packet, "reason");
  if (const std::string rule = text_in(packet, "rule", ""); !rule.empty())
    text += " " + rule; // behind its reason
  for (const char *field : {"list", "entry", "comment"})
    if (const std::string value = text_in(packet, field, ""); !value.empty())
      text += (std::string_view(field) == "list" ? " list " : " ") + value;
  return text;
}

std::string drop_line(const Json &packet) {
  return fmt::format("{}  {} queue {}  {}  {}  {} bytes", time_text(count_in(packet, "at_ns")),
                     text_in(packet, "port"), count_in(packet, "queue"), drop_comment(packet),
                     headers_text(packet), count_in(packet, "length"));
}

int follow_drops(const Options &options, std::ostream &out, std::ostream &err) {
  Follower follower(options, out);
  const Status ended = follower.run();
  if (!ended) {
    err << "weirctl: " << config::printable_lines(ended.error().message) << '\n';
    if (ended.error().code == Errc::unreachable) return exit_unreachable;
    return ended.error().code == Errc::usage ? exit_usage : exit_refused;
  }
  err << follower.sum() << '\n';
  return exit_done;
}

} // namespace weir::cli
