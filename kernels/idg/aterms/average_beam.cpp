// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/aterms/average_beam.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/idg/aterms/beam_response.h"
#include "kernels/idg/partition/partition.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Adds to sums of PairSlots, of which neighbouring rows mostly have the same.
template <class PairSlots>
class PairSums {
 public:
  void add(const AtermBlock& aterms, View<const std::uint32_t, 2> station, std::size_t row,
           std::uint32_t chan_slot, double sum) {
    if (sum == 0) return;
    const std::uint32_t row_slot = aterms.row_slot[row];
    const auto response = [&](std::size_t end) {
      const std::uint32_t own = station(row, end);
      return aterms.response.size() == 0 ? own : aterms.response(row_slot, chan_slot, own);
    };
    const auto [low, high] = std::minmax({response(0), response(1)});
    const PairSlots key{row_slot, chan_slot, low, high};
    if (last_ == nullptr || last_->first != key) last_ = &*sums_.try_emplace(key, 0.0).first;
    last_->second += sum;
  }
  const std::map<PairSlots, double>& sums() const { return sums_; }

 private:
  std::map<PairSlots, double> sums_;
  typename std::map<PairSlots, double>::value_type* last_ = nullptr;
};

template <class Sums>
void add_row(const GridBlock& block, std::size_t row, Sums& sums) {
  const AtermBlock& aterms = block.aterms;
  const std::size_t n_chan = block.wavenumber.size();
  for (std::size_t chan = 0; chan < n_chan;) {
    const std::uint32_t chan_slot = aterms.chan_slot[chan];
    double sum = 0;
    for (; chan < n_chan && aterms.chan_slot[chan] == chan_slot; ++chan) sum += block.weight(row, chan, 0);
    sums.add(aterms, block.station, row, chan_slot, sum);
  }
}

template <class Sums>
void add_row(const SlotWeights& rows, std::size_t row, Sums& sums) {
  for (std::size_t slot = 0; slot < rows.sum.extent(1); ++slot)
    sums.add(rows.aterms, rows.station, row, static_cast<std::uint32_t>(slot), rows.sum(row, slot));
}

/// weight[pixel][coarse]: the real part of the Fourier series through coarse samples, and the tapers. Samples
/// lie at ((L - 1) / 2 - i) coarse steps, pixels at place(pixel) image pixels.
template <class Place>
Buffer<double, 2> interpolation(std::size_t n_pixels, std::size_t n_padded, std::size_t side,
                                const Taper& taper, Place place) {
  Buffer<double, 2> weight({n_pixels, side});
  const auto length = static_cast<double>(n_padded), size = static_cast<double>(side);
  std::vector<double> sample_of(side), taper_of(side);
  for (std::size_t i = 0; i < side; ++i) {
    sample_of[i] = ((size - 1) / 2 - static_cast<double>(i)) * length / size;
    taper_of[i] = taper(2 * sample_of[i] / length);
  }
  for (std::size_t pixel = 0; pixel < n_pixels; ++pixel) {
    const double at = place(pixel), taper_at = taper(2 * at / length);
    for (std::size_t i = 0; i < side; ++i) {
      const double sample = sample_of[i];
      const double turn = 2 * std::numbers::pi * (at - sample) / length;
      // 1 + 2 sum_k=1^(L/2 - 1) cos(k turn) + cos(L/2 turn)
      const double down = std::tan(turn / 2);
      const double sum = std::abs(down) < 1e-12 ? size : std::sin(turn * size / 2) / down;
      weight(pixel, i) = sum / size * taper_of[i] / taper_at;
    }
  }
  return weight;
}

}  // namespace

AverageBeam::AverageBeam(const IdgPlan& plan, const IdgSetup& setup) : plan_(plan), setup_(setup) {
  if (setup.aterms == AtermMode::none) throw std::invalid_argument("average beam: no A-terms");
}

double AverageBeam::weight_sum() const {
  double sum = 0;
  for (const Sum& input : inputs_) sum += input.weight;
  return sum;
}

/// Sums of the weights, in the order of the slots and responses.
template <class Rows>
AverageBeam::WeightSums AverageBeam::sum_weights(const Rows& rows, std::size_t n_rows, unsigned n_threads) {
  constexpr std::size_t at_once = 1 << 15;
  std::vector<PairSums<PairSlots>> parts((n_rows + at_once - 1) / at_once);
  parallel_for(n_threads, parts.size(), [&](std::size_t part, unsigned) {
    for (std::size_t row = part * at_once; row < std::min(n_rows, (part + 1) * at_once); ++row)
      add_row(rows, row, parts[part]);
  });
  std::map<PairSlots, double> sums;
  for (const auto& part : parts)
    for (const auto& [key, sum] : part.sums()) sums[key] += sum;
  return {sums.begin(), sums.end()};
}

