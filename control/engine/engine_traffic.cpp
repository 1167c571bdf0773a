// What samples said of the traffic outlives the process, in two notes of the store: the sources that nothing
// denies, from which psi and the known negatives of the next plan come, and the rows of `top`, among them the
// denied addresses that the filter in front of the allow tables guards. A note is bounded, and one that
// cannot be read is as good as none.
#include "control/engine/engine.hpp"
#include "control/engine/traffic_note.hpp"

namespace weir::control {

namespace {

constexpr const char *sources_note = "sources";
constexpr std::size_t sources_kept = 4096;

} // namespace

void Engine::load_traffic() {
  if (const auto kept = decode_sources(store_.note(sources_note))) deny_watch_.resume(*kept);
  samples_saved_ = deny_watch_.samples();
}

void Engine::watch_traffic() {
  loop_.after(options_.traffic_save_wait, [this] {
    save_traffic();
    watch_traffic();
  });
}

// Only when there is something new to say: each note is a synced write.
void Engine::save_traffic() {
  const std::uint64_t samples = deny_watch_.samples();
  if (samples > samples_saved_) {
    const Status saved = store_.set_note(sources_note, encode_sources(deny_watch_.keep(sources_kept)));
    if (saved) samples_saved_ = samples;
  }
  if (!samples_to_keep) return;
  if (const std::string rows = samples_to_keep(); !rows.empty())
    (void)store_.set_note(top_note, rows); // the next one will do
}

} // namespace weir::control
