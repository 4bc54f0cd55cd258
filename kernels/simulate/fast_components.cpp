// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/simulate/fast_components.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/simulate/components.h"
#include "libcore/base/constants.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simulate/fast_components.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// Behind highway.h, whose macros they use.
#include <hwy/contrib/math/math-inl.h>

#include "kernels/common/simd/turns-inl.h"

#ifndef APSYN_FAST_COMPONENTS_TYPES
#define APSYN_FAST_COMPONENTS_TYPES
namespace apsyn::simulate {

/// Rows that are summed together.
inline constexpr std::size_t kTileRows = 16;

/// A tile of rows, [axis][row], and its sums, [chan][plane][re, im][row].
struct RowTile {
  const FastComponentPredictor::Component* components;
  std::size_t n_components;
  const ChannelRun* runs;
  std::size_t n_runs, n_chan, n_planes;
  const float* per_m2;
  const double* uvw_m;
  const double* path_m;
  float* sums;
};

}  // namespace apsyn::simulate
#endif

HWY_BEFORE_NAMESPACE();
namespace apsyn::simulate::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Of one component in a tile.
struct TilePaths {
  HWY_ALIGN double length_m[kTileRows];
  HWY_ALIGN float gaussian_m2[kTileRows];
};

HWY_INLINE void find_paths(const RowTile& tile, const FastComponentPredictor::Component& component,
                           TilePaths& paths) {
  const hn::CappedTag<double, kTileRows> d;
  const hn::Rebind<float, decltype(d)> f;
  for (std::size_t at = 0; at < kTileRows; at += hn::Lanes(d)) {
    const auto u = hn::Load(d, tile.uvw_m + at), v = hn::Load(d, tile.uvw_m + kTileRows + at),
               w = hn::Load(d, tile.uvw_m + 2 * kTileRows + at);
    const auto along = [&](const Vec3& to, auto sum) HWY_ATTR {
      sum = hn::MulAdd(u, hn::Set(d, to[0]), sum);
      sum = hn::MulAdd(v, hn::Set(d, to[1]), sum);
      return hn::MulAdd(w, hn::Set(d, to[2]), sum);
    };
    hn::Store(along(component.path, hn::Load(d, tile.path_m + at)), d, paths.length_m + at);
    if (!component.is_extended) continue;
    const auto major = along(component.major_axis, hn::Zero(d)),
               minor = along(component.minor_axis, hn::Zero(d));
    hn::Store(hn::DemoteTo(f, hn::MulAdd(major, major, hn::Mul(minor, minor))), f, paths.gaussian_m2 + at);
  }
}

/// exp(2 pi i length per_m), [re, im][row].
HWY_INLINE void find_phasors(const TilePaths& paths, double per_m, float* phasors) {
  const hn::CappedTag<double, kTileRows> d;
  const hn::Rebind<float, decltype(d)> f;
  for (std::size_t at = 0; at < kTileRows; at += hn::Lanes(d)) {
    auto re = hn::Zero(f), im = hn::Zero(f);
    apsyn::HWY_NAMESPACE::cos_sin_turns<float>(
        d, hn::Mul(hn::Load(d, paths.length_m + at), hn::Set(d, per_m)), re, im);
    hn::Store(re, f, phasors + at);
    hn::Store(im, f, phasors + kTileRows + at);
  }
}

/// Adds one component, or two at once, to some channels of a tile.
template <std::size_t n_together, bool polarised, bool extended>
HWY_INLINE void add_run(const RowTile& tile, const FastComponentPredictor::Component* components,
                        const ChannelRun& run, const TilePaths* paths) {
  const hn::CappedTag<float, kTileRows> d;
  using V = hn::Vec<decltype(d)>;
  HWY_ALIGN float first[n_together][2 * kTileRows], step[n_together][2 * kTileRows];
  for (std::size_t c = 0; c < n_together; ++c) {
    find_phasors(paths[c], run.first_per_m, first[c]);
    if (run.n > 1) find_phasors(paths[c], run.step_per_m, step[c]);
  }
  const std::size_t stride = 2 * kTileRows * tile.n_planes;
  for (std::size_t at = 0; at < kTileRows; at += hn::Lanes(d)) {
    V re[n_together], im[n_together], by_re[n_together], by_im[n_together], narrow[n_together];
    for (std::size_t c = 0; c < n_together; ++c) {
      re[c] = hn::Load(d, first[c] + at);
      im[c] = hn::Load(d, first[c] + kTileRows + at);
      by_re[c] = run.n > 1 ? hn::Load(d, step[c] + at) : hn::Zero(d);
      by_im[c] = run.n > 1 ? hn::Load(d, step[c] + kTileRows + at) : hn::Zero(d);
      if constexpr (extended) narrow[c] = hn::Neg(hn::Load(d, paths[c].gaussian_m2 + at));
    }
    float* sums = tile.sums + run.first * stride + at;
    for (std::size_t i = 0; i < run.n; ++i, sums += stride) {
      for (std::size_t plane = 0; plane < (polarised ? 4 : 1); ++plane) {
        float* const to = sums + 2 * kTileRows * plane;
        auto sum_re = hn::Load(d, to), sum_im = hn::Load(d, to + kTileRows);
        for (std::size_t c = 0; c < n_together; ++c) {
          auto flux = hn::Set(d, components[c].stokes[plane * tile.n_chan + run.first + i]);
          if constexpr (extended) {
            const auto exponent = hn::Mul(narrow[c], hn::Set(d, tile.per_m2[run.first + i]));
            flux = hn::Mul(flux, hn::Exp(d, hn::Max(exponent, hn::Set(d, -87.0f))));
          }
          sum_re = hn::MulAdd(flux, re[c], sum_re);
          sum_im = hn::MulAdd(flux, im[c], sum_im);
        }
        hn::Store(sum_re, d, to);
        hn::Store(sum_im, d, to + kTileRows);
      }
      for (std::size_t c = 0; c < n_together; ++c) {
        const auto next = hn::NegMulAdd(im[c], by_im[c], hn::Mul(re[c], by_re[c]));
        im[c] = hn::MulAdd(im[c], by_re[c], hn::Mul(re[c], by_im[c]));
        re[c] = next;
      }
    }
  }
}

