// What p4/generated holds was made from p4/acl.p4 as it stands, and nobody has changed it since.
#include "tests/tidy/tree.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>

namespace weir::tidy {

std::string sha256_of(std::string_view text);
Breaches generated_from_something_else(const Tree &tree);

namespace {

using State = std::array<std::uint32_t, 8>;

// FIPS 180-4. The constants are the fractions of the square and cube roots of the first primes.
constexpr State initial{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void add_block(State &state, std::string_view block) {
  std::array<std::uint32_t, 64> w;
  for (unsigned i = 0; i < 16; ++i) {
    w[i] = 0;
    for (unsigned j = 0; j < 4; ++j) w[i] = w[i] << 8 | static_cast<std::uint8_t>(block[4 * i + j]);
  }
  for (unsigned i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (unsigned i = 0; i < 64; ++i) {
    const std::uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t t1 =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + choice + round_constants[i] + w[i];
    const std::uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const State sum{a, b, c, d, e, f, g, h};
  for (unsigned i = 0; i < 8; ++i) state[i] += sum[i];
}

constexpr const char *manifest_path = "p4/generated/MANIFEST";
constexpr const char *source_path = "p4/acl.p4";

} // namespace

std::string sha256_of(std::string_view text) {
  std::string padded(text);
  padded += '\x80';
  padded.append((120 - padded.size() % 64) % 64, '\0');
  for (unsigned shift = 64; shift != 0; shift -= 8)
    padded += static_cast<char>(std::uint64_t{text.size()} * 8 >> (shift - 8));
  State state = initial;
  for (std::size_t at = 0; at < padded.size(); at += 64)
    add_block(state, std::string_view(padded).substr(at, 64));
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const std::uint32_t word : state)
    for (unsigned shift = 32; shift != 0; shift -= 4) hex += digits[word >> (shift - 4) & 15];
  return hex;
}

// The manifest has lines as sha256sum writes them, paths from p4/, and remarks that begin with '#'.
Breaches generated_from_something_else(const Tree &tree) {
  static const std::regex entry("([0-9a-f]{64})  (\\S+)");
  const File *manifest = tree.find(manifest_path);
  if (manifest == nullptr) {
    if (tree.find(source_path) == nullptr) return {};
    return {std::string(manifest_path) + ": missing, run `make p4` where p4c-dpdk is"};
  }
  Breaches out;
  std::map<std::string, std::string> listed; // path -> sha256
  std::istringstream lines(manifest->text);
  std::smatch found;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, found, entry))
      listed["p4/" + found[2].str()] = found[1];
    else if (!line.starts_with('#'))
      out.push_back(std::string(manifest_path) + ": cannot read the line: " + line);
  for (const auto &[path, digest] : listed)
    if (const File *file = tree.find(path); file == nullptr)
      out.push_back(path + ": in the manifest, but missing");
    else if (sha256_of(file->text) != digest)
      out.push_back(path + ": not what the manifest says, run `make p4` where p4c-dpdk is");
  for (const File &file : tree.files)
    if ((file.path == source_path || file.in("p4/generated")) && file.path != manifest_path &&
        !listed.contains(file.path))
      out.push_back(file.path + ": not in " + manifest_path);
  return out;
}

} // namespace weir::tidy
