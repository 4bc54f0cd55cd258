// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/cuda/fused/plan.h"

#include <algorithm>
#include <array>
#include <complex>
#include <numeric>
#include <span>

#include "libcore/base/constants.h"

namespace apsyn::epic_fft {
namespace {

constexpr std::array kRadices{16, 8, 5, 4, 3, 2};
constexpr std::array kLastRadices{8, 5, 4, 3};

/// The radices of fewest passes, and of the least sum among them.
void split(std::size_t rest, std::span<const int> radices, std::vector<int>& now, std::vector<int>& best) {
  if (!best.empty() && now.size() > best.size()) return;
  if (rest == 1) {
    const auto sum = [](const std::vector<int>& of) { return std::accumulate(of.begin(), of.end(), 0); };
    if (best.empty() || now.size() < best.size() || sum(now) < sum(best)) best = now;
    return;
  }
  for (const int radix : radices) {
    if (rest % static_cast<std::size_t>(radix) != 0 || (!now.empty() && radix > now.back())) continue;
    now.push_back(radix);
    split(rest / static_cast<std::size_t>(radix), radices, now, best);
    now.pop_back();
  }
}

std::complex<double> turned(double turns) {
  return std::polar(1.0, -kTwoPi * (turns - std::floor(turns)));
}

int append_passes(const RadixPlan& plan, std::size_t length, Pass* passes, std::vector<float2>& turns) {
  std::size_t part = length;
  int n = 0;
  for (const int radix : plan.radices) {
    const std::size_t span = part / static_cast<std::size_t>(radix);
    passes[n++] = {radix, static_cast<int>(part), static_cast<int>(turns.size()), divider(span),
                   divider(length / static_cast<std::size_t>(radix))};
    for (std::size_t k = 0; span > 1 && k < span; ++k)
      for (std::size_t j = 1; j < static_cast<std::size_t>(radix); ++j) {
        const auto turn = turned(static_cast<double>(j * k) / static_cast<double>(part));
        turns.push_back({static_cast<float>(turn.real()), static_cast<float>(turn.imag())});
      }
    part = span;
  }
  return n;
}

std::size_t aligned(std::size_t bytes) {
  return (bytes + 15) / 16 * 16;
}

/// Shared memory: the plane, whose rows that no antenna reaches hold the first spectrum's cells before.
bool place_shared(FusedShape& shape, const FusedLimits& limits) {
  const auto bytes_of = [](int n) { return static_cast<std::size_t>(n) * sizeof(float2); };
  const std::size_t plane = aligned(bytes_of(shape.length_y * shape.row_pitch));
  const std::size_t reached = aligned(bytes_of(shape.n_row * shape.row_pitch));
  const std::size_t cells = aligned(bytes_of(shape.length_x * shape.n_row * shape.n_layer));
  for (const int at_once : {4, 2, 1}) {
    if (at_once == 4 && shape.n_layer == shape.n_pol) continue;
    shape.at_once = at_once;
    shape.cells_at[0] = static_cast<int>(reached);
    std::size_t end = std::max(plane, reached + cells);
    for (int t = 1; t < at_once; ++t, end += cells) shape.cells_at[t] = static_cast<int>(end);
    shape.samples_at = static_cast<int>(end);
    end += aligned(bytes_of(at_once * shape.n_ant * shape.n_layer));
    shape.turns_at = static_cast<int>(end);
    end += aligned(bytes_of(shape.n_turns));
    shape.places_at = static_cast<int>(end);
    end += aligned(static_cast<std::size_t>(shape.length_x) * sizeof(std::uint16_t));
    shape.shared_bytes = static_cast<int>(end);
    if (end <= limits.shared_bytes) return true;
  }
  return false;
}

double largest_gain(const EpicPlan& plan, const FftGridded& gridded) {
  double largest = 0;
  for (std::size_t channel = 0; channel < gridded.lists.size(); ++channel)
    largest = std::max(largest, grid_gain(plan, gridded.lists[channel], channel));
  return largest;
}

std::optional<FusedPlan> plan_classes(const EpicPlan& plan, const FftGridded& gridded,
                                      const FusedLimits& limits, std::size_t n_class, int last) {
  const std::size_t n_x = gridded.grid.x.n, n_y = gridded.grid.y.n, length = n_x / n_class;
  FusedPlan fused;
  fused.last_radix = last;
  fused.n_value = static_cast<int>(fft_values(plan));
  const auto x = plan_radices(length, 0, kLargestRadixX);
  const auto y = plan_radices(n_y, last, kLargestRadixY);
  if (!x || !y || y->radices.size() < 2 || x->radices.size() > kMaxPasses || y->radices.size() > kMaxPasses)
    return {};
  fused.x = *x;
  fused.y = *y;
  FusedShape& shape = fused.shape;
  shape.n_pol = fused.n_value == 1 ? 1 : 2;
  shape.n_layer = limits.precision == EpicPrecision::half ? 1 : shape.n_pol;
  shape.n_ant = static_cast<int>(plan.n_ant);
  shape.n_class = static_cast<int>(n_class);
  shape.length_x = static_cast<int>(length);
  shape.length_y = static_cast<int>(n_y);
  for (const GridLists& lists : gridded.lists)
    shape.n_row = std::max(shape.n_row, static_cast<int>((lists.n_row + 1) / 2 * 2));
  shape.n_row = std::max(shape.n_row, 2);
  if (static_cast<std::size_t>(shape.n_row) * length > 65534) return {};
  shape.n_slice = (shape.n_row * shape.length_x + kSliceCells - 1) / kSliceCells;
  shape.n_pass_x = append_passes(fused.x, length, shape.pass_x, fused.turns);
  shape.n_pass_y = append_passes(fused.y, n_y, shape.pass_y, fused.turns);
  shape.n_turns = static_cast<int>(fused.turns.size());
  shape.row_divider = divider(static_cast<std::size_t>(shape.n_row));

  fused.columns.assign(n_x, kNowhere);
  fused.column_of_bin.assign(n_x, kNowhere);
  for (const std::size_t bin : gridded.finish.bins_x()) {
    const std::size_t which = bin % n_class;
    const auto column = static_cast<std::uint16_t>(shape.n_column[which]++);
    fused.column_of_bin[bin] = column;
    fused.columns[which * length + fused.x.place[bin / n_class]] = column;
  }
  int most = 1;
  for (std::size_t which = 0; which < n_class; ++which) {
    shape.column_divider[which] = divider(static_cast<std::size_t>(std::max(1, shape.n_column[which])));
    most = std::max(most, shape.n_column[which]);
  }
  shape.column_stride = most;
  shape.row_pitch = shape.n_layer * most | 1;
  if (shape.length_y / last * most > items_per_thread(last, fused.n_value) * kFusedThreads) return {};
  if (!place_shared(shape, limits)) return {};
  return fused;
}

}  // namespace

std::optional<RadixPlan> plan_radices(std::size_t length, int last, int largest) {
  const auto first =
      std::find_if(kRadices.begin(), kRadices.end(), [&](int radix) { return radix <= largest; });
  return plan_radices(length, last, std::span(first, kRadices.end()));
}

std::optional<RadixPlan> plan_radices(std::size_t length, int last, std::span<const int> radices) {
  if (last > 0 && length % static_cast<std::size_t>(last) != 0) return {};
  const std::size_t before = last > 0 ? length / static_cast<std::size_t>(last) : length;
  RadixPlan plan;
  if (before > 1) {
    std::vector<int> now;
    split(before, radices, now, plan.radices);
    if (plan.radices.empty()) return {};
  }
  if (last > 0) plan.radices.push_back(last);
  if (plan.radices.empty()) return {};
  plan.place.resize(length);
  for (std::size_t bin = 0; bin < length; ++bin) {
    std::size_t at = 0, left = bin, part = length;
    for (const int radix : plan.radices) {
      part /= static_cast<std::size_t>(radix);
      at += left % static_cast<std::size_t>(radix) * part;
      left /= static_cast<std::size_t>(radix);
    }
    plan.place[bin] = static_cast<std::uint32_t>(at);
  }
  return plan;
}

std::optional<FusedPlan> plan_fused(const EpicPlan& plan, const FftGridded& gridded,
                                    const FusedLimits& limits) {
  if (plan.n_ant > 65535 || (limits.precision == EpicPrecision::half && fft_values(plan) == 1)) return {};
  // Every class gathers all cells: few classes first, then few passes.
  for (std::size_t n_class = 1; n_class <= kMaxClasses; ++n_class) {
    if (gridded.grid.x.n % n_class != 0) continue;
    std::optional<FusedPlan> best;
    for (const int last : kLastRadices) {
      auto fused = plan_classes(plan, gridded, limits, n_class, last);
      if (fused && (!best || fused->y.radices.size() < best->y.radices.size())) best = std::move(fused);
    }
    if (!best) continue;
    best->gain = largest_gain(plan, gridded);
    return best;
  }
  return {};
}

std::size_t FusedPlan::place_of(std::size_t bin_x, std::size_t bin_y, int value) const {
  const std::size_t which = bin_x % static_cast<std::size_t>(shape.n_class);
  const std::size_t last = static_cast<std::size_t>(last_radix), place = y.place[bin_y];
  const std::size_t item =
      place / last * static_cast<std::size_t>(shape.n_column[which]) + column_of_bin[bin_x];
  const std::size_t sum = (item / kFusedThreads * last + place % last) * static_cast<std::size_t>(n_value) +
                          static_cast<std::size_t>(value);
  return sum * kFusedThreads + item % kFusedThreads;
}

namespace {

/// An antenna's part in two cells of a column.
struct PairEntry {
  std::uint32_t ant;
  std::complex<double> weight[2];
};
using PairEntries = std::vector<PairEntry>;

/// Orders the entries of 32 lanes' pairs so that in each step lanes that shared memory serves together,
/// n_bank of them, find their antennas in different banks or are the same antenna's.
void spread_over_banks(std::span<PairEntries*> lanes, std::size_t n_step, std::uint32_t n_bank) {
  std::vector<std::uint32_t> taken;
  for (std::size_t step = 0; step < n_step; ++step)
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      if (lane % n_bank == 0) taken.clear();
      PairEntries& entries = *lanes[lane];
      if (step >= entries.size()) continue;
      const auto conflicts = [&](std::uint32_t ant) {
        if (std::find(taken.begin(), taken.end(), ant) != taken.end()) return std::ptrdiff_t{0};
        return std::count_if(taken.begin(), taken.end(),
                             [&](std::uint32_t other) { return other % n_bank == ant % n_bank; });
      };
      std::size_t best = step;
      std::ptrdiff_t least = conflicts(entries[step].ant);
      for (std::size_t e = step + 1; least > 0 && e < entries.size(); ++e) {
        const std::ptrdiff_t n = conflicts(entries[e].ant);
        if (n < least) best = e, least = n;
      }
      std::swap(entries[step], entries[best]);
      taken.push_back(entries[step].ant);
    }
}

}  // namespace

