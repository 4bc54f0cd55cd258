// SPDX-License-Identifier: GPL-3.0-or-later
// Samples to sums. The rows of a call are sorted by cell and baseline, so that the sums of a baseline stay in
// the cache while its rows are added; then its channels are distributed over the blocks.
#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/calibrate/accumulate/sum_components.h"
#include "kernels/calibrate/sums.h"
#include "libcore/system/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/calibrate/accumulate/add_samples.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// What the samples of four products take of an interleaved model as their one element.
enum class Hands {
  own,         ///< each its own
  cross_mean,  ///< parallel hands their own, cross hands the mean of the parallel ones
  all_mean     ///< all the mean of the parallel hands
};

/// One element for the samples from i on.
template <Hands hands, class D>
HWY_INLINE void load_model(D d, const float* model, std::size_t i, hn::Vec<D>& re, hn::Vec<D>& im) {
  hn::LoadInterleaved2(d, model + 2 * i, re, im);
  if constexpr (hands != Hands::own) {
#if HWY_TARGET == HWY_SCALAR
    if (hands == Hands::cross_mean && (i % 4 == 0 || i % 4 == 3)) return;
    const float* first = model + i / 4 * 8;
    re = hn::Set(d, (first[0] + first[6]) / 2);
    im = hn::Set(d, (first[1] + first[7]) / 2);
#else
    const auto half = hn::Set(d, 0.5f);
    const auto sum_re =
        hn::Mul(half, hn::Add(re, hn::Shuffle0123(re)));  // XX + YY, XY + YX, the same, XX + YY
    const auto sum_im = hn::Mul(half, hn::Add(im, hn::Shuffle0123(im)));
    alignas(64) constexpr std::uint32_t outer_lanes[kLanes] = {~0u, 0, 0, ~0u, ~0u, 0, 0, ~0u,
                                                               ~0u, 0, 0, ~0u, ~0u, 0, 0, ~0u};
    const hn::RebindToUnsigned<D> u;
    const auto outer = hn::MaskFromVec(hn::BitCast(d, hn::LoadU(u, outer_lanes)));
    re = hn::IfThenElse(outer, hands == Hands::all_mean ? sum_re : re, hn::Shuffle2301(sum_re));
    im = hn::IfThenElse(outer, hands == Hands::all_mean ? sum_im : im, hn::Shuffle2301(sum_im));
#endif
  }
}

/// Adds n_pieces * kLanes samples of a row to sums [piece][component][kLanes]. Elements e of the model:
/// interleaved, if there is one and planes is null, else planes [e][re, im][plane_size]. A sample counts
/// where its weight is positive and what it adds is finite (NaN compares false) and far from overflow.
template <std::size_t n_elements, Hands hands = Hands::own>
void add_row(const float* data, const float* weight, const float* model, const float* planes,
             std::size_t plane_size, std::size_t n_pieces, float* sums) {
  constexpr std::size_t n_components = n_product_components(n_elements);
  const hn::CappedTag<float, kLanes> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const V zero = hn::Zero(d), one = hn::Set(d, 1.f), limit = hn::Set(d, 1e32f);
  for (std::size_t i = 0; i < n_pieces * kLanes; i += lanes) {
    float* to = sums + i / kLanes * n_components * kLanes + i % kLanes;
    const auto add = [&](std::size_t component, V value) {
      hn::StoreU(hn::Add(hn::LoadU(d, to + component * kLanes), value), d, to + component * kLanes);
    };
    V v_re, v_im, m_re[n_elements], m_im[n_elements], wm_re[n_elements], wm_im[n_elements], own[n_elements];
    hn::LoadInterleaved2(d, data + 2 * i, v_re, v_im);
    const V w = hn::LoadU(d, weight + i);
    const V power = hn::Mul(w, hn::MulAdd(v_re, v_re, hn::Mul(v_im, v_im)));
    V all = power;
    for (std::size_t e = 0; e < n_elements; ++e) {
      if (n_elements == 1 && planes == nullptr) {
        load_model<hands>(d, model, i, m_re[e], m_im[e]);
      } else {
        m_re[e] = hn::LoadU(d, planes + 2 * e * plane_size + i);
        m_im[e] = hn::LoadU(d, planes + (2 * e + 1) * plane_size + i);
      }
      wm_re[e] = hn::Mul(w, m_re[e]);
      wm_im[e] = hn::Mul(w, m_im[e]);
      own[e] = hn::MulAdd(wm_re[e], m_re[e], hn::Mul(wm_im[e], m_im[e]));
      all = hn::Add(all, own[e]);
    }
    const auto used = hn::And(hn::Gt(w, zero), hn::Lt(all, limit));
    for (std::size_t e = 0; e < n_elements; ++e) {
      const V re = hn::MulAdd(v_re, wm_re[e], hn::Mul(v_im, wm_im[e]));
      const V im = hn::NegMulAdd(v_re, wm_im[e], hn::Mul(v_im, wm_re[e]));
      add(2 * e, hn::IfThenElseZero(used, re));
      add(2 * e + 1, hn::IfThenElseZero(used, im));
      add(own_component(e, n_elements), hn::IfThenElseZero(used, own[e]));
      for (std::size_t f = e + 1; f < n_elements; ++f) {
        const V pair_re = hn::MulAdd(wm_re[e], m_re[f], hn::Mul(wm_im[e], m_im[f]));
        const V pair_im = hn::NegMulAdd(wm_re[e], m_im[f], hn::Mul(wm_im[e], m_re[f]));
        add(pair_component(e, f, n_elements), hn::IfThenElseZero(used, pair_re));
        add(pair_component(e, f, n_elements) + 1, hn::IfThenElseZero(used, pair_im));
      }
    }
    add(power_component(n_elements), hn::IfThenElseZero(used, power));
    add(count_component(n_elements), hn::IfThenElseZero(used, one));
  }
}

