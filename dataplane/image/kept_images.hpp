// The images that a restart begins with, in the state folder:
//
//   staged.N.image   of an image that is staged or just live, being written; removed at the next start
//   last.image       the last accepted image: whole, on the disk before it got this name
//   previous.image   the one before, for when last.image cannot be read
//
//   background thread   prepare(image): its pristine bytes, before the first delta, into memory of their own
//   service thread      stage(saving), commit() or discard()
//   thread of its own   write, fsync; once committed: rename, fsync the folder; free the bytes
//
// Nobody waits for the disk: STAGED and COMMIT are answered while an image is still being written. Until it
// is kept, a restart begins with the one before, and control brings that up to date as it does any older
// image. A save that fails is tried again for as long as its image is in force; last.image stays what it was.
// Where memory has no room for a second copy, prepare() itself writes the file, and a failure is final.
#pragma once

#include "dataplane/image/attached_image.hpp"
#include "weir/base/result.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weir::dataplane {

class KeptImages {
public:
  struct Saving; // one image on its way to the disk; its file is removed with it unless it was kept
  using Handle = std::shared_ptr<Saving>;

  // What a restart would find, for people.
  struct About {
    Generation generation{}; // in last.image, or previous.image if that was refused; 0: none, or unknown
    Generation waiting{};    // live, and not on the disk yet; 0: none
    std::string warning;     // what is wrong; empty: nothing
  };

  // `keeps` false: last.image is read, and nothing is written (replay).
  KeptImages(std::filesystem::path folder, bool keeps);
  ~KeptImages(); // tries once more what is live and not kept yet
  KeptImages(const KeptImages &) = delete;
  KeptImages &operator=(const KeptImages &) = delete;

  [[nodiscard]] std::filesystem::path last_file() const { return folder_ / "last.image"; }
  [[nodiscard]] std::filesystem::path previous_file() const { return folder_ / "previous.image"; }

  // Hands the newest file that is accepted; says on stderr why it was not the last. not_found: there is none.
  [[nodiscard]] Status restore(const std::function<Status(const std::filesystem::path &)> &accept,
                               const std::function<Generation()> &generation);

  [[nodiscard]] Handle prepare(const AttachedImage &image); // any thread; no delta was applied yet
  void stage(Handle saving);
  void discard(); // what was staged
  void commit();  // what was staged is live

  [[nodiscard]] About about() const; // any thread
  void settle();                     // until every live image is kept, or was tried once

private:
  using Clock = std::chrono::steady_clock;

  void loop();
  [[nodiscard]] Handle next() const;
  void drop(Handle saving);
  [[nodiscard]] bool advance(Saving &saving, std::unique_lock<std::mutex> &lock);
  [[nodiscard]] Status write(Saving &saving);
  [[nodiscard]] Status promote(Saving &saving);
  void remove_leftovers();
  void make_room(); // of what is not needed most

  const std::filesystem::path folder_;
  const bool keeps_;
  std::once_flag tidied_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Handle staged_, live_; // live_: committed, and not kept yet
  std::vector<Handle> dropped_;
  bool busy_ = false, stop_ = false;
  bool last_is_good_ = true; // false: refused at the start, so it shall not become previous.image
  Generation kept_generation_;
  std::string refused_; // why last.image was, until another is kept
  std::uint64_t made_ = 0;
  std::thread thread_;
};

} // namespace weir::dataplane
