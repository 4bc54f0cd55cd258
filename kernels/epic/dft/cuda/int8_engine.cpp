// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "kernels/common/cuda/attribute.h"
#include "kernels/common/free_memory.h"
#include "kernels/epic/dft/cuda/engine.cuh"
#include "kernels/epic/dft/cuda/int8.cuh"
#include "kernels/epic/factors.h"

namespace apsyn::epic_cuda {

namespace {

using beam_products::WeightLayout;

constexpr int kPixelStep = 4 * beam_products::kGroupBeams;  // that WeightLayout fills up to

/// Weights of all channels and pixels stay on the device where half of what is free holds them; otherwise
/// they are made for as many as fit, and again for every block.
class Int8Form final : public DeviceDftEngine {
 public:
  Int8Form(const EpicPlan& plan, DeviceSky& sky, int n_limb, int device_index);
  bool removes_autos() const override { return true; }
  void move() override;
  void image(const Samples& all, cudaStream_t stream) override;

 private:
  WeightLayout layout(int n_channel, int n_pixel) const {
    return {.n_row = n_channel,
            .n_pol = n_weight_pol_,
            .n_ant = static_cast<int>(plan_.n_ant),
            .n_beam = n_pixel,
            .n_limb = n_limb_};
  }
  void weigh(int first_channel, int first_pixel, const WeightLayout& layout, cudaStream_t stream);
  void image_stretch(const Samples& samples, cudaStream_t stream);
  /// Pixels from first_pixel and as many channels as `layout` has rows, of first_channel of the plan on.
  void image_part(const beam_products::Source& source, int n_spectra, int first_channel, int first_pixel,
                  const WeightLayout& layout, const std::int8_t* weights, cudaStream_t stream);