void add_row_of_1(const float* data, const float* weight, const float* model, const float* planes,
                  std::size_t plane_size, std::size_t n_pieces, float* sums) {
  add_row<1>(data, weight, model, planes, plane_size, n_pieces, sums);
}
void add_row_cross_mean(const float* data, const float* weight, const float* model, const float* planes,
                        std::size_t plane_size, std::size_t n_pieces, float* sums) {
  add_row<1, Hands::cross_mean>(data, weight, model, planes, plane_size, n_pieces, sums);
}
void add_row_all_mean(const float* data, const float* weight, const float* model, const float* planes,
                      std::size_t plane_size, std::size_t n_pieces, float* sums) {
  add_row<1, Hands::all_mean>(data, weight, model, planes, plane_size, n_pieces, sums);
}
void add_row_of_2(const float* data, const float* weight, const float* model, const float* planes,
                  std::size_t plane_size, std::size_t n_pieces, float* sums) {
  add_row<2>(data, weight, model, planes, plane_size, n_pieces, sums);
}
void add_row_of_4(const float* data, const float* weight, const float* model, const float* planes,
                  std::size_t plane_size, std::size_t n_pieces, float* sums) {
  add_row<4>(data, weight, model, planes, plane_size, n_pieces, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(add_row_of_1);
HWY_EXPORT(add_row_cross_mean);
HWY_EXPORT(add_row_all_mean);
HWY_EXPORT(add_row_of_2);
HWY_EXPORT(add_row_of_4);

namespace {

/// Samples of a row that are added at a time: their sums stay in the first-level cache.
constexpr std::size_t kMaxPieces = 32;
/// Rows whose float32 sums are kept apart from those of other rows, which bounds the rounding of long series.
constexpr std::size_t kRowsApart = 256;

using AddRow = void (*)(const float*, const float*, const float*, const float*, std::size_t, std::size_t,
                        float*);
void add_rows_of_1(const float* data, const float* weight, const float* model, const float* planes,
                   std::size_t plane_size, std::size_t n_pieces, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_row_of_1)(data, weight, model, planes, plane_size, n_pieces, sums);
}
void add_rows_cross_mean(const float* data, const float* weight, const float* model, const float* planes,
                         std::size_t plane_size, std::size_t n_pieces, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_row_cross_mean)(data, weight, model, planes, plane_size, n_pieces, sums);
}
void add_rows_all_mean(const float* data, const float* weight, const float* model, const float* planes,
                       std::size_t plane_size, std::size_t n_pieces, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_row_all_mean)(data, weight, model, planes, plane_size, n_pieces, sums);
}
void add_rows_of_2(const float* data, const float* weight, const float* model, const float* planes,
                   std::size_t plane_size, std::size_t n_pieces, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_row_of_2)(data, weight, model, planes, plane_size, n_pieces, sums);
}
void add_rows_of_4(const float* data, const float* weight, const float* model, const float* planes,
                   std::size_t plane_size, std::size_t n_pieces, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_row_of_4)(data, weight, model, planes, plane_size, n_pieces, sums);
}

