// The verbs of api.hpp over an Engine: JSON in, JSON out. A request may be answered later. handle() holds its
// fields against the table of fields.hpp first: a verb finds those that it needs, each of its type and in its
// range.
#pragma once

#include "control/daemon/access.hpp"
#include "control/daemon/engine.hpp"
#include "control/daemon/entry_reader.hpp"
#include "control/daemon/log_limit.hpp"
#include "control/daemon/request.hpp"
#include "control/daemon/samples.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::control {

using Json = nlohmann::json;

// What a request is about: for the right that it needs, and for the log.
struct Ask {
  std::string verb, list = {};
  std::size_t entries = 0;
  bool applies = false; // plan --apply
};
[[nodiscard]] Ask ask_of(const Json &fields);

class Api {
public:
  explicit Api(Engine &engine, Access access = {});

  void handle(Request request, const std::function<void(std::string)> &reply);

  // How long a question to the dataplane may stay open: what control knows by itself is answered then.
  push::Clock::duration dataplane_wait = std::chrono::milliseconds(700);
  push::Clock::duration entries_wait =
      std::chrono::seconds(3); // then the dataplane is asked whether it lives

private:
  using Reply = std::function<void(Result<Json>)>;

  [[nodiscard]] static Result<std::shared_ptr<const Json>> read(const std::string &line);
  void run(const Result<std::shared_ptr<const Json>> &fields, const Caller &caller, const Reply &answer);
  void run_entries(Result<EntryRequest> request, Caller caller, const Reply &answer); // of a long line
  // admit.cpp: how to reply to a request that may be carried out, or why it may not
  [[nodiscard]] Result<Reply> admit(const Ask &ask, Caller &caller, Reply reply);

  // verbs_status.cpp
  void status(const Json &request, const Caller &caller, const Reply &reply);
  void ping(const Json &request, const Caller &caller, const Reply &reply);
  void generations(const Json &request, const Caller &caller, const Reply &reply);
  void stats(const Json &request, const Caller &caller, const Reply &reply);
  void drops(const Json &request, const Caller &caller, const Reply &reply);
  void top(const Json &request, const Caller &caller, const Reply &reply);

  // verbs_lists.cpp
  void list_show(const Json &request, const Caller &caller, const Reply &reply);
  void list_add(const Json &request, const Caller &caller, const Reply &reply);
  void list_del(const Json &request, const Caller &caller, const Reply &reply);
  void change_entries(EntryRequest request, const Reply &reply);
  void list_replace(const Json &request, const Caller &caller, const Reply &reply);
  void list_export(const Json &request, const Caller &caller, const Reply &reply);
  void explain(const Json &request, const Caller &caller, const Reply &reply);

  // verbs_rules.cpp
  void check(const Json &request, const Caller &caller, const Reply &reply);
  void plan(const Json &request, const Caller &caller, const Reply &reply);
  void diff(const Json &request, const Caller &caller, const Reply &reply);
  void apply(const Json &request, const Caller &caller, const Reply &reply);
  void confirm(const Json &request, const Caller &caller, const Reply &reply);
  void rollback(const Json &request, const Caller &caller, const Reply &reply);

  // dataplane.cpp: the dataplane's answer to {"what": ...}, or after a while that there is none.
  void ask_dataplane(const std::string &question, std::function<void(Result<std::string>)> then);
  // Its counters; null when there are none, for a reason that why_no_counters() says.
  void ask_stats(const std::function<void(const Json &)> &then);
  [[nodiscard]] std::string why_no_counters() const;
  // Around the reply to a change of entries, which comes when the dataplane has it in force: should that
  // hang, the answer is that the change is stored.
  [[nodiscard]] Reply in_time(Reply reply);
  void look_after_entries();
  [[nodiscard]] std::vector<plan::HotAddress> hot_denied() const;
  [[nodiscard]] std::string list_name(std::uint16_t number) const;
  [[nodiscard]] Engine::OnChange change_reply(Reply reply, std::string list = {});

  Engine &engine_;
  Access access_;
  LogLimit refusals_logged_;
  SampleTable samples_;
  const std::shared_ptr<int> entries_waiting_ = std::make_shared<int>(); // held by replies that have not come
  bool looking_after_entries_ = false;
  std::optional<push::Clock::time_point> silent_since_; // the dataplane lets a question wait
};

} // namespace weir::control