  const EpicPlan& plan_;
  DeviceSky& sky_;
  int n_limb_, shift_;
  int n_sm_ = 0, n_weight_pol_ = 1;
  std::size_t max_bytes_ = 0;  // of weights
  bool resident_ = false, weighed_ = false;
  int n_chunk_channel_ = 1, n_chunk_pixel_ = 1;  // of weights that do not stay
  Upload<float2> factors_;
  Upload<double> units_, powers_;
  Upload<float> products_;
  Upload<std::int8_t> samples_;
  DeviceArray<std::int8_t> weights_;  // WeightLayout::bytes() of a chunk
};

Int8Form::Int8Form(const EpicPlan& plan, DeviceSky& sky, int n_limb, int device_index)
    : plan_(plan),
      sky_(sky),
      n_limb_(n_limb),
      shift_(n_limb == 2 ? beam_products::second_limb_bits(plan.n_ant) : 0) {
  n_sm_ = device_attribute(cudaDevAttrMultiProcessorCount, device_index);
  max_bytes_ = cuda_free_memory_bytes(device_index) / 2;
  std::vector<double> units;
  for (std::size_t channel = 0; channel < plan.n_channel(); ++channel) {
    double largest = 0;
    for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
      for (std::size_t pol = 0; pol < plan.n_pol; ++pol) {
        const std::complex<double> g = epic_factor(plan, ant, pol, channel);
        largest = std::max(largest, std::abs(g));
        if (g != epic_factor(plan, ant, 0, channel)) n_weight_pol_ = 2;
      }
    units.push_back((largest > 0 ? largest : 1) / beam_products::largest_weight(shift_));
  }
  units_.copy(units.data(), units.size());
  const std::vector<float2> factors = factors_over(plan, units);
  factors_.copy(factors.data(), factors.size());
  powers_.reserve(plan.n_channel() * plan.n_ant * 4);
}

void Int8Form::move() {
  weighed_ = false;
  const int n_channel = static_cast<int>(plan_.n_channel()), n_pixel = sky_.n_pixel();
  resident_ = layout(n_channel, n_pixel).bytes() <= max_bytes_;
  n_chunk_pixel_ = n_pixel;
  n_chunk_channel_ = n_channel;
  if (!resident_) {
    // whole channels, or else some of one channel's pixels
    const std::size_t most = std::min(max_bytes_, std::size_t{1} << 32);
    const std::size_t group = layout(1, kPixelStep).bytes();
    const std::size_t n_groups = std::max<std::size_t>(1, most / group);
    n_chunk_pixel_ = static_cast<int>(std::min<std::size_t>(n_pixel, n_groups * kPixelStep));
    const std::size_t channels = most / layout(1, n_chunk_pixel_).bytes();
    n_chunk_channel_ = static_cast<int>(std::clamp<std::size_t>(channels, 1, n_channel));
  }
  const std::size_t bytes = layout(n_chunk_channel_, n_chunk_pixel_).bytes();
  if (weights_.size() < bytes) {
    weights_ = DeviceArray<std::int8_t>();  // give back before asking for more
    weights_ = DeviceArray<std::int8_t>(bytes);
  }
}

void Int8Form::weigh(int first_channel, int first_pixel, const WeightLayout& layout, cudaStream_t stream) {
  BeamWeightTask task;
  task.sky = sky_.weights(first_channel, layout.n_row);
  if (factors_.data() != nullptr)
    task.factor = factors_.data() + std::size_t(first_channel) * plan_.n_ant * plan_.n_pol;
  task.n_pol = static_cast<int>(plan_.n_pol);
  task.first_pixel = first_pixel;
  task.shift = shift_;
  task.layout = layout;
  launch_beam_weights(task, weights_.data(), stream);
}

void Int8Form::image(const Samples& all, cudaStream_t stream) {
  if (sky_.n_pixel() == 0) return;
  // in stretches whose products of one channel's pixels stay within kChunkBytes
  const std::size_t tile_bytes = std::size_t(n_chunk_pixel_) * 4 * sizeof(float);
  const int most = beam_products::kTileSpectra *
                   static_cast<int>(std::clamp<std::size_t>(kChunkBytes / tile_bytes, 1, 1024));
  for (int first = 0; first < all.n_spectra; first += most)
    image_stretch(some_spectra(all, first, std::min(most, all.n_spectra - first)), stream);
}

void Int8Form::image_stretch(const Samples& samples, cudaStream_t stream) {
  const int n_channel = static_cast<int>(plan_.n_channel()), n_pixel = sky_.n_pixel();
  if (resident_ && !weighed_) weigh(0, 0, layout(n_channel, n_pixel), stream);
  weighed_ = true;
  const beam_products::RowLayout rows{.n_row = samples.n_channel,
                                      .n_pol = samples.n_pol,
                                      .n_ant = samples.n_ant,
                                      .n_spectra = samples.n_spectra};
  beam_products::Source source;
  if (as_they_come(samples)) {
    source = source_of(samples);
  } else {
    std::int8_t* packed = samples_.reserve(rows.bytes());
    launch_beam_samples(samples, rows, packed, stream);
    source.data = packed;
  }
  if (!plan_.autos) {
    cuda_check(
        cudaMemsetAsync(powers_.data(), 0, plan_.n_channel() * plan_.n_ant * 4 * sizeof(double), stream),
        "clearing powers");
    launch_powers(samples, powers_.data(), stream);
  }
  const std::size_t product_bytes = std::size_t(n_chunk_pixel_) * 4 * rows.n_tiles() * sizeof(float);
  const int max_channels =
      std::min(n_chunk_channel_, static_cast<int>(std::max<std::size_t>(1, kChunkBytes / product_bytes)));
  for (int first = 0; first < samples.n_channel; first += max_channels)
    for (int pixel = 0; pixel < n_pixel; pixel += n_chunk_pixel_) {
      const WeightLayout part = layout(std::min(max_channels, samples.n_channel - first),
                                       std::min(n_chunk_pixel_, n_pixel - pixel));
      const int channel = samples.first_channel + first;
      const std::int8_t* weights = weights_.data();
      if (resident_)
        weights += part.group(channel, 0, 0, 0);
      else
        weigh(channel, pixel, part, stream);
      beam_products::Source some = source;
      some.first_channel = first;
      if (source.layout == beam_products::Source::SampleLayout::rows)
        some.data = static_cast<const std::int8_t*>(source.data) + rows.tile(first, 0, 0, 0);
      image_part(some, samples.n_spectra, channel, pixel, part, weights, stream);
    }
}

void Int8Form::image_part(const beam_products::Source& source, int n_spectra, int first_channel,
                          int first_pixel, const WeightLayout& layout, const std::int8_t* weights,
                          cudaStream_t stream) {
  using namespace beam_products;
  const int n_value = plan_.n_pol == 2 ? 4 : 1, n_segment = (n_spectra + 127) / 128;
  Task task;
  task.n_channel = layout.n_row;
  task.n_pol = static_cast<int>(plan_.n_pol);
  task.sections = {n_spectra, n_spectra, n_spectra, 128 * n_segment};
  task.layout = layout;
  task.weights = weights;
  task.shift = shift_;
  task.source = source;
  task.product = plan_.n_pol == 2 ? Product::coherence : Product::power;
  task.value_stride = static_cast<std::size_t>(n_segment);
  task.beam_stride = static_cast<std::size_t>(n_value) * task.value_stride;
  task.row_stride = static_cast<std::size_t>(layout.n_beam) * task.beam_stride;
  task.out = products_.reserve(static_cast<std::size_t>(layout.n_row) * task.row_stride);
  launch(task, n_sm_, stream);
  FoldTask fold;
  fold.layout = layout;
  fold.n_pol = task.n_pol;
  fold.n_segment = n_segment;
  fold.products = products_.data();
  fold.weights = weights;
  if (!plan_.autos) fold.powers = powers_.data() + std::size_t(first_channel) * plan_.n_ant * 4;
  fold.unit = units_.data() + first_channel;
  fold.shift = shift_;
  fold.sums = sky_.sums(first_channel) + std::size_t(first_pixel) * 4;
  fold.n_stride = sky_.n_stride();
  launch_fold(fold, stream);
}

}  // namespace

std::unique_ptr<DeviceDftEngine> make_int8_engine(const EpicPlan& plan, DeviceSky& sky, int n_limb,
                                                  int device_index) {
  return std::make_unique<Int8Form>(plan, sky, n_limb, device_index);
}

bool multiplies_int8(int device_index) {
  return beam_products::supported(device_index);
}

bool two_limbs_suffice(const EpicPlan& plan) {
  // roundings move a pixel by 2.5e-5 of the peak and of largest / RMS, over the square root of antennas, at a
  // shift of 8; the worst of many pixels by four times that
  const double steps = std::ldexp(1.0, 8 - beam_products::second_limb_bits(plan.n_ant));
  const double wanted = std::max(64.0, 16 * steps * steps);
  for (std::size_t channel = 0; channel < plan.n_channel(); ++channel) {
    double largest = 0, square = 0;
    for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
      for (std::size_t pol = 0; pol < plan.n_pol; ++pol) {
        const double power = std::norm(epic_factor(plan, ant, pol, channel));
        largest = std::max(largest, power);
        square += power;
      }
    if (square < wanted * largest * static_cast<double>(plan.n_pol)) return false;
  }
  return true;
}

}  // namespace apsyn::epic_cuda
