// SPDX-License-Identifier: GPL-3.0-or-later
// Searches images in time for dispersed pulses: from frames to candidates. With z the normalised light curves
// (light_curves.h), of channel c, pixel p and frame t, the signal-to-noise ratio of a window of W frames is
//   S/N = sum_{t..t+W-1} sum_c z_c[t + delay_c] / sqrt( n (1 + 0.3 W / P) ),                             (1)
// n the number of channels and frames that count, and the second term the noise of the levels, which are
// known from about P / 0.3 frames. delay_c is that of the trial in whole frames, from the highest channel on.
// Windows with less than a quarter of their channels and frames are not looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/search/images/light_curves.h"
#include "kernels/search/images/pulses.h"
#include "libcore/base/view.h"

namespace apsyn {

struct ImageSearchPlan {
  std::size_t nx = 0, ny = 0, n_chan = 1;
  Buffer<std::uint32_t, 2> delay;   ///< [trial][chan], frames
  std::vector<double> band_delay;   ///< of each trial over the band, frames, ascending
  std::vector<std::size_t> widths;  ///< frames, ascending
  BoxcarProgram program;            ///< of `widths`
  double threshold = 8, rfi_sigma = 5;
  std::size_t piece = 32;         ///< frames of equation (1) of light_curves.h
  std::size_t cutout_pixels = 0;  ///< side of what is cut out around a candidate, odd; 0: nothing
  unsigned n_threads = 1;
  Device device;  ///< that keeps and scans the light curves

  std::size_t max_delay() const;
  /// Frames that are kept: what is not finished, delays and windows behind what is searched, and what is cut
  /// out around it.
  std::size_t kept_frames() const;
  double bytes() const;         ///< of the machine
  double device_bytes() const;  ///< of the device; 0 on the CPU
};
/// Frames before and behind a pulse that are cut out with it.
inline constexpr std::size_t kCutoutFrames = 12;

/// Dedispersed surroundings.
struct ImageCutout {
  std::int64_t first_frame = 0;   ///< at the highest channel
  std::int64_t x0 = 0, y0 = 0;    ///< may be negative; pixels outside are NaN
  Buffer<float, 3> images;        ///< [time][y][x], mean over channels in the image's unit
  Buffer<float, 2> significance;  ///< [y][x], S/N of the pulse's window
  Buffer<float, 2> spectrum;      ///< [chan][time] of the brightest pixel in its noise; NaN: does not count
};

struct ImageCandidate {
  PulseHit hit;         ///< sn is that of (1) without clipping
  double x = 0, y = 0;  ///< pixels, between them
  double flux = 0;      ///< mean over window and channels at the brightest pixel, in the image's unit
  /// With the cut-out: of each trial, the best window on the track at the brightest pixel; 0: not there any
  /// more.
  std::vector<float> trial_sn;
  std::optional<ImageCutout> cutout;
};

class ImageSearch {
 public:
  /// `plan` outlives it.
  explicit ImageSearch(const ImageSearchPlan& plan);
  /// The next frame, [chan][y][x]; empty: there is none.
  void push(std::span<const float> planes);
  /// For memory that frames will be pushed from; see CurveStore::prepare().
  std::shared_ptr<void> prepare(std::span<float> memory) const { return curves_.store().prepare(memory); }
  /// There are no more.
  void end();
  /// Candidates that no later frame can change, by time.
  std::vector<ImageCandidate> take();

  const FrameReport& frames() const { return curves_.report(); }
  const CurveSeconds& curve_seconds() const { return curves_.seconds(); }
  /// Spent on trials and windows, and on what they have found.
  double scan_seconds() const { return scan_s_; }
  /// Frames in which windows have begun.
  std::int64_t searched() const { return searched_; }
  /// Candidates that wait are not older than this before searched(), frames.
  std::int64_t reach() const { return 2 * rule().reach(); }
  double beam_pixels() const { return beam_pixels_.value_or(0); }
  /// Pixels times trials times frames.
  double trial_pixels() const { return trial_pixels_; }
  /// Hits beyond what is kept of a storm.
  std::uint64_t n_dropped() const { return n_dropped_; }

 private:
  void search_until(std::int64_t end);
  void search_gulp(std::int64_t begin, std::size_t n);
  ScanTable make_table(std::int64_t begin, std::size_t n) const;
  void measure_beam(std::int64_t frame);
  ImageCandidate refine(const PulseHit& hit) const;
  template <class Add>
  void for_window(const PulseHit& hit, Add add) const;
  double significance(const PulseHit& hit, const PixelCurve& curve) const;
  double flux(const PulseHit& hit, std::size_t pixel, const PixelCurve& curve) const;
  ImageCutout cut_out(const PulseHit& hit, CurveReader& reader) const;
  std::vector<float> trial_significance(const PulseHit& hit, const PixelCurve& curve) const;
  PulseRule rule() const;

  const ImageSearchPlan& plan_;
  LightCurves curves_;
  std::optional<double> beam_pixels_;
  std::vector<ImageCandidate> open_;  ///< later frames may show that they are one
  std::int64_t searched_ = 0;
  double trial_pixels_ = 0, scan_s_ = 0;
  std::uint64_t n_dropped_ = 0;
  bool ended_ = false;
};

}  // namespace apsyn
