// SPDX-License-Identifier: GPL-3.0-or-later
// Images in time as light curves of all pixels and channels, with levels taken away and noise set to one.
//
// Frames are grouped into pieces of P frames. In piece k, means m_k of pixel and channel leave out values
// that stick out. The level at its middle is
//   b_k = mean of the middle two of m_{k-2}, m_{k-1}, m_{k+1}, m_{k+2},                                  (1)
// without m_k, so that no pulse shorter than P is subtracted from itself, and exact where a level drifts
// evenly; at the ends, where one side is missing, a line through three pieces. Between the middles of pieces
// levels are interpolated. The noise is a_c s_p: a_c of a channel, the median over pixels, and s_p of a
// pixel, from the band's sum of light curves; medians over five pieces of both. s_p is the median of the
// pixels around, which has far less noise of its own than 5 P frames of one pixel give, but that of the pixel
// itself where this is larger by more than chance allows: sources that vary are not candidates.
//
// A channel of a frame does not count where it has no data (NaN or 0 throughout), or when its pixels scatter
// far more, or lie far higher or lower, than in other frames of the piece; unless one place is more than ten
// times as bright as they scatter: then they are what a bright pulse does to the image.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "kernels/search/images/curve_store.h"
#include "libcore/base/view.h"

namespace apsyn {

/// Counted in channels of frames.
struct FrameReport {
  std::uint64_t n_all = 0, n_missing = 0, n_bright = 0;
};

/// Seconds spent on frames as they come, and on levels and noise of pieces.
struct CurveSeconds {
  double frames = 0, levels = 0;
};

class LightCurves {
 public:
  explicit LightCurves(const LightCurvePlan& plan);
  /// Memory of the machine; that of a device is cuda_curve_store_bytes().
  static double bytes(const LightCurvePlan& plan);

  /// The next frame, [chan][y][x]; empty: there is none.
  void push(std::span<const float> planes);
  /// There are no more. finished() is then pushed().
  void end();
  /// After the end: n frames that do not count.
  void append_unusable(std::size_t n);

  std::int64_t pushed() const { return pushed_; }
  /// Frames before this one are normalised.
  std::int64_t finished() const { return finished_; }
  FrameFlags flags() const { return {usable_.data(), plan_.n_frame}; }
  /// Of a normalised value of a pixel and channel at a frame, in units of the image; 0 before the first piece
  /// that is remembered.
  double unit(std::int64_t frame, std::size_t chan, std::size_t pixel) const;
  /// All light curves; before a frame is taken, readers must have ended.
  CurveStore& store() { return *store_; }
  const CurveStore& store() const { return *store_; }
  const FrameReport& report() const { return report_; }
  const CurveSeconds& seconds() const { return seconds_; }
  const LightCurvePlan& plan() const { return plan_; }

 private:
  struct Piece {
    FrameSpan frames;
    std::vector<float> step;      ///< [chan], of a stored value
    std::vector<float> noise;     ///< [chan], median of the pixels' deviations; 0: unknown
    std::vector<float> variance;  ///< [pixel] of the band's sum
    std::vector<float> channel;   ///< [chan], a_c, once finished
    std::vector<float> pixel;     ///< [pixel], s_p, once finished
  };
  struct FrameStatistics {
    float middle = 0, scatter = 0, peak = 0;
    bool missing = false;
  };

  void start_piece();
  void end_piece();
  void flag_bright(const Piece& piece);
  void measure(Piece& piece);
  /// a_c and s_p of a piece, from those around.
  void set_noise(std::size_t number);
  void finish_until_middle_of(std::size_t number);
  void normalise(std::size_t number, std::int64_t begin, std::int64_t end, std::size_t left,
                 std::size_t right);
  PieceFrames frames_of(const Piece& piece, std::size_t number) const;
  std::array<int, 5> slots_around(std::size_t number) const;
  FrameStatistics look(std::size_t chan, const float* plane) const;
  std::int64_t middle2(std::size_t number) const;  ///< twice the middle of a piece, frames
  Piece& piece(std::size_t number) { return pieces_[number - first_piece_]; }
  const Piece& piece(std::size_t number) const { return pieces_[number - first_piece_]; }
  const Piece* piece_of(std::int64_t frame) const;
  bool has_piece(std::int64_t number) const;

  LightCurvePlan plan_;
  std::unique_ptr<CurveStore> store_;
  Buffer<std::uint8_t, 2> usable_;         ///< [chan][frame]
  Buffer<FrameStatistics, 2> statistics_;  ///< [frame of the piece][chan]
  std::vector<std::size_t> some_pixels_;   ///< that stand for all
  Buffer<float, 2> some_references_;       ///< [chan][number of them], of the piece that is being filled
  std::vector<float> next_step_;           ///< [chan]; 0: nothing seen yet
  std::deque<Piece> pieces_;
  std::size_t first_piece_ = 0, n_piece_ = 0;  ///< remembered from, begun
  std::size_t n_measured_ = 0, finished_pieces_ = 0;
  std::int64_t pushed_ = 0, finished_ = 0;
  bool ended_ = false;
  FrameReport report_;
  CurveSeconds seconds_;
};

}  // namespace apsyn