/// Where a sample's sums belong.
struct Target {
  std::uint32_t group;
  std::uint32_t offset;  ///< in the components and lanes of a baseline; kNoBlock = nowhere
};

/// Where the kLanes samples of a piece go together.
enum class PieceTargets : std::uint8_t {
  any,            ///< each to its own target
  group,          ///< to the lanes of a group, in their order
  parallel_hands  ///< XX and YY of four products to lanes that follow on each other, XY and YX nowhere
};

/// A row's place in the order of cells and baselines.
struct SortedRow {
  std::uint64_t key;  ///< (cell, baseline, reversed)
  std::size_t row;
};

class Adder {
 public:
  Adder(const CalibrationSamples& samples, std::span<CalibrationSums* const> cells, unsigned n_threads)
      : samples_(samples),
        cells_(cells),
        n_threads_(n_threads),
        layout_(cells[0]->layout()),
        n_elements_(n_model_elements(layout_.kind)),
        n_own_(n_product_components(n_elements_)),
        n_products_(layout_.n_products),
        n_samples_(layout_.block.size() * n_products_) {
    check();
    n_pieces_ = std::max<std::size_t>(1, kMaxPieces * n_product_components(1) / n_own_);
    make_targets();
    plan_pieces();
  }

  void run() {
    sort_rows();
    std::vector<std::size_t> cut{0};
    const std::size_t n_items = 8 * std::size_t{std::max(1u, n_threads_)};
    for (std::size_t item = 1; item <= n_items; ++item) {
      std::size_t end = rows_.size() * item / n_items;
      while (end > 0 && end < rows_.size() && rows_[end].key / 2 == rows_[end - 1].key / 2) ++end;
      if (end > cut.back()) cut.push_back(end);
    }
    parallel_for(n_threads_, cut.size() - 1,
                 [&](std::size_t item, unsigned) { add_rows(cut[item], cut[item + 1]); });
  }

 private:
  void check() const {
    const auto& s = samples_;
    const std::size_t n_rows = s.station.extent(0), n_model = s.model.extent(2);
    const auto refuse = [](const std::string& why) { throw std::invalid_argument("add_samples: " + why); };
    if (s.station.extent(1) != 2 || s.cell.extent(0) != n_rows || s.data.extent(0) != n_rows ||
        s.weight.extent(0) != n_rows || s.model.extent(0) != n_rows)
      refuse("samples disagree about the number of rows");
    if (s.data.extent(1) != layout_.block.size() || s.weight.extent(1) != layout_.block.size() ||
        s.model.extent(1) != layout_.block.size())
      refuse("samples have not the channels of the sums");
    if (s.data.extent(2) != n_products_ || s.weight.extent(2) != n_products_)
      refuse("samples have not the products of the sums");
    if (n_model != n_products_ && n_model != 1 && !(n_model == 2 && n_products_ == 4))
      refuse("the model has " + std::to_string(n_model) + " products, the data " +
             std::to_string(n_products_));
    for (const CalibrationSums* cell : cells_)
      if (cell->recent().shape() != cells_[0]->recent().shape()) refuse("cells of different layouts");
    for (std::size_t row = 0; row < n_rows; ++row) {
      if (s.station(row, 0) >= layout_.n_antennas || s.station(row, 1) >= layout_.n_antennas)
        refuse("station " + std::to_string(std::max(s.station(row, 0), s.station(row, 1))) + " of " +
               std::to_string(layout_.n_antennas));
      if (s.cell[row] != kNoCell && s.cell[row] >= cells_.size())
        refuse("cell " + std::to_string(s.cell[row]) + " of " + std::to_string(cells_.size()));
    }
  }

