// What files say. The versions of one change lie side by side in one sorted file, so that neither the number
// of files nor that of synced writes grows with the number of lists:
//
//   version | family | address | length -> comment
//
// Beside each version the store knows how many entries it has and an XXH3 over all of them in order; every
// reader that wants a whole version compares.
#include "control/store/state.hpp"

#include "weir/base/hash.hpp"

#include <algorithm>
#include <optional>

namespace weir::store {

namespace {

constexpr std::size_t version_bytes = sizeof(std::uint64_t);

// Over keys without their version, and comments behind their length. Hashed in blocks, since an entry is a few bytes.
class Summing {
public:
  Summing() { XXH3_64bits_reset(&state_); }
  void add(std::string_view key, std::string_view comment) {
    const std::uint64_t lengths = key.size() | std::uint64_t{comment.size()} << 8;
    block_.append(reinterpret_cast<const char *>(&lengths), sizeof lengths).append(key).append(comment);
    ++entries_;
    if (block_.size() < block_bytes) return;
    XXH3_64bits_update(&state_, block_.data(), block_.size());
    block_.clear();
  }
  [[nodiscard]] ContentSum sum() const {
    XXH3_state_t state = state_;
    XXH3_64bits_update(&state, block_.data(), block_.size());
    return {entries_, XXH3_64bits_digest(&state)};
  }

private:
  static constexpr std::size_t block_bytes = 16u << 10;
  XXH3_state_t state_{};
  std::uint64_t entries_ = 0;
  std::string block_;
};

} // namespace

// ---- writing -----------------------------------------------------------------------------------

struct ContentWriter::State {
  Store::State *store = nullptr;
  std::optional<SortedFile> file; // none before the first entry
  std::map<std::uint64_t, ContentSum> sums;
  std::uint64_t version = 0;
  Summing summing;
  std::string key; // kept to spare allocations
  bool finished = false;

  explicit State(Store::State *of) : store(of) {}
  State(const State &) = delete;
  State &operator=(const State &) = delete;

  ~State() {
    if (finished) return;
    const std::lock_guard lock(store->mutex);
    for (const auto &[number, sum] : sums) store->being_written.erase(number);
  }

