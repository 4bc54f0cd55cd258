// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/fft/cuda/images.cuh"

namespace apsyn::epic_fft {
namespace {

constexpr int kTaps = 8;  // FftFinish::kTaps

__device__ __forceinline__ void add_product(double2& sum, double2 a, double2 b) {
  sum.x += a.x * b.x - a.y * b.y;
  sum.y += a.x * b.y + a.y * b.x;
}
/// exp(-2 pi i bin lag / length)
__device__ __forceinline__ double2 turned(std::uint32_t bin, int lag, int length) {
  const int product = static_cast<int>(bin) * lag % length;
  double2 turn;
  sincospi(-2.0 * product / length, &turn.y, &turn.x);
  return turn;
}

/// Block: an image and pack; a thread for each lag of dy >= 0.
__global__ void lags_of(LagTask task) {
  const int image = blockIdx.x, pack = blockIdx.y, k = (task.n_lag + 1) / 2;
  const int dy = threadIdx.x / task.n_lag, dx = threadIdx.x % task.n_lag;
  if (dy >= k) return;
  double2 sum{0, 0}, mirrored{0, 0};
  for (int i = 0; i < task.n_average; ++i)
    for (int ant = 0; ant < task.n_ant; ++ant) {
      const std::size_t at = std::size_t(image * task.n_average + i) * task.n_ant + ant;
      const double *power = task.powers + at * 4, *gain = task.gains + at * 4;
      double2 left{0, 0};
      if (pack == 0) {
        left.x = power[task.first_pol] * gain[task.first_pol];
        if (task.n_value > 1) left.y = power[1] * gain[1];
      } else {
        add_product(left, double2{power[2], power[3]}, double2{gain[2], gain[3]});
      }
      const double2 own = task.own[at * k * task.n_lag + threadIdx.x];
      add_product(sum, left, own);
      add_product(mirrored, left, double2{own.x, -own.y});
    }
  double2* lags = task.lags + std::size_t(image * task.n_pack + pack) * task.n_lag * task.n_lag;
  lags[(k - 1 + dy) * task.n_lag + dx] = sum;
  if (dy > 0) lags[(k - 1 - dy) * task.n_lag + task.n_lag - 1 - dx] = mirrored;
}

__device__ __forceinline__ double2 sum_of(const ImageTask& task, int image, int pack, int column, int row) {
  const double* from = task.sums +
                       ((std::size_t(image) * task.n_column + column) * task.n_row + row) * task.n_value +
                       2 * pack;
  return {from[0], task.n_value > 1 ? from[1] : 0.0};
}

__device__ __forceinline__ void write_pixel(const ImageTask& task, int image, int pack,
                                            const ImagePixel& pixel, double2 value) {
  const double factor = pixel.factor * task.scale[image];
  float* to = task.planes + std::size_t(image) * task.n_plane * task.image_size + pixel.at;
  const int* plane = task.plane_of[pack];
  if (plane[0] >= 0) to[plane[0] * task.image_size] = static_cast<float>(value.x * factor);
  if (plane[1] >= 0) to[plane[1] * task.image_size] = static_cast<float>(value.y * factor);
}

/// Block: an image, a pack and some pixels.
__global__ void images(ImageTask task) {
  const int image = task.first + blockIdx.y, pack = blockIdx.z;
  __shared__ double2 lags[kMaxLags * kMaxLags];
  const int n_lag = task.lags == nullptr ? 0 : task.n_lag;
  for (int i = threadIdx.x; i < n_lag * n_lag; i += blockDim.x)
    lags[i] = task.lags[std::size_t(image * task.n_pack + pack) * n_lag * n_lag + i];
  __syncthreads();
  const std::size_t at = this_thread();
  if (at >= std::size_t(task.n_pixel)) return;
  const ImagePixel pixel = task.pixels[at];
  double2 value = sum_of(task, image, pack, pixel.column, pixel.row);
  const std::uint32_t bin_x = task.bins_x[pixel.column], bin_y = task.bins_y[pixel.row];
  if (n_lag > 0) {
    double2 turn_x[kMaxLags];
    const int middle = n_lag / 2;
#pragma unroll
    for (int dx = 0; dx < kMaxLags; ++dx)
      if (dx < n_lag) turn_x[dx] = turned(bin_x, dx - middle, task.length_x);
    for (int dy = 0; dy < n_lag; ++dy) {
      double2 of_dy{0, 0}, left{0, 0};
#pragma unroll
      for (int dx = 0; dx < kMaxLags; ++dx)
        if (dx < n_lag) add_product(of_dy, lags[dy * n_lag + dx], turn_x[dx]);
      add_product(left, of_dy, turned(bin_y, dy - middle, task.length_y));
      value.x -= left.x;
      value.y -= left.y;
    }
  }
  write_pixel(task, image, pack, pixel, value);
}

__global__ void pack_sums(ImageTask task) {
  const int image = blockIdx.y, pack = blockIdx.z;
  const std::size_t at = this_thread(), n = std::size_t(task.length_x) * task.length_y;
  if (at >= n) return;
  task.coarse[(std::size_t(image) * task.n_pack + pack) * n + at] =
      sum_of(task, task.first + image, pack, static_cast<int>(at / task.length_y),
             static_cast<int>(at % task.length_y));
}

/// Lag of a bin in a transform of n, and of 2 n; false where the longer one holds nothing.
__device__ __forceinline__ bool coarse_bin(int fine, int n, int* bin) {
  // bins 0 .. n / 2 keep their place, those above it have moved up by n
  if (2 * fine <= n) {
    *bin = fine;
    return true;
  }
  *bin = fine - n;
  return fine >= n && 2 * (fine - n) > n;
}

__global__ void refine(ImageTask task) {
  const int image = blockIdx.y, pack = blockIdx.z, n_x = task.length_x, n_y = task.length_y;
  const std::size_t at = this_thread(), n = std::size_t(n_x) * n_y;
  if (at >= 4 * n) return;
  const std::size_t which = std::size_t(image) * task.n_pack + pack;
  double2 value{0, 0};
  int x = 0, y = 0;
  if (coarse_bin(static_cast<int>(at / (2 * n_y)), n_x, &x) &&
      coarse_bin(static_cast<int>(at % (2 * n_y)), n_y, &y)) {
    value = task.coarse[which * n + std::size_t(x) * n_y + y];
    if (task.lags != nullptr) {
      const int middle = task.n_lag / 2;
      const double2* lags =
          task.lags + std::size_t((task.first + image) * task.n_pack + pack) * task.n_lag * task.n_lag;
      // a short transform holds several lags in a bin
      for (int dy = -middle; dy <= middle; ++dy) {
        if ((dy + middle * n_y - y) % n_y != 0) continue;
        for (int dx = -middle; dx <= middle; ++dx) {
          if ((dx + middle * n_x - x) % n_x != 0) continue;
          const double2 lag = lags[(dy + middle) * task.n_lag + dx + middle];
          value.x -= static_cast<double>(n) * lag.x;
          value.y -= static_cast<double>(n) * lag.y;
        }
      }
    }
    const double correction = task.correction_x[x] * task.correction_y[y];
    value.x *= correction;
    value.y *= correction;
  }
  task.fine[which * 4 * n + at] = value;
}

__global__ void interpolate(ImageTask task) {
  const int image = blockIdx.y, pack = blockIdx.z, n_x = 2 * task.length_x, n_y = 2 * task.length_y;
  const std::size_t at = this_thread();
  if (at >= std::size_t(task.n_pixel)) return;
  const ImagePixel pixel = task.pixels[at];
  const double2* fine = task.fine + (std::size_t(image) * task.n_pack + pack) * n_x * n_y;
  const double *tap_x = task.taps + at * 2 * kTaps, *tap_y = tap_x + kTaps;
  double2 value{0, 0};
  for (int a = 0; a < kTaps; ++a) {
    int column = static_cast<int>(pixel.column) + a;
    if (column >= n_x) column -= n_x;
    double2 sum{0, 0};
#pragma unroll
    for (int b = 0; b < kTaps; ++b) {
      int row = static_cast<int>(pixel.row) + b;
      if (row >= n_y) row -= n_y;
      const double2 sample = fine[std::size_t(column) * n_y + row];
      sum.x += tap_y[b] * sample.x;
      sum.y += tap_y[b] * sample.y;
    }
    value.x += tap_x[a] * sum.x;
    value.y += tap_x[a] * sum.y;
  }
  write_pixel(task, task.first + image, pack, pixel, value);
}

dim3 grid_of(std::size_t n, const ImageTask& task) {
  return dim3(blocks_of(n), static_cast<unsigned>(task.n), static_cast<unsigned>(task.n_pack));
}

}  // namespace

void launch_lags(const LagTask& task, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(task.n_image), static_cast<unsigned>(task.n_pack));
  lags_of<<<grid, static_cast<unsigned>((task.n_lag + 1) / 2 * task.n_lag), 0, stream>>>(task);
  launched("summing lags");
}

void launch_images(const ImageTask& task, cudaStream_t stream) {
  if (task.n_pixel == 0) return;
  images<<<grid_of(static_cast<std::size_t>(task.n_pixel), task), kThreads, 0, stream>>>(task);
  launched("finishing images");
}

void launch_pack(const ImageTask& task, cudaStream_t stream) {
  pack_sums<<<grid_of(std::size_t(task.length_x) * task.length_y, task), kThreads, 0, stream>>>(task);
  launched("packing sums");
}

void launch_refine(const ImageTask& task, cudaStream_t stream) {
  refine<<<grid_of(std::size_t(4) * task.length_x * task.length_y, task), kThreads, 0, stream>>>(task);
  launched("refining images");
}

void launch_interpolate(const ImageTask& task, cudaStream_t stream) {
  if (task.n_pixel == 0) return;
  interpolate<<<grid_of(static_cast<std::size_t>(task.n_pixel), task), kThreads, 0, stream>>>(task);
  launched("interpolating images");
}

}  // namespace apsyn::epic_fft