  /// Where samples belong, by (reversed, channel, product), and which components a reversed row fills.
  void make_targets() {
    const std::size_t n_monitored = layout_.n_monitored();
    std::vector<std::uint32_t> monitor(layout_.n_blocks, kNoBlock);
    for (std::size_t i = 0; i < n_monitored; ++i)
      monitor[monitored_block(i, n_monitored, layout_.n_blocks)] = static_cast<std::uint32_t>(i);
    const auto target = [&](std::uint32_t block, std::size_t product) -> Target {
      if (block == kNoBlock) return {0, kNoBlock};
      std::size_t lane = block, component = 0;
      if (layout_.kind != SumKind::diagonal) {
        component = product * n_own_;
      } else if (n_products_ != 4) {
        lane = block * layout_.n_polarisations() + product;
      } else if (product == 0 || product == 3) {
        lane = block * 2 + product / 3;
      } else if (monitor[block] != kNoBlock) {
        lane = layout_.n_groups() * kLanes + monitor[block] * 2 + (product - 1);
      } else {
        return {0, kNoBlock};
      }
      return {static_cast<std::uint32_t>(lane / kLanes),
              static_cast<std::uint32_t>(component * kLanes + lane % kLanes)};
    };
    constexpr std::array<std::size_t, 4> transposed = {0, 2, 1, 3};
    for (std::vector<Target>& targets : targets_) targets.reserve(n_samples_);
    for (std::size_t chan = 0; chan < layout_.block.size(); ++chan)
      for (std::size_t product = 0; product < n_products_; ++product) {
        targets_[0].push_back(target(layout_.block[chan], product));
        targets_[1].push_back(target(layout_.block[chan], n_products_ == 4 ? transposed[product] : product));
        means_hands_ |= layout_.kind == SumKind::diagonal && n_products_ == 4 && product == 1 &&
                        targets_[0].back().offset != kNoBlock;
      }
    // V_qp = V_pq^H: A_ab,cd = conj(A'_ba,dc), S_ab,e,f = conj(S'_ba,e^T,f^T).
    for (std::size_t c = 0; c < n_own_; ++c) reversed_[c] = {static_cast<std::uint32_t>(c), 1.f};
    const auto element = [&](std::size_t e) { return n_elements_ == 4 ? transposed[e] : e; };
    for (std::size_t e = 0; e < n_elements_; ++e) {
      reversed_[2 * e] = {static_cast<std::uint32_t>(2 * element(e)), 1.f};
      reversed_[2 * e + 1] = {static_cast<std::uint32_t>(2 * element(e) + 1), -1.f};
      reversed_[own_component(e, n_elements_)].component =
          static_cast<std::uint32_t>(own_component(element(e), n_elements_));
      for (std::size_t f = e + 1; f < n_elements_; ++f) {
        const std::size_t a = element(e), b = element(f), from = pair_component(e, f, n_elements_);
        const std::size_t to = pair_component(std::min(a, b), std::max(a, b), n_elements_);
        reversed_[from] = {static_cast<std::uint32_t>(to), 1.f};
        reversed_[from + 1] = {static_cast<std::uint32_t>(to + 1), a < b ? -1.f : 1.f};
      }
    }
  }

  /// What distribute() and prefetch_sums() need of the targets.
  void plan_pieces() {
    const std::vector<Target>& targets = targets_[0];
    pieces_.assign((n_samples_ + kLanes - 1) / kLanes, PieceTargets::any);
    for (std::size_t piece = 0; layout_.kind == SumKind::diagonal && piece < n_samples_ / kLanes; ++piece) {
      const Target* own = targets.data() + piece * kLanes;
      bool is_group = true, is_hands = n_products_ == 4 && own[0].offset % kLanes <= kLanes / 2;
      for (std::size_t i = 0; i < kLanes; ++i) {
        is_group = is_group && own[i].offset == i && own[i].group == own[0].group;
        const bool parallel = i % 4 == 0 || i % 4 == 3;
        is_hands = is_hands && (parallel ? own[i].group == own[0].group &&
                                               own[i].offset == own[0].offset + i / 4 * 2 + (i % 4 == 3)
                                         : own[i].offset == kNoBlock);
      }
      if (is_group) pieces_[piece] = PieceTargets::group;
      if (is_hands) pieces_[piece] = PieceTargets::parallel_hands;
    }
    for (std::size_t s = 0; s < n_samples_; s += n_pieces_ * kLanes) {
      first_group_.push_back(slab_groups_.size());
      std::uint32_t last = kNoBlock;
      for (std::size_t i = s; i < std::min(n_samples_, s + n_pieces_ * kLanes); ++i) {
        if (targets[i].offset == kNoBlock || targets[i].group == last) continue;
        slab_groups_.push_back(last = targets[i].group);
      }
    }
    first_group_.push_back(slab_groups_.size());
  }