void AverageBeam::add(const GridBlock& block, std::size_t input) {
  check_block(block, setup_);
  add(sum_weights(block, block.uvw_m.extent(0), setup_.n_threads), block.aterms, input);
}

void AverageBeam::add(const SlotWeights& rows, std::size_t input) {
  const std::size_t n_rows = rows.sum.extent(0);
  if (rows.station.extent(0) != n_rows || rows.aterms.row_slot.size() != n_rows ||
      rows.aterms.jones.extent(1) != rows.sum.extent(1))
    throw std::invalid_argument("average beam: the weights are of other rows or slots than the A-terms");
  add(sum_weights(rows, n_rows, setup_.n_threads), rows.aterms, input);
}

void AverageBeam::add(const WeightSums& weights, const AtermBlock& aterms, std::size_t input) {
  inputs_.resize(std::max(inputs_.size(), input + 1));
  Sum& sum = inputs_[input];
  if (sum.beam.size() == 0) sum.beam.resize({plan_.settings.subgrid, plan_.settings.subgrid});
  for (const auto& [slots, weight] : weights) sum.weight += weight;
  const std::size_t side = plan_.settings.subgrid;
  const BeamResponse response =
      setup_.aterms == AtermMode::normalised ? BeamResponse::normalised : BeamResponse::adjoint;
  const auto& jones = aterms.jones;
  parallel_for(setup_.n_threads, side, [&](std::size_t y, unsigned) {
    StationBeams beams(response, side);
    std::vector<const PairSlots*> set_for(jones.extent(2), nullptr);
    for (const auto& [slots, weight] : weights) {
      for (const std::uint32_t own : {slots[2], slots[3]}) {
        const PairSlots* before = std::exchange(set_for[own], &slots);
        if (before == nullptr || slots[0] != (*before)[0] || slots[1] != (*before)[1])
          beams.set(own, &jones(slots[0], slots[1], own, y, 0, 0));
      }
      beams.add(slots[2], slots[3], weight, &sum.beam(y, 0));
    }
  });
}

double AverageBeam::at_centre(std::size_t input) const {
  const std::size_t side = plan_.settings.subgrid;
  auto centre = [](std::size_t) { return 0.0; };
  const auto along_x = interpolation(1, plan_.n_u, side, plan_.taper, centre),
             along_y = interpolation(1, plan_.n_v, side, plan_.taper, centre);
  double sum = 0;
  for (std::size_t j = 0; j < side; ++j)
    for (std::size_t i = 0; i < side; ++i) sum += along_y(0, j) * along_x(0, i) * inputs_[input].beam(j, i);
  return sum / inputs_[input].weight;
}

Buffer<double, 2> AverageBeam::finish() const {
  const std::size_t n_x = plan_.image.n_x, n_y = plan_.image.n_y, side = plan_.settings.subgrid;
  const Taper& taper = plan_.taper;
  auto east = [&](std::size_t x) { return static_cast<double>(n_x / 2) - static_cast<double>(x); };
  auto south = [&](std::size_t y) { return static_cast<double>(n_y / 2) - static_cast<double>(y); };
  const auto along_x = interpolation(n_x, plan_.n_u, side, taper, east);
  // Rows of samples go north, against interpolation()'s order, and so do the image's.
  const auto along_y = interpolation(n_y, plan_.n_v, side, taper, south);
  Buffer<double, 2> rows({side, n_x}), image, sum({side, side});
  image.resize_for_overwrite({n_y, n_x});
  for (const Sum& input : inputs_)
    for (std::size_t i = 0; i < input.beam.size(); ++i) sum.data()[i] += input.beam.data()[i];
  parallel_for(setup_.n_threads, side, [&](std::size_t j, unsigned) {
    for (std::size_t x = 0; x < n_x; ++x)
      for (std::size_t i = 0; i < side; ++i) rows(j, x) += along_x(x, i) * sum(j, i);
  });
  const double scale = weight_sum() > 0 ? 1 / weight_sum() : 0, cell = plan_.image.cell_rad;
  parallel_for(setup_.n_threads, n_y, [&](std::size_t y, unsigned) {
    std::fill_n(&image(y, 0), n_x, 0.0);
    for (std::size_t j = 0; j < side; ++j) {
      const double factor = along_y(y, j) * scale;
      for (std::size_t x = 0; x < n_x; ++x) image(y, x) += factor * rows(j, x);
    }
    const double m = south(y) * cell;
    for (std::size_t x = 0; x < n_x; ++x) {
      const double l = east(x) * cell;
      if (l * l + m * m >= 1) image(y, x) = std::numeric_limits<double>::quiet_NaN();
    }
  });
  return image;
}

}  // namespace apsyn
