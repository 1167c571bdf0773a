#include "weir/base/say.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace weir {
namespace {

iovec part(std::string_view text) { return {const_cast<char *>(text.data()), text.size()}; }

} // namespace

// What cannot be written is lost: there is nowhere to say so.
void say_sentence(std::string_view program, std::string_view sentence) noexcept {
  const int before = errno;
  const std::array line{part(program), part(": "), part(sentence), part("\n")};
  while (writev(STDERR_FILENO, line.data(), line.size()) < 0 && errno == EINTR) continue;
  errno = before;
}

} // namespace weir
