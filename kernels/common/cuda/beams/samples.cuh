// SPDX-License-Identifier: GPL-3.0-or-later
// How samples come to be columns in shared memory, 128 B for 64 antennas with chunks of 16 B swizzled as
// wgmma reads them (chunk ^ column % 8): 64 spectra, or 32 of X and 32 of Y behind them. The order within a
// column follows from how samples come, and weights follow it (load_fragment):
//
//   SampleLayout::rows                 [re of 64 antennas | im]
//   SampleLayout::int8                 [re, im] of antenna after antenna: one polarisation needs no work at
//   all SampleLayout::int4                 16 antennas after the other, [re | im], each times 16: a mask and
//   a shift
//
// A warp copies units that it alone reads again, so no other has to be waited for.
#pragma once

#include "kernels/common/cuda/beams/items.cuh"
#include "kernels/common/cuda/beams/products.cuh"
#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/common/cuda/sm90/shared_memory.cuh"

namespace apsyn::beam_products {

constexpr int kProducers = 128;
constexpr int kBlockBytes = kTileColumns * 128;

/// Samples as they come. A unit is what makes whole chunks: 8 antennas of int8, 16 of 4 bits.
template <Source::SampleLayout kLayout, int kPols>
struct Units {
  static constexpr bool kFourBit = kLayout == Source::SampleLayout::int4;
  static constexpr bool kUntouched = !kFourBit && kPols == 1;  ///< copied to where they are read
  static constexpr int kAntennas = unit_antennas(kLayout), kAntennaBytes = kPols * (kFourBit ? 1 : 2);
  static constexpr int kBytes = kAntennas * kAntennaBytes, kPieces = kBytes / 16;
  static constexpr int kPerSpectrum = kBlockAntennas / kAntennas, kSpectra = kTileColumns / kPols;
  static constexpr int kPassSpectra = kProducers / kPerSpectrum;  // that all threads bring at a time
  static constexpr int kPasses = kSpectra / kPassSpectra;
  static constexpr int kRawBytes = kUntouched ? 0 : kPasses * kProducers * kBytes;  // of a stage

  static constexpr int kHop = 32 / (kPerSpectrum * kPieces);  // spectra that a warp's 32 pieces are of

  int spectrum, antenna;      // of the first piece that a thread copies
  std::uint32_t place, mine;  // of the first chunk it fills in a stage, and of its raw bytes

  __device__ explicit Units(int thread) {
    const int unit = thread % kPerSpectrum, column = thread / kPerSpectrum;
    const int chunk = kFourBit ? 2 * unit : unit, lane = thread % 32;
    place = column * 128 + ((chunk ^ (column & 7)) << 4);
    // pieces that lie together are copied together
    spectrum = thread / 32 * (32 / kPerSpectrum) + lane / (kPerSpectrum * kPieces);
    antenna = lane % (kPerSpectrum * kPieces) * 16 / kAntennaBytes;
    mine = thread * 16;
  }

