// SPDX-License-Identifier: GPL-3.0-or-later
// How the work of a launch is cut for blocks of threads: (row, part of its spectra, groups of beams).
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/common/cuda/beams/products.cuh"

namespace apsyn::beam_products {

struct Items {
  Task task;
  int groups;  ///< of beams, of an item
  int n_beam_items, n_parts, part_tiles;
  int n_section, count;
};

constexpr int kRun = 128;  // spectra

/// Whole runs for each part, and as few parts as keep `n_busy` blocks busy.
inline Items items_of(const Task& task, int groups, int tile_spectra, int n_busy) {
  constexpr int kMaxParts = 8;
  Items items{task, groups};
  const int item_beams = groups * kGroupBeams, n_runs = task.sections.stride / kRun;
  items.n_beam_items = (task.layout.n_beam + item_beams - 1) / item_beams;
  const int n_whole = items.n_beam_items * task.n_channel * task.sections.count();
  const auto part_of = [&](int n_parts) { return (n_runs + n_parts - 1) / n_parts; };
  const auto busy = [&](int n_parts) {
    const int part = part_of(n_parts), n_items = n_whole * ((n_runs + part - 1) / part);
    const int n_waves = (n_items + n_busy - 1) / n_busy;
    return static_cast<double>(n_whole) * n_runs / (static_cast<double>(n_waves) * part * n_busy);
  };
  int n_parts = 1;
  for (int n = 2; n <= std::min(kMaxParts, n_runs); ++n)
    if (busy(n) > 1.05 * busy(n_parts)) n_parts = n;
  const int part = part_of(n_parts);
  items.part_tiles = part * (kRun / tile_spectra);
  items.n_parts = (n_runs + part - 1) / part;
  items.n_section = task.sections.count();
  items.count = items.n_beam_items * items.n_parts * task.n_channel * items.n_section;
  return items;
}

#ifdef __CUDACC__

struct Item {
  int row = 0, first_group = 0, first_tile = 0, end_tile = 0;
  Item() = default;
  __device__ Item(const Items& items, int index, int tile_spectra) {
    // neighbouring blocks of threads read the same samples
    first_group = index % items.n_beam_items * items.groups;
    const int part = index / items.n_beam_items % items.n_parts;
    row = index / items.n_beam_items / items.n_parts;
    const Sections& sections = items.task.sections;
    const int n = (sections.size(row % items.n_section) + kRun - 1) / kRun * kRun / tile_spectra;
    first_tile = min(n, part * items.part_tiles);
    end_tile = min(n, first_tile + items.part_tiles);
  }
};

/// Goes through what a block of threads takes one after the other: (item, tile, one of n_parts).
struct Cursor {
  const Items& items;
  int tile_spectra, n_parts;
  int index, row = 0, first_group = 0, first_tile = 0, tile = 0, end_tile = 0, part = 0;
  __device__ Cursor(const Items& all, int spectra, int parts)
      : items(all), tile_spectra(spectra), n_parts(parts), index(blockIdx.x) {
    enter();
  }
  __device__ bool ended() const { return index >= items.count; }
  __device__ void enter() {
    for (; !ended(); index += gridDim.x) {
      const Item item(items, index, tile_spectra);
      row = item.row, first_group = item.first_group;
      first_tile = tile = item.first_tile, end_tile = item.end_tile, part = 0;
      if (tile < end_tile) return;
    }
  }
  __device__ void leave() {
    index += gridDim.x;
    enter();
  }
  __device__ void advance() {
    if (++part < n_parts) return;
    part = 0;
    if (++tile < end_tile) return;
    leave();
  }
};

/// First operands of a block of 64 antennas: four times 32 bytes of the columns.
using Fragment = std::uint32_t[4][4];

/// A lane's share: load(byte) gives 16 bytes of its beam's 64 antennas, real parts at 0 and imaginary at 512
/// (weight_offset). The order is that of the samples (cuda/beams/samples.cuh), of which a lane takes two
/// runs of 4 bytes of each 32.
template <Source::SampleLayout kLayout, class Load>
__device__ __forceinline__ void load_fragment(Fragment& to, int lane, const Load& load) {
  const int quarter = lane % 4;
  std::uint32_t words[2][4];
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    if constexpr (kLayout == Source::SampleLayout::int8) {  // antennas 2 q, 2 q + 1 and those 8 further
      const int4 low = load(512 * part + 16 * (quarter / 2));
      const int4 high = load(512 * part + 32 + 16 * (quarter / 2));
      const std::uint32_t halves = quarter % 2 == 0 ? 0x5410 : 0x7632;
      words[part][0] = __byte_perm(low.x, high.x, halves),
      words[part][1] = __byte_perm(low.y, high.y, halves);
      words[part][2] = __byte_perm(low.z, high.z, halves),
      words[part][3] = __byte_perm(low.w, high.w, halves);
    } else {  // antennas 4 q .. 4 q + 3
      const int4 four = load(512 * part + 16 * quarter);
      words[part][0] = four.x, words[part][1] = four.y, words[part][2] = four.z, words[part][3] = four.w;
    }
  }
#pragma unroll
  for (int chunk = 0; chunk < 4; ++chunk) {
    const std::uint32_t re = words[0][chunk], im = words[1][chunk], minus_im = __vneg4(im);
    if constexpr (kLayout == Source::SampleLayout::rows) {
      to[chunk / 2][chunk % 2 * 2] = re, to[chunk / 2][chunk % 2 * 2 + 1] = im;
      to[2 + chunk / 2][chunk % 2 * 2] = minus_im, to[2 + chunk / 2][chunk % 2 * 2 + 1] = re;
    } else if constexpr (kLayout == Source::SampleLayout::int4) {
      to[chunk][0] = re, to[chunk][1] = im, to[chunk][2] = minus_im, to[chunk][3] = re;
    } else {
      to[chunk][0] = __byte_perm(re, minus_im, 0x5140), to[chunk][1] = __byte_perm(im, re, 0x5140);
      to[chunk][2] = __byte_perm(re, minus_im, 0x7362), to[chunk][3] = __byte_perm(im, re, 0x7362);
    }
  }
}
/// Calls with(layout) where the layout is known when compiling.
template <Product kProduct, class With>
__device__ __forceinline__ void with_layout(Source::SampleLayout layout, const With& with) {
  using enum Source::SampleLayout;
  if constexpr (kProduct == Product::quadratic)
    return with(std::integral_constant<Source::SampleLayout, rows>{});
  if constexpr (kProduct != Product::quadratic) {
    if (layout == rows)
      with(std::integral_constant<Source::SampleLayout, rows>{});
    else if (layout == int8)
      with(std::integral_constant<Source::SampleLayout, int8>{});
    else
      with(std::integral_constant<Source::SampleLayout, int4>{});
  }
}

