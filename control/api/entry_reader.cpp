#include "control/api/entry_reader.hpp"

#include "control/api/fields.hpp"
#include "control/rules/comment.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace weir::control {

namespace {

using Json = nlohmann::json;

// {"verb":..., "list":..., "entries":["PREFIX" or {"prefix":..., "ttl":..., "comment":...}, ...]}
class EntryReader final : public nlohmann::json_sax<Json> {
public:
  [[nodiscard]] Result<EntryRequest> take() {
    if (error_) return std::unexpected(std::move(*error_));
    if (request_.verb != "list_add" && request_.verb != "list_del")
      return fail(Errc::usage, fmt::format("a line of more than {} KiB asks for list_add or list_del, and "
                                           "this one does not",
                                           long_line_bytes / 1024));
    if (request_.list.empty()) return fail(Errc::usage, "list is missing: which list is meant?");
    if (!has_entries_) return fail(Errc::usage, "entries is missing: an array of prefixes");
    return std::move(request_);
  }

  bool null() override {
    return where_ == Where::entry && key_ == "ttl" ? true : value_of_wrong_type("null");
  }
  bool boolean(bool value) override {
    if (where_ != Where::request || key_ != "force") return value_of_wrong_type(value ? "true" : "false");
    request_.force = value;
    return true;
  }
  bool number_integer(std::int64_t value) override { return value_of_wrong_type(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override {
    if (where_ != Where::entry || key_ != "ttl" || value > ttl_s_max)
      return value_of_wrong_type(std::to_string(value));
    entry_.ttl_s = value;
    return true;
  }
  bool number_float(double, const std::string &text) override { return value_of_wrong_type(text); }
  bool binary(Json::binary_t &) override { return value_of_wrong_type("binary"); }
  bool string(std::string &text) override {
    switch (where_) {
    case Where::request:
      if (key_ == "verb")
        request_.verb = std::move(text);
      else if (key_ == "list")
        request_.list = text.substr(0, list_name_bytes_max + 1);
      return key_ == "entries" || key_ == "force" ? value_of_wrong_type("a text") : true;
    case Where::entries: return take_prefix(text) && end_entry();
    case Where::entry:
      if (key_ == "prefix") return take_prefix(text);
      if (key_ == "comment") return take_comment(text);
      return key_ == "ttl" ? value_of_wrong_type("a text") : true;
    case Where::nowhere: break;
    }
    return value_of_wrong_type("a text");
  }

  bool start_object(std::size_t) override {
    if (where_ == Where::nowhere) {
      where_ = Where::request;
      return true;
    }
    if (where_ != Where::entries) return value_of_wrong_type("an object");
    where_ = Where::entry;
    return true;
  }
  bool key(std::string &name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override {
    if (where_ == Where::request) {
      where_ = Where::nowhere;
      return true;
    }
    where_ = Where::entries;
    if (!has_prefix_) return wrong(fmt::format("entry {} has no prefix", number()));
    return end_entry();
  }
  bool start_array(std::size_t) override {
    if (where_ != Where::request || key_ != "entries") return value_of_wrong_type("an array");
    where_ = Where::entries;
    has_entries_ = true;
    return true;
  }
  bool end_array() override {
    where_ = Where::request;
    return true;
  }
  bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &error) override {
    return wrong(fmt::format("the request cannot be read: {}", error.what()));
  }

private:
  enum class Where : std::uint8_t { nowhere, request, entries, entry };

  [[nodiscard]] std::size_t number() const { return request_.entries.size() + 1; } // of the entry at hand

  bool wrong(std::string sentence, Errc code = Errc::usage) {
    if (!error_) error_ = Error{code, std::move(sentence)};
    return false;
  }
  // Fields that mean nothing may hold a number or a text.
  bool value_of_wrong_type(const std::string &value) {
    switch (where_) {
    case Where::nowhere: return wrong("a request is a JSON object with a verb");
    case Where::request:
      if (key_ == "verb" || key_ == "list") return wrong(fmt::format("{} is {}; it is a text", key_, value));
      if (key_ == "entries") return wrong(fmt::format("entries is {}; it is an array", value));
      if (key_ == "force") return wrong(fmt::format("force is {}; it is true or false", value));
      break;
    case Where::entries:
      return wrong(fmt::format("entry {} is {}; it is a prefix or an object", number(), value));
    case Where::entry:
      if (key_ == "ttl")
        return wrong(fmt::format("entry {}: ttl is {}; it is a whole number from 0 to {}", number(), value,
                                 ttl_s_max));
      if (key_ == "prefix" || key_ == "comment")
        return wrong(fmt::format("entry {}: {} is {}; it is a text", number(), key_, value));
      break;
    }
    if (value == "an array" || value == "an object")
      return wrong(fmt::format("{} is {}, which means nothing here", key_, value));
    return true;
  }

  bool take_prefix(const std::string &text) {
    const auto prefix = parse_prefix(text);
    if (!prefix)
      return wrong(fmt::format("{}: {}", text.substr(0, prefix_bytes_max), prefix.error()), Errc::parse);
    entry_.prefix = *prefix;
    has_prefix_ = true;
    return true;
  }
  bool take_comment(const std::string &text) {
    entry_.comment = rules::clean_comment(text);
    if (entry_.comment.size() <= rules::comment_bytes_max) return true;
    return wrong(
        fmt::format("entry {}: the comment has {} bytes, and at most {} are kept; shorten it. Nothing "
                    "was added",
                    number(), entry_.comment.size(), rules::comment_bytes_max));
  }
  bool end_entry() {
    request_.entries.push_back(std::move(entry_));
    entry_ = {};
    has_prefix_ = false;
    return true;
  }

  EntryRequest request_;
  NewEntry entry_;
  bool has_prefix_ = false, has_entries_ = false;
  std::string key_;
  Where where_ = Where::nowhere;
  std::optional<Error> error_;
};

} // namespace

Result<EntryRequest> parse_entry_request(std::string_view line) {
  EntryReader reader;
  (void)Json::sax_parse(line.begin(), line.end(), &reader);
  return reader.take();
}

} // namespace weir::control
