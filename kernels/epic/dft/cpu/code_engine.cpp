// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "kernels/common/spectra/multiply_codes.h"
#include "kernels/epic/dft/cpu/codes.h"
#include "kernels/epic/dft/cpu/engine.h"
#include "kernels/epic/factors.h"

namespace apsyn {

namespace {

double largest_factor(const EpicPlan& plan, std::size_t channel) {
  double largest = 0;
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
    for (std::size_t pol = 0; pol < plan.n_pol; ++pol)
      largest = std::max(largest, std::abs(epic_factor(plan, ant, pol, channel)));
  return largest;
}

class CodeDftEngine final : public DftEngine {
 public:
  explicit CodeDftEngine(const EpicPlan& plan) : plan_(plan), scratch_(plan.n_threads) {}
  std::size_t tile_bytes() const override { return plan_.n_ant * kCodeAntWords * sizeof(std::int32_t); }
  void reserve(std::size_t n_slot, std::size_t n_tile) override {
    turned_.resize_for_overwrite({n_slot, n_tile, plan_.n_ant * kCodeAntWords});
    powers_.resize_for_overwrite({n_slot, kDftValues, plan_.n_ant});
    factors_.resize_for_overwrite({n_slot, plan_.n_pol, 2 * padded_ant()});
    scales_.resize(n_slot);
  }
  void turn(const SpectraBlock& block, std::size_t row, std::size_t slot) override;
  void image(const DftItem& item, const SkyPixels& pixels, const AntennaPositions& positions) override;

 private:
  struct Scratch {
    Buffer<float, 2> weights;        // [pixel][ant, padded][re, im]
    Buffer<std::uint64_t, 3> words;  // [pol][pixel][ant, padded]
    Buffer<float, 3> sums;           // [pixel][value][lane]
  };
  std::size_t padded_ant() const { return (plan_.n_ant + kDftLanes - 1) / kDftLanes * kDftLanes; }
  void sum_powers(const SpectraBlock& block, std::size_t row, std::size_t slot);

