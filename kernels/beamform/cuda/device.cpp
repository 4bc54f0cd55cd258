// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/beamform/cuda/device.cuh"

#include <algorithm>
#include <stdexcept>

#include "kernels/beamform/cpu/work_items.h"
#include "kernels/common/cuda/attribute.h"
#include "libcore/base/error.h"

namespace apsyn {

using namespace beam_stage;

DeviceBeams::DeviceBeams(const BeamformPlan& plan, BeamDelaySource& delays, int device_index,
                         BeamPrecision precision)
    : plan_((cuda_check(cudaSetDevice(device_index), "choosing the device"), plan)),
      delays_(delays),
      precision_(precision) {
  check_plan(plan_);
  if (plan_.n_beam > 32767)
    throw UsageError("beamform: {} beams: at most 32767 on a GPU at a time", plan_.n_beam);
  if (integers() && plan_.incoherent)
    throw std::logic_error("DeviceBeams: incoherent beams of integer weights");
  if (integers() && !cuda_beams_of_int8(device_index))
    throw DeviceError("cuda:{}: weights of 8 or 16 bits take compute capability 8.0: use --precision single",
                      device_index);
  n_sm_ = device_attribute(cudaDevAttrMultiProcessorCount, device_index);
  if (precision_ == BeamPrecision::int16) shift_ = beam_products::second_limb_bits(plan_.n_ant);
  make_tables();
  cuda_check(cudaStreamSynchronize(nullptr), "preparing the beams");
}

int DeviceBeams::n_detected() const {
  return plan_.product == BeamProduct::power ? static_cast<int>(plan_.n_pol) : 4;
}

int DeviceBeams::tile() const {
  return integers() ? beam_products::kTileSpectra : 32;
}

beam_products::RowLayout DeviceBeams::row_layout(const Batch& batch) const {
  return {
      .n_row = batch.n_row(), .n_pol = batch.n_pol, .n_ant = batch.n_ant, .n_spectra = batch.sections.stride};
}

beam_products::WeightLayout DeviceBeams::weight_layout(const Batch& batch) const {
  return {.n_row = batch.n_row(),
          .n_pol = shared_weights_ ? 1 : batch.n_pol,
          .n_ant = batch.n_ant,
          .n_beam = batch.n_beam,
          .n_limb = precision_ == BeamPrecision::int16 ? 2 : 1};
}

std::uint64_t DeviceBeams::weight_bytes(const Batch& batch) const {
  if (integers()) return weight_layout(batch).bytes();
  return std::uint64_t{sizeof(float2)} * static_cast<std::uint64_t>(batch.n_row()) * plan_.n_beam *
         plan_.n_input();
}

std::size_t DeviceBeams::channels_at_once(const Launch& launch) const {
  const Batch& batch = launch.batch;
  const auto n_section = static_cast<std::uint64_t>(batch.sections.count());
  const auto stride = static_cast<std::uint64_t>(batch.sections.stride);
  std::uint64_t row = integers() ? row_layout(batch).bytes() / static_cast<std::uint64_t>(batch.n_row()) : 0;
  if (!launch.fused && !plan_.incoherent) row += plan_.n_beam * plan_.n_pol * stride * sizeof(float2);
  row += plan_.n_beam * static_cast<std::uint64_t>(n_detected() + 1) * sizeof(float) * stride /
         static_cast<std::uint64_t>(launch.segment);
  if (!launch.keep) row += weight_bytes(batch) / static_cast<std::uint64_t>(batch.n_row());
  std::uint64_t channel =
      n_section * row + static_cast<std::uint64_t>(batch.n_run) * plan_.n_beam * 3 * sizeof(float);
  if (!integers())  // unpacked
    channel += static_cast<std::uint64_t>(batch.sections.n_spectra) * plan_.n_input() * sizeof(float2);
  const std::size_t n = static_cast<std::size_t>(kScratchBytes / channel) / plan_.n_average * plan_.n_average;
  return std::clamp(n, plan_.n_average, plan_.n_channel());
}

/// Of the launch's channels, behind those before it where all are kept.
void DeviceBeams::make_weights(const Launch& launch, cudaStream_t stream) {
  const Batch& batch = launch.batch;
  std::int8_t* weights = weights_.reserve(weight_bytes(batch));
  if (!integers()) return launch_steer(batch, launch.steering, reinterpret_cast<float2*>(weights), stream);
  const bool all = batch.n_channel == static_cast<int>(plan_.n_channel());
  float* step = step_.reserve(static_cast<std::size_t>(batch.n_channel) * plan_.n_pol * plan_.n_beam);
  if (!all || !kept_steps_) launch_steps(batch, launch.steering, step, stream);
  kept_steps_ = all;
  launch_steer(batch, launch.steering, weight_layout(batch), weights, step, stream);
}

Products DeviceBeams::products_of(const Launch& launch) {
  Products products;
  if (voltages()) return products;
  const Batch& batch = launch.batch;
  const auto n_beam = plan_.n_beam;
  const auto n_segment = static_cast<std::size_t>(batch.sections.stride / launch.segment);
  products.segment = launch.segment;
  products.n_value = n_detected();
  const auto n_value = static_cast<std::size_t>(products.n_value);
  // each value of power has a row of beams
  const bool by_value = plan_.product == BeamProduct::power;
  products.beam_stride = by_value ? n_segment : n_value * n_segment;
  products.value_stride = by_value ? n_beam * n_segment : n_segment;
  products.row_stride = n_beam * n_value * n_segment;
  const auto n_row = static_cast<std::size_t>(batch.n_row());
  products.values = products_.reserve(n_row * products.row_stride);
  if (!launch.fused) products.counts = counts_.reserve(n_row * n_beam * n_segment);
  return products;
}

template <class Sum>
void DeviceBeams::run(std::int64_t first, const SpectraBlock& validity, float* out, cudaStream_t stream,
                      const Sum& sum) {
  Launch launch = prepare(first, validity, stream);
  Batch& batch = launch.batch;
  if (launch.keep && launch.steer) make_weights(launch, stream);
  const auto n_integrate = static_cast<std::int64_t>(plan_.n_integrate);
  Integration integration;
  integration.values = plan_.product == BeamProduct::power       ? Values::power
                       : plan_.product == BeamProduct::coherence ? Values::coherence
                       : plan_.circular                          ? Values::circular_iquv
                                                                 : Values::linear_iquv;
  integration.n_average = static_cast<int>(plan_.n_average);
  integration.n_integrate = n_integrate;
  integration.before = first % n_integrate;
  integration.n_time =
      static_cast<int>((first + batch.sections.n_spectra) / n_integrate - first / n_integrate);
  integration.opened = open_[open_turn_ % 2].data();
  integration.open = open_[++open_turn_ % 2].data();
  integration.n_all_out_channel = static_cast<int>(plan_.n_out_channel());
  integration.out = out;
  const Norms norms{amplitude_.data(), amplitude_of_channels_, plan_.incoherent, !voltages()};
  const auto n_all = static_cast<int>(plan_.n_channel());
  const auto at_once = static_cast<int>(channels_at_once(launch));
  for (batch.first_channel = 0; batch.first_channel < n_all; batch.first_channel += at_once) {
    batch.n_channel = std::min(at_once, n_all - batch.first_channel);
    if (!launch.keep) make_weights(launch, stream);
    const auto n_norm = static_cast<std::size_t>(batch.norm_of_channels ? batch.n_channel : 1) *
                        static_cast<std::size_t>(batch.n_run) * plan_.n_beam * 3;
    batch.norm = norm_.reserve(n_norm);
    if (batch.n_channel < n_all) kept_scales_ = false;
    if (!kept_scales_) launch_norms(batch, norms, stream);
    const Products products = launch.direct ? Products{} : products_of(launch);
    sum(launch, products);
    if (launch.direct) continue;
    if (voltages())
      launch_finish_voltages(batch, voltages_.data(), n_all, reinterpret_cast<float2*>(out), stream);
    else
      launch_finish(batch, products, integration, stream);
  }
}

void DeviceBeams::sum_codes(const Launch& launch, const beam_products::Source& source,
                            const Products& products, float* out, cudaStream_t stream) {
  const Batch& batch = launch.batch;
  const auto first_row = launch.keep ? batch.first_channel * batch.sections.count() : 0;
  beam_products::Task task;
  task.n_channel = batch.n_channel;
  task.n_pol = batch.n_pol;
  task.sections = batch.sections;
  task.layout = weight_layout(batch);
  task.weights = weights_.data() + task.layout.group(first_row, 0, 0, 0);
  task.shift = shift_;
  task.source = source;
  const float* step = step_.data() + static_cast<std::size_t>(launch.keep ? batch.first_channel : 0) *
                                         plan_.n_pol * plan_.n_beam;
  if (!launch.fused) {
    task.scale = step;
    task.product = beam_products::Product::voltage;
    task.out = reinterpret_cast<float*>(
        voltages_.reserve(static_cast<std::size_t>(batch.n_row()) * plan_.n_pol * plan_.n_beam *
                          static_cast<std::size_t>(batch.sections.stride)));
    beam_products::launch(task, n_sm_, stream);
    if (!voltages()) launch_detect(batch, voltages_.data(), products, stream);
    return;
  }
  float* scale = scale_.reserve(static_cast<std::size_t>(batch.n_channel) * plan_.n_pol * plan_.n_beam);
  if (!kept_scales_) launch_normalise(batch, step, scale, stream);
  kept_scales_ = batch.n_channel == static_cast<int>(plan_.n_channel());
  task.scale = scale;
  const bool power = plan_.product == BeamProduct::power;
  task.product = power ? beam_products::Product::power : beam_products::Product::coherence;
  task.segment = launch.segment;
  if (!launch.direct) {
    task.out = products.values;
    task.row_stride = products.row_stride;
    task.beam_stride = products.beam_stride;
    task.value_stride = products.value_stride;
    return beam_products::launch(task, n_sm_, stream);
  }
  using beam_products::Values;
  if (power && plan_.n_pol == 2) task.values = Values::total;
  if (plan_.product == BeamProduct::iquv)
    task.values = plan_.circular ? Values::circular_iquv : Values::linear_iquv;
  task.factor = 1 / static_cast<float>(launch.segment);
  const std::size_t n_channel = plan_.n_channel();
  task.joined = true;
  task.out = out + batch.first_channel;
  task.row_stride = 1;
  task.value_stride = n_channel;
  task.segment_stride = plan_.n_value() * n_channel;
  task.beam_stride =
      static_cast<std::size_t>(batch.sections.n_spectra / launch.segment) * task.segment_stride;
  beam_products::launch(task, n_sm_, stream);
}

void DeviceBeams::sum_floats(const Launch& launch, const Spectra& spectra, const Products& products,
                             cudaStream_t stream) {
  const Batch& batch = launch.batch;
  const auto first_row =
      static_cast<std::size_t>(launch.keep ? batch.first_channel * batch.sections.count() : 0);
  const float2* weights =
      reinterpret_cast<const float2*>(weights_.data()) + first_row * plan_.n_input() * plan_.n_beam;
  if (plan_.incoherent) return launch_incoherent(batch, spectra, weights, products, stream);
  float2* sums = voltages_.reserve(static_cast<std::size_t>(batch.n_row()) * plan_.n_beam * plan_.n_pol *
                                   static_cast<std::size_t>(batch.sections.stride));
  launch_sums(batch, spectra, weights, sums, stream);
  if (!voltages()) launch_detect(batch, sums, products, stream);
}

bool DeviceBeams::takes(const Launch& launch, const Packing& packing) const {
  using SampleLayout = beam_products::Source::SampleLayout;
  const int unit = beam_products::unit_antennas(packing.four_bit ? SampleLayout::int4 : SampleLayout::int8);
  return integers() && launch.batch.n_run == 1 && launch.batch.n_ant % unit == 0 &&
         reinterpret_cast<std::uintptr_t>(packing.samples) % 16 == 0;
}

void DeviceBeams::of_samples(std::int64_t first, const SpectraBlock& validity, const DeviceSamples& samples,
                             float* out, cudaStream_t stream) {
  const Packing packing{samples.data, samples.four_bit, static_cast<int>(plan_.n_channel())};
  run(first, validity, out, stream, [&](const Launch& launch, const Products& products) {
    const Batch& batch = launch.batch;
    if (takes(launch, packing)) {
      beam_products::Source source;
      using SampleLayout = beam_products::Source::SampleLayout;
      source.layout = packing.four_bit ? SampleLayout::int4 : SampleLayout::int8;
      source.data = packing.samples;
      source.channel_stride = plan_.n_input() * (packing.four_bit ? 1 : 2);
      source.spectrum_stride = source.channel_stride * plan_.n_channel();
      if (!launch.all_good) source.valid = batch.valid;
      source.n_valid_row = batch.n_valid_row;
      source.n_fine = batch.n_fine;
      source.first_channel = batch.first_channel;
      return sum_codes(launch, source, products, out, stream);
    }
    if (integers()) {
      const beam_products::RowLayout to = row_layout(batch);
      std::int8_t* rows = rows_.reserve(to.bytes());
      launch_pack(batch, packing, to, rows, stream);
      return sum_codes(launch, {.data = rows}, products, out, stream);
    }
    const std::size_t stride = validity.n_spectra * plan_.n_input();
    float2* spectra = unpacked_.reserve(static_cast<std::size_t>(batch.n_channel) * stride);
    launch_unpack(batch, packing, spectra, stream);
    sum_floats(launch, {spectra, stride, batch.first_channel}, products, stream);
  });
}

void DeviceBeams::of_codes(std::int64_t first, const SpectraBlock& validity, const std::int8_t* spectra,
                           const x_layout::Layout& from, float* out, cudaStream_t stream) {
  run(first, validity, out, stream, [&](const Launch& launch, const Products& products) {
    const beam_products::RowLayout to = row_layout(launch.batch);
    std::int8_t* rows = rows_.reserve(to.bytes());
    launch_repack(launch.batch, spectra, from, to, rows, stream);
    sum_codes(launch, {.data = rows}, products, out, stream);
  });
}

void DeviceBeams::of_spectra(std::int64_t first, const SpectraBlock& validity, const Spectra& spectra,
                             float* out, cudaStream_t stream) {
  run(first, validity, out, stream,
      [&](const Launch& launch, const Products& products) { sum_floats(launch, spectra, products, stream); });
}

}  // namespace apsyn
