// SPDX-License-Identifier: GPL-3.0-or-later
// Light curves of all pixels and channels where they are stored, and all that is done to each of them: in
// memory by threads, or on a GPU. What is decided from them is in light_curves.h and image_search.h, so that
// both give the same integers; floats are added in the same order, and products are rounded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/search/images/scaling.h"
#include "kernels/search/images/tile.h"
#include "libcore/base/view.h"
#include "libcore/system/device.h"

namespace apsyn {

struct LightCurvePlan {
  std::size_t nx = 0, ny = 0, n_chan = 1;
  std::size_t piece = 32;   ///< frames, P
  std::size_t n_frame = 0;  ///< that are kept, at least 4 P; those before are forgotten
  double rfi_sigma = 5;     ///< 0: bright frames count, too
  unsigned n_threads = 1;
  Device device;  ///< that stores them
  std::size_t n_pixel() const { return nx * ny; }
  std::size_t n_tile() const { return (n_pixel() + kTilePixels - 1) / kTilePixels; }
  /// Pixels with those that fill the last tile.
  std::size_t n_lane() const { return n_tile() * kTilePixels; }
};

/// Means and references of this many pieces are remembered, in slots of their number modulo this.
inline constexpr std::size_t kPieceSlots = 6;

struct PieceFrames {
  FrameSpan frames;
  std::size_t slot = 0;         ///< of its references, and for its means
  std::span<const float> step;  ///< [chan]
  FrameFlags flags;
};

struct Normalisation {
  PieceFrames piece;
  std::span<const float> channel, pixel;  ///< [chan], [lane]; their product is the noise
  Levels levels;
  float ramp = 0, ramp_step = 0;  ///< f of scaling.h at the first frame, and from frame to frame
};

/// The samples of one pixel as an array in memory.
struct PixelCurve {
  const std::int16_t* first = nullptr;
  std::size_t n_frame = 0, frame_stride = 0, chan_stride = 0;
  double steps(std::int64_t frame, std::size_t chan) const {
    return first[static_cast<std::size_t>(frame) % n_frame * frame_stride + chan * chan_stride];
  }
};

/// Gives access to normalised light curves. For one thread; it ends before the store takes another frame.
class CurveReader {
 public:
  virtual ~CurveReader() = default;
  /// Valid as long as the reader.
  virtual PixelCurve at(std::size_t pixel) = 0;
};

/// Function that is given the hits of a tile, in any order, by several threads.
using TakeTileHits = std::function<void(std::size_t tile, std::span<const TileHit> hits)>;

/// The ring of frames, and means and references of pieces. light_curves.cpp calls it frame by frame and piece
/// by piece; one thread at a time.
class CurveStore {
 public:
  virtual ~CurveStore() = default;
  /// References of a new piece: the means of the slot before, or its references where there are none.
  virtual void start_piece(std::size_t slot, std::size_t before) = 0;
  /// References of some pixels, [chan][number].
  virtual void copy_references(std::size_t slot, std::span<const std::size_t> pixels,
                               View<float, 2> to) const = 0;
  /// Begins to take a frame that store() is then called for.
  virtual void receive(std::span<const float> planes) = 0;
  /// Rounds frame number `in_piece` of its piece, [chan][y][x], empty where all is missing; `planes` is free
  /// afterwards.
  virtual void store(std::span<const float> planes, std::int64_t frame, std::size_t in_piece,
                     std::size_t slot, std::span<const ChannelUse> use) = 0;
  /// The largest stored value, [frame of the piece][chan]; anything where the channel is missing.
  virtual void copy_peaks(View<std::int16_t, 2> to) const = 0;
  /// Frames become zeros.
  virtual void clear(const FrameSpan& frames) = 0;
  /// Means of all channels and pixels, which are kept, and deviations in steps of every n-th tile, NaN where
  /// they are not known: [chan][tile][pixel].
  virtual void measure_channels(const PieceFrames& piece, std::size_t every, View<float, 3> deviations) = 0;
  virtual void forget_means(std::size_t slot) = 0;
  /// The variance of a pixel's band, [lane]; see measure_band().
  virtual void measure_band(const PieceFrames& piece, std::span<const float> factor,
                            std::span<float> variance) = 0;
  virtual void normalise(const Normalisation& task) = 0;
  virtual void scan(const ScanTable& table, const TakeTileHits& take) = 0;
  /// Normalised values of a channel of a frame, [pixel], in steps.
  virtual void copy_plane(std::int64_t frame, std::size_t chan, std::span<std::int16_t> to) const = 0;
  virtual std::unique_ptr<CurveReader> reader() const = 0;
  /// Makes frames that are given from this memory quick to take, for as long as the result lives, which must
  /// end before the memory does.
  virtual std::shared_ptr<void> prepare(std::span<float> memory) const = 0;
};

std::unique_ptr<CurveStore> make_cpu_curve_store(const LightCurvePlan& plan);
/// DeviceError in a build without CUDA, without the device, or when its memory does not suffice.
std::unique_ptr<CurveStore> make_cuda_curve_store(const LightCurvePlan& plan);
/// Memory of the machine.
double cpu_curve_store_bytes(const LightCurvePlan& plan);
/// Memory of the machine and of the device, with tables and hits of `n_trial` trials of `n_width` windows as
/// long as `longest` frames.
double cuda_curve_store_host_bytes(const LightCurvePlan& plan);
double cuda_curve_store_bytes(const LightCurvePlan& plan, std::size_t n_trial, std::size_t n_width,
                              std::size_t longest);

/// For sums over windows, where they are too long for the memory that threads of a device share.
inline constexpr std::size_t kDeviceScratchBytes = 256'000'000;
/// Hits that there is room for on a device: some, and at least those that a tile may have.
std::size_t device_hit_capacity(std::size_t n_trial, std::size_t n_group);

}  // namespace apsyn