  void end_version() {
    if (version != 0) sums[version] = summing.sum();
  }
  Status open();
  [[nodiscard]] Status read_back() const;
};

ContentWriter::ContentWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ContentWriter::ContentWriter(ContentWriter &&) noexcept = default;
ContentWriter &ContentWriter::operator=(ContentWriter &&) noexcept = default;
ContentWriter::~ContentWriter() = default;

Result<ContentWriter> Store::begin_contents() {
  state_->compact_when_worth_it();
  return ContentWriter(std::make_unique<ContentWriter::State>(state_.get()));
}

std::uint64_t ContentWriter::begin_version() {
  State &s = *state_;
  s.end_version();
  {
    const std::lock_guard lock(s.store->mutex);
    s.version = s.store->next_version++;
    s.store->being_written.insert(s.version);
  }
  s.summing = {};
  s.sums[s.version] = {};
  s.key = number_text(s.version);
  return s.version;
}

Status ContentWriter::State::open() {
  auto opened = TRY(store->database.sorted_file(fmt::format("{}.sst", version)));
  file.emplace(std::move(opened));
  return {};
}

Status ContentWriter::add(std::string_view bytes) {
  State &s = *state_;
  if (!s.file) TRY(s.open());
  s.key.resize(version_bytes);
  s.key.append(bytes);
  TRY(s.file->put(s.key, {}));
  s.summing.add(bytes, {});
  return {};
}

Status ContentWriter::add(const Prefix &prefix, std::string_view comment) {
  State &s = *state_;
  if (!s.file) TRY(s.open());
  s.key.resize(version_bytes);
  s.key.push_back(static_cast<char>(prefix.family()));
  s.key.append(reinterpret_cast<const char *>(prefix.address.bytes.data()), address_bytes(prefix.family()));
  s.key.push_back(static_cast<char>(prefix.length));
  TRY(s.file->put(s.key, comment));
  s.summing.add(std::string_view(s.key).substr(version_bytes), comment);
  return {};
}

Status ContentWriter::finish() {
  State &s = *state_;
  s.end_version();
  if (s.file) {
    Status whole = s.file->take_in();
    if (whole) whole = s.read_back();
    if (!whole) {
      std::vector<std::uint64_t> versions;
      for (const auto &[version, sum] : s.sums) versions.push_back(version);
      s.store->drop_versions(versions);
      return whole;
    }
  }
  s.file.reset();
  s.finished = true;
  const std::lock_guard lock(s.store->mutex);
  s.store->sums.merge(s.sums);
  return {};
}

// A file may be taken in by a database that could not read it then, and shows none of it afterwards.
Status ContentWriter::State::read_back() const {
  std::map<std::uint64_t, Summing> found;
  for (const auto &[number, sum] : sums) found[number];
  const Status read = store->database.scan(Keys::contents, number_text(sums.begin()->first),
                                           number_text(sums.rbegin()->first + 1),
                                           [&](std::string_view entry, std::string_view comment) {
                                             const auto at = found.find(Decoder(entry).u64());
                                             if (at != found.end())
                                               at->second.add(entry.substr(version_bytes), comment);
                                           });
  if (!read) return read;
  for (const auto &[number, sum] : sums)
    if (const ContentSum there = found[number].sum(); there != sum)
      return fail(Errc::io,
                  fmt::format("store {}: what was just written does not read back: {} entries, and {} "
                              "were written; nothing was changed, try again",
                              store->folder.string(), there.entries, sum.entries));
  return {};
}

// ---- reading -----------------------------------------------------------------------------------

Status Store::read_content(std::uint64_t version,
                           const std::function<void(const Prefix &, std::string_view)> &each) const {
  return state_->read_version_of(version, [&](std::string_view rest, std::string_view value) {
    Decoder k(rest);
    const Prefix prefix = k.prefix();
    if (k.ok()) each(prefix, value);
    return k.ok();
  });
}

Status Store::read_bytes(std::uint64_t version, const std::function<bool(std::string_view)> &each) const {
  return state_->read_version_of(version,
                                 [&](std::string_view rest, std::string_view) { return each(rest); });
}

// `each` gets keys without their version, and says whether they are such.
Status Store::State::read_version_of(std::uint64_t version,
                                     const std::function<bool(std::string_view, std::string_view)> &each) {
  ContentSum wanted;
  {
    const std::lock_guard lock(mutex);
    const auto sum = sums.find(version);
    if (sum == sums.end())
      return fail(Errc::io,
                  fmt::format("store {}: content {} is not there; the generation that it belongs to "
                              "is no longer kept",
                              folder.string(), version));
    wanted = sum->second;
  }
  Summing summing;
  Status read =
      database.scan(Keys::contents, number_text(version), [&](std::string_view key, std::string_view value) {
        const std::string_view rest = key.substr(version_bytes);
        if (!each(rest, value)) return false;
        summing.add(rest, value);
        return true;
      });
  const ContentSum found = summing.sum();
  if (read && (wanted.entries == ContentSum::unknown || found == wanted)) return {};
  const std::lock_guard lock(mutex);
  damaged.insert(version);
  if (!read) return read;
  return fail(
      Errc::io,
      fmt::format("store {}: content {} does not read back as it was written: {} entries, and {} were "
                  "written{}",
                  folder.string(), version, found.entries, wanted.entries,
                  found.entries == wanted.entries ? ", with another checksum" : ""));
}

Result<std::optional<std::string>> Store::content_comment(std::uint64_t version, const Prefix &prefix) const {
  return state_->database.get(content_key(version, prefix), Keys::contents);
}

bool Store::has_content(std::uint64_t version) const {
  const std::lock_guard lock(state_->mutex);
  return state_->sums.contains(version) && !state_->damaged.contains(version);
}

std::uint64_t Store::content_entries(std::uint64_t version) const {
  const std::lock_guard lock(state_->mutex);
  const auto sum = state_->sums.find(version);
  return sum == state_->sums.end() || sum->second.entries == ContentSum::unknown ? 0 : sum->second.entries;
}

// ---- what nobody needs any more ----------------------------------------------------------------

void Store::drop_contents(const std::vector<std::uint64_t> &versions) {
  std::vector<std::uint64_t> unused;
  {
    const std::lock_guard lock(state_->mutex);
    for (const std::uint64_t version : versions)
      if (state_->being_written.erase(version) > 0) unused.push_back(version);
  }
  std::ranges::sort(unused);
  state_->drop_versions(unused);
}

void Store::State::drop_versions(const std::vector<std::uint64_t> &versions) {
  {
    const std::lock_guard lock(mutex);
    for (const std::uint64_t version : versions) {
      const auto sum = sums.find(version);
      if (sum == sums.end()) continue;
      if (sum->second.entries != ContentSum::unknown) entries_dropped += sum->second.entries;
      sums.erase(sum);
      damaged.erase(version);
    }
  }
  for (std::size_t i = 0; i < versions.size();) { // runs of neighbours at once
    std::size_t end = i + 1;
    while (end < versions.size() && versions[end] == versions[end - 1] + 1) ++end;
    drop_range(versions[i], versions[end - 1] + 1);
    i = end;
  }
}

void Store::State::drop_range(std::uint64_t first, std::uint64_t end) {
  database.drop_contents(number_text(first), number_text(end));
}

std::vector<std::uint64_t> Store::State::unreferenced(const std::vector<GenerationRecord> &kept) const {
  const std::lock_guard lock(mutex);
  std::set<std::uint64_t> wanted = being_written;
  for (const GenerationRecord &g : kept)
    g.for_each_version([&](std::uint64_t version) { wanted.insert(version); });
  std::vector<std::uint64_t> dropped;
  for (const auto &[version, sum] : sums)
    if (!wanted.contains(version)) dropped.push_back(version);
  return dropped;
}

// Versions that shared a file with others leave their entries in it until it is written anew. Called by
// whoever is about to write contents, since that is not the loop.
void Store::State::compact_when_worth_it() {
  constexpr std::uint64_t worth_it_min = 100'000;
  {
    const std::lock_guard lock(mutex);
    std::uint64_t there = 0;
    for (const auto &[version, sum] : sums)
      if (sum.entries != ContentSum::unknown) there += sum.entries;
    if (entries_dropped < std::max(there, worth_it_min)) return;
    entries_dropped = 0;
  }
  database.compact_contents();
}

// ---- at the start ------------------------------------------------------------------------------

Status Store::State::load_contents(const std::vector<GenerationRecord> &kept) {
  std::set<std::uint64_t> wanted;
  for (const GenerationRecord &g : kept)
    g.for_each_version([&](std::uint64_t version) {
      if (version != 0) wanted.insert(version);
    });
  if (!has_sums) {
    if (const Status adopted = adopt(wanted); !adopted) return adopted;
  } else {
    Batch leftover(database);
    const Status read = database.scan(Keys::state, std::string(1, sum_tag),
                                      [&](std::string_view key, std::string_view value) {
                                        const std::uint64_t version = Decoder(key.substr(1)).u64();
                                        const auto sum = decode_sum(value);
                                        if (sum && wanted.contains(version))
                                          sums.emplace(version, *sum);
                                        else
                                          leftover.erase(key);
                                        return sum.has_value();
                                      });
    if (!read) return read;
    if (!leftover.empty()) (void)database.commit(leftover);
  }
  sweep_gaps(wanted);
  return {};
}

// Removes what lies between and behind the wanted versions; versions given from now on lie behind all.
void Store::State::sweep_gaps(const std::set<std::uint64_t> &wanted) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps; // first, end
  std::uint64_t from = 0;
  for (const std::uint64_t version : wanted) {
    if (version > from) gaps.emplace_back(from, version);
    from = version + 1;
  }
  next_version = std::max({next_version, from, std::uint64_t{1}});
  if (const auto key = database.last_key(Keys::contents)) {
    const std::uint64_t last = Decoder(*key).u64();
    next_version = std::max(next_version, last + 1);
    if (last >= from) gaps.emplace_back(from, last + 1);
  }
  for (const auto &[first, end] : gaps) drop_range(first, end);
}

} // namespace weir::store