  const EpicPlan& plan_;
  Buffer<std::int32_t, 3> turned_;  // [slot][tile][ant][row][lane], re and im in 16 bits each
  Buffer<double, 3> powers_;        // [slot][value][ant] of the samples
  Buffer<float, 3> factors_;        // [slot][pol][ant, padded][re, im]: g over scale
  std::vector<double> scales_;      // [slot]
  std::vector<Scratch> scratch_;    // [thread]
};

void CodeDftEngine::turn(const SpectraBlock& block, std::size_t row, std::size_t slot) {
  const std::size_t channel = block.first_chan * plan_.n_fine + row, n_pol = plan_.n_pol;
  const std::size_t per_tile = dft_tile_spectra(plan_);
  const double largest = largest_factor(plan_, channel);
  scales_[slot] = largest > 0 ? largest / static_cast<double>(kCodeWeight) : 1;
  std::fill_n(&factors_(slot, 0, 0), n_pol * 2 * padded_ant(), 0.0f);
  for (std::size_t ant = 0; ant < plan_.n_ant; ++ant)
    for (std::size_t pol = 0; pol < n_pol; ++pol) {
      const std::complex<double> g = epic_factor(plan_, ant, pol, channel) / scales_[slot];
      factors_(slot, pol, 2 * ant) = static_cast<float>(g.real());
      factors_(slot, pol, 2 * ant + 1) = static_cast<float>(g.imag());
      const std::size_t input = ant * n_pol + pol;
      const std::int8_t* from = &block.codes(row, input / kPanelInputs, 0, 4 * (input % kPanelInputs));
      for (std::size_t t = 0; t < turned_.extent(1) * per_tile; ++t) {
        const std::int8_t* at = from + t / 2 * kCodeBytes + t % 2 * 2;
        const bool inside = t < block.n_spectra;
        const auto re = static_cast<std::uint16_t>(inside ? at[0] : 0);
        const auto im = static_cast<std::uint32_t>(static_cast<std::uint16_t>(inside ? at[1] : 0));
        const std::size_t half = pol + t % per_tile / kDftLanes;
        turned_(slot, t / per_tile, ant * kCodeAntWords + half * kDftLanes + t % kDftLanes) =
            static_cast<std::int32_t>(re | im << 16);
      }
    }
  sum_powers(block, row, slot);
}

void CodeDftEngine::sum_powers(const SpectraBlock& block, std::size_t row, std::size_t slot) {
  const std::size_t n_pol = plan_.n_pol;
  for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) {
    std::int64_t sums[kDftValues] = {};
    const std::size_t input = ant * n_pol;
    const std::int8_t* x = &block.codes(row, input / kPanelInputs, 0, 4 * (input % kPanelInputs));
    for (std::size_t t = 0; t < block.n_spectra; ++t) {
      const std::int8_t* a = x + t / 2 * kCodeBytes + t % 2 * 2;
      sums[0] += a[0] * a[0] + a[1] * a[1];
      if (n_pol == 1) continue;
      const std::int8_t* b = a + 4;
      sums[1] += b[0] * b[0] + b[1] * b[1];
      sums[2] += a[0] * b[0] + a[1] * b[1];
      sums[3] += a[1] * b[0] - a[0] * b[1];
    }
    for (std::size_t value = 0; value < kDftValues; ++value)
      powers_(slot, value, ant) = static_cast<double>(sums[value]);
  }
}

void CodeDftEngine::image(const DftItem& item, const SkyPixels& pixels, const AntennaPositions& positions) {
  Scratch& scratch = scratch_[item.thread];
  const std::size_t padded = positions.padded(), n_pol = plan_.n_pol;
  scratch.weights.resize_for_overwrite({item.n_pixel, 2 * padded});
  scratch.words.resize_for_overwrite({n_pol, item.n_pixel, padded});
  scratch.sums.resize({item.n_pixel, kDftValues, kDftLanes});
  DftWeights<float> weights = positions.weights();
  weights.hz = plan_.channel_hz[item.channel];
  weights.unit = &pixels.unit(item.first_pixel, 0);
  weights.n_pixel = item.n_pixel;
  weights.weights = scratch.weights.data();
  weights.weight_stride = 2 * padded;
  turn_weights(weights);
  for (std::size_t pol = 0; pol < n_pol; ++pol)
    for (std::size_t pixel = 0; pixel < item.n_pixel; ++pixel)
      weigh_codes(&scratch.weights(pixel, 0), &factors_(item.slot, pol, 0), padded,
                  &scratch.words(pol, pixel, 0));
  DftCodeProduct product;
  product.n_ant = plan_.n_ant;
  product.n_pol = n_pol;
  for (std::size_t half = 0; half < 2; ++half)
    product.words[half] = &scratch.words(n_pol == 2 ? half : 0, 0, 0);
  product.word_stride = padded;
  product.n_pixel = item.n_pixel;
  product.sums = scratch.sums.data();
  for_tiles_in_cache(turned_.view()[item.slot], tile_bytes(), product, image_code_tiles);
  const double scale = scales_[item.slot] * scales_[item.slot];
  for (std::size_t pixel = 0; pixel < item.n_pixel; ++pixel) {
    double autos[kDftValues] = {};
    const std::uint64_t* words[2] = {product.words[0] + pixel * padded, product.words[1] + pixel * padded};
    if (!plan_.autos) code_autos(words, &powers_(item.slot, 0, 0), plan_.n_ant, plan_.n_ant, n_pol, autos);
    for (std::size_t value = 0; value < kDftValues; ++value) {
      double sum = -autos[value];
      for (std::size_t lane = 0; lane < kDftLanes; ++lane)
        sum += static_cast<double>(scratch.sums(pixel, value, lane));
      item.sums[pixel * kDftValues + value] += scale * sum;
    }
  }
}

}  // namespace

std::unique_ptr<DftEngine> make_dft_code_engine(const EpicPlan& plan) {
  return std::make_unique<CodeDftEngine>(plan);
}

bool dft_takes_codes(const EpicPlan& plan) {
  if (!multiplies_codes() || !plan.apertures.empty() || plan.float64) return false;
  for (std::size_t channel = 0; channel < plan.n_channel(); ++channel) {
    const double largest = largest_factor(plan, channel);
    double square = 0;
    for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
      for (std::size_t pol = 0; pol < plan.n_pol; ++pol)
        square += std::norm(epic_factor(plan, ant, pol, channel));
    // roundings move a pixel by 2.5e-5 of the peak and of largest / RMS, over the square root of antennas;
    // the worst of many pixels by four times that
    if (square < 64 * largest * largest * static_cast<double>(plan.n_pol)) return false;
  }
  return true;
}

}  // namespace apsyn