  /// Rows in the order of their cell and baseline, each baseline's in the order of the samples; counts for
  /// each cell how many rows one of its baselines gets at most.
  void sort_rows() {
    const std::uint64_t n_baselines = std::max<std::uint64_t>(1, layout_.n_baselines());
    std::vector<SortedRow> found;
    found.reserve(samples_.station.extent(0));
    std::uint32_t first = kNoCell, last = 0;
    std::uint64_t key_0 = UINT64_MAX, key_last = 0;
    bool sorted = true;
    for (std::size_t row = 0; row < samples_.station.extent(0); ++row) {
      const std::uint32_t p = samples_.station(row, 0), q = samples_.station(row, 1),
                          cell = samples_.cell[row];
      if (cell == kNoCell || p == q) continue;
      first = std::min(first, cell);
      last = std::max(last, cell);
      const std::size_t b = baseline_index(std::min(p, q), std::max(p, q), layout_.n_antennas);
      const std::uint64_t key = (cell * n_baselines + b) * 2 + (p > q);
      sorted = sorted && (found.empty() || found.back().key <= key);
      key_0 = std::min(key_0, key);
      key_last = std::max(key_last, key);
      found.push_back({key, row});
    }
    if (found.empty()) return;
    const std::uint64_t n_keys = key_last - key_0 + 1;
    if (sorted) {
      rows_ = std::move(found);
    } else if (n_keys <= 16 * found.size() + 1024) {
      std::vector<std::uint32_t> start(n_keys + 1);
      for (const SortedRow& r : found) ++start[r.key - key_0 + 1];
      for (std::size_t k = 0; k < n_keys; ++k) start[k + 1] += start[k];
      rows_.resize(found.size());
      for (const SortedRow& r : found) rows_[start[r.key - key_0]++] = r;
    } else {
      std::stable_sort(found.begin(), found.end(),
                       [](const SortedRow& a, const SortedRow& b) { return a.key < b.key; });
      rows_ = std::move(found);
    }
    std::vector<std::uint32_t> n_rows(last - first + 1);
    for (std::size_t i = 0; i < rows_.size();) {
      std::size_t end = i;
      while (end < rows_.size() && rows_[end].key / 2 == rows_[i].key / 2) ++end;
      std::uint32_t& most = n_rows[rows_[i].key / 2 / n_baselines - first];
      most = std::max(most, static_cast<std::uint32_t>(std::min<std::size_t>(end - i, kPromoteRows)));
      i = end;
    }
    for (std::size_t c = 0; c < n_rows.size(); ++c)
      if (n_rows[c] > 0) cells_[first + c]->reserve_rows(n_rows[c]);
  }

  /// Elements of the model for each sample of a piece of a row: planes [e][re, im][size].
  void expand_model(const std::complex<float>* model, std::size_t first_chan, std::size_t n_chan,
                    float* planes, std::size_t size) const {
    const std::size_t n_model = samples_.model.extent(2);
    const std::complex<float>* m = model + first_chan * n_model;
    for (std::size_t chan = 0; chan < n_chan; ++chan, m += n_model) {
      const std::complex<float> x = m[0], y = m[n_model - 1];
      std::complex<float> element[4] = {x, y, {}, {}};  // E = 1: set below
      if (n_elements_ == 4) {
        element[1] = n_model == 4 ? m[1] : 0.f;
        element[2] = n_model == 4 ? m[2] : 0.f;
        element[3] = y;
      }
      const std::size_t i = chan * n_products_;
      if (n_elements_ > 1) {
        for (std::size_t e = 0; e < n_elements_; ++e)
          for (std::size_t k = 0; k < 4; ++k) {
            planes[2 * e * size + i + k] = element[e].real();
            planes[(2 * e + 1) * size + i + k] = element[e].imag();
          }
      } else if (n_products_ < 4) {
        planes[i] = x.real();
        planes[size + i] = x.imag();
        if (n_products_ == 2) {
          planes[i + 1] = y.real();
          planes[size + i + 1] = y.imag();
        }
      } else {
        const std::complex<float> mean = 0.5f * (x + y);
        const bool own = layout_.kind == SumKind::diagonal;
        const std::complex<float> a = own ? x : mean, b = own ? y : mean;
        const float re[4] = {a.real(), mean.real(), mean.real(), b.real()};
        const float im[4] = {a.imag(), mean.imag(), mean.imag(), b.imag()};
        std::memcpy(planes + i, re, sizeof re);
        std::memcpy(planes + size + i, im, sizeof im);
      }
    }
  }