  /// Copies samples. From the n_rows-th spectrum of a thread on they are 0, and `some` is not read for them.
  __device__ void copy(std::uint32_t to, const std::uint8_t* from, std::size_t stride, int n_rows,
                       const std::uint8_t* some) const {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass)
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece) {
        const int row = pass * kPassSpectra + piece * kHop;
        const bool wanted = row < n_rows;
        ptx::copy_16_or_zeros(to + (kUntouched ? place + pass * kPassSpectra * 128
                                               : mine + (pass * kPieces + piece) * kProducers * 16),
                              wanted ? from + row * stride : some, wanted);
      }
  }

  __device__ static void store_nibbles(std::uint32_t to, int w0, int w1, int w2, int w3) {
    constexpr int kHigh = static_cast<int>(0xF0F0F0F0);
    ptx::store_shared(to, make_int4(w0 & kHigh, w1 & kHigh, w2 & kHigh, w3 & kHigh));
    ptx::store_shared(to ^ 16, make_int4(w0 << 4 & kHigh, w1 << 4 & kHigh, w2 << 4 & kHigh, w3 << 4 & kHigh));
  }

  /// Where a piece of a thread's unit lies, which another lane may have copied.
  __device__ std::uint32_t raw_piece(int pass, int piece) const {
    const int lane = threadIdx.x % 32, at = lane * kPieces + piece;
    return mine - lane * 16 + (pass * kPieces + at / 32) * kProducers * 16 + at % 32 * 16;
  }
  __device__ void unpack(std::uint32_t raw, std::uint32_t stage) const {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const std::uint32_t to = stage + pass * kPassSpectra * 128;
      int4 in[kPieces];
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece)
        in[piece] = ptx::load_shared(raw + raw_piece(pass, piece));
      if constexpr (kFourBit && kPols == 1) {
        store_nibbles(to + place, in[0].x, in[0].y, in[0].z, in[0].w);
      } else if constexpr (kPols == 2) {
        const int4 a = in[0], b = in[kPieces - 1];
        const auto of = [](int low, int high, int pol) {
          return static_cast<int>(kFourBit ? __byte_perm(low, high, pol == 0 ? 0x6420 : 0x7531)
                                           : __byte_perm(low, high, pol == 0 ? 0x5410 : 0x7632));
        };
#pragma unroll
        for (int pol = 0; pol < 2; ++pol) {
          const int w0 = of(a.x, a.y, pol), w1 = of(a.z, a.w, pol);
          const int w2 = of(b.x, b.y, pol), w3 = of(b.z, b.w, pol);
          if constexpr (kFourBit)
            store_nibbles(to + place + pol * kSpectra * 128, w0, w1, w2, w3);
          else
            ptx::store_shared(to + place + pol * kSpectra * 128, make_int4(w0, w1, w2, w3));
        }
      }
    }
  }
};

/// Goes through the stages of a block of threads, (item, tile, block of antennas), where a thread's first
/// unit stands. Blocks of antennas come `repeats` times for each tile.
template <class Units>
struct Walk {
  static constexpr bool kUntouched = Units::kUntouched;
  const Items& items;
  const Units& units;
  int index, tiles_left = 0, block = 0, repeat, repeats, n_rows = 0;
  const std::uint8_t* from = nullptr;

  __device__ Walk(const Items& all, const Units& u, int n_repeats)
      : items(all), units(u), index(blockIdx.x), repeat(n_repeats), repeats(n_repeats) {
    enter();
  }
  __device__ bool ended() const { return index >= items.count; }
  __device__ void enter() {
    const Task& task = items.task;
    for (; !ended(); index += gridDim.x) {
      const Item item(items, index, Units::kSpectra);
      tiles_left = item.end_tile - item.first_tile;
      if (tiles_left <= 0) continue;
      const int section = item.row % items.n_section;
      const int spectrum = item.first_tile * Units::kSpectra + units.spectrum;
      n_rows = task.sections.size(section) - spectrum;
      from = static_cast<const std::uint8_t*>(task.source.data) +
             (task.source.first_channel + item.row / items.n_section) * task.source.channel_stride +
             (task.sections.begin(section) + spectrum) * task.source.spectrum_stride +
             units.antenna * Units::kAntennaBytes;
      return;
    }
  }
  __device__ void copy(std::uint32_t to) const {
    const Source& source = items.task.source;
    const bool there = block * kBlockAntennas + units.antenna < items.task.layout.n_ant;
    units.copy(to, from, source.spectrum_stride, there ? n_rows : 0,
               static_cast<const std::uint8_t*>(source.data));
  }
  __device__ void advance() {
    constexpr int kBlockBytes = kBlockAntennas * Units::kAntennaBytes;
    from += kBlockBytes;
    if (++block < items.task.layout.n_blocks()) return;
    from -= block * kBlockBytes;
    block = 0;
    if (--repeat > 0) return;
    repeat = repeats;
    from += Units::kSpectra * items.task.source.spectrum_stride;
    n_rows -= Units::kSpectra;
    if (--tiles_left > 0) return;
    index += gridDim.x;
    enter();
  }
};

}  // namespace apsyn::beam_products
