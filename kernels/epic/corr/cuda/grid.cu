// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/grid.cuh"

#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/corr/cuda/batches.cuh"
#include "kernels/epic/corr/cuda/order_target.cuh"
#include "kernels/epic/corr/cuda/site_taps.cuh"
#include "kernels/epic/corr/cuda/values.cuh"

namespace apsyn::epic_cuda {
namespace {

/// high | low << 16
__device__ __forceinline__ std::uint32_t halves_of(double value) {
  const __half high = __double2half(value);
  const __half low = __double2half(value - static_cast<double>(__half2float(high)));
  return __half_as_ushort(high) | static_cast<std::uint32_t>(__half_as_ushort(low)) << 16;
}

/// First cell of a place, and where in it.
__device__ __forceinline__ int locate(const CellShape& shape, double place, int n, float& along) {
  const double left = place - n * floor(place / n) - 0.5 * shape.width, first = ceil(left);
  along = static_cast<float>(2 * (first - left) - 1);
  return wrapped(static_cast<int>(first) + n, n);
}

/// orders[k] = scale c_k J_k(z), n_order of them, by Miller's recurrence downwards; how many are above the
/// error but for the scale. It begins where J_k has fallen far below the error, not at n_order: from there it
/// would outgrow float64.
__device__ __forceinline__ std::uint32_t bessel_orders(double z, double error, double scale, int n_order,
                                                       std::uint32_t* orders) {
  const double size = fabs(z);
  std::uint32_t n = 1;
  const auto put = [&](int k, double value) {
    if (k >= n_order) return;
    value *= k == 0 ? 1 : z < 0 && k % 2 == 1 ? -2 : 2;
    orders[k] = halves_of(scale * value);
    if (fabs(value) > error) n = max(n, static_cast<std::uint32_t>(k + 1));
  };
  if (size < 1e-2) {  // the next term is 3e-11
    const double series[4] = {1 - size * size / 4, size / 2 * (1 - size * size / 8), size * size / 8,
                              size * size * size / 48};
    for (int k = 0; k < n_order; ++k) put(k, k < 4 ? series[k] : 0);
    return n;
  }
  const int top = (static_cast<int>(size + 6 * cbrt(size)) + 44) / 2 * 2;
  for (int k = top + 1; k < n_order; ++k) put(k, 0);
  const double twice = 2 / size;
  double sum = 0;
  const auto recur = [&](const auto& use) {
    double above = 0, here = 1e-280;
    for (int k = top; k >= 0; --k) {
      use(k, here);
      const double below = k * twice * here - above;
      above = here;
      here = below;
    }
  };
  recur([&](int k, double value) { sum += k == 0 ? value : k % 2 == 0 ? 2 * value : 0; });
  recur([&](int k, double value) { put(k, value / sum); });
  return n;
}

/// 1 over the transform of what interpolates pixels.
__device__ __forceinline__ double inverse_at(const PlaceTask& task, double frequency) {
  const double square = frequency * frequency * task.inverse_scale;
  double value = 0;
  for (int power = task.n_inverse; power-- > 0;) value = fma(value, square, task.inverse[power]);
  return value;
}

/// A thread for each pair of antennas blockIdx.y and those behind it.
__global__ void place_pairs(PlaceTask task) {
  const CellShape& shape = task.shape;
  const int a = blockIdx.y, b = a + 1 + static_cast<int>(this_thread()), channel = blockIdx.z;
  if (b >= shape.n_ant) return;
  const std::size_t pair = channel * shape.n_pair() + pair_row(shape.n_ant, a) + (b - a - 1);
  const double hz = task.hz[channel], *of_a = task.uvw_s + 3 * a, *of_b = task.uvw_s + 3 * b;
  PairPlace place;
  // l falls with x, m rises with y
  place.x = static_cast<std::uint16_t>(
      locate(shape, hz * (of_a[0] - of_b[0]) * task.cell * shape.n_x, shape.n_x, place.along_x));
  place.y = static_cast<std::uint16_t>(
      locate(shape, -hz * (of_a[1] - of_b[1]) * task.cell * shape.n_y, shape.n_y, place.along_y));
  constexpr double kTurn = 6.283185307179586;
  const int n_order = kOrderGroup * shape.n_group();
  std::uint32_t* orders = task.orders + pair * n_order;
  const double scale = task.inverse == nullptr ? 1
                                               : inverse_at(task, hz * (of_a[0] - of_b[0]) * task.cell) *
                                                     inverse_at(task, hz * (of_a[1] - of_b[1]) * task.cell);
  place.n_order =
      bessel_orders(kTurn * hz * (of_a[2] - of_b[2]) * task.n_half, task.error, scale, shape.n_order, orders);
  for (int at = shape.n_order; at < n_order; ++at) orders[at] = 0;
  if (task.outlier_antennas[a] != 0 || task.outlier_antennas[b] != 0) place.n_order = 0;
  task.places[pair] = place;
  std::uint32_t count = 0;
  for_each_strip(shape, place, [&](int, int, bool) { ++count; });
  task.counts[pair] = task.grouped ? count * ((place.n_order + kOrderGroup - 1) / kOrderGroup) : count;
}

__global__ void turn_factors(TurnTask task) {
  const int input = static_cast<int>(this_thread());
  if (input >= task.n_ant * task.n_pol) return;
  const double turns = task.hz[blockIdx.y] * task.delays_s[input / task.n_pol];
  double2 turn;
  sincospi(2 * (turns - rint(turns)), &turn.y, &turn.x);
  const std::size_t at = std::size_t(blockIdx.y) * task.n_ant * task.n_pol + input;
  task.factors[at] = times(task.gains[at], turn);
}

/// A thread for each pair of antennas blockIdx.y and those behind it.
__global__ void pair_values(PairTask task, int n_average, float2* values, std::uint32_t* largest) {
  const int a = blockIdx.y, b = a + 1 + static_cast<int>(this_thread());
  const std::size_t channel = blockIdx.z;
  float most = 0;
  if (b < task.n_ant) {
    const PairValues of(task, channel);
    double2 exact[4] = {};
    if (task.n_pol == 2) {
      double2 value[2][2];
      of.values(a, b, value);
      if (task.total) {
        exact[0] = {(value[0][0].x + value[1][1].x) / 2, (value[0][0].y + value[1][1].y) / 2};
      } else {
        exact[0] = value[0][0];
        exact[1] = value[1][1];
        exact[2] = of.cross(value[0][1], value[1][0], 2);
        exact[3] = of.cross(value[0][1], value[1][0], 3);
      }
    } else {
      exact[0] = of.matrix(a, b, 0);
    }
    float2 made[4];
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      made[m] = make_float2(static_cast<float>(exact[m].x), static_cast<float>(exact[m].y));
      most = fmaxf(most, fmaxf(fabsf(made[m].x), fabsf(made[m].y)));
    }
    const std::size_t n_pair = std::size_t(task.n_ant) * (task.n_ant - 1) / 2;
    const std::size_t pair = channel * n_pair + pair_row(task.n_ant, a) + (b - a - 1);
    auto* to = reinterpret_cast<float4*>(values + 4 * pair);
    to[0] = make_float4(made[0].x, made[0].y, made[1].x, made[1].y);
    to[1] = make_float4(made[2].x, made[2].y, made[3].x, made[3].y);
  }
  // floats that are not negative have the order of their bits
  const std::uint32_t bits = __reduce_max_sync(~0u, __float_as_uint(most));
  if (threadIdx.x % 32 == 0 && bits > 0) atomicMax(largest + channel / n_average, bits);
}

__global__ void sum_orders(OrderTask task) {
  const CellShape& shape = task.shape;
  const std::size_t pixel = this_thread(), image = blockIdx.y;
  if (pixel >= std::size_t(task.n_pixel)) return;
  const std::size_t plane = std::size_t(shape.n_x) * shape.n_y;
  const float* from = task.images + image * shape.n_order * shape.n_product * plane + task.cells[pixel];
  float sums[4] = {};
  for (int order = 0; order < shape.n_order; ++order) {
    const float factor = task.factors[std::size_t(order) * task.n_pixel + pixel];
#pragma unroll
    for (int product = 0; product < 4; ++product)
      if (product < shape.n_product)
        sums[product] =
            fmaf(factor, from[(std::size_t(order) * shape.n_product + product) * plane], sums[product]);
  }
#pragma unroll
  for (int product = 0; product < 4; ++product)
    if (product < shape.n_product) ProductTarget(task.target, image, product).put(pixel, sums[product]);
}

/// What the sites of some orders, `step` apart, give at a pixel. Cells of a row follow one another but about
/// the middle of the image.
template <bool kFollow, int kOrders>
__device__ __forceinline__ void interpolate_cells(const float* plane, std::size_t step,
                                                  const SiteTaps& along_x, const SiteTaps& along_y, int n_x,
                                                  int n_y, float (&values)[kOrders]) {
#pragma unroll
  for (float& value : values) value = 0;
#pragma unroll
  for (int i = 0; i < kSiteTaps; ++i) {
    const float* row = plane + wrapped(along_y.first + i, n_y) * n_x;
    if (kFollow) row += along_x.first;
    float of_row[kOrders] = {};
#pragma unroll
    for (int j = 0; j < kSiteTaps; ++j) {
      const float* at = row + (kFollow ? j : wrapped(along_x.first + j, n_x));
#pragma unroll
      for (int order = 0; order < kOrders; ++order)
        of_row[order] = fmaf(along_x.of[j], __ldg(at + order * step), of_row[order]);
    }
#pragma unroll
    for (int order = 0; order < kOrders; ++order)
      values[order] = fmaf(along_y.of[i], of_row[order], values[order]);
  }
}
template <int kOrders>
__device__ __forceinline__ void interpolate(const float* plane, std::size_t step, const SiteTaps& along_x,
                                            const SiteTaps& along_y, int n_x, int n_y,
                                            float (&values)[kOrders]) {
  if (along_x.first + kSiteTaps <= n_x)
    interpolate_cells<true>(plane, step, along_x, along_y, n_x, n_y, values);
  else
    interpolate_cells<false>(plane, step, along_x, along_y, n_x, n_y, values);
}

/// Images that a thread interpolates at its pixel one after the other, with the same weights.
constexpr int kImagesOfPixel = 8;
/// Pixels of a block where the image is whole: neighbours share most of their sites.
constexpr int kTileX = 32, kTileY = kThreads / kTileX;

/// A thread for each pixel; beyond the last: n_pixel.
__device__ __forceinline__ std::size_t pixel_of_thread(const SiteTask& task) {
  if (!task.whole()) return min(this_thread(), std::size_t(task.n_pixel));
  const int n_tile = (task.nx + kTileX - 1) / kTileX;
  const int x = static_cast<int>(blockIdx.x) % n_tile * kTileX + static_cast<int>(threadIdx.x) % kTileX;
  const int y = static_cast<int>(blockIdx.x) / n_tile * kTileY + static_cast<int>(threadIdx.x) / kTileX;
  return x < task.nx && y < task.ny ? std::size_t(y) * task.nx + x : std::size_t(task.n_pixel);
}

__global__ __launch_bounds__(kThreads, 3) void sum_sites(SiteTask task) {
  const CellShape& shape = task.shape;
  const std::size_t pixel = pixel_of_thread(task);
  if (pixel == std::size_t(task.n_pixel)) return;
  const int index = static_cast<int>(task.pixels[pixel]);
  const PixelAmongSites among(task, index % task.nx, index / task.nx);
  SiteTaps along_x(task, among.x, shape.n_x, task.of_column);
  SiteTaps along_y(task, among.y, shape.n_y, task.of_row);
  along_x.first = around(along_x.first, shape.n_x);
  along_y.first = around(along_y.first, shape.n_y);
  const float t = task.n_half > 0 ? static_cast<float>(fmin(1.0, fmax(-1.0, among.dn / task.n_half))) : 0.0f;
  const std::size_t plane = std::size_t(shape.n_x) * shape.n_y, step = shape.n_product * plane;
  const int first = static_cast<int>(blockIdx.y) * kImagesOfPixel;
  const int end = min(first + kImagesOfPixel, task.n_image);
  for (int image = first; image < end; ++image)
    for (int product = 0; product < shape.n_product; ++product) {
      const float* from =
          task.images + (std::size_t(image) * shape.n_order * shape.n_product + product) * plane;
      float sum = 0, polynomial = 1, next = t;  // T_k, T_(k + 1)
      for (int order = 0; order < shape.n_order; order += 2, from += 2 * step) {
        if (order + 1 == shape.n_order) {
          float last[1];
          interpolate(from, step, along_x, along_y, shape.n_x, shape.n_y, last);
          sum = fmaf(polynomial, last[0], sum);
          break;
        }
        float two[2];
        interpolate(from, step, along_x, along_y, shape.n_x, shape.n_y, two);
        sum = fmaf(next, two[1], fmaf(polynomial, two[0], sum));
        polynomial = 2 * t * next - polynomial;
        next = 2 * t * polynomial - next;
      }
      ProductTarget(task.target, image, product).put(pixel, sum);
    }
}

dim3 pairs_of(int n_ant, int n_channel) {
  return dim3(blocks_of(static_cast<std::size_t>(n_ant)), static_cast<unsigned>(n_ant),
              static_cast<unsigned>(n_channel));
}

}  // namespace

