#include "tests/lab/lsm_tables.hpp"

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace weir::lab {

namespace fs = std::filesystem;

namespace {

rocksdb::Slice slice(const auto &bytes) { return {bytes.data(), bytes.size()}; }

// No block cache: a read of a run is a read of a block, from the page cache or, with O_DIRECT, from the disk. Indices are in memory.
rocksdb::Options options_of(bool direct, double bloom_bits) {
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  table.format_version = 5;
  if (bloom_bits > 0) table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(bloom_bits));
  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.compression = rocksdb::kNoCompression;
  options.use_direct_reads = direct;
  return options;
}

Status io(const fs::path &path, const rocksdb::Status &status) {
  if (status.ok()) return {};
  return fail(Errc::io, path.string() + ": " + status.ToString());
}

} // namespace

struct LsmTables::State {
  LsmTask task;
  double get_bits = 0;
  fs::path folder;
  struct Run {
    std::unique_ptr<rocksdb::SstFileReader> file;
    std::unique_ptr<rocksdb::Iterator> at;
  };
  std::vector<Run> runs;
  std::unique_ptr<rocksdb::DB> database;
  rocksdb::PinnableSlice value;
  std::uint64_t bytes = 0, filter_bytes = 0;
  Status fault;

  [[nodiscard]] fs::path file(unsigned run) const { return folder / (std::to_string(run) + ".sst"); }
  void note(const rocksdb::Status &status) {
    if (!status.ok() && fault) fault = io(folder, status);
  }

  State() = default;
  State(const State &) = delete;
  State &operator=(const State &) = delete;
  ~State() {
    value.Reset();
    runs.clear();
    if (database) (void)database->Close();
    database.reset();
    std::error_code ignored;
    if (!folder.empty()) fs::remove_all(folder, ignored);
  }
};

LsmTables::LsmTables(std::unique_ptr<State> state) : state_(std::move(state)) {}
LsmTables::LsmTables(LsmTables &&) noexcept = default;
LsmTables &LsmTables::operator=(LsmTables &&) noexcept = default;
LsmTables::~LsmTables() = default;

Result<LsmTables> LsmTables::create(const LsmTask &task, double get_bits_per_key) {
  const char *tmpdir = std::getenv("TMPDIR");
  std::string name = !task.folder.empty() ? task.folder : tmpdir != nullptr && *tmpdir != 0 ? tmpdir : "/tmp";
  name += "/weir-lab-lsm-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    return fail(Errc::io, name + ": " + std::strerror(errno) + ", name another place with --folder");
  auto state = std::make_unique<State>();
  state->task = task;
  state->get_bits = get_bits_per_key;
  state->folder = name;
  return LsmTables(std::move(state));
}

Status LsmTables::write(const LsmData &data) {
  const rocksdb::Options options = options_of(false, state_->get_bits);
  for (unsigned r = 0; r < data.runs().size(); ++r) {
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
    rocksdb::ExternalSstFileInfo info;
    const fs::path file = state_->file(r);
    TRY(io(file, writer.Open(file.string())));
    for (const std::uint64_t number : data.runs()[r].numbers) {
      const LsmKey key = lsm_key(number);
      const LsmValue value = lsm_value(number, r);
      TRY(io(file, writer.Put(slice(key), slice(value))));
    }
    TRY(io(file, writer.Finish(&info)));
    state_->bytes += info.file_size;
  }
  return {};
}

Status LsmTables::open(bool get) {
  const rocksdb::Options options = options_of(state_->task.direct, 0);
  for (unsigned r = 0; r < state_->task.runs; ++r) {
    auto file = std::make_unique<rocksdb::SstFileReader>(options);
    TRY(io(state_->file(r), file->Open(state_->file(r).string())));
    state_->filter_bytes += file->GetTableProperties()->filter_size;
    std::unique_ptr<rocksdb::Iterator> at(file->NewIterator(rocksdb::ReadOptions()));
    state_->runs.push_back({std::move(file), std::move(at)});
  }
  if (!get) return {};
  rocksdb::Options database = options_of(state_->task.direct, state_->get_bits);
  database.create_if_missing = true;
  database.num_levels = 1;
  database.compaction_style = rocksdb::kCompactionStyleNone;
  database.disable_auto_compactions = true;
  database.max_open_files = -1;
  rocksdb::DB *opened = nullptr;
  TRY(io(state_->folder, rocksdb::DB::Open(database, (state_->folder / "db").string(), &opened)));
  state_->database.reset(opened);
  rocksdb::IngestExternalFileOptions moved;
  moved.move_files = true; // another name for the same file
  moved.write_global_seqno = false;
  for (unsigned r = 0; r < state_->task.runs; ++r) {
    const fs::path twin = state_->folder / (std::to_string(r) + "-get.sst");
    std::error_code fault;
    fs::create_hard_link(state_->file(r), twin, fault);
    if (fault) return fail(Errc::io, twin.string() + ": " + fault.message());
    TRY(io(twin, state_->database->IngestExternalFile({twin.string()}, moved)));
  }
  std::string files;
  if (!state_->database->GetProperty("rocksdb.num-files-at-level0", &files) ||
      files != std::to_string(state_->task.runs))
    return fail(Errc::io, state_->folder.string() + ": level 0 has " + files + " files");
  return {};
}

std::optional<unsigned> LsmTables::read(unsigned run, const LsmKey &key) {
  rocksdb::Iterator &at = *state_->runs[run].at;
  at.Seek(slice(key));
  if (!at.Valid()) {
    state_->note(at.status());
    return std::nullopt;
  }
  if (at.key() != slice(key)) return std::nullopt;
  return run_of_value({at.value().data(), at.value().size()});
}
std::optional<unsigned> LsmTables::get(const LsmKey &key) {
  rocksdb::DB &database = *state_->database;
  state_->value.Reset();
  const auto status =
      database.Get(rocksdb::ReadOptions(), database.DefaultColumnFamily(), slice(key), &state_->value);
  if (status.IsNotFound()) return std::nullopt;
  state_->note(status);
  return run_of_value({state_->value.data(), state_->value.size()});
}
Status LsmTables::fault() const { return state_->fault; }

std::uint64_t LsmTables::bytes() const { return state_->bytes; }
std::uint64_t LsmTables::get_filter_bytes() const { return state_->filter_bytes; }

void LsmTables::count_blocks(bool on) {
  rocksdb::SetPerfLevel(on ? rocksdb::kEnableCount : rocksdb::kDisable);
  rocksdb::get_perf_context()->Reset();
}
std::uint64_t LsmTables::blocks_read() noexcept { return rocksdb::get_perf_context()->block_read_count; }

} // namespace weir::lab
