// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "kernels/epic/antenna_positions.h"
#include "kernels/epic/corr/pair_imager.h"
#include "kernels/epic/corr/pair_products.h"
#include "kernels/epic/dft/cpu/tile.h"
#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

constexpr std::size_t kItemPixels = 48;  // of a work item

class DirectPairImager final : public PairImager {
 public:
  DirectPairImager(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels,
                   const ApertureWeights& apertures);
  void image(const PairSums& pairs, const PairWeights& weights, View<double, 3> sums) override;

 private:
  struct Scratch {
    Buffer<float, 2> weights;  // [pixel][ant, padded][re, im]
    Buffer<float, 2> sums;     // [pixel][matrix][lane]
  };
  /// Matrices 2 i and, where there is one, 2 i + 1 go through the antennas together.
  std::size_t n_pass() const { return (plan_.n_plane() + 1) / 2; }
  std::size_t n_matrix(std::size_t pass) const {
    return std::min<std::size_t>(2, plan_.n_plane() - 2 * pass);
  }
  std::size_t n_tile(std::size_t pass) const {
    const std::size_t columns = pair_tile_columns(n_matrix(pass));
    return (plan_.n_ant + columns - 1) / columns;
  }
  void lay_out(const PairSums& pairs, const PairWeights& weights, std::size_t channel, float* tiles) const;
  void image_channel(std::size_t channel, const float* tiles, std::size_t first_pixel, Scratch& scratch,
                     View<double, 3> sums) const;

  const EpicPlan& plan_;
  const SkyPixels& pixels_;
  const ApertureWeights& apertures_;
  AntennaPositions positions_;
  std::vector<std::size_t> values_;
  std::vector<std::size_t> pass_begin_;  // floats of a channel before each pass, and all of them
  Buffer<float, 2> tiles_;               // [channel][pass][tile][ant][row][re 16 | im 16]
  std::vector<Scratch> scratch_;         // [thread]
};

DirectPairImager::DirectPairImager(const EpicPlan& plan, const EpicGeometry& geometry,
                                   const SkyPixels& pixels, const ApertureWeights& apertures)
    : plan_(plan),
      pixels_(pixels),
      apertures_(apertures),
      positions_(geometry, 2 * kDftLanes),
      values_(plane_values(plan)),
      pass_begin_{0},
      scratch_(plan.n_threads) {
  for (std::size_t pass = 0; pass < n_pass(); ++pass)
    pass_begin_.push_back(pass_begin_.back() + pair_tile_begin(n_tile(pass), n_matrix(pass)));
  for (Scratch& scratch : scratch_) {
    scratch.weights.resize({kItemPixels, 2 * positions_.padded()});
    scratch.sums.resize({kItemPixels, 2 * kDftLanes});
  }
}

/// Columns b of 16 (or 32) antennas side by side, rows a below each other.
void DirectPairImager::lay_out(const PairSums& pairs, const PairWeights& weights, std::size_t channel,
                               float* tiles) const {
  const PairProducts products(plan_, pairs, channel, weights.of(channel));
  std::fill_n(tiles, pass_begin_.back(), 0.0f);
  for (std::size_t b = 0; b < plan_.n_ant; ++b)
    for (std::size_t a = 0; a < b; ++a) {
      std::complex<float> matrix[kDftValues];
      products.of(a, b, matrix);
      for (std::size_t i = 0; i < plan_.n_plane(); ++i) {
        const std::size_t pass = i / 2, columns = pair_tile_columns(n_matrix(pass));
        const std::size_t row = n_matrix(pass) == 2 ? i % 2 : b % columns / kDftLanes;
        float* to = tiles + pass_begin_[pass] + pair_tile_begin(b / columns, n_matrix(pass)) +
                    a * kDftAntNumbers + 2 * row * kDftLanes + b % kDftLanes;
        to[0] = matrix[i].real();
        to[kDftLanes] = matrix[i].imag();
      }
    }
}

void DirectPairImager::image_channel(std::size_t channel, const float* tiles, std::size_t first_pixel,
                                     Scratch& scratch, View<double, 3> sums) const {
  DftWeights<float> weights = positions_.weights();
  weights.hz = plan_.channel_hz[channel];
  weights.unit = &pixels_.unit(first_pixel, 0);
  weights.n_pixel = std::min(kItemPixels, pixels_.size() - first_pixel);
  weights.weights = scratch.weights.data();
  weights.weight_stride = scratch.weights.extent(1);
  turn_weights(weights);
  apertures_.weigh(channel, first_pixel, weights.n_pixel, weights.weights, weights.weight_stride);
  for (std::size_t pass = 0; pass < n_pass(); ++pass) {
    PairProduct product;
    product.pairs = tiles + pass_begin_[pass];
    product.n_tile = n_tile(pass);
    product.n_ant = plan_.n_ant;
    product.n_matrix = n_matrix(pass);
    product.weights = weights.weights;
    product.weight_stride = weights.weight_stride;
    product.n_pixel = weights.n_pixel;
    product.sums = scratch.sums.data();
    scratch.sums.fill(0);
    image_pairs(product);
    const float* from = product.sums;
    for (std::size_t pixel = 0; pixel < weights.n_pixel; ++pixel)
      for (std::size_t matrix = 0; matrix < product.n_matrix; ++matrix, from += kDftLanes) {
        double sum = 0;
        for (std::size_t lane = 0; lane < kDftLanes; ++lane) sum += static_cast<double>(from[lane]);
        sums(channel / plan_.n_average, first_pixel + pixel, values_[2 * pass + matrix]) += sum;
      }
  }
}

void DirectPairImager::image(const PairSums& pairs, const PairWeights& weights, View<double, 3> sums) {
  const std::size_t n_average = plan_.n_average, n_channel = plan_.n_channel();
  const std::size_t n_piece = (pixels_.size() + kItemPixels - 1) / kItemPixels;
  const std::size_t fitting = kPairBatchBytes / (pass_begin_.back() * sizeof(float) * n_average);
  const std::size_t batch = n_average * std::clamp<std::size_t>(fitting, 1, n_channel / n_average);
  tiles_.resize_for_overwrite({batch, pass_begin_.back()});
  for (std::size_t first = 0; first < n_channel; first += batch) {
    const std::size_t n = std::min(batch, n_channel - first);
    parallel_for(plan_.n_threads, n,
                 [&](std::size_t i, unsigned) { lay_out(pairs, weights, first + i, &tiles_(i, 0)); });
    parallel_for(plan_.n_threads, n / n_average * n_piece, [&](std::size_t item, unsigned thread) {
      for (std::size_t i = 0; i < n_average; ++i) {
        const std::size_t at = item / n_piece * n_average + i;
        image_channel(first + at, &tiles_(at, 0), item % n_piece * kItemPixels, scratch_[thread], sums);
      }
    });
  }
}

}  // namespace

std::vector<std::size_t> plane_values(const EpicPlan& plan) {
  std::vector<std::size_t> values;
  if (plan.first) values.push_back(0);
  if (plan.second) values.push_back(1);
  if (plan.cross) values.insert(values.end(), {2, 3});
  return values;
}

std::unique_ptr<PairImager> make_direct_pair_imager(const EpicPlan& plan, const EpicGeometry& geometry,
                                                    const SkyPixels& pixels,
                                                    const ApertureWeights& apertures) {
  return std::make_unique<DirectPairImager>(plan, geometry, pixels, apertures);
}

}  // namespace apsyn