void launch_place_pairs(const PlaceTask& task, cudaStream_t stream) {
  place_pairs<<<pairs_of(task.shape.n_ant, task.n_channel), kThreads, 0, stream>>>(task);
  launched("placing pairs");
}

void launch_turn_factors(const TurnTask& task, cudaStream_t stream) {
  const dim3 grid(blocks_of(std::size_t(task.n_ant) * task.n_pol), static_cast<unsigned>(task.n_channel));
  turn_factors<<<grid, kThreads, 0, stream>>>(task);
  launched("turning antennas");
}

void launch_pair_values(const PairTask& task, int n_average, float2* values, std::uint32_t* largest,
                        cudaStream_t stream) {
  const auto n_image = static_cast<std::size_t>(task.n_channel / n_average);
  cuda_check(cudaMemsetAsync(largest, 0, n_image * sizeof(std::uint32_t), stream), "clearing");
  pair_values<<<pairs_of(task.n_ant, task.n_channel), kThreads, 0, stream>>>(task, n_average, values,
                                                                             largest);
  launched("turning pairs");
}

void launch_sum_sites(const SiteTask& task, cudaStream_t stream) {
  if (task.whole() && task.shape.n_order == 1) return launch_site_tiles(task, stream);
  const auto n_tile =
      static_cast<unsigned>((task.nx + kTileX - 1) / kTileX * ((task.ny + kTileY - 1) / kTileY));
  const dim3 grid(task.whole() ? n_tile : blocks_of(static_cast<std::size_t>(task.n_pixel)),
                  static_cast<unsigned>((task.n_image + kImagesOfPixel - 1) / kImagesOfPixel));
  sum_sites<<<grid, kThreads, 0, stream>>>(task);
  launched("interpolating pixels");
}

void launch_sum_orders(const OrderTask& task, cudaStream_t stream) {
  const dim3 grid(blocks_of(static_cast<std::size_t>(task.n_pixel)), static_cast<unsigned>(task.n_image));
  sum_orders<<<grid, kThreads, 0, stream>>>(task);
  launched("adding up orders");
}

}  // namespace apsyn::epic_cuda
