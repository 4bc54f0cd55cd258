// SPDX-License-Identifier: GPL-3.0-or-later
// A vector holds several terms of a cell's planes, so that one weight serves all of it, whatever the number
// of planes. The sums over a column of cells are independent of one another and hide the latency of the FMA.
#include "kernels/idg/interpolate_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/interpolate_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t most_support = 16;

/// weight[cell] of one axis.
template <class T>
HWY_INLINE void weights(const KernelWeights<T>& kernel, T z, T* HWY_RESTRICT weight) {
  const hn::CappedTag<T, 8> d;
  const auto at = hn::Set(d, z);
  for (std::size_t cell = 0; cell < kernel.stride; cell += hn::Lanes(d)) {
    const T* row = kernel.coefficients.data() + kernel.degree * kernel.stride + cell;
    auto sum = hn::LoadU(d, row);
    for (std::size_t power = kernel.degree; power-- > 0;) {
      row -= kernel.stride;
      sum = hn::MulAdd(sum, at, hn::LoadU(d, row));
    }
    hn::Store(sum, d, weight + cell);
  }
}

/// value[c] = sum_r term[r] sum[r][c].
template <std::size_t n_values, class T>
HWY_INLINE void combine(std::size_t n_terms, const T* HWY_RESTRICT term, const T* HWY_RESTRICT sum,
                        T* HWY_RESTRICT value) {
  const hn::CappedTag<T, n_values> d;
  for (std::size_t c = 0; c < n_values; c += hn::Lanes(d)) {
    auto total = hn::Mul(hn::Set(d, term[0]), hn::LoadU(d, sum + c));
    for (std::size_t r = 1; r < n_terms; ++r)
      total = hn::MulAdd(hn::Set(d, term[r]), hn::LoadU(d, sum + r * n_values + c), total);
    hn::StoreU(total, d, value + c);
  }
}

template <std::size_t support, std::size_t n_values, class T>
void interpolate_with(const KernelWeights<T>& kernel, const Interpolation<T>& work) {
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  const std::size_t lanes = hn::Lanes(d), row = work.n_u * work.cell_stride;
  HWY_ALIGN T weight_u[most_support], weight_v[most_support];
  HWY_ALIGN T sum[most_terms * 8];
  for (std::size_t i = 0; i < work.n_visibilities; ++i) {
    weights(kernel, work.z[2 * i], weight_u);
    weights(kernel, work.z[2 * i + 1], weight_v);
    const T* HWY_RESTRICT first = work.cell + work.first[i] * work.cell_stride;
    for (std::size_t c = 0; c < work.cell_stride; c += lanes) {
      auto total = hn::Zero(d);
      for (std::size_t u = 0; u < support; ++u) {
        const T* HWY_RESTRICT cell = first + u * work.cell_stride + c;
        auto column = hn::Mul(hn::Set(d, weight_v[0]), hn::Load(d, cell));
        for (std::size_t v = 1; v < support; ++v)
          column = hn::MulAdd(hn::Set(d, weight_v[v]), hn::Load(d, cell + v * row), column);
        total = hn::MulAdd(hn::Set(d, weight_u[u]), column, total);
      }
      hn::Store(total, d, sum + c);
    }
    combine<n_values>(work.n_terms, work.term + i * work.n_terms, sum, work.value + i * n_values);
  }
}

template <std::size_t support, class T>
void interpolate_values(const KernelWeights<T>& kernel, const Interpolation<T>& work) {
  if (work.n_values == 2) return interpolate_with<support, 2>(kernel, work);
  if (work.n_values == 4) return interpolate_with<support, 4>(kernel, work);
  interpolate_with<support, 8>(kernel, work);
}

template <class T>
void interpolate_of(const KernelWeights<T>& kernel, const Interpolation<T>& work) {
  switch (kernel.support) {
    case 4:
      return interpolate_values<4>(kernel, work);
    case 6:
      return interpolate_values<6>(kernel, work);
    case 7:
      return interpolate_values<7>(kernel, work);
    case 8:
      return interpolate_values<8>(kernel, work);
    case 10:
      return interpolate_values<10>(kernel, work);
    case 12:
      return interpolate_values<12>(kernel, work);
    case 14:
      return interpolate_values<14>(kernel, work);
    default:
      return interpolate_values<16>(kernel, work);
  }
}

void interpolate_float(const KernelWeights<float>& kernel, const Interpolation<float>& work) {
  interpolate_of(kernel, work);
}
void interpolate_double(const KernelWeights<double>& kernel, const Interpolation<double>& work) {
  interpolate_of(kernel, work);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(interpolate_float);
HWY_EXPORT(interpolate_double);

void interpolate(const KernelWeights<float>& kernel, const Interpolation<float>& work) {
  HWY_DYNAMIC_DISPATCH(interpolate_float)(kernel, work);
}
void interpolate(const KernelWeights<double>& kernel, const Interpolation<double>& work) {
  HWY_DYNAMIC_DISPATCH(interpolate_double)(kernel, work);
}
}  // namespace apsyn
#endif
