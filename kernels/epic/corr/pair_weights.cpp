// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/pair_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/epic/corr/pair_depth.h"
#include "libcore/system/parallel.h"

namespace apsyn {

PairWeights::PairWeights(const EpicPlan& plan) : plan_(plan) {
  if (!any()) return;
  whole_.assign(plan.n_chan, 0);
  counts_.resize({plan.n_chan, n_pair()});
  factors_.resize({plan.n_channel(), n_pair()});
  for (std::size_t a = 0; a < plan.n_ant; ++a)
    for (std::size_t b = a + 1; b < plan.n_ant; ++b) used_.push_back(plan.used(a) && plan.used(b) ? 1 : 0);
}

void PairWeights::start() {
  if (!any()) return;
  std::fill(whole_.begin(), whole_.end(), 0);
  counts_.fill(0);
}

void PairWeights::add(const SpectraBlock& block) {
  if (!any()) return;
  if (block.all_valid) {
    for (std::size_t chan = 0; chan < block.n_chan; ++chan)
      whole_[block.first_chan + chan] += static_cast<std::int64_t>(block.n_spectra);
    return;
  }
  const std::size_t n_row = block.valid.extent(0) == 1 ? 1 : block.n_chan;
  const std::size_t n_word = (block.n_spectra + 63) / 64;
  parallel_for(plan_.n_threads, n_row, [&](std::size_t row, unsigned) {
    std::vector<std::uint64_t> valid(plan_.n_ant * n_word, 0);  // [ant] a bit for each spectrum
    for (std::size_t ant = 0; ant < plan_.n_ant; ++ant)
      for (std::size_t t = 0; t < block.n_spectra; ++t)
        if (block.valid(row, ant, t) != 0) valid[ant * n_word + t / 64] |= std::uint64_t{1} << t % 64;
    std::size_t pair = 0;
    for (std::size_t a = 0; a < plan_.n_ant; ++a)
      for (std::size_t b = a + 1; b < plan_.n_ant; ++b, ++pair) {
        std::int64_t n = 0;
        for (std::size_t word = 0; word < n_word; ++word)
          n += std::popcount(valid[a * n_word + word] & valid[b * n_word + word]);
        const std::size_t end = n_row == 1 ? block.n_chan : row + 1;
        for (std::size_t chan = row; chan < end; ++chan) counts_(block.first_chan + chan, pair) += n;
      }
  });
}

bool PairWeights::keeps(const std::vector<std::array<double, 3>>& uvw_s) const {
  if (weighed_uvw_s_.size() != uvw_s.size()) return false;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    double low = INFINITY, high = -INFINITY;
    for (std::size_t ant = 0; ant < uvw_s.size(); ++ant) {
      const double moved = uvw_s[ant][axis] - weighed_uvw_s_[ant][axis];
      low = std::min(low, moved);
      high = std::max(high, moved);
    }
    if (!((high - low) * plan_.highest_hz() <= plan_.weighting->step_lambda)) return false;
  }
  constexpr double kOtherShare = 0.01;
  double all = 0, other = 0;
  for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
    for (std::size_t pair = 0; pair < n_pair(); ++pair) {
      all += count(chan, pair);
      other += std::abs(count(chan, pair) - weighed_counts_(chan, pair));
    }
  return other <= kOtherShare * all;
}

void PairWeights::weigh(const std::vector<std::array<double, 3>>& uvw_s) {
  const std::size_t n_average = plan_.n_average;
  parallel_for(plan_.n_threads, plan_.n_image_channel(), [&](std::size_t image, unsigned) {
    std::vector<PairPoint> points;
    points.reserve(n_average * n_pair());
    for (std::size_t i = 0; i < n_average; ++i) {
      const std::size_t channel = image * n_average + i;
      const double hz = plan_.channel_hz[channel];
      std::size_t pair = 0;
      for (std::size_t a = 0; a < plan_.n_ant; ++a)
        for (std::size_t b = a + 1; b < plan_.n_ant; ++b, ++pair)
          points.push_back({hz * (uvw_s[a][0] - uvw_s[b][0]), hz * (uvw_s[a][1] - uvw_s[b][1]),
                            counts(channel, pair) ? count(channel / plan_.n_fine, pair) : 0});
    }
    std::vector<double> factors(points.size(), 0.0);
    plan_.weighting->weigh(points, factors);
    double most = 0;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (points[i].count > 0) most = std::max(most, factors[i]);
    for (std::size_t i = 0; i < points.size(); ++i)
      factors_(image * n_average + i / n_pair(), i % n_pair()) =
          points[i].count > 0 && most > 0 ? static_cast<float>(factors[i] / most) : 0.0f;
  });
  weighed_uvw_s_ = uvw_s;
  weighed_counts_.resize({plan_.n_chan, n_pair()});
  for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
    for (std::size_t pair = 0; pair < n_pair(); ++pair) weighed_counts_(chan, pair) = count(chan, pair);
}

bool PairWeights::finish(const EpicGeometry& geometry, EpicWeights& weights) {
  if (!any() || n_pair() == 0) return false;
  const auto uvw_s = image_frame_s(geometry);
  const bool anew = !keeps(uvw_s);
  if (anew) weigh(uvw_s);
  for (std::size_t image = 0; image < plan_.n_image_channel(); ++image) {
    double sum = 0;
    for (std::size_t i = 0; i < plan_.n_average; ++i) {
      const std::size_t channel = image * plan_.n_average + i;
      for (std::size_t pair = 0; pair < n_pair(); ++pair)
        if (counts(channel, pair))
          sum += 2 * static_cast<double>(factors_(channel, pair)) * count(channel / plan_.n_fine, pair);
    }
    weights.weigh(image, sum);
  }
  return anew;
}

std::uint64_t PairWeights::bytes(const EpicPlan& plan) {
  if (!plan.weighting) return 0;
  const std::uint64_t n_pair = std::uint64_t{plan.n_ant} * (plan.n_ant - 1) / 2;
  const std::uint64_t points = std::min<std::uint64_t>(plan.n_threads, plan.n_image_channel()) *
                               plan.n_average * n_pair * (sizeof(PairPoint) + sizeof(double));
  return n_pair * (plan.n_chan * 2 * sizeof(double) + plan.n_channel() * sizeof(float) + 1) + points +
         plan.n_threads * plan.weighting->bytes;
}

}  // namespace apsyn