  void add_rows(std::size_t begin, std::size_t end) const {
    const bool direct = n_elements_ == 1 && samples_.model.extent(2) == n_products_;
    const AddRow add = n_elements_ == 2                              ? add_rows_of_2
                       : n_elements_ == 4                            ? add_rows_of_4
                       : direct && layout_.kind != SumKind::diagonal ? add_rows_all_mean
                       : direct && means_hands_                      ? add_rows_cross_mean
                                                                     : add_rows_of_1;
    const std::size_t n_slab = n_pieces_ * kLanes;  // samples
    // On the stack, because threads that allocate for a few rows at a time wait for each other.
    alignas(64) std::array<float, kMaxPieces * n_product_components(1) * kLanes> sums;
    alignas(64) std::array<float, 2 * kMaxPieces * kLanes> planes{};
    std::array<float, 2 * kLanes> tail_data{}, tail_model{};
    std::array<float, kLanes> tail_weight{};
    for (std::size_t i = begin; i < end;) {
      std::size_t next = i + 1;
      while (next < end && next - i < kRowsApart && rows_[next].key == rows_[i].key) ++next;
      for (std::size_t s = 0; s < n_samples_; s += n_slab) {
        const std::size_t n = std::min(n_slab, n_samples_ - s), n_whole = n / kLanes, n_tail = n % kLanes;
        prefetch_sums(rows_[i].key, s / n_slab);
        std::fill(sums.begin(),
                  sums.begin() + static_cast<std::ptrdiff_t>((n + kLanes - 1) / kLanes * n_own_ * kLanes),
                  0.f);
        for (std::size_t k = i; k < next; ++k) {
          if (k + 1 < end) prefetch(rows_[k + 1].row, s, n);
          const std::size_t row = rows_[k].row;
          const float* data = reinterpret_cast<const float*>(samples_.data[row].data() + s);
          const float* weight = samples_.weight[row].data() + s;
          const std::complex<float>* model = samples_.model[row].data();
          const float* own_planes = nullptr;
          if (!direct) {
            expand_model(model, s / n_products_, n / n_products_, planes.data(), n_slab);
            own_planes = planes.data();
          }
          const float* interleaved = reinterpret_cast<const float*>(direct ? model + s : model);
          add(data, weight, interleaved, own_planes, n_slab, n_whole, sums.data());
          if (n_tail > 0) {
            std::copy_n(data + 2 * n_whole * kLanes, 2 * n_tail, tail_data.data());
            std::copy_n(weight + n_whole * kLanes, n_tail, tail_weight.data());
            if (direct) std::copy_n(interleaved + 2 * n_whole * kLanes, 2 * n_tail, tail_model.data());
            add(tail_data.data(), tail_weight.data(), tail_model.data(),
                direct ? nullptr : planes.data() + n_whole * kLanes, n_slab, 1,
                sums.data() + n_whole * n_own_ * kLanes);
          }
        }
        distribute(rows_[i].key, s, n, sums.data());
      }
      i = next;
    }
  }

  /// Asks for a row's memory, which does not follow on that of the row before.
  void prefetch(std::size_t row, std::size_t s, std::size_t n) const {
    const char* data = reinterpret_cast<const char*>(samples_.data[row].data() + s);
    const char* weight = reinterpret_cast<const char*>(samples_.weight[row].data() + s);
    const std::size_t n_model = samples_.model.extent(2);
    const char* model = reinterpret_cast<const char*>(samples_.model[row].data() + s / n_products_ * n_model);
    for (std::size_t i = 0; i < n * sizeof(std::complex<float>); i += 64) __builtin_prefetch(data + i);
    for (std::size_t i = 0; i < n * sizeof(float); i += 64) __builtin_prefetch(weight + i);
    for (std::size_t i = 0; i < n / n_products_ * n_model * sizeof(std::complex<float>); i += 64)
      __builtin_prefetch(model + i);
  }

