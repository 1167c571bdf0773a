// Who changed what, and when.
#include "control/api/api.hpp"
#include "control/api/fields.hpp"

#include <nlohmann/json.hpp>

namespace weir::control {

namespace {

constexpr std::uint64_t rows_shown = 50; // unless more or fewer are asked for

Json change_json(const store::AuditRecord &record) {
  Json change{{"at", record.at_ms / 1000},
              {"by", record.by.empty() ? "weir-control" : record.by},
              {"what", record.what},
              {"detail", record.detail}};
  if (!record.list.empty()) change["list"] = record.list;
  if (record.generation != 0) change["generation"] = record.generation;
  return change;
}

} // namespace

void Api::log(const Json &request, const Caller &, const Reply &reply) {
  const std::string list = request.value("list", "");
  const std::uint64_t since = request.value("since", std::uint64_t{0});
  const auto most = static_cast<std::size_t>(request.value("n", since == 0 ? rows_shown : rows_max));
  engine_.background().run(
      [most, list, since, &store = engine_.store()]() -> Result<Json> {
        const auto wanted = [&](const store::AuditRecord &record) {
          return record.at_ms / 1000 >= since && (list.empty() || record.list == list);
        };
        const bool all = list.empty() && since == 0;
        const auto records = TRY(all ? store.audited(most) : store.audited(most, wanted));
        Json answer{{"changes", Json::array()}};
        for (const store::AuditRecord &record : records) answer["changes"].push_back(change_json(record));
        return answer;
      },
      reply);
}

} // namespace weir::control
