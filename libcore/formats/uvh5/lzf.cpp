// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/uvh5/lzf.h"

#include <hdf5.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace apsyn::uvh5 {
namespace {

constexpr H5Z_filter_t kLzfFilter = 32000;  ///< The HDF Group's registry
constexpr std::size_t kMaxChunkBytes = std::size_t{1} << 31;

/// As libhdf5 calls it; values[2] is the size of a chunk. 0 says that it failed.
std::size_t filter(unsigned flags, std::size_t n_values, const unsigned values[], std::size_t n_bytes,
                   std::size_t* buffer_bytes, void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;
  try {
    const std::size_t chunk = n_values >= 3 && values[2] > 0 ? values[2] : kMaxChunkBytes;
    const auto expanded =
        expand_lzf({static_cast<const std::uint8_t*>(*buffer), n_bytes}, std::min(chunk, kMaxChunkBytes));
    if (!expanded || expanded->empty()) return 0;
    void* const memory = std::malloc(expanded->size());  // libhdf5 frees it
    if (memory == nullptr) return 0;
    std::memcpy(memory, expanded->data(), expanded->size());
    std::free(*buffer);
    *buffer = memory;
    *buffer_bytes = expanded->size();
    return expanded->size();
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace

std::optional<std::vector<std::uint8_t>> expand_lzf(std::span<const std::uint8_t> packed,
                                                    std::size_t max_bytes) {
  std::vector<std::uint8_t> out;
  std::size_t at = 0;
  while (at < packed.size()) {
    const std::size_t control = packed[at++];
    if (control < 32) {
      const std::size_t n = control + 1;
      if (n > packed.size() - at || out.size() + n > max_bytes) return std::nullopt;
      out.insert(out.end(), packed.begin() + static_cast<std::ptrdiff_t>(at),
                 packed.begin() + static_cast<std::ptrdiff_t>(at + n));
      at += n;
      continue;
    }
    std::size_t length = control >> 5;
    if (length == 7) {
      if (at == packed.size()) return std::nullopt;
      length += packed[at++];
    }
    length += 2;
    if (at == packed.size()) return std::nullopt;
    const std::size_t distance = ((control & 31) << 8) + packed[at++] + 1;
    if (distance > out.size() || out.size() + length > max_bytes) return std::nullopt;
    for (std::size_t i = 0; i < length; ++i) out.push_back(out[out.size() - distance]);
  }
  return out;
}

void register_lzf() {
  if (H5Zfilter_avail(kLzfFilter) > 0) return;
  const H5Z_class2_t lzf{H5Z_CLASS_T_VERS, kLzfFilter, 0, 1, "lzf", nullptr, nullptr, filter};
  H5Zregister(&lzf);
}

}  // namespace apsyn::uvh5