  /// Asks for the sums of a baseline that a slab's samples are added to: each group's lie far from the
  /// former's.
  void prefetch_sums(std::uint64_t key, std::size_t slab) const {
    const std::size_t n_baselines = layout_.n_baselines(), n_values = layout_.n_components() * kLanes;
    const float* const to = cells_[key / 2 / n_baselines]->recent().data() + key / 2 % n_baselines * n_values;
    for (std::size_t i = first_group_[slab]; i < first_group_[slab + 1]; ++i) {
      const float* const own = to + slab_groups_[i] * n_baselines * n_values;
      for (std::size_t value = 0; value < n_values; value += kLanes) __builtin_prefetch(own + value, 1);
    }
  }

  /// Adds the sums of a piece whose targets lie in order, [component][kLanes], to the first of them.
  void add_piece(PieceTargets order, const float* from, float* own) const {
    for (std::size_t c = 0; c < n_own_; ++c, from += kLanes, own += kLanes) {
      if (order == PieceTargets::group) {
        for (std::size_t i = 0; i < kLanes; ++i) own[i] += from[i];
        continue;
      }
      for (std::size_t chan = 0; chan < kLanes / 4; ++chan) {
        own[2 * chan] += from[4 * chan];
        own[2 * chan + 1] += from[4 * chan + 3];
      }
    }
  }

  /// Adds the sums [piece][component][kLanes] of n samples from sample s on to their blocks.
  void distribute(std::uint64_t key, std::size_t s, std::size_t n, const float* sums) const {
    const bool reversed = key % 2;
    const std::size_t n_baselines = layout_.n_baselines();
    CalibrationSums& cell = *cells_[key / 2 / n_baselines];
    const std::size_t b = key / 2 % n_baselines, n_values = layout_.n_components() * kLanes;
    float* const to = cell.recent().data();
    const Target* targets = targets_[reversed].data() + s;
    for (std::size_t i = 0; i < n; ++i) {
      if (!reversed && i % kLanes == 0) {
        if (const PieceTargets order = pieces_[(s + i) / kLanes]; order != PieceTargets::any) {
          float* own = to + (targets[i].group * n_baselines + b) * n_values + targets[i].offset;
          add_piece(order, sums + i * n_own_, own);
          i += kLanes - 1;
          continue;
        }
      }
      if (targets[i].offset == kNoBlock) continue;
      float* const own = to + (targets[i].group * n_baselines + b) * n_values + targets[i].offset;
      const float* from = sums + i / kLanes * n_own_ * kLanes + i % kLanes;
      if (!reversed) {
        for (std::size_t c = 0; c < n_own_; ++c) own[c * kLanes] += from[c * kLanes];
      } else {
        for (std::size_t c = 0; c < n_own_; ++c)
          own[reversed_[c].component * kLanes] += reversed_[c].sign * from[c * kLanes];
      }
    }
  }

  struct Reversed {
    std::uint32_t component;
    float sign;
  };

  const CalibrationSamples& samples_;
  std::span<CalibrationSums* const> cells_;
  unsigned n_threads_;
  const SumLayout& layout_;
  std::size_t n_elements_, n_own_, n_products_, n_samples_, n_pieces_ = 1;
  bool means_hands_ = false;
  std::array<std::vector<Target>, 2> targets_;  ///< [reversed][chan, product]
  std::vector<PieceTargets> pieces_;            ///< [piece of kLanes samples of a row that is not reversed]
  std::vector<std::uint32_t> slab_groups_;      ///< groups that the samples of a slab go to
  std::vector<std::size_t> first_group_;        ///< [slab of n_pieces_] in slab_groups_, and one for the end
  std::array<Reversed, n_product_components(4)> reversed_{};
  std::vector<SortedRow> rows_;
};

}  // namespace

void add_samples(const CalibrationSamples& samples, std::span<CalibrationSums* const> cells,
                 unsigned n_threads) {
  if (samples.station.extent(0) == 0) return;
  if (cells.empty()) throw std::invalid_argument("add_samples: rows, but no cells");
  Adder(samples, cells, n_threads).run();
}

}  // namespace apsyn
#endif
