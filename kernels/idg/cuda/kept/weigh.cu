// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/idg/cuda/kept/weigh.cuh"

namespace apsyn::idg_cuda {
namespace {

constexpr std::uint32_t kMaxPlanes = 4;

struct Place {
  double u, v;  // wavelengths
  double column, row;
  __device__ bool in(const CellGrid& grid) const {
    return column >= 0 && column < double(grid.n_u) && row < double(grid.n_rows);
  }
  __device__ std::size_t cell(const CellGrid& grid) const {
    return std::size_t(row) * grid.n_u + std::size_t(column);
  }
};

/// ImageWeights::cell(), with its order of operations and no fused ones, so that host and device agree about
/// the cell of a visibility on a border.
__device__ Place place_of(double u_m, double v_m, double wavelength_m, const CellGrid& grid) {
  Place place;
  place.u = __ddiv_rn(u_m, wavelength_m);
  place.v = __ddiv_rn(v_m, wavelength_m);
  const bool turned = place.v < 0;
  const double n_u = grid.n_u, n_v = 2.0 * grid.n_rows, middle = grid.n_u / 2;
  place.column = __dadd_rn(__dmul_rn(__dmul_rn(turned ? -place.u : place.u, n_u), grid.cell_rad), middle);
  place.row = __dmul_rn(__dmul_rn(turned ? -place.v : place.v, n_v), grid.cell_rad);
  return place;
}

__global__ void __launch_bounds__(kThreads)
    greatest_weight(const float* weight, std::size_t n, int* greatest) {
  int own = 0;  // the bits of numbers that are not negative rise with them
  for (std::size_t i = this_thread(); i < n; i += std::size_t(gridDim.x) * kThreads)
    own = max(own, __float_as_int(weight[i]));
  own = __reduce_max_sync(0xffffffffu, own);
  if (threadIdx.x % 32 == 0 && own > 0) atomicMax(greatest, own);
}

__device__ double longest_finite(double u, double v) {
  return fmax(isfinite(u) ? fabs(u) : 0, isfinite(v) ? fabs(v) : 0);
}

__global__ void __launch_bounds__(kThreads)
    sum_cells(const double* uvw_m, const double* wavelength_m, std::size_t n_row, std::uint32_t n_chan,
              std::uint32_t n_planes, CellGrid grid, double max_uv_lambda, int unit_exponent,
              const float* weight, unsigned long long* sums, CellCounts* counts) {
  const std::size_t n = n_row * n_chan, n_cells = std::size_t(grid.n_rows) * grid.n_u;
  const double max_square = __dmul_rn(max_uv_lambda, max_uv_lambda);
  unsigned n_wanted = 0, n_beyond = 0;
  double longest = 0;
  for (std::size_t i = this_thread(); i < n; i += std::size_t(gridDim.x) * kThreads) {
    const float own = weight[i * n_planes];
    if (own == 0) continue;
    const std::size_t row = i / n_chan;
    const Place place = place_of(uvw_m[3 * row], uvw_m[3 * row + 1], wavelength_m[i - row * n_chan], grid);
    const bool wanted = !(__dadd_rn(__dmul_rn(place.u, place.u), __dmul_rn(place.v, place.v)) > max_square);
    n_wanted += wanted ? 1 : 0;
    if (!place.in(grid)) {
      if (!wanted) continue;
      ++n_beyond;
      longest = fmax(longest, longest_finite(place.u, place.v));
    } else if (sums != nullptr) {
      const double units = ldexp(double(own), -unit_exponent), whole = floor(units);
      const auto rest = static_cast<unsigned long long>((units - whole) * 0x1p32 + 0.5);
      const std::size_t cell = place.cell(grid);
      atomicAdd(sums + cell, static_cast<unsigned long long>(whole));
      if (rest != 0) atomicAdd(sums + n_cells + cell, rest);
    }
  }
  n_wanted = __reduce_add_sync(0xffffffffu, n_wanted);
  n_beyond = __reduce_add_sync(0xffffffffu, n_beyond);
  if (longest > 0)
    atomicMax(&counts->max_lambda_bits, static_cast<unsigned long long>(__double_as_longlong(longest)));
  if (threadIdx.x % 32 == 0) {
    if (n_wanted != 0) atomicAdd(&counts->n_visibilities, static_cast<unsigned long long>(n_wanted));
    if (n_beyond != 0) atomicAdd(&counts->n_beyond, static_cast<unsigned long long>(n_beyond));
  }
}

__global__ void __launch_bounds__(kThreads)
    round_sums(const unsigned long long* sums, std::size_t n_cells, int unit_exponent, double* to) {
  for (std::size_t i = this_thread(); i < n_cells; i += std::size_t(gridDim.x) * kThreads)
    to[i] = ldexp(double(sums[i]) + double(sums[n_cells + i]) * 0x1p-32, unit_exponent);
}

__global__ void __launch_bounds__(kThreads)
    weigh(const double* uvw_m, const double* wavelength_m, std::size_t n_row, std::uint32_t n_chan,
          std::uint32_t n_planes, CellGrid grid, float* weight, double* sums) {
  __shared__ double of_thread[kMaxPlanes][kThreads];
  double sum[kMaxPlanes] = {};
  const std::size_t n_cells = n_row * n_chan;
  for (std::size_t i = this_thread(); i < n_cells; i += std::size_t(gridDim.x) * kThreads) {
    const std::size_t row = i / n_chan;
    const Place place = place_of(uvw_m[3 * row], uvw_m[3 * row + 1], wavelength_m[i - row * n_chan], grid);
    const float factor = place.in(grid) ? grid.factor[place.cell(grid)] : 0;
#pragma unroll
    for (std::uint32_t p = 0; p < kMaxPlanes; ++p)
      if (p < n_planes) {
        const float product = weight[i * n_planes + p] * factor;
        weight[i * n_planes + p] = product;
        sum[p] += double(product);
      }
  }
#pragma unroll
  for (std::uint32_t p = 0; p < kMaxPlanes; ++p) of_thread[p][threadIdx.x] = sum[p];
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
#pragma unroll
      for (std::uint32_t p = 0; p < kMaxPlanes; ++p)
        of_thread[p][threadIdx.x] += of_thread[p][threadIdx.x + half];
  }
  if (threadIdx.x < n_planes) sums[threadIdx.x * kWeightSums + blockIdx.x] = of_thread[threadIdx.x][0];
}

/// A thread adds the channels of a row in their order, so that sums repeat.
__global__ void __launch_bounds__(kThreads)
    sum_slots(const float* weight, std::size_t n_row, std::uint32_t n_chan, std::uint32_t n_planes,
              const std::uint32_t* slot_of_chan, std::uint32_t n_slots, double* sums) {
  for (std::size_t row = this_thread(); row < n_row; row += std::size_t(gridDim.x) * kThreads) {
    double* own = sums + row * n_slots;
    for (std::uint32_t slot = 0; slot < n_slots; ++slot) own[slot] = 0;
    const float* of_row = weight + row * n_chan * n_planes;
    for (std::uint32_t chan = 0; chan < n_chan;) {
      const std::uint32_t slot = slot_of_chan[chan];
      double sum = 0;
      for (; chan < n_chan && slot_of_chan[chan] == slot; ++chan)
        sum += double(of_row[std::size_t(chan) * n_planes]);
      own[slot] += sum;
    }
  }
}

__global__ void __launch_bounds__(kThreads) round(const double* from, std::size_t n, float* to) {
  for (std::size_t i = this_thread(); i < n; i += std::size_t(gridDim.x) * kThreads)
    to[i] = static_cast<float>(from[i]);
}

constexpr unsigned kGrid = 132 * 16;

}  // namespace

