// Verbs about the memory of offenders.
#include "control/api/api.hpp"
#include "control/api/export.hpp"

#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

namespace weir::control {
namespace {

Result<std::vector<Address>> addresses_of(const Json &request) {
  std::vector<Address> addresses;
  for (const Json &entry : request.at("entries")) {
    const std::string text = entry.is_string() ? entry.get<std::string>() : entry.value("prefix", "");
    const auto address = parse_address(text);
    if (!address) return fail(Errc::usage, fmt::format("\"{}\" is {}", text, address.error()));
    addresses.push_back(*address);
  }
  if (addresses.size() > wire::mark_max)
    return fail(Errc::usage,
                fmt::format("{} addresses; name at most {} at a time", addresses.size(), wire::mark_max));
  return addresses;
}

constexpr std::size_t audited_addresses_max = 8; // named in the audit log; the others are counted

std::string marked_text(const std::vector<Address> &addresses, std::uint64_t done) {
  std::string text = fmt::format("{} of {}:", done, addresses.size());
  for (const Address &address : std::span(addresses).first(std::min(addresses.size(), audited_addresses_max)))
    text += ' ' + to_string(address);
  if (addresses.size() > audited_addresses_max)
    text += fmt::format(" and {} more", addresses.size() - audited_addresses_max);
  return text;
}

} // namespace

// What the dataplane says of its memory, what it counted, and what was learned.
void Api::offenders(const Json &, const Caller &, const Reply &reply) {
  if (!engine_.rules() || !engine_.rules()->config.offenders) return reply(Json{{"filter", "none"}});
  ask_dataplane(R"({"what":"offenders"})", [this, reply](const Result<std::string> &said) {
    if (!said) return reply(std::unexpected(said.error()));
    Json answer = Json::parse(*said, nullptr, false);
    if (!answer.is_object()) return reply(fail(Errc::parse, "the dataplane's answer cannot be read"));
    answer["learned"] = engine_.offenders().about();
    ask_stats([reply, answer = std::move(answer)](const Json &report) mutable {
      if (const auto counted = report.find("offenders"); report.is_object() && counted != report.end())
        answer["counters"] = *counted;
      reply(std::move(answer));
    });
  });
}

void Api::offender_mark(const Json &request, const Caller &caller, const Reply &reply) {
  const auto addresses = addresses_of(request);
  if (!addresses) return reply(std::unexpected(addresses.error()));
  const bool forget = request.at("verb") == "offender_unmark";
  engine_.offenders().mark(
      *addresses, forget,
      [this, reply, addresses = *addresses, forget,
       by = user_text(caller.peer)](const Result<wire::Marked> &marked) {
        if (!marked) return reply(std::unexpected(marked.error()));
        if (marked->done != 0)
          engine_.audit(by, forget ? "offender unmark" : "offender mark",
                        marked_text(addresses, marked->done));
        if (marked->no_room != 0)
          return reply(
              fail(Errc::refused,
                   fmt::format("{} of these addresses were not taken: there is room for 4096 marks, {} are "
                               "there; a list holds more",
                               marked->no_room, marked->in_memory)));
        reply(Json{{"done", marked->done}, {"marks", marked->in_memory}});
      });
}

void Api::offender_model(const Json &, const Caller &caller, const Reply &reply) {
  const auto model = engine_.offenders().model();
  if (!model) return reply(fail(Errc::not_found, "nothing has been learned yet: there is no model to write"));
  if (caller.fds.empty()) return reply(fail(Errc::usage, "offender_model: no memory file came with it"));
  const int file = caller.fds.front()->get();
  if (const Status fit = check_export_target(file); !fit) return reply(std::unexpected(fit.error()));
  const std::string bytes = weir::offenders::model_file_of(*model);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = ::pwrite(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0)
      return reply(fail(Errc::io, fmt::format("the model cannot be written: {}", std::strerror(errno))));
    done += static_cast<std::size_t>(wrote);
  }
  reply(Json{{"model", model->number}, {"bytes", bytes.size()}});
}

void Api::offender_train(const Json &, const Caller &caller, const Reply &reply) {
  engine_.offenders().train([this, reply, by = user_text(caller.peer)](
                                const Result<std::shared_ptr<const weir::offenders::Model>> &model) {
    if (!model) return reply(std::unexpected(model.error()));
    engine_.audit(by, "offender train");
    reply(engine_.offenders().about());
  });
}

} // namespace weir::control
