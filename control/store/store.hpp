// The rule store: everything that control must know again after it was killed at any moment.
//
//   meta         store id, sequence, next numbers, which generation is live
//   lists        the number of never_deny; those of other lists stand in the generations that name them,
//                and are free again when none does
//   contents     what files say: one version = one sorted run of (prefix -> comment). All versions of a
//                change are one sorted file, ingested whole; current when a generation refers to them
//   sums         version -> how many entries it has and their checksum: what is read is held against it
//   dynamic      what `weirctl list add` said: (list, prefix) -> times and comment
//   log          sequence -> which prefix of which side changed; the newest log_entries_max of them
//   generations  configuration text and content version per list, for the last few generations
//   audit        who changed what and when: rules and entries apart, so that many of these crowd out none of those
//
// The log holds keys and not values: a delta is an upsert of effective state, so what has to be
// sent for a sequence is what that prefix means now, under the rules of the image it is sent to.
//
// Every change is one atomic, synced write; one that failed leaves nothing behind, and the next is tried
// as if there had been none. Content versions that no kept generation refers to are
// dropped at the next generation and when the store is opened. A content that does not read back as it was
// written is an error and never a shorter list. Times are seconds since the epoch.
// Functions may be called from any thread; RocksDB stays inside database.cpp.
#pragma once

#include "weir/base/number.hpp"
#include "weir/base/result.hpp"
#include "weir/image/identity.hpp"
#include "weir/key/address.hpp"
#include "weir/key/side.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::store {

struct ListMeta {
  ListId number{};
  std::string name;
  Side action = Side::deny;
  std::uint64_t content_version = 0;
  std::uint64_t fingerprint = 0; // of entries and comments: an equal one needs no new version
  std::uint64_t updated_at = 0;
  std::string format = {}; // as found in the file; for people
};

// Exact flows of a packet rule, as they were.
struct FlowsMeta {
  std::string rule;
  std::uint64_t content_version = 0;
  std::uint64_t fingerprint = 0;
};

struct DynamicKey {
  ListId list{};
  Prefix prefix;
  friend auto operator<=>(const DynamicKey &, const DynamicKey &) = default;
};

struct DynamicEntry {
  DynamicKey key;
  std::string comment;
  std::uint64_t added_at = 0;
  std::uint64_t expires_at = 0; // 0: never
};

struct Touched { // effective state of this prefix may have changed
  Side side = Side::deny;
  Prefix prefix;
  friend auto operator<=>(const Touched &, const Touched &) = default;
};

// A change that somebody asked for, or that weir-control made by itself. Written together with what it changed.
struct AuditRecord {
  std::uint64_t at_ms = 0; // since the epoch, by the system clock
  std::string by;          // "uid 1000"; empty: weir-control itself
  std::string what;        // "apply", "list add bans"
  std::string list;        // the one it was about, if it was one
  std::string detail;      // "+2 -0: 203.0.113.9 198.51.100.0/24"
  Generation generation{}; // that it made; 0: none
  friend bool operator==(const AuditRecord &, const AuditRecord &) = default;
};
enum class AuditKind : std::uint8_t { rules, entries };
inline constexpr std::size_t audit_kinds = 2;

struct DynamicChange { // one atomic write
  std::vector<DynamicEntry> put;
  std::vector<DynamicKey> erase;
  std::vector<Touched> touched; // each takes one sequence number
  std::vector<AuditRecord> audit;
};

struct GenerationRecord {
  Generation id;
  std::uint64_t applied_at = 0;
  image::Digest digest{};
  std::string config_text, config_source; // and the file it came from, which anchors its relative paths
  std::string cause;                      // "first load", "apply", "replace drop", "rollback to 3", "rebuild"
  std::vector<ListMeta> lists;            // as they were
  std::string plan_json, counts_json;     // what `generations` shows
  std::uint64_t image_bytes = 0;
  double build_ms = 0;
  std::vector<FlowsMeta> flows = {};

  // Of all contents that it needs.
  template <class Each> void for_each_version(Each each) const {
    for (const ListMeta &list : lists) each(list.content_version);
    for (const FlowsMeta &one : flows) each(one.content_version);
  }
};

struct Space {                             // where the store is
  std::optional<std::uint64_t> free_bytes; // nothing: the file system does not say
  bool full = false;                       // changes are refused, or the next one will be
};

inline constexpr std::uint64_t space_bytes_min = 256u << 10; // less is called full

struct Options {
  std::uint64_t log_entries_max = 262'144;
  std::array<std::uint64_t, audit_kinds> audit_max = {10'000, 100'000}; // records kept, by kind
};

// Takes the contents of one change, a version a list. Entries of a version come sorted by prefix (IPv4
// before IPv6) and unique; nothing is visible before finish() has returned.
class ContentWriter {
public:
  ContentWriter(ContentWriter &&) noexcept;
  ContentWriter &operator=(ContentWriter &&) noexcept;
  ~ContentWriter(); // without finish(): what was written is removed

