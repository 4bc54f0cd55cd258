// SPDX-License-Identifier: GPL-3.0-or-later
// Samples to sums over directions. Loops over lanes are the innermost ones and of constant length: the
// compiler makes vectors of them for each instruction set.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/calibrate/accumulate/sum_components.h"
#include "kernels/calibrate/directions.h"
#include "libcore/system/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/calibrate/accumulate/add_direction_samples.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn {
namespace HWY_NAMESPACE {

/// Adds kLanes samples v [re, im][kLanes], w [kLanes] with models m [direction][re, im][kLanes] to sums
/// [component][kLanes]. Uses up w and m: samples that do not count get zeros.
void add_lanes(const float* HWY_RESTRICT v, float* HWY_RESTRICT w, float* HWY_RESTRICT m,
               std::size_t n_directions, float* HWY_RESTRICT sums) {
  float all[kLanes], used[kLanes], v_re[kLanes], v_im[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) all[i] = w[i] * (v[i] * v[i] + v[kLanes + i] * v[kLanes + i]);
  for (std::size_t d = 0; d < n_directions; ++d)
    for (std::size_t i = 0; i < kLanes; ++i) {
      const float re = m[2 * d * kLanes + i], im = m[(2 * d + 1) * kLanes + i];
      all[i] += w[i] * (re * re + im * im);
    }
  for (std::size_t i = 0; i < kLanes; ++i) {
    used[i] = w[i] > 0 && all[i] < 1e32f ? 1.f : 0.f;  // NaN compares false
    w[i] = used[i] > 0 ? w[i] : 0.f;
    v_re[i] = used[i] > 0 ? v[i] : 0.f;
    v_im[i] = used[i] > 0 ? v[kLanes + i] : 0.f;
  }
  for (std::size_t d = 0; d < n_directions; ++d) {
    float* re = m + 2 * d * kLanes;
    float* im = re + kLanes;
    for (std::size_t i = 0; i < kLanes; ++i) {
      re[i] = used[i] > 0 ? re[i] : 0.f;
      im[i] = used[i] > 0 ? im[i] : 0.f;
    }
  }
  for (std::size_t d = 0; d < n_directions; ++d) {
    float wm_re[kLanes], wm_im[kLanes];
    const float *re = m + 2 * d * kLanes, *im = re + kLanes;
    float *a = sums + 2 * d * kLanes, *own = sums + own_component(d, n_directions) * kLanes;
    for (std::size_t i = 0; i < kLanes; ++i) {
      wm_re[i] = w[i] * re[i];
      wm_im[i] = w[i] * im[i];
      a[i] += v_re[i] * wm_re[i] + v_im[i] * wm_im[i];
      a[kLanes + i] += v_im[i] * wm_re[i] - v_re[i] * wm_im[i];
      own[i] += wm_re[i] * re[i] + wm_im[i] * im[i];
    }
    for (std::size_t e = d + 1; e < n_directions; ++e) {
      const float *other_re = m + 2 * e * kLanes, *other_im = other_re + kLanes;
      float* pair = sums + pair_component(d, e, n_directions) * kLanes;
      for (std::size_t i = 0; i < kLanes; ++i) {
        pair[i] += wm_re[i] * other_re[i] + wm_im[i] * other_im[i];
        pair[kLanes + i] += wm_im[i] * other_re[i] - wm_re[i] * other_im[i];
      }
    }
  }
  float *power = sums + power_component(n_directions) * kLanes,
        *count = sums + count_component(n_directions) * kLanes;
  for (std::size_t i = 0; i < kLanes; ++i) {
    power[i] += w[i] * (v_re[i] * v_re[i] + v_im[i] * v_im[i]);
    count[i] += used[i];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(add_lanes);

void DirectionLayout::check() const {
  if (n_antennas == 0 || n_directions == 0)
    throw std::invalid_argument("DirectionLayout: no antennas or directions");
  if (n_products != 1 && n_products != 2 && n_products != 4)
    throw std::invalid_argument("DirectionLayout: visibilities have 1, 2 or 4 products, not " +
                                std::to_string(n_products));
  if (block.empty() || n_blocks == 0) throw std::invalid_argument("DirectionLayout: no channels");
  for (const std::uint32_t b : block)
    if (b != kNoBlock && b >= n_blocks)
      throw std::invalid_argument("DirectionLayout: a channel belongs to block " + std::to_string(b) +
                                  " of " + std::to_string(n_blocks));
}

DirectionSums::DirectionSums(const DirectionLayout& layout) : layout_(layout) {
  layout.check();
  sums_.resize({layout.n_groups(), layout.n_baselines(), layout.n_components(), kLanes});
}

void add_direction_samples(const DirectionSamples& samples, DirectionSums& sums, unsigned n_threads) {
  const DirectionLayout& layout = sums.layout();
  const std::size_t n_rows = samples.station.extent(0), n_channels = layout.block.size(),
                    n = layout.n_directions;
  const auto refuse = [](const std::string& why) {
    throw std::invalid_argument("add_direction_samples: " + why);
  };
  const auto fits = [&](const auto& view) {
    return view.extent(0) == n_rows && view.extent(1) == n_channels;
  };
  if (n_rows == 0) return;
  if (samples.model.size() != n) refuse("models of another number than directions");
  if (samples.station.extent(1) != 2 || !fits(samples.data) || !fits(samples.weight) ||
      samples.data.extent(2) != layout.n_products || samples.weight.extent(2) != layout.n_products)
    refuse("samples have not the shape of the sums");
  const std::size_t n_model = samples.model[0].extent(2);
  for (const auto& model : samples.model)
    if (!fits(model) || model.extent(2) != n_model) refuse("models have not the shape of the data");
  if (n_model != layout.n_products && n_model != 1 && !(n_model == 2 && layout.n_products == 4))
    refuse("the models have " + std::to_string(n_model) + " products, the data " +
           std::to_string(layout.n_products));

  std::vector<std::vector<std::size_t>> rows(layout.n_baselines());
  for (std::size_t row = 0; row < n_rows; ++row) {
    const std::uint32_t p = samples.station(row, 0), q = samples.station(row, 1);
    if (p >= layout.n_antennas || q >= layout.n_antennas)
      refuse("station " + std::to_string(std::max(p, q)) + " of " + std::to_string(layout.n_antennas));
    if (p != q) rows[baseline_index(std::min(p, q), std::max(p, q), layout.n_antennas)].push_back(row);
  }
  const std::size_t n_hands = layout.n_products == 1 ? 1 : 2, n_components = layout.n_components();
  const auto add_baseline = [&](std::size_t b, unsigned) {
    std::vector<float> own(n_components * kLanes), m(2 * n * kLanes);
    float v[2 * kLanes], w[kLanes];
    for (std::size_t first = 0; first < n_channels; first += kLanes) {
      const std::size_t n_own = std::min(kLanes, n_channels - first);
      std::fill(own.begin(), own.end(), 0.f);
      for (const std::size_t row : rows[b]) {
        // V_qp = conj(V_pq) of each parallel hand, and so all models.
        const float sign = samples.station(row, 0) < samples.station(row, 1) ? 1.f : -1.f;
        for (std::size_t hand = 0; hand < n_hands; ++hand) {
          const std::size_t product = hand * (layout.n_products - 1), of_model = hand * (n_model - 1);
          std::fill(w, w + kLanes, 0.f);
          std::fill(v, v + 2 * kLanes, 0.f);
          std::fill(m.begin(), m.end(), 0.f);
          for (std::size_t i = 0; i < n_own; ++i) {
            const std::complex<float> value = samples.data(row, first + i, product);
            v[i] = value.real();
            v[kLanes + i] = sign * value.imag();
            w[i] = samples.weight(row, first + i, product);
          }
          for (std::size_t d = 0; d < n; ++d)
            for (std::size_t i = 0; i < n_own; ++i) {
              const std::complex<float> value = samples.model[d](row, first + i, of_model);
              m[2 * d * kLanes + i] = value.real();
              m[(2 * d + 1) * kLanes + i] = sign * value.imag();
            }
          HWY_DYNAMIC_DISPATCH(add_lanes)(v, w, m.data(), n, own.data());
        }
      }
      for (std::size_t i = 0; i < n_own; ++i) {
        const std::uint32_t block = layout.block[first + i];
        if (block == kNoBlock) continue;
        float* to = &sums.sums()(block / kLanes, b, 0, block % kLanes);
        for (std::size_t c = 0; c < n_components; ++c) to[c * kLanes] += own[c * kLanes + i];
      }
    }
  };
  parallel_for(n_threads, layout.n_baselines(), add_baseline);
}

}  // namespace apsyn
#endif