FusedLists make_fused_lists(const GridLists& lists, const FusedShape& shape, int which) {
  // Two cells of a column share their antennas: [pair of cells] entries, each antenna once.
  const auto n_row = static_cast<std::size_t>(shape.n_row), length = static_cast<std::size_t>(shape.length_x);
  const double n_x = static_cast<double>(length) * shape.n_class;
  std::vector<PairEntries> pairs(length * n_row / 2);
  for (std::size_t row = 0; row < lists.rows.size(); ++row)
    for (std::size_t i = lists.row_begin[row]; i < lists.row_begin[row + 1]; ++i) {
      const GridCell& cell = lists.cells[i];
      const auto turn = turned(static_cast<double>(cell.column) * which / n_x);
      auto& pair = pairs[(cell.column % length * n_row + lists.rows[row]) / 2];
      for (std::size_t e = cell.begin; e < lists.cells[i + 1].begin; ++e) {
        const GridEntry& from = lists.entries[e];
        auto entry =
            std::find_if(pair.begin(), pair.end(), [&](const PairEntry& one) { return one.ant == from.ant; });
        if (entry == pair.end()) entry = pair.insert(entry, {from.ant, {}});
        entry->weight[lists.rows[row] % 2] += turn * std::complex<double>(from.re, from.im);
      }
    }
  // The lanes of a warp take pairs of about as many antennas.
  std::vector<std::uint32_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return pairs[a].size() > pairs[b].size(); });
  FusedLists out;
  out.positions.assign(static_cast<std::size_t>(shape.n_slice) * 32, kNowhere);
  std::uint32_t n_entry = 0;
  for (std::size_t slice = 0; slice < static_cast<std::size_t>(shape.n_slice); ++slice) {
    out.slices.push_back(n_entry);
    const std::size_t first = slice * 32, end = std::min(first + 32, order.size());
    const std::size_t n = first < end ? pairs[order[first]].size() : 0;
    out.weights.resize((n_entry + n) * 32);
    out.antennas.resize((n_entry + n) * 32);
    std::vector<PairEntries*> lanes;
    for (std::size_t i = first; i < end; ++i) lanes.push_back(&pairs[order[i]]);
    spread_over_banks(lanes, n, static_cast<std::uint32_t>(16 / shape.n_layer));
    for (std::size_t i = first; i < end; ++i) {
      out.positions[i] = static_cast<std::uint16_t>(2 * order[i]);
      const auto& pair = pairs[order[i]];
      for (std::size_t e = 0; e < pair.size(); ++e) {
        const auto& w = pair[e].weight;
        const std::size_t at = (n_entry + e) * 32 + i - first;
        out.weights[at] = {static_cast<float>(w[0].real()), static_cast<float>(w[0].imag()),
                           static_cast<float>(w[1].real()), static_cast<float>(w[1].imag())};
        out.antennas[at] = static_cast<std::uint16_t>(pair[e].ant);
      }
    }
    n_entry += static_cast<std::uint32_t>(n);
  }
  out.slices.push_back(n_entry);
  return out;
}

}  // namespace apsyn::epic_fft
