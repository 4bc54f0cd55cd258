// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/sums.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "kernels/calibrate/accumulate/sum_components.h"
#include "libcore/system/parallel.h"

namespace apsyn {

std::size_t SumLayout::n_lanes() const {
  return kind == SumKind::diagonal ? n_blocks * n_polarisations() : n_blocks;
}

std::size_t SumLayout::n_monitored() const {
  if (kind != SumKind::diagonal || n_products != 4 || !monitor_cross_hands) return 0;
  return std::min(kMonitoredBlocks, n_blocks);
}

std::size_t SumLayout::n_components() const {
  const std::size_t n = n_product_components(n_model_elements(kind));
  return kind == SumKind::diagonal ? n : 4 * n;
}

std::uint64_t SumLayout::bytes() const {
  return std::uint64_t{n_groups() + (n_monitored() > 0)} * n_baselines() * n_components() * kLanes *
         sizeof(float);
}

void SumLayout::check() const {
  if (n_antennas == 0) throw std::invalid_argument("SumLayout: no antennas");
  if (n_products != 1 && n_products != 2 && n_products != 4)
    throw std::invalid_argument("SumLayout: visibilities have 1, 2 or 4 products, not " +
                                std::to_string(n_products));
  if (kind != SumKind::diagonal && n_products != 4)
    throw std::invalid_argument("SumLayout: 2x2 gains need visibilities of 4 products, these have " +
                                std::to_string(n_products));
  if (block.empty() || n_blocks == 0) throw std::invalid_argument("SumLayout: no channels");
  for (const std::uint32_t b : block)
    if (b != kNoBlock && b >= n_blocks)
      throw std::invalid_argument("SumLayout: a channel belongs to block " + std::to_string(b) + " of " +
                                  std::to_string(n_blocks));
}

CalibrationSums::CalibrationSums(const SumLayout& layout, unsigned n_threads) {
  reset(layout, n_threads);
}

void CalibrationSums::reset(const SumLayout& layout, unsigned n_threads) {
  layout.check();
  layout_ = layout;
  resize_by_threads(
      n_threads,
      {layout.n_groups() + (layout.n_monitored() > 0), layout.n_baselines(), layout.n_components(), kLanes},
      recent_);
  promoted_ = Buffer<double, 4>();
  recent_rows_ = 0;
}

std::uint64_t CalibrationSums::bytes() const {
  return recent_.capacity() * sizeof(float) + promoted_.capacity() * sizeof(double);
}

void CalibrationSums::promote() {
  if (promoted_.size() == 0) promoted_.resize(recent_.shape());
  for (std::size_t i = 0; i < recent_.size(); ++i) promoted_.data()[i] += recent_.data()[i];
  recent_.fill(0);
  recent_rows_ = 0;
}

void CalibrationSums::reserve_rows(std::uint32_t n_rows) {
  if (recent_rows_ > 0 && n_rows > kPromoteRows - std::min(recent_rows_, kPromoteRows)) promote();
  recent_rows_ += std::min(n_rows, kPromoteRows);
}

double CalibrationSums::n_samples(unsigned n_threads) const {
  const std::size_t n_own = n_product_components(n_model_elements(layout_.kind));
  std::vector<double> of_group(layout_.n_groups());
  parallel_for(n_threads, of_group.size(), [&](std::size_t group, unsigned) {
    double total = 0;
    for (std::size_t b = 0; b < layout_.n_baselines(); ++b)
      for (std::size_t c = n_own - 1; c < layout_.n_components(); c += n_own)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          total += recent_(group, b, c, lane);
          if (promoted_.size() > 0) total += promoted_(group, b, c, lane);
        }
    of_group[group] = total;
  });
  return std::accumulate(of_group.begin(), of_group.end(), 0.0);
}

std::unique_ptr<CalibrationSums> SpareSums::take(const SumLayout& layout, unsigned n_threads) {
  std::unique_ptr<CalibrationSums> sums;
  {
    std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      sums = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (!sums) return std::make_unique<CalibrationSums>(layout, n_threads);
  sums->reset(layout, n_threads);
  return sums;
}

void SpareSums::keep(std::unique_ptr<CalibrationSums> sums) {
  if (!sums) return;
  std::lock_guard lock(mutex_);
  spare_.push_back(std::move(sums));
}

SumKind jones_kind(const CalibrationSamples& samples, double tolerance) {
  const std::size_t n = samples.model.extent(2);
  if (n == 1) return SumKind::jones_unpolarised;
  double parallel = 0, difference = 0, cross = 0;
  const std::size_t n_weights = samples.weight.extent(2);
  for (std::size_t row = 0; row < samples.model.extent(0); ++row) {
    if (samples.station(row, 0) == samples.station(row, 1)) continue;
    for (std::size_t chan = 0; chan < samples.model.extent(1); ++chan) {
      const std::complex<float>* m = &samples.model(row, chan, 0);
      const float* w = &samples.weight(row, chan, 0);
      bool used = false;
      for (std::size_t k = 0; k < n_weights; ++k) used |= w[k] > 0;
      if (!used) continue;
      const std::complex<double> first = m[0], last = m[n - 1];
      const double sum = std::norm(first) + std::norm(last),
                   other = n == 4 ? std::norm(m[1]) + std::norm(m[2]) : 0.0;
      if (!std::isfinite(sum + other)) continue;
      parallel += sum;
      difference += std::norm(first - last);
      cross += other;
    }
  }
  const double limit = tolerance * tolerance * parallel;
  if (cross > limit) return SumKind::jones_general;
  return difference > limit ? SumKind::jones_diagonal : SumKind::jones_unpolarised;
}

std::size_t best_connected(std::span<const CalibrationSums* const> cells, unsigned n_threads) {
  if (cells.empty()) return 0;
  const SumLayout& layout = cells[0]->layout();
  const std::size_t n = layout.n_antennas, n_own = n_product_components(n_model_elements(layout.kind));
  const std::size_t n_elements = n_model_elements(layout.kind), n_groups = layout.n_groups();
  Buffer<double, 2> of_group({n_groups, n});
  parallel_for(n_threads, n_groups, [&](std::size_t group, unsigned) {
    double* const strength = &of_group(group, 0);
    for (const CalibrationSums* sums : cells)
      for (std::size_t p = 0, b = 0; p < n; ++p)
        for (std::size_t q = p + 1; q < n; ++q, ++b)
          for (std::size_t c = 0; c < layout.n_components(); c += n_own)
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
              const auto at = [&](std::size_t k) {
                return sums->recent()(group, b, c + k, lane) +
                       (sums->promoted().size() > 0 ? sums->promoted()(group, b, c + k, lane) : 0.0);
              };
              const double s = at(2 * n_elements), r = at(n_own - 2);
              if (!(s > 0 && r > 0)) continue;
              const double coherence = (at(0) * at(0) + at(1) * at(1)) / (s * r);
              strength[p] += coherence;
              strength[q] += coherence;
            }
  });
  std::vector<double> strength(n);
  for (std::size_t group = 0; group < n_groups; ++group)
    for (std::size_t p = 0; p < n; ++p) strength[p] += of_group(group, p);
  return static_cast<std::size_t>(std::max_element(strength.begin(), strength.end()) - strength.begin());
}

}  // namespace apsyn