/// The validity of a row's untouched samples; null when all of them count.
__device__ __forceinline__ const std::uint8_t* validity_of(const Task& task, int row) {
  const Source& source = task.source;
  if (source.valid == nullptr) return nullptr;
  const int channel = source.first_channel + row / task.sections.count();
  return source.valid +
         std::size_t(source.n_valid_row == 1 ? 0 : channel / source.n_fine) * task.layout.n_ant;
}
/// Bytes of a lane's share of a fragment of one chunk whose antennas count: masks of its first and second 4
/// bytes of each 32.
struct Masks {
  std::uint32_t low, high;
  __device__ Masks(const Task& task, const std::uint8_t* valid, int first_ant, int lane) {
    const auto two = [&](int antenna) -> std::uint32_t {
      antenna += first_ant;
      return antenna < task.layout.n_ant ? *reinterpret_cast<const std::uint16_t*>(valid + antenna) : 0;
    };
    const int quarter = lane % 4;
    if (task.source.layout == Source::SampleLayout::int8) {
      low = __byte_perm(two(2 * quarter) * 0xFF, 0, 0x1100);
      high = __byte_perm(two(8 + 2 * quarter) * 0xFF, 0, 0x1100);
    } else {
      low = high = (two(4 * quarter) | two(4 * quarter + 2) << 16) * 0xFF;
    }
  }
  __device__ void apply(std::uint32_t (&fragment)[4]) const {
    fragment[0] &= low, fragment[1] &= low, fragment[2] &= high, fragment[3] &= high;
  }
};

#endif

}  // namespace apsyn::beam_products