void launch_round(const double* from, std::size_t n, float* to, cudaStream_t stream) {
  round<<<kGrid, kThreads, 0, stream>>>(from, n, to);
  launched("rounding factors of weights");
}

void launch_greatest_weight(const float* weight, std::size_t n, float* greatest, cudaStream_t stream) {
  greatest_weight<<<kGrid, kThreads, 0, stream>>>(weight, n, reinterpret_cast<int*>(greatest));
  launched("finding the greatest weight");
}

void launch_sum_cells(const double* uvw_m, const double* wavelength_m, std::size_t n_row,
                      std::uint32_t n_chan, std::uint32_t n_planes, const CellGrid& grid,
                      double max_uv_lambda, int unit_exponent, const float* weight, unsigned long long* sums,
                      CellCounts* counts, cudaStream_t stream) {
  sum_cells<<<kGrid, kThreads, 0, stream>>>(uvw_m, wavelength_m, n_row, n_chan, n_planes, grid, max_uv_lambda,
                                            unit_exponent, weight, sums, counts);
  launched("summing weights of cells");
}

void launch_round_sums(const unsigned long long* sums, std::size_t n_cells, int unit_exponent, double* to,
                       cudaStream_t stream) {
  round_sums<<<kGrid, kThreads, 0, stream>>>(sums, n_cells, unit_exponent, to);
  launched("rounding sums of weights");
}

void launch_sum_slots(const float* weight, std::size_t n_row, std::uint32_t n_chan, std::uint32_t n_planes,
                      const std::uint32_t* slot_of_chan, std::uint32_t n_slots, double* sums,
                      cudaStream_t stream) {
  sum_slots<<<kGrid, kThreads, 0, stream>>>(weight, n_row, n_chan, n_planes, slot_of_chan, n_slots, sums);
  launched("summing weights of slots");
}

void launch_weigh(const double* uvw_m, const double* wavelength_m, std::size_t n_row, std::uint32_t n_chan,
                  std::uint32_t n_planes, const CellGrid& grid, float* weight, double* sums,
                  cudaStream_t stream) {
  weigh<<<static_cast<unsigned>(kWeightSums), kThreads, 0, stream>>>(uvw_m, wavelength_m, n_row, n_chan,
                                                                     n_planes, grid, weight, sums);
  launched("weighting visibilities");
}

}  // namespace apsyn::idg_cuda
