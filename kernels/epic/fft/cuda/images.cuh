// SPDX-License-Identifier: GPL-3.0-or-later
// FftFinish on a device, for all images together and also in float64.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::epic_fft {

constexpr int kMaxLags = 17;  ///< along an axis: 2 * 9 - 1

/// lags [image][pack][dy][dx], n_lag each, from the lowest: what each antenna left of itself.
struct LagTask {
  const double* powers = nullptr;  ///< [channel][ant][XX, YY, Re XY, Im XY], without g
  const double* gains = nullptr;   ///< [channel][ant]: |gx|^2, |gy|^2, Re, Im of gx conj(gy)
  const double2* own = nullptr;    ///< [channel][ant][dy 0 ..][dx], as GridLists::lags
  int n_image = 0, n_average = 1, n_ant = 0, n_pack = 1, n_value = 4, first_pol = 0;
  int n_lag = 1;
  double2* lags = nullptr;
};
void launch_lags(const LagTask& task, cudaStream_t stream);

struct ImagePixel {
  std::uint32_t at = 0;               ///< y * n_x + x of the image
  std::uint32_t column = 0, row = 0;  ///< as FinishPixel
  double factor = 0;
};

/// Makes images first .. first + n - 1.
struct ImageTask {
  const double* sums = nullptr;  ///< [image][column][row, n_row][value]
  int n_column = 0, n_row = 0, n_value = 4, n_pack = 1;
  int length_x = 0, length_y = 0;  ///< of the transform
  const double2* lags = nullptr;   ///< [image][pack][dy][dx]; null = nothing to subtract
  int n_lag = 1;
  const double* scale = nullptr;  ///< [image]
  const ImagePixel* pixels = nullptr;
  int n_pixel = 0;
  int first = 0, n = 0;
  /// [pack][real, imaginary part] the plane that it becomes, or -1.
  int plane_of[2][2] = {{-1, -1}, {-1, -1}};
  int n_plane = 0;
  std::size_t image_size = 0;
  float* planes = nullptr;  ///< [image][plane][pixel of the image]

  // without another projection
  const std::uint32_t* bins_x = nullptr;  ///< [column]
  const std::uint32_t* bins_y = nullptr;  ///< [row]

  // with it
  double2* coarse = nullptr;  ///< [image of the batch][pack][column][row]
  double2* fine = nullptr;    ///< the same, twice as long both ways
  const double *correction_x = nullptr, *correction_y = nullptr;
  const double* taps = nullptr;  ///< [pixel][x taps, y taps]
};

/// The transform's pixels are the image's.
void launch_images(const ImageTask& task, cudaStream_t stream);

/// Otherwise: sums -> coarse; its transform, less the lags -> fine; the transform of that -> images.
void launch_pack(const ImageTask& task, cudaStream_t stream);
void launch_refine(const ImageTask& task, cudaStream_t stream);
void launch_interpolate(const ImageTask& task, cudaStream_t stream);

}  // namespace apsyn::epic_fft
