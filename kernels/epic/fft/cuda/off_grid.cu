// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/cuda/off_grid.cuh"

#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/cuda/sample_value.cuh"
#include "kernels/epic/cuda/turns.cuh"

namespace apsyn::epic_fft {
namespace {

using namespace epic_cuda;

constexpr int kSumAnts = 32, kSumSlices = 8;  // of a block of threads
constexpr int kSumValues = 8;                 // real numbers of a pair of antennas

/// A thread sums an antenna's products with one off the grid over a slice of the spectra: neighbours read
/// neighbouring samples. Partial sums of integers are exact.
template <SampleFormat kFormat>
__global__ void sum_pairs(const __grid_constant__ Samples samples, const __grid_constant__ OffGridTask task) {
  const int channel = blockIdx.y, off = blockIdx.z, slice = threadIdx.y;
  const int own = blockIdx.x * kSumAnts + threadIdx.x, ant = min(own, samples.n_ant - 1);
  const int far = static_cast<int>(task.off[off]), last = samples.n_pol - 1;
  constexpr int kPiece = 8;  // loads in flight
  using Value = decltype(sample<kFormat>(samples, 0, 0, 0, 0).x);
  double sums[kSumValues] = {};
  for (int first = slice * kPiece; first < samples.n_spectra; first += kPiece * kSumSlices) {
    Value part[kSumValues] = {};
#pragma unroll
    for (int i = 0; i < kPiece; ++i) {
      const int t = min(first + i, samples.n_spectra - 1);
      const Value inside = first + i < samples.n_spectra ? 1 : 0;
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        const auto a = sample<kFormat>(samples, channel, t, far, p == 0 ? 0 : last);
#pragma unroll
        for (int q = 0; q < 2; ++q) {
          const auto b = sample<kFormat>(samples, channel, t, ant, q == 0 ? 0 : last);
          part[4 * p + 2 * q] += inside * (a.x * b.x + a.y * b.y);
          part[4 * p + 2 * q + 1] += inside * (a.y * b.x - a.x * b.y);
        }
      }
    }
    for (int value = 0; value < kSumValues; ++value) sums[value] += static_cast<double>(part[value]);
  }
  __shared__ double of_slice[kSumSlices][kSumValues][kSumAnts];
  for (int value = 0; value < kSumValues; ++value) of_slice[slice][value][threadIdx.x] = sums[value];
  __syncthreads();
  const int n_value = 2 * samples.n_pol * samples.n_pol;
  if (slice >= n_value || own >= samples.n_ant) return;
  double sum = 0;  // of value `slice`
  for (int i = 0; i < kSumSlices; ++i) sum += of_slice[i][slice][threadIdx.x];
  const std::size_t pair =
      (std::size_t(samples.first_channel + channel) * task.n_off + off) * samples.n_ant + ant;
  reinterpret_cast<double*>(task.sums)[pair * n_value + slice] += sum;
}

__device__ __forceinline__ double2 product(double2 a, double2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
__device__ __forceinline__ double2 conjugate(double2 a) {
  return {a.x, -a.y};
}
__device__ __forceinline__ float2 narrowed(double re, double im) {
  return {static_cast<float>(re), static_cast<float>(im)};
}

__global__ void make_matrices(OffGridTask task) {
  const std::size_t at = this_thread();
  if (at >= std::size_t(task.n_channel) * task.n_off * task.n_ant) return;
  const int ant = at % task.n_ant;
  const std::uint32_t off = at / task.n_ant % task.n_off;
  const std::size_t channel = at / task.n_ant / task.n_off;
  const std::uint32_t far = task.off[off];
  const auto value = [&](int p, int q) -> double2 {
    if (p >= task.n_pol || q >= task.n_pol) return {0, 0};
    const double2* gains = task.gains + channel * task.n_ant * task.n_pol;
    const double2 both = product(gains[far * task.n_pol + p], conjugate(gains[ant * task.n_pol + q]));
    return product(task.sums[(at * task.n_pol + p) * task.n_pol + q], both);
  };
  const double2 xx = value(0, 0), yy = value(1, 1), xy = value(0, 1), yx = value(1, 0);
  if (task.rank[ant] == off) {
    double* powers = task.powers + (channel * task.n_off + off) * 4;
    powers[0] = xx.x;
    powers[1] = yy.x;
    powers[2] = xy.x;
    powers[3] = xy.y;
  }
  const double here = task.rank[ant] > off ? 1 : 0;
  float2* to = task.matrices + at * 4;
  to[0] = narrowed(here * 2 * xx.x, here * 2 * xx.y);
  to[1] = narrowed(here * 2 * yy.x, here * 2 * yy.y);
  to[2] = narrowed(here * (xy.x + yx.x), here * (xy.y + yx.y));
  to[3] = narrowed(here * (xy.y - yx.y), here * (yx.x - xy.x));
}

/// w <- w conj(a) of what an antenna hears from the pixel.
__device__ __forceinline__ float2 heard_weight(const WeightTask& sky, std::size_t channel, int ant,
                                               std::size_t pixel, float2 w) {
  if (sky.heard == nullptr) return w;
  const float2 a = sky.heard[(channel * sky.n_kind + sky.kinds[ant]) * sky.n_pixel + pixel];
  return {w.x * a.x + w.y * a.y, w.y * a.x - w.x * a.y};
}

constexpr int kImageThreads = 128, kImageAnts = 32;

/// A thread for each pixel: sum over antennas M w*, times the weight of the antenna off the grid.
template <int kProducts>
__global__ __launch_bounds__(kImageThreads) void image_pairs(const __grid_constant__ OffGridImageTask task) {
  __shared__ double seconds[4][kImageAnts];
  __shared__ float2 matrices[kImageAnts][4];
  const WeightTask& sky = task.sky;
  const int n_ant = task.pairs.n_ant, n_off = task.pairs.n_off, image = blockIdx.y;
  const int own = blockIdx.x * kImageThreads + threadIdx.x;
  const std::size_t pixel = min(own, sky.n_pixel - 1);
  const double unit[3] = {sky.unit[pixel * 3], sky.unit[pixel * 3 + 1], sky.unit[pixel * 3 + 2]};
  double total[kProducts] = {};
  for (int i = 0; i < task.n_average; ++i) {
    const std::size_t channel = std::size_t(image) * task.n_average + i;
    const double hz = sky.hz[channel];
    for (int off = 0; off < n_off; ++off) {
      const float2* pairs = task.pairs.matrices + (channel * n_off + off) * n_ant * 4;
      float2 sums[kProducts] = {};
      for (int begin = 0; begin < n_ant; begin += kImageAnts) {
        const int n_here = min(kImageAnts, n_ant - begin);
        __syncthreads();
        {
          const int axis = threadIdx.x / kImageAnts, ant = threadIdx.x % kImageAnts;
          if (ant < n_here) {
            seconds[axis][ant] = sky.seconds[std::size_t(axis) * n_ant + begin + ant];
            matrices[ant][axis] = pairs[std::size_t(begin + ant) * 4 + axis];
          }
        }
        __syncthreads();
        for (int ant = 0; ant < n_here; ++ant) {
          const double tau = unit[0] * seconds[0][ant] + unit[1] * seconds[1][ant] +
                             (unit[2] * seconds[2][ant] - seconds[3][ant]);
          const double turns = -hz * tau;
          const auto part = static_cast<float>(turns - rint(turns));
          float2 w;
          __sincosf(6.2831853f * part, &w.y, &w.x);
          w = heard_weight(sky, channel, begin + ant, pixel, w);
#pragma unroll
          for (int k = 0; k < kProducts; ++k) {
            const float2 m = matrices[ant][k];
            sums[k].x += m.x * w.x + m.y * w.y;
            sums[k].y += m.y * w.x - m.x * w.y;
          }
        }
      }
      const int far = static_cast<int>(task.pairs.off[off]);
      const float2 w = heard_weight(sky, channel, far, pixel, weight_of(sky, unit, hz, far));
      const double power = sky.heard == nullptr ? 1
                                                : static_cast<double>(w.x) * static_cast<double>(w.x) +
                                                      static_cast<double>(w.y) * static_cast<double>(w.y);
#pragma unroll
      for (int k = 0; k < kProducts; ++k) {
        total[k] += static_cast<double>(w.x * sums[k].x - w.y * sums[k].y);
        if (task.autos) total[k] += power * task.pairs.powers[(channel * n_off + off) * 4 + k];
      }
    }
  }
  if (own >= sky.n_pixel) return;
  float* to = task.planes + std::size_t(image) * task.n_plane * task.plane_size + task.index[pixel];
#pragma unroll
  for (int k = 0; k < kProducts; ++k) {
    if (task.plane_of[k] < 0) continue;
    float& value = to[task.plane_of[k] * task.plane_size];
    value = static_cast<float>(static_cast<double>(value) + total[k] * task.scale[image]);
  }
}
static_assert(kImageThreads == 4 * kImageAnts);

}  // namespace

void launch_off_grid_sums(const OffGridTask& task, const Samples& samples, cudaStream_t stream) {
  const dim3 grid((samples.n_ant + kSumAnts - 1) / kSumAnts, samples.n_channel, task.n_off);
  with_format(samples.format, [&](auto format) {
    sum_pairs<format><<<grid, dim3(kSumAnts, kSumSlices), 0, stream>>>(samples, task);
  });
  launched("summing pairs of antennas off the grid");
}

void launch_off_grid_matrices(const OffGridTask& task, cudaStream_t stream) {
  const std::size_t n = std::size_t(task.n_channel) * task.n_off * task.n_ant;
  make_matrices<<<blocks_of(n), kThreads, 0, stream>>>(task);
  launched("laying out pairs of antennas off the grid");
}

void launch_off_grid_images(const OffGridImageTask& task, cudaStream_t stream) {
  if (task.sky.n_pixel == 0) return;
  const dim3 grid(static_cast<unsigned>((task.sky.n_pixel + kImageThreads - 1) / kImageThreads),
                  static_cast<unsigned>(task.n_image));
  if (task.pairs.n_pol == 1)
    image_pairs<1><<<grid, kImageThreads, 0, stream>>>(task);
  else
    image_pairs<4><<<grid, kImageThreads, 0, stream>>>(task);
  launched("imaging pairs of antennas off the grid");
}

}  // namespace apsyn::epic_fft
