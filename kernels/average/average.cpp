// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/average/average.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn::average {
namespace {

/// `n_product` is known to the compiler, so that the sums of a group stay in registers.
template <std::size_t n_product>
void average_groups(const float* data, const float* weight, std::size_t n_chan, std::size_t n_average,
                    float* to, float* to_weight) {
  for (std::size_t first = 0; first < n_chan; first += n_average) {
    double value[2 * n_product] = {}, total[n_product] = {};
    const std::size_t end = std::min(n_chan, first + n_average);
    for (std::size_t chan = first; chan < end; ++chan, data += 2 * n_product, weight += n_product)
      for (std::size_t p = 0; p < n_product; ++p) {
        const double w = static_cast<double>(weight[p]);
        value[2 * p] += w * static_cast<double>(data[2 * p]);
        value[2 * p + 1] += w * static_cast<double>(data[2 * p + 1]);
        total[p] += w;
      }
    for (std::size_t p = 0; p < n_product; ++p) {
      const double scale = total[p] > 0 ? 1 / total[p] : 0;
      *to++ = static_cast<float>(value[2 * p] * scale);
      *to++ = static_cast<float>(value[2 * p + 1] * scale);
      *to_weight++ = static_cast<float>(total[p]);
    }
  }
}

/// Adds n cells and returns the sum of their weights, itself of four sums: a vector has four places.
[[gnu::always_inline]] inline double add_cells(const float* __restrict data, const float* __restrict weight,
                                               std::size_t n, double* __restrict value,
                                               double* __restrict total) {
  double all[4] = {};
  const auto add = [&](std::size_t i, std::size_t k) {
    const double w = static_cast<double>(weight[i + k]);
    value[2 * (i + k)] += w * static_cast<double>(data[2 * (i + k)]);
    value[2 * (i + k) + 1] += w * static_cast<double>(data[2 * (i + k) + 1]);
    total[i + k] += w;
    all[k] += w;
  };
  const std::size_t fours = n - n % 4;
  for (std::size_t i = 0; i < fours; i += 4)
    for (std::size_t k = 0; k < 4; ++k) add(i, k);
  for (std::size_t k = 0; k < n % 4; ++k) add(fours, k);
  return (all[0] + all[1]) + (all[2] + all[3]);
}

/// Means of cells `first` and on of rows, as average_rows(); adds their weights to `all`, [row][4].
void average_cells(const RowCells& rows, std::size_t first, std::size_t n_cells, float* to, float* to_weight,
                   double* all) {
  for (std::size_t i = first; i < n_cells; ++i) {
    double re = 0, im = 0, total = 0;
    for (std::size_t row = 0; row < rows.data.size(); ++row) {
      const double w = static_cast<double>(rows.weight[row][i]);
      re += w * static_cast<double>(rows.data[row][i].real());
      im += w * static_cast<double>(rows.data[row][i].imag());
      total += w;
      all[4 * row + i % 4] += w;
    }
    const double scale = total > 0 ? 1 / total : 0;
    to[2 * i] = static_cast<float>(re * scale);
    to[2 * i + 1] = static_cast<float>(im * scale);
    to_weight[i] = static_cast<float>(total);
  }
}

// Products are rounded before they are added, with AVX2 as without: the bits are the same.
#if defined(__x86_64__)
#define APSYN_AVX2 __attribute__((target("avx2")))
APSYN_AVX2 double add_cells_avx2(const float* data, const float* weight, std::size_t n, double* value,
                                 double* total) {
  return add_cells(data, weight, n, value, total);
}

constexpr int kLowPairs = 0b01010000, kHighPairs = 0b11111010;  ///< numbers 0 0 1 1 and 2 2 3 3 of four

/// Sums of w V, re and im, of two cells.
APSYN_AVX2 inline __m256d add_two(__m256d sum, const float* data, __m256d weights) {
  return _mm256_add_pd(sum, _mm256_mul_pd(weights, _mm256_cvtps_pd(_mm_loadu_ps(data))));
}
APSYN_AVX2 inline __m256d reciprocals(__m256d total) {
  const __m256d any = _mm256_cmp_pd(total, _mm256_setzero_pd(), _CMP_GT_OQ);
  return _mm256_and_pd(any, _mm256_div_pd(_mm256_set1_pd(1), total));
}

struct FourCells {
  __m256d low, high;  ///< w V
  __m256d total;      ///< w
};
APSYN_AVX2 inline __m256d add_four(FourCells& sums, const float* data, const float* weight) {
  const __m256d w = _mm256_cvtps_pd(_mm_loadu_ps(weight));
  sums.low = add_two(sums.low, data, _mm256_permute4x64_pd(w, kLowPairs));
  sums.high = add_two(sums.high, data + 4, _mm256_permute4x64_pd(w, kHighPairs));
  sums.total = _mm256_add_pd(sums.total, w);
  return w;
}
APSYN_AVX2 inline FourCells no_cells() {
  return {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
}
APSYN_AVX2 inline void finish_four(const FourCells& sums, float* to, float* to_weight) {
  const __m256d scale = reciprocals(sums.total);
  const __m256d low = _mm256_mul_pd(sums.low, _mm256_permute4x64_pd(scale, kLowPairs)),
                high = _mm256_mul_pd(sums.high, _mm256_permute4x64_pd(scale, kHighPairs));
  _mm_storeu_ps(to, _mm256_cvtpd_ps(low));
  _mm_storeu_ps(to + 4, _mm256_cvtpd_ps(high));
  _mm_storeu_ps(to_weight, _mm256_cvtpd_ps(sums.total));
}

/// Of four products.
APSYN_AVX2 void average_groups_avx2(const float* data, const float* weight, std::size_t n_chan,
                                    std::size_t n_average, float* to, float* to_weight) {
  for (std::size_t first = 0; first < n_chan; first += n_average, to += 8, to_weight += 4) {
    FourCells sums = no_cells();
    const std::size_t end = std::min(n_chan, first + n_average);
    for (std::size_t chan = first; chan < end; ++chan) add_four(sums, data + 8 * chan, weight + 4 * chan);
    finish_four(sums, to, to_weight);
  }
}

/// Returns the number of cells that are done, in fours.
APSYN_AVX2 std::size_t average_cells_avx2(const RowCells& rows, std::size_t n_cells, float* to,
                                          float* to_weight, double* all) {
  std::size_t i = 0;
  for (; i + 4 <= n_cells; i += 4) {
    FourCells sums = no_cells();
    for (std::size_t row = 0; row < rows.data.size(); ++row) {
      const __m256d w =
          add_four(sums, reinterpret_cast<const float*>(rows.data[row] + i), rows.weight[row] + i);
      _mm256_storeu_pd(all + 4 * row, _mm256_add_pd(_mm256_loadu_pd(all + 4 * row), w));
    }
    finish_four(sums, to + 2 * i, to_weight + i);
  }
  return i;
}
#undef APSYN_AVX2
const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
#endif

}  // namespace

void average_channels(const std::complex<float>* data, const float* weight, const RowShape& shape,
                      std::size_t n_average, std::complex<float>* to, float* to_weight) {
  const auto* values = reinterpret_cast<const float*>(data);
  auto* means = reinterpret_cast<float*>(to);
#if defined(__x86_64__)
  if (kHasAvx2 && shape.n_product == 4)
    return average_groups_avx2(values, weight, shape.n_chan, n_average, means, to_weight);
#endif
  switch (shape.n_product) {
    case 1:
      return average_groups<1>(values, weight, shape.n_chan, n_average, means, to_weight);
    case 2:
      return average_groups<2>(values, weight, shape.n_chan, n_average, means, to_weight);
    case 3:
      return average_groups<3>(values, weight, shape.n_chan, n_average, means, to_weight);
    default:
      return average_groups<4>(values, weight, shape.n_chan, n_average, means, to_weight);
  }
}

double add_row(const std::complex<float>* data, const float* weight, std::size_t n_cells, CellSums& sums) {
  const auto* values = reinterpret_cast<const float*>(data);
#if defined(__x86_64__)
  if (kHasAvx2) return add_cells_avx2(values, weight, n_cells, sums.value.data(), sums.weight.data());
#endif
  return add_cells(values, weight, n_cells, sums.value.data(), sums.weight.data());
}

void finish_row(const CellSums& sums, std::complex<float>* to, float* to_weight) {
  auto* means = reinterpret_cast<float*>(to);
  for (std::size_t i = 0; i < sums.weight.size(); ++i) {
    const double scale = sums.weight[i] > 0 ? 1 / sums.weight[i] : 0;
    means[2 * i] = static_cast<float>(sums.value[2 * i] * scale);
    means[2 * i + 1] = static_cast<float>(sums.value[2 * i + 1] * scale);
    to_weight[i] = static_cast<float>(sums.weight[i]);
  }
}

void average_rows(const RowCells& rows, std::size_t n_cells, std::complex<float>* to, float* to_weight,
                  double* row_weight) {
  auto* means = reinterpret_cast<float*>(to);
  thread_local std::vector<double> all;  // [row][4], as add_row() sums weights
  all.assign(4 * rows.data.size(), 0.0);
  std::size_t n_done = 0;
#if defined(__x86_64__)
  if (kHasAvx2) n_done = average_cells_avx2(rows, n_cells, means, to_weight, all.data());
#endif
  average_cells(rows, n_done, n_cells, means, to_weight, all.data());
  for (std::size_t row = 0; row < rows.data.size(); ++row) {
    const double* four = all.data() + 4 * row;
    row_weight[row] = (four[0] + four[1]) + (four[2] + four[3]);
  }
}

void turn_row(const std::complex<float>* data, const RowShape& shape, const double* channel_hz, double path_m,
              std::complex<float>* to) {
  for (std::size_t chan = 0; chan < shape.n_chan; ++chan) {
    const double turns = channel_hz[chan] * path_m / kSpeedOfLight_m_s;
    const double phase = -kTwoPi * (turns - std::nearbyint(turns));
    const double re = std::cos(phase), im = std::sin(phase);
    for (std::size_t p = 0; p < shape.n_product; ++p, ++data, ++to) {
      const double x = static_cast<double>(data->real()), y = static_cast<double>(data->imag());
      *to = {static_cast<float>(x * re - y * im), static_cast<float>(x * im + y * re)};
    }
  }
}

}  // namespace apsyn::average
