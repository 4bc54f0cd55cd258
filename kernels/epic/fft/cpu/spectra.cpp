// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/cpu/spectra.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "libcore/base/constants.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/epic/fft/cpu/spectra.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/epic/fft/cpu/lane_fft-inl.h"

HWY_BEFORE_NAMESPACE();
namespace apsyn {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using lane_fft_detail::Complex;
using lane_fft_detail::load;
using lane_fft_detail::store;
using Lanes = hn::CappedTag<float, 16>;

template <class V>
HWY_INLINE float sum_of(const V& v) {
  const Lanes d;
  return hn::GetLane(hn::SumOfLanes(d, v));
}

/// to[0 .. 3] += the sums over the lanes of four registers.
template <class V>
HWY_INLINE void add_sums(const V& a, const V& b, const V& c, const V& e, float* to) {
#if HWY_TARGET == HWY_SCALAR
  for (const V& v : {a, b, c, e}) *to++ += sum_of(v);
#else
  const Lanes d;
  const hn::CappedTag<float, 4> four;
  const hn::Repartition<double, Lanes> pairs;
  // within each block of four lanes: sums of a b a b, then of a b c e
  const auto ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const auto ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto ab_pairs = hn::BitCast(pairs, ab), ce_pairs = hn::BitCast(pairs, ce);
  const auto sums = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab_pairs, ce_pairs)),
                            hn::BitCast(d, hn::InterleaveUpper(pairs, ab_pairs, ce_pairs)));
  HWY_ALIGN float lanes[16];
  hn::Store(sums, d, lanes);
  auto total = hn::LoadU(four, to);
  for (std::size_t i = 0; i < hn::Lanes(d); i += 4) total = hn::Add(total, hn::Load(four, lanes + i));
  hn::StoreU(total, four, to);
#endif
}

/// samples [ant][used pol][re, im][lane], multiplied by the factors; lanes without a spectrum are 0.
void load_samples(const LaneSpectra& spectra, std::size_t first, std::size_t n_used, float* samples,
                  double* powers) {
  const Lanes d;
  const std::size_t n = hn::Lanes(d), n_here = std::min(n, spectra.n_spectra - first);
  HWY_ALIGN float re[16] = {}, im[16] = {};
  for (std::size_t ant = 0; ant < spectra.n_ant; ++ant) {
    Complex<hn::Vec<Lanes>> value[2] = {{hn::Zero(d), hn::Zero(d)}, {hn::Zero(d), hn::Zero(d)}};
    for (std::size_t used = 0; used < n_used; ++used) {
      const std::size_t input = ant * spectra.n_pol + spectra.first_pol + used;
      const float* from = spectra.planes + input / kPanelInputs * spectra.panel_stride +
                          first * 2 * kPanelInputs + input % kPanelInputs;
      for (std::size_t t = 0; t < n_here; ++t) {
        re[t] = from[t * 2 * kPanelInputs];
        im[t] = from[t * 2 * kPanelInputs + kPanelInputs];
      }
      const Complex<hn::Vec<Lanes>> raw{hn::Load(d, re), hn::Load(d, im)};
      value[used] = lane_fft_detail::turn(d, raw, spectra.factor[input]);
      store(d, value[used], samples);
      samples += 2 * n;
    }
    if (powers == nullptr) continue;
    const auto norm = [&](const Complex<hn::Vec<Lanes>>& v)
                          HWY_ATTR { return hn::MulAdd(v.re, v.re, hn::Mul(v.im, v.im)); };
    double* power = powers + ant * spectra.n_value;
    power[0] += sum_of(norm(value[0]));
    if (spectra.n_value > 1) power[1] += sum_of(norm(value[1]));
    if (spectra.n_value < 4) continue;
    power[2] += sum_of(hn::MulAdd(value[0].re, value[1].re, hn::Mul(value[0].im, value[1].im)));
    power[3] += sum_of(hn::NegMulAdd(value[0].re, value[1].im, hn::Mul(value[0].im, value[1].re)));
  }
}