  std::uint64_t begin_version(); // the entries that follow are its
  [[nodiscard]] Status add(const Prefix &prefix, std::string_view comment);
  [[nodiscard]] Status add(std::string_view bytes); // of a version that has no prefixes, in their order
  [[nodiscard]] Status finish();                    // all versions, or none

private:
  friend class Store;
  struct State;
  explicit ContentWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Store {
public:
  [[nodiscard]] static Result<Store> open(const std::filesystem::path &folder, Options options = {});
  Store(Store &&) noexcept;
  Store &operator=(Store &&) noexcept;
  ~Store();

  [[nodiscard]] image::StoreId id() const;
  [[nodiscard]] std::uint64_t sequence() const; // last one written
  [[nodiscard]] std::uint64_t bytes() const;    // that its files take on the disk
  [[nodiscard]] Space space() const;
  [[nodiscard]] bool damaged() const; // as Database has it

  // ---- lists
  [[nodiscard]] ListId never_deny_number() const;
  // Numbers that no kept generation names, for lists that the live one does not name. They are taken
  // when a generation with them becomes live: whoever only looks uses none up.
  [[nodiscard]] Result<std::vector<ListId>> free_numbers(std::size_t count) const;
  // Numbers with dynamic entries whose list no kept generation names any more. They stay taken until
  // forget_dynamic() has removed the entries.
  [[nodiscard]] std::vector<ListId> numbers_to_forget() const;
  [[nodiscard]] Status forget_dynamic(const std::vector<ListId> &numbers);

  // ---- dynamic entries and the log
  [[nodiscard]] Result<std::uint64_t> write(const DynamicChange &change); // the sequence afterwards
  [[nodiscard]] Status read_dynamic(const std::function<void(const DynamicEntry &)> &each) const;
  [[nodiscard]] Result<std::optional<DynamicEntry>> dynamic_entry(const DynamicKey &key) const;
  // Calls `each` for the kept records in order; the first sequence kept may be later than 1.
  [[nodiscard]] Status read_log(const std::function<void(std::uint64_t, const Touched &)> &each) const;

  // ---- contents
  [[nodiscard]] Result<ContentWriter> begin_contents();
  // An error when what is read is not what was written, or the version is not kept: then `each` may have
  // seen some of it.
  [[nodiscard]] Status
  read_content(std::uint64_t version,
               const std::function<void(const Prefix &, std::string_view comment)> &each) const;
  // Of a version without prefixes; `each` says whether the bytes are such as were written.
  [[nodiscard]] Status read_bytes(std::uint64_t version,
                                  const std::function<bool(std::string_view bytes)> &each) const;
  [[nodiscard]] Result<std::optional<std::string>> content_comment(std::uint64_t version,
                                                                   const Prefix &prefix) const;
  [[nodiscard]] bool has_content(std::uint64_t version) const; // kept, and not known to be damaged
  [[nodiscard]] std::uint64_t content_entries(std::uint64_t version) const; // 0: not known
  void drop_contents(const std::vector<std::uint64_t> &versions); // those that no make_live() has named

  // ---- generations
  [[nodiscard]] Result<Generation> take_generation_number(Generation above = {}); // never given twice
  // Makes a generation the live one, in one write with the note `unconfirmed` when it has a new text.
  // Nothing is forgotten: until prune() it can be taken back by making `before` live again, which forgets
  // `undone` (before.id 0: there was none).
  [[nodiscard]] Status make_live(const GenerationRecord &record,
                                 const std::optional<std::string> &unconfirmed = {},
                                 const std::optional<AuditRecord> &audit = {});
  [[nodiscard]] Status take_back(Generation undone, const GenerationRecord &before,
                                 const std::string &unconfirmed);
  // Forgets `replaced` (0: none; a rebuild has the same rules), and all but the newest `keep`; never the
  // live one or those that are pinned since somebody may go back to them.
  [[nodiscard]] Status prune(unsigned keep, const std::set<Generation> &pinned = {},
                             Generation replaced = {});
  [[nodiscard]] Result<std::vector<GenerationRecord>> generations() const; // oldest first
  [[nodiscard]] Generation live() const;                                   // 0: the store is new

  // ---- audit
  // Changes that nothing else is written for; others bring their records along.
  [[nodiscard]] Status audit(AuditRecord record);
  // The newest `most` that `wanted` takes (all, without), oldest first.
  [[nodiscard]] Result<std::vector<AuditRecord>>
  audited(std::size_t most, const std::function<bool(const AuditRecord &)> &wanted = {}) const;

  // Sequences up to `sequence` count as given and the log is forgotten: somebody has seen them, so
  // this store is older than it was (restored from a copy).
  [[nodiscard]] Status skip_to(std::uint64_t sequence);

  // ---- small facts that must outlive the process
  [[nodiscard]] Status set_note(std::string_view name, std::string_view text); // empty: removes it
  [[nodiscard]] std::string note(std::string_view name) const;

private:
  friend class ContentWriter;
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace weir::store
