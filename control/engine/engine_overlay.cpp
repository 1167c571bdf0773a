// Looks at the image in force when changes fill it (watch/overlay_watch.hpp).
#include "control/engine/engine.hpp"
#include "control/watch/overlay_watch.hpp"

namespace weir::control {

namespace {

constexpr auto look_wait = std::chrono::milliseconds(20); // many changes, one look

} // namespace

void Engine::image_fills() {
  if (looking_at_image_) return;
  looking_at_image_ = true;
  loop_.after(look_wait, [this] { look_at_image(); });
}

void Engine::look_at_image() {
  if (!pusher_.channel().connected()) {
    looking_at_image_ = false;
    return;
  }
  pusher_.channel().query(R"({"what":"info"})", [this](const Result<std::string> &text) {
    looking_at_image_ = false;
    if (!text || pusher_.state() != push::Pusher::State::live) return;
    ask_for_image(watch::look_at_load(watch::decode_image_load(*text)));
  });
}

} // namespace weir::control
