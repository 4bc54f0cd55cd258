// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/engine.cuh"

#include <algorithm>

#include "kernels/common/cuda/attribute.h"
#include "kernels/epic/corr/cuda/int8.cuh"
#include "kernels/epic/cuda/tile_imager.cuh"
#include "kernels/epic/dft/cuda/int8.cuh"

namespace apsyn::epic_cuda {

namespace {

class FloatPairEngine final : public DevicePairEngine {
 public:
  FloatPairEngine(const EpicPlan& plan, DeviceSky& sky)
      : kind_(plan.n_pol == 2 ? ColumnKind::pairs_4 : ColumnKind::pairs_1),
        n_ant_(static_cast<int>(plan.n_ant)),
        n_channel_(static_cast<int>(plan.n_channel())),
        tiles_(sky) {}
  void image(const PairsOf& pairs, cudaStream_t stream) override {
    const auto fill = [&](int first_channel, int n_channel, float* columns) {
      launch_pair_columns(pairs(first_channel, n_channel), columns, stream);
    };
    tiles_.image(kind_, n_ant_, 0, n_channel_, fill, stream);
  }

 private:
  ColumnKind kind_;
  int n_ant_, n_channel_;
  TileImager tiles_;
};

/// Weights and coefficients are made for as many channels and pixels at a time as memory is set aside for.
class Int8PairForm final : public DevicePairEngine {
 public:
  Int8PairForm(const EpicPlan& plan, DeviceSky& sky, int device_index)
      : n_ant_(static_cast<int>(plan.n_ant)), n_channel_(static_cast<int>(plan.n_channel())), sky_(sky) {
    n_sm_ = device_attribute(cudaDevAttrMultiProcessorCount, device_index);
  }
  void image(const PairsOf& pairs, cudaStream_t stream) override;

 private:
  static constexpr std::size_t kWeightBytes = std::size_t{1} << 31;
  static constexpr int kPixelStep = 4 * beam_products::kGroupBeams;  // that WeightLayout fills up to

  beam_products::WeightLayout weights_of(int n_channel, int n_pixel) const {
    return {.n_row = n_channel, .n_ant = n_ant_, .n_beam = n_pixel};
  }
  void image_part(int channel, int first_pixel, const beam_products::RowLayout& rows,
                  const beam_products::WeightLayout& layout, cudaStream_t stream);

  int n_ant_, n_channel_, n_sm_ = 0;
  DeviceSky& sky_;
  Upload<double> units_, folds_;
  Upload<std::int8_t> rows_, weights_;
  Upload<short2> coefficients_;
  Upload<float> products_;
};

void Int8PairForm::image(const PairsOf& pairs, cudaStream_t stream) {
  const int n_pixel = sky_.n_pixel();
  if (n_pixel == 0) return;
  const auto bytes = [&](int n_channel, int pixels) {
    return 4 * weights_of(n_channel, pixels).bytes() + pair_rows_of(n_channel, n_ant_).bytes();
  };
  const auto steps = static_cast<int>(std::max<std::size_t>(1, kWeightBytes / bytes(1, kPixelStep)));
  const int max_pixels = std::min(n_pixel, steps * kPixelStep);
  const int max_channels = static_cast<int>(
      std::clamp<std::size_t>(kWeightBytes / bytes(1, max_pixels), 1, static_cast<std::size_t>(n_channel_)));
  units_.reserve(n_channel_);
  folds_.reserve(n_channel_);
  for (int first = 0; first < n_channel_; first += max_channels) {
    const int n = std::min(max_channels, n_channel_ - first);
    const PairTask task = pairs(first, n);
    const beam_products::RowLayout all = pair_rows_of(n, n_ant_);
    launch_pair_units(task, units_.data(), folds_.data(), stream);
    launch_pair_rows(task, units_.data(), all, rows_.reserve(all.bytes()), stream);
    for (int pixel = 0; pixel < n_pixel; pixel += max_pixels)
      image_part(first, pixel, all, weights_of(n, std::min(max_pixels, n_pixel - pixel)), stream);
  }
}

void Int8PairForm::image_part(int channel, int first_pixel, const beam_products::RowLayout& rows,
                              const beam_products::WeightLayout& layout, cudaStream_t stream) {
  BeamWeightTask weights;
  weights.sky = sky_.weights(channel, layout.n_row);
  weights.n_pol = 2;
  weights.first_pixel = first_pixel;
  weights.layout = layout;
  launch_beam_weights(weights, weights_.reserve(layout.bytes()), stream);
  const std::size_t n_beam = std::size_t(layout.n_row) * layout.n_beam;
  CoefficientTask coefficients;
  coefficients.sky = weights.sky;
  coefficients.first_pixel = first_pixel;
  coefficients.n_pixel = layout.n_beam;
  coefficients.n_coefficient = rows.n_tiles() * beam_products::kTileColumnAntennas;
  launch_coefficients(coefficients, coefficients_.reserve(n_beam * coefficients.n_coefficient), stream);
  beam_products::Task task;
  task.n_channel = layout.n_row;
  task.n_pol = 2;
  task.sections = {rows.n_spectra, rows.n_spectra, rows.n_spectra, rows.n_spectra};
  task.layout = layout;
  task.weights = weights_.data();
  task.source.data = rows_.data();
  task.product = beam_products::Product::quadratic;
  task.coefficients = coefficients_.data();
  task.n_coefficient = coefficients.n_coefficient;
  task.out = products_.reserve(n_beam * beam_products::kMatrices * rows.n_tiles());
  beam_products::launch(task, n_sm_, stream);
  FoldTask fold;
  fold.layout = layout;
  fold.n_pol = 2;
  fold.n_segment = rows.n_tiles();
  fold.products = products_.data();
  fold.weights = weights_.data();
  fold.unit = folds_.data();
  fold.sums = sky_.sums(channel) + std::size_t(first_pixel) * 4;
  fold.n_stride = sky_.n_stride();
  launch_fold(fold, stream);
}

}  // namespace

std::unique_ptr<DevicePairEngine> make_float_pair_engine(const EpicPlan& plan, DeviceSky& sky) {
  return std::make_unique<FloatPairEngine>(plan, sky);
}

std::unique_ptr<DevicePairEngine> make_int8_pair_engine(const EpicPlan& plan, DeviceSky& sky,
                                                        int device_index) {
  return std::make_unique<Int8PairForm>(plan, sky, device_index);
}

}  // namespace apsyn::epic_cuda