/// cells [used pol][column][re, im][lane] of one row, the first n_read of each polarisation's.
template <std::size_t kUsed, bool kReal>
void gather_row(const GridLists& lists, std::size_t row, const float* samples, std::size_t n_column,
                std::size_t n_read, float* cells) {
  const Lanes d;
  const std::size_t step = 2 * hn::Lanes(d);
  for (std::size_t used = 0; used < kUsed; ++used)
    std::fill_n(cells + used * n_column * step, n_read * step, 0.0f);
  for (std::size_t i = lists.row_begin[row]; i < lists.row_begin[row + 1]; ++i) {
    const GridCell& cell = lists.cells[i];
    const std::size_t end = lists.cells[i + 1].begin;
    auto x_re = hn::Zero(d), x_im = x_re, y_re = x_re, y_im = x_re;
    auto x_re2 = x_re, x_im2 = x_re, y_re2 = x_re, y_im2 = x_re;
    for (std::size_t e = cell.begin; e < end; ++e) {
      const GridEntry& entry = lists.entries[e];
      const float* from = samples + entry.ant * kUsed * step;
      const auto re = hn::Set(d, entry.re);
      const auto x = load(d, from);
      x_re = hn::MulAdd(re, x.re, x_re);
      x_im = hn::MulAdd(re, x.im, x_im);
      const auto im = hn::Set(d, entry.im);
      if constexpr (!kReal) {
        x_re2 = hn::NegMulAdd(im, x.im, x_re2);
        x_im2 = hn::MulAdd(im, x.re, x_im2);
      }
      if constexpr (kUsed == 2) {
        const auto y = load(d, from + step);
        y_re = hn::MulAdd(re, y.re, y_re);
        y_im = hn::MulAdd(re, y.im, y_im);
        if constexpr (!kReal) {
          y_re2 = hn::NegMulAdd(im, y.im, y_re2);
          y_im2 = hn::MulAdd(im, y.re, y_im2);
        }
      }
    }
    float* to = cells + cell.column * step;
    store(d, Complex<hn::Vec<Lanes>>{hn::Add(x_re, x_re2), hn::Add(x_im, x_im2)}, to);
    if constexpr (kUsed == 2)
      store(d, Complex<hn::Vec<Lanes>>{hn::Add(y_re, y_re2), hn::Add(y_im, y_im2)}, to + n_column * step);
  }
}

template <std::size_t kUsed>
void gather(const GridLists& lists, std::size_t row, const float* samples, std::size_t n_column,
            std::size_t n_read, float* cells) {
  lists.real ? gather_row<kUsed, true>(lists, row, samples, n_column, n_read, cells)
             : gather_row<kUsed, false>(lists, row, samples, n_column, n_read, cells);
}

/// sums [row][value] += products of the columns x and y, transformed.
template <std::size_t kValue>
void multiply_column(const LanePixels& pixels, const LanePixels::Column& column, const float* x_data,
                     const float* y_data, float* sums) {
  const Lanes d;
  const std::size_t step = 2 * hn::Lanes(d);
  using V = hn::Vec<Lanes>;
  const auto at = [&](const float* data, std::size_t row)
                      HWY_ATTR { return load(d, data + pixels.row_place[row] * step); };
  const auto norm = [&](const Complex<V>& v) HWY_ATTR { return hn::MulAdd(v.re, v.re, hn::Mul(v.im, v.im)); };
  constexpr std::size_t kRows = 4 / kValue;  // of four sums
  std::size_t row = column.begin / kRows * kRows;
  for (; row + kRows <= pixels.row_place.size() && row < column.end; row += kRows) {
    float* to = sums + row * kValue;
    if constexpr (kValue == 1) {
      add_sums(norm(at(x_data, row)), norm(at(x_data, row + 1)), norm(at(x_data, row + 2)),
               norm(at(x_data, row + 3)), to);
    } else if constexpr (kValue == 2) {
      add_sums(norm(at(x_data, row)), norm(at(y_data, row)), norm(at(x_data, row + 1)),
               norm(at(y_data, row + 1)), to);
    } else {
      const auto x = at(x_data, row), y = at(y_data, row);
      add_sums(norm(x), norm(y), hn::MulAdd(x.re, y.re, hn::Mul(x.im, y.im)),
               hn::NegMulAdd(x.re, y.im, hn::Mul(x.im, y.re)), to);
    }
  }
  for (; row < column.end; ++row) {
    sums[row * kValue] += sum_of(norm(at(x_data, row)));
    if constexpr (kValue == 2) sums[row * kValue + 1] += sum_of(norm(at(y_data, row)));
  }
}

