// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "kernels/epic/dft/cpu/engine.h"
#include "kernels/epic/factors.h"

namespace apsyn {

namespace {

template <class T>
class FloatDftEngine final : public DftEngine {
 public:
  FloatDftEngine(const EpicPlan& plan, const ApertureWeights& apertures)
      : plan_(plan), apertures_(apertures), scratch_(plan.n_threads) {}
  std::size_t tile_bytes() const override { return plan_.n_ant * kDftAntNumbers * sizeof(T); }
  void reserve(std::size_t n_slot, std::size_t n_tile) override {
    turned_.resize_for_overwrite({n_slot, n_tile, plan_.n_ant * kDftAntNumbers});
  }
  void turn(const SpectraBlock& block, std::size_t row, std::size_t slot) override;
  void image(const DftItem& item, const SkyPixels& pixels, const AntennaPositions& positions) override;

 private:
  struct Scratch {
    Buffer<T, 2> weights;  // [pixel][ant, padded][re, im]
    Buffer<T, 3> sums;     // [pixel][value][lane]
  };
  const EpicPlan& plan_;
  const ApertureWeights& apertures_;
  Buffer<T, 3> turned_;           // [slot][tile][ant][row][re 16 | im 16]
  std::vector<Scratch> scratch_;  // [thread]
};

template <class T>
void FloatDftEngine<T>::turn(const SpectraBlock& block, std::size_t row, std::size_t slot) {
  const std::size_t channel = block.first_chan * plan_.n_fine + row, n_pol = plan_.n_pol;
  const std::size_t per_tile = dft_tile_spectra(plan_);
  for (std::size_t ant = 0; ant < plan_.n_ant; ++ant)
    for (std::size_t pol = 0; pol < n_pol; ++pol) {
      const std::complex<T> g(epic_factor(plan_, ant, pol, channel));
      const std::size_t input = ant * n_pol + pol;
      const float* from = &block.planes(row, input / kPanelInputs, 0, input % kPanelInputs);
      for (std::size_t t = 0; t < turned_.extent(1) * per_tile; ++t) {
        const bool inside = t < block.n_spectra;
        const T re = inside ? from[t * 2 * kPanelInputs] : 0;
        const T im = inside ? from[t * 2 * kPanelInputs + kPanelInputs] : 0;
        // two rows of 16 spectra where there is one polarisation
        const std::size_t half = pol + t % per_tile / kDftLanes;
        T* to = &turned_(slot, t / per_tile, ant * kDftAntNumbers + 2 * half * kDftLanes + t % kDftLanes);
        to[0] = g.real() * re - g.imag() * im;
        to[kDftLanes] = g.real() * im + g.imag() * re;
      }
    }
}

template <class T>
void FloatDftEngine<T>::image(const DftItem& item, const SkyPixels& pixels,
                              const AntennaPositions& positions) {
  Scratch& scratch = scratch_[item.thread];
  scratch.weights.resize_for_overwrite({item.n_pixel, 2 * positions.padded()});
  scratch.sums.resize({item.n_pixel, kDftValues, kDftLanes});
  DftWeights<T> weights = positions.weights<T>();
  weights.hz = plan_.channel_hz[item.channel];
  weights.unit = &pixels.unit(item.first_pixel, 0);
  weights.n_pixel = item.n_pixel;
  weights.weights = scratch.weights.data();
  weights.weight_stride = scratch.weights.extent(1);
  turn_weights(weights);
  apertures_.weigh(item.channel, item.first_pixel, item.n_pixel, weights.weights, weights.weight_stride);
  DftProduct<T> product;
  product.n_ant = plan_.n_ant;
  product.n_pol = plan_.n_pol;
  product.weights = weights.weights;
  product.weight_stride = weights.weight_stride;
  product.n_pixel = item.n_pixel;
  product.sums = scratch.sums.data();
  for_tiles_in_cache(turned_.view()[item.slot], tile_bytes(), product, image_tiles<T>);
  for (std::size_t i = 0; i < item.n_pixel * kDftValues; ++i)
    for (std::size_t lane = 0; lane < kDftLanes; ++lane)
      item.sums[i] += static_cast<double>(product.sums[i * kDftLanes + lane]);
}

}  // namespace

std::unique_ptr<DftEngine> make_dft_float_engine(const EpicPlan& plan, const ApertureWeights& apertures) {
  if (plan.float64) return std::make_unique<FloatDftEngine<double>>(plan, apertures);
  return std::make_unique<FloatDftEngine<float>>(plan, apertures);
}

}  // namespace apsyn