template <bool polarised>
void sum_tile_of(const RowTile& tile) {
  TilePaths paths[2];
  for (std::size_t c = 0; c < tile.n_components;) {
    const auto* components = tile.components + c;
    const bool two = c + 1 < tile.n_components && !components[0].is_extended && !components[1].is_extended;
    for (std::size_t i = 0; i < (two ? 2 : 1); ++i) find_paths(tile, components[i], paths[i]);
    for (std::size_t r = 0; r < tile.n_runs; ++r) {
      if (two)
        add_run<2, polarised, false>(tile, components, tile.runs[r], paths);
      else if (components[0].is_extended)
        add_run<1, polarised, true>(tile, components, tile.runs[r], paths);
      else
        add_run<1, polarised, false>(tile, components, tile.runs[r], paths);
    }
    c += two ? 2 : 1;
  }
}

void sum_tile(const RowTile& tile) {
  tile.n_planes == 1 ? sum_tile_of<false>(tile) : sum_tile_of<true>(tile);
}

}  // namespace apsyn::simulate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn::simulate {
namespace {

/// Longer runs would let rounding errors of the carried phase grow beyond 1e-6.
constexpr std::size_t kLongestRun = 32;
/// Deviations from steady steps, relative to the frequency, that are rounding: 1e-7 of a turn at 1e5
/// wavelengths.
constexpr double kSteady = 1e-12;

}  // namespace

HWY_EXPORT(sum_tile);

FastComponentPredictor::FastComponentPredictor(const SkyModel& sky, const SkyDirection& centre,
                                               const std::vector<double>& channel_hz)
    : n_planes_(stokes_of(sky).size()) {
  std::vector<double> per_m;
  for (double hz : channel_hz) {
    per_m.push_back(hz / kSpeedOfLight_m_s);
    per_m2_.push_back(static_cast<float>(per_m.back() * per_m.back()));
  }
  runs_ = channel_runs(per_m, kLongestRun, kSteady);
  stokes_jy_.resize({sky.components.size(), n_planes_, per_m.size()});
  for (std::size_t s = 0; s < sky.components.size(); ++s) {
    const SkyComponent& from = sky.components[s];
    Component& to = components_.emplace_back(Component{component_geometry(from, centre), nullptr});
    for (std::size_t chan = 0; chan < per_m.size(); ++chan) {
      const std::array<double, 4> stokes = flux_at(from, channel_hz[chan]);
      for (std::size_t plane = 0; plane < n_planes_; ++plane)
        stokes_jy_(s, plane, chan) = static_cast<float>(stokes[plane]);
    }
    if (stokes_jy_.size() > 0) to.stokes = &stokes_jy_(s, 0, 0);
  }
}

void FastComponentPredictor::predict(View<const double, 2> uvw_m, View<const double, 1> path_m,
                                     View<std::complex<float>, 3> data) const {
  const std::size_t n_row = uvw_m.extent(0), n_chan = per_m2_.size();
  if (uvw_m.extent(1) != 3 || (path_m.size() != 0 && path_m.size() != n_row) ||
      data.shape() != std::array<std::size_t, 3>{n_row, n_chan, n_planes_})
    throw std::invalid_argument("FastComponentPredictor: shapes disagree");
  alignas(64) double uvw[3 * kTileRows], path[kTileRows];
  thread_local Buffer<float, 1> sums;
  sums.resize_for_overwrite({n_chan * n_planes_ * 2 * kTileRows});
  const RowTile tile{components_.data(), components_.size(), runs_.data(), runs_.size(), n_chan,
                     n_planes_,          per_m2_.data(),     uvw,          path,         sums.data()};
  for (std::size_t first = 0; first < n_row; first += kTileRows) {
    const std::size_t n = std::min(kTileRows, n_row - first);
    std::fill(std::begin(uvw), std::end(uvw), 0.0);
    std::fill(std::begin(path), std::end(path), 0.0);
    for (std::size_t row = 0; row < n; ++row) {
      for (std::size_t axis = 0; axis < 3; ++axis) uvw[axis * kTileRows + row] = uvw_m(first + row, axis);
      if (path_m.size() != 0) path[row] = path_m[first + row];
    }
    sums.fill(0);
    HWY_DYNAMIC_DISPATCH(sum_tile)(tile);
    for (std::size_t row = 0; row < n; ++row) {
      std::complex<float>* to = data[first + row].data();
      const float* from = sums.data() + row;
      for (std::size_t i = 0; i < n_chan * n_planes_; ++i, from += 2 * kTileRows)
        to[i] = {from[0], from[kTileRows]};
    }
  }
}

}  // namespace apsyn::simulate
#endif