template <std::size_t kUsed, std::size_t kValue>
void add_spectra(const LaneSpectra& spectra, const GridLists& lists, const LaneFft& fft_x,
                 const LaneFft& fft_y, const LanePixels& pixels, LaneScratch& scratch, float* sums,
                 double* powers) {
  const Lanes d;
  const std::size_t n = hn::Lanes(d), step = 2 * n;
  const std::size_t read_x = fft_x.reads(lists.n_column), read_y = fft_y.reads(lists.n_row);
  const std::size_t row_room = read_y | 1;  // out of step with caches
  const std::size_t n_column = pixels.columns.size();
  float* samples = scratch.samples.data();
  float* cells = scratch.cells.data();
  // [column, and one for those that nobody wants][used pol][row][re, im][lane]; rows that no antenna reaches
  // stay 0
  float* rows = scratch.rows.data();
  std::fill_n(rows, (n_column + 1) * kUsed * row_room * step, 0.0f);
  for (std::size_t first = 0; first < spectra.n_spectra; first += n) {
    load_samples(spectra, first, kUsed, samples, powers);
    for (std::size_t row = 0; row < lists.rows.size(); ++row) {
      gather<kUsed>(lists, row, samples, fft_x.length, read_x, cells);
      for (std::size_t used = 0; used < kUsed; ++used) {
        const lane_fft_detail::InOrder data{cells + used * fft_x.length * step, step};
        float* to = rows + (used * row_room + lists.rows[row]) * step;
        const auto by_column = [&](std::size_t place) HWY_ATTR {
          return to + pixels.column_at[place] * kUsed * row_room * step;
        };
        lane_fft_detail::run(d, data, data, by_column, fft_x, lists.n_column);
      }
    }
    for (std::size_t i = 0; i < n_column; ++i) {
      for (std::size_t used = 0; used < kUsed; ++used) {
        const lane_fft_detail::InOrder from{rows + (i * kUsed + used) * row_room * step, step};
        const lane_fft_detail::InOrder data{cells + used * fft_y.length * step, step};
        lane_fft_detail::run(d, from, data, data, fft_y, lists.n_row);
      }
      multiply_column<kValue>(pixels, pixels.columns[i], cells, cells + (kUsed - 1) * fft_y.length * step,
                              sums + i * pixels.n_row() * kValue);
    }
  }
}

void add_lane_spectra_simd(const LaneSpectra& spectra, const GridLists& lists, const LaneFft& fft_x,
                           const LaneFft& fft_y, const LanePixels& pixels, LaneScratch& scratch, float* sums,
                           double* powers) {
  if (spectra.n_value == 1)
    add_spectra<1, 1>(spectra, lists, fft_x, fft_y, pixels, scratch, sums, powers);
  else if (spectra.n_value == 2)
    add_spectra<2, 2>(spectra, lists, fft_x, fft_y, pixels, scratch, sums, powers);
  else
    add_spectra<2, 4>(spectra, lists, fft_x, fft_y, pixels, scratch, sums, powers);
}

std::size_t lanes_simd() {
  return hn::Lanes(Lanes());
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(add_lane_spectra_simd);
HWY_EXPORT(lanes_simd);

LaneFft::LaneFft(std::size_t n) : length(n) {
  std::vector<std::size_t> radices;
  std::size_t rest = n;
  for (std::size_t radix : {4, 2, 3, 5})
    for (; rest % radix == 0 && rest > 1; rest /= radix) radices.push_back(radix);
  if (rest != 1) throw std::logic_error("LaneFft: a length with other prime factors than 2, 3 and 5");
  rest = n;
  for (std::size_t radix : radices) {
    Stage stage;
    stage.radix = radix;
    stage.length = rest;
    for (std::size_t k = 0; k < rest / radix; ++k)
      for (std::size_t j = 1; j < radix; ++j)
        stage.turns.emplace_back(
            std::polar(1.0, -kTwoPi * static_cast<double>(j * k % rest) / static_cast<double>(rest)));
    stages.push_back(std::move(stage));
    rest /= radix;
  }
  place.resize(n);
  for (std::size_t bin = 0; bin < n; ++bin) {
    std::size_t at = 0, left = bin, part = n;
    for (std::size_t radix : radices) {
      part /= radix;
      at += left % radix * part;
      left /= radix;
    }
    place[bin] = static_cast<std::uint32_t>(at);
  }
}

namespace {
void grow(Buffer<float, 1>& buffer, std::size_t n) {
  if (buffer.size() < n) buffer.resize_for_overwrite({n});
}
}  // namespace

void add_lane_spectra(const LaneSpectra& spectra, const GridLists& lists, const LaneFft& fft_x,
                      const LaneFft& fft_y, const LanePixels& pixels, LaneScratch& scratch, float* sums,
                      double* powers) {
  const std::size_t step = 2 * HWY_DYNAMIC_DISPATCH(lanes_simd)(), n_used = spectra.n_value == 1 ? 1 : 2;
  grow(scratch.samples, spectra.n_ant * n_used * step);
  grow(scratch.cells, std::max(fft_x.length, fft_y.length) * n_used * step);
  grow(scratch.rows, (pixels.columns.size() + 1) * n_used * (fft_y.reads(lists.n_row) | 1) * step);
  HWY_DYNAMIC_DISPATCH(add_lane_spectra_simd)
  (spectra, lists, fft_x, fft_y, pixels, scratch, sums, powers);
}

std::uint64_t lane_scratch_bytes(std::size_t n_ant, std::size_t n_pol, const FftGrid& grid) {
  constexpr std::uint64_t step = 2 * 16 * sizeof(float);
  return step * n_pol * (n_ant + std::max(grid.x.n, grid.y.n) + (grid.x.n + 1) * (grid.y.n + 1));
}

}  // namespace apsyn
#endif
