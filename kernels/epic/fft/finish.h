// SPDX-License-Identifier: GPL-3.0-or-later
// From sums at the pixels of the transform to images of the sky.
//
// When the grid's plane is not the image's, the transform shows the sky about the normal of the array. A
// power image holds no baseline longer than the array, so between its pixels it is known: its lags C_k =
// sum_q P_q exp(2 pi i k q / N) give P(t) = N^-2 sum_k C_k exp(-2 pi i k t / N) at any t, here by a transform
// of twice the size and a Kaiser-Bessel window of kTaps samples (Potts, Steidl and Tasche 2001), in float64.
#pragma once

#include <complex>

#include "kernels/common/math/fft.h"
#include "kernels/epic/fft/cpu/spectra.h"

namespace apsyn {

/// Two real planes are transformed as one complex plane: XX + i YY, and XY. Lags of autocorrelations
/// likewise.
using PackedLags = Buffer<std::complex<double>, 3>;  ///< [pack][dy][dx], 2 cells - 1 each, from the lowest

/// A pixel that looks at the sky.
struct FinishPixel {
  std::uint32_t x = 0, y = 0;         ///< of the image
  std::uint32_t column = 0, row = 0;  ///< of the transform, or the first tap of its refined image
  double factor = 0;                  ///< 1 / response^2
};

class FftFinish {
 public:
  static constexpr std::size_t kTaps = 8;  ///< of the window, 3e-8 of the image
  FftFinish(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid, const KernelFit& kernel,
            const LaneFft& fft_x, const LaneFft& fft_y, std::size_t n_value);
  /// Recomputes the pixels for another geometry that the same grid serves.
  void aim(const EpicPlan& plan, const EpicGeometry& geometry);
  const LanePixels& pixels() const { return pixels_; }
  /// Bins of the transform: of each of pixels().columns, and of each row.
  const std::vector<std::size_t>& bins_x() const { return frequency_x_; }
  const std::vector<std::size_t>& bins_y() const { return frequency_y_; }
  /// Tables for doing run() elsewhere, as on a GPU: pixels with sky; [pixel][x taps, y taps]; [bin] factors
  /// of lags along each axis. The latter two are empty when the transform's pixels are the image's.
  const std::vector<FinishPixel>& sky() const { return sky_; }
  const std::vector<double>& taps() const { return taps_; }
  const std::vector<double>& correction_x() const { return correction_x_; }
  const std::vector<double>& correction_y() const { return correction_y_; }
  std::size_t n_pack() const { return n_value_ == 4 ? 2 : 1; }
  /// sums [column][row][value] as add_lane_spectra makes them, less `lags` (empty: nothing), times scale ->
  /// planes [plane][y][x]. May be called from several threads.
  void run(const double* sums, const PackedLags& lags, double scale, View<float, 3> planes) const;
  /// Working memory of each run().
  static std::uint64_t scratch_bytes(const EpicPlan& plan, const FftGrid& grid);

 private:
  using Packed = Buffer<std::complex<double>, 2>;  // [column][row]
  void index_columns(std::size_t n);
  void plan_pixels(const EpicPlan& plan, const EpicGeometry& geometry);
  void unpack(const double* sums, std::size_t pack, Packed& to) const;
  void subtract_lags(const PackedLags& lags, std::size_t pack, Packed& from) const;
  void refine(const PackedLags& lags, std::size_t pack, const Packed& plane, Packed& fine) const;

  FftGrid grid_;
  KernelFit kernel_;
  std::size_t n_value_;
  bool first_, second_, cross_;
  LanePixels pixels_;
  std::vector<std::size_t> frequency_x_;  // [column] bin of the transform
  std::vector<std::size_t> frequency_y_;  // [row]
  std::vector<FinishPixel> sky_;
  std::vector<double> taps_;  // [pixel][x taps, y taps]
  // resampled only
  std::vector<double> correction_x_, correction_y_;  // [lag bin]
  std::shared_ptr<ComplexFft<double>> to_lags_, to_fine_;
};

}  // namespace apsyn
