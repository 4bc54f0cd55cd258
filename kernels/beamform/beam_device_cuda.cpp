// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef APSYN_CUDA
#include "kernels/beamform/beam_device.cuh"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/beamform/beam_weights.h"
#include "kernels/beamform/validity_runs.h"
#include "kernels/beamform/work_items.h"
#include "libcore/core/error.h"

namespace apsyn {

using namespace beam_stage;

namespace {

template <class T>
DeviceArray<T> uploaded(const std::vector<T>& values) {
  DeviceArray<T> array(values.size());
  cuda_check(cudaMemcpy(array.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
             "copying tables");
  return array;
}

constexpr std::int64_t kLongInterval = 128;  // spectra from which on a batch holds whole ones only
constexpr std::uint64_t kMostDelayBytes = 64u << 20;

}  // namespace

DeviceBeams::DeviceBeams(const BeamformPlan& plan, BeamDelaySource& delays, int device_index,
                         BeamPrecision precision)
    : plan_(plan), delays_(delays), precision_(precision) {
  check_plan(plan_);
  if (plan_.n_beam > 32767)
    throw UsageError("beamform: {} beams: at most 32767 on a GPU at a time", plan_.n_beam);
  cuda_check(cudaSetDevice(device_index), "choosing the device");
  if (half() && plan_.incoherent) throw std::logic_error("DeviceBeams: incoherent beams of int8 weights");
  if (half() && !cuda_beams_of_int8(device_index))
    throw DeviceError("cuda:{}: --precision half takes compute capability 9.0: use single", device_index);
  cuda_check(cudaDeviceGetAttribute(&n_sm_, cudaDevAttrMultiProcessorCount, device_index),
             "asking for the device's properties");
  make_tables();
  cuda_check(cudaStreamSynchronize(nullptr), "preparing the beams");
}

int DeviceBeams::n_detected() const {
  return plan_.product == BeamProduct::power ? static_cast<int>(plan_.n_pol) : 4;
}

int DeviceBeams::tile() const {
  return half() ? beam_sums::kTileSpectra : 32;
}

void DeviceBeams::make_tables() {
  used_.assign(plan_.n_ant, 0);
  for (std::size_t beam = 0; beam < plan_.n_beam; ++beam)
    for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) used_[ant] |= plan_.member(beam, ant);
  member_ = uploaded(std::vector<std::uint8_t>(plan_.member.begin(), plan_.member.end()));
  channel_hz_ = uploaded(plan_.channel_hz);
  const auto fine = [&](const Buffer<std::complex<double>, 3>& table) {
    return table.size() > 0 && table.extent(2) != plan_.n_chan;
  };
  amplitude_of_channels_ = fine(plan_.weights);
  factor_of_channels_ = amplitude_of_channels_ || fine(plan_.calibration);
  const auto entry = [&](const Buffer<std::complex<double>, 3>& table, std::size_t row, bool of_channels,
                         std::size_t input) {
    if (table.size() == 0) return std::complex<double>(1);
    const std::size_t chan = fine(table) || !of_channels ? row : row / plan_.n_fine;
    return table(input / plan_.n_pol, input % plan_.n_pol, chan);
  };
  const std::size_t n_row = factor_of_channels_ ? plan_.n_channel() : plan_.n_chan;
  for (std::size_t row = 0; row < n_row; ++row)
    for (std::size_t input = 0; input < plan_.n_input(); ++input)
      base_.push_back(plan_.scale * entry(plan_.weights, row, factor_of_channels_, input) *
                      entry(plan_.calibration, row, factor_of_channels_, input));
  set_scales({});
  if (plan_.weights.size() > 0) {
    std::vector<double> amplitude;
    for (std::size_t row = 0; row < plan_.weights.extent(2); ++row)
      for (std::size_t input = 0; input < plan_.n_input(); ++input)
        amplitude.push_back(std::abs(entry(plan_.weights, row, amplitude_of_channels_, input)));
    amplitude_ = uploaded(amplitude);
  }
  if (!voltages())
    for (DeviceArray<double>& open : open_)
      open = DeviceArray<double>(plan_.n_beam * plan_.n_out_channel() *
                                 static_cast<std::size_t>(n_detected() + 1));
}

void DeviceBeams::set_scales(const View<const float, 2>& steps) {
  std::vector<float2> factor(base_.size());
  const std::size_t n_input = plan_.n_input(), per_chan = factor_of_channels_ ? plan_.n_fine : 1;
  for (std::size_t i = 0; i < factor.size(); ++i) {
    std::complex<double> value = base_[i];
    if (steps.size() > 0) value /= static_cast<double>(steps(i / n_input / per_chan, i % n_input));
    factor[i] = {static_cast<float>(value.real()), static_cast<float>(value.imag())};
  }
  factor_ = uploaded(factor);
  cuda_check(cudaStreamSynchronize(nullptr), "copying the factors of weights");
  kept_interval_ = -1;
}

std::int64_t DeviceBeams::batch_of(std::int64_t first, std::int64_t most) const {
  const std::int64_t interval = plan_.update_spectra, room = tile();
  const std::uint64_t spread = interval < room ? static_cast<std::uint64_t>(room / interval) : 1;
  const std::uint64_t per_spectrum =
      spread * plan_.n_average *
      (plan_.n_beam * (8 * plan_.n_pol + 4 * static_cast<std::uint64_t>(n_detected() + 1)) +
       2 * plan_.n_pol * ((plan_.n_ant + 63) / 64 * 64));
  const auto whole = [&](std::uint64_t n) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(n) / room * room, room);
  };
  most = std::min(most, whole(kScratchBytes / per_spectrum));
  if (interval < kLongInterval) {
    const std::uint64_t sections =
        std::max<std::uint64_t>(2, kMostDelayBytes / (8 * plan_.n_beam * plan_.n_ant));
    return std::min<std::int64_t>(most, static_cast<std::int64_t>(sections - 1) * interval);
  }
  const std::int64_t off = (plan_.first_spectrum + first) % interval, left = interval - off;
  if (most <= left) return most;
  const std::uint64_t sections =
      std::max<std::uint64_t>(1, kMostDelayBytes / (8 * plan_.n_beam * plan_.n_ant));
  return off > 0 ? left : std::min(most / interval, static_cast<std::int64_t>(sections)) * interval;
}

/// The largest segment that no integration and no section cuts.
int DeviceBeams::segment_of(std::int64_t first, const Launch& launch) const {
  const Sections& sections = launch.batch.sections;
  for (const int segment : {128, 32, 8}) {
    if (segment == 128 && !launch.fused) continue;
    if (plan_.n_integrate % static_cast<std::size_t>(segment) == 0 && first % segment == 0 &&
        (sections.count() < 2 || (first + sections.first_length) % segment == 0) &&
        (sections.count() < 3 || sections.length % segment == 0))
      return segment;
  }
  return 1;
}

beam_sums::Layout DeviceBeams::layout(const Batch& batch) const {
  return {.n_chan = batch.n_row(),
          .n_pol = batch.n_pol,
          .n_ant = batch.n_ant,
          .n_beam = batch.n_beam,
          .n_spectra = batch.sections.stride,
          .n_weight_pol = batch.n_pol};
}

std::uint64_t DeviceBeams::weight_bytes(const Batch& batch) const {
  if (half()) return layout(batch).weight_bytes();
  return std::uint64_t{sizeof(float2)} * static_cast<std::uint64_t>(batch.n_row()) * plan_.n_beam *
         plan_.n_input();
}

DeviceBeams::Launch DeviceBeams::prepare(std::int64_t first, const SpectraBlock& validity,
                                         cudaStream_t stream) {
  Launch launch;
  Batch& batch = launch.batch;
  const auto n = static_cast<std::int64_t>(validity.n_spectra);
  const std::int64_t interval = plan_.update_spectra;
  Sections& sections = batch.sections;
  sections.n_spectra = static_cast<int>(n);
  sections.first_length = static_cast<int>(std::min(n, interval - (plan_.first_spectrum + first) % interval));
  sections.length = static_cast<int>(std::min(n, interval));
  const int longest = std::max(sections.first_length, std::min(sections.length, sections.n_spectra));
  sections.stride = (longest + tile() - 1) / tile() * tile();
  batch.n_ant = static_cast<int>(plan_.n_ant);
  batch.n_pol = static_cast<int>(plan_.n_pol);
  batch.n_beam = static_cast<int>(plan_.n_beam);
  batch.n_fine = static_cast<int>(plan_.n_fine);
  batch.n_channel = static_cast<int>(plan_.n_channel());
  batch.member = member_.data();
  launch.keep = weight_bytes(batch) <= kMostWeightBytes;
  const std::int64_t first_interval = steering_interval_of(plan_, first);
  launch.steer = !launch.keep || kept_interval_ != first_interval || kept_sections_ != sections.count();
  kept_interval_ = launch.keep ? first_interval : -1;
  kept_sections_ = sections.count();

  std::vector<std::vector<ValidityRun>> runs;
  const std::size_t n_valid_row = validity.valid.extent(0);
  std::size_t n_run = 1;
  for (std::size_t row = 0; row < n_valid_row; ++row) {
    runs.push_back(validity_runs(validity, row, used_));
    n_run = std::max(n_run, runs.back().size());
  }
  const bool steered = launch.steer && !plan_.incoherent;
  const auto n_section = static_cast<std::size_t>(sections.count());
  const std::size_t delay_bytes = steered ? n_section * plan_.n_beam * plan_.n_ant * sizeof(double) : 0;
  const std::size_t run_bytes = n_valid_row * validity.n_spectra * sizeof(int);
  const std::size_t bytes = delay_bytes + run_bytes + n_valid_row * n_run * plan_.n_ant;
  Slot& slot = slots_[turn_++ % 2];
  if (slot.busy) slot.sent.wait();
  if (slot.host_bytes < bytes) {
    slot.host.reset();
    slot.host = pinned<std::uint8_t>(bytes);
    slot.host_bytes = bytes;
  }
  if (steered) {
    auto* delay_s = reinterpret_cast<double*>(slot.host.get());
    const std::int64_t last = first_interval + static_cast<std::int64_t>(n_section) - 1;
    delays_.prepare(steering_middle_s(plan_, first_interval), steering_middle_s(plan_, last));
    for (std::int64_t at = first_interval; at <= last; ++at)
      for (std::size_t beam = 0; beam < plan_.n_beam; ++beam, delay_s += plan_.n_ant)
        delays_.delays_s(beam, steering_middle_s(plan_, at), {delay_s, plan_.n_ant});
  }
  auto* run = reinterpret_cast<int*>(slot.host.get() + delay_bytes);
  std::uint8_t* valid = slot.host.get() + delay_bytes + run_bytes;
  for (std::size_t row = 0; row < n_valid_row; ++row)
    for (std::size_t i = 0; i < n_run; ++i, valid += plan_.n_ant) {
      if (i >= runs[row].size()) {
        std::fill_n(valid, plan_.n_ant, std::uint8_t{0});
        continue;
      }
      const ValidityRun& at = runs[row][i];
      std::fill(run + row * validity.n_spectra + at.begin, run + row * validity.n_spectra + at.end,
                static_cast<int>(i));
      for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) valid[ant] = validity.valid(row, ant, at.begin);
    }
  std::uint8_t* device = slot.device.reserve(bytes);
  cuda_check(cudaMemcpyAsync(device, slot.host.get(), bytes, cudaMemcpyHostToDevice, stream),
             "copying delays");
  slot.sent.record(stream);
  slot.busy = true;

  launch.steering.delay_s = steered ? reinterpret_cast<const double*>(device) : nullptr;
  launch.steering.channel_hz = channel_hz_.data();
  launch.steering.factor = factor_.data();
  launch.steering.factor_of_channels = factor_of_channels_;
  batch.n_valid_row = static_cast<int>(n_valid_row);
  batch.n_run = static_cast<int>(n_run);
  batch.run = reinterpret_cast<const int*>(device + delay_bytes);
  batch.valid = device + delay_bytes + run_bytes;
  batch.norm_of_channels = plan_.weights.size() > 0 || n_valid_row > 1;
  launch.fused = half() && !voltages() && n_run == 1;
  launch.segment = voltages() ? 1 : segment_of(first, launch);
  return launch;
}

std::size_t DeviceBeams::channels_at_once(const Launch& launch) const {
  const Batch& batch = launch.batch;
  const auto n_section = static_cast<std::uint64_t>(batch.sections.count());
  const auto stride = static_cast<std::uint64_t>(batch.sections.stride);
  std::uint64_t row = half() ? layout(batch).sample_bytes() / static_cast<std::uint64_t>(batch.n_row()) : 0;
  if (!launch.fused && !plan_.incoherent) row += plan_.n_beam * plan_.n_pol * stride * sizeof(float2);
  row += plan_.n_beam * static_cast<std::uint64_t>(n_detected() + 1) * sizeof(float) * stride /
         static_cast<std::uint64_t>(launch.segment);
  if (!launch.keep) row += weight_bytes(batch) / static_cast<std::uint64_t>(batch.n_row());
  const std::uint64_t channel =
      n_section * row + static_cast<std::uint64_t>(batch.n_run) * plan_.n_beam * 3 * sizeof(float);
  const std::size_t n = static_cast<std::size_t>(kScratchBytes / channel) / plan_.n_average * plan_.n_average;
  return std::clamp(n, plan_.n_average, plan_.n_channel());
}

/// Of the launch's channels, behind those before it where all are kept.
void DeviceBeams::make_weights(const Launch& launch, cudaStream_t stream) {
  const Batch& batch = launch.batch;
  std::int8_t* weights = weights_.reserve(weight_bytes(batch));
  if (!half()) return launch_steer(batch, launch.steering, reinterpret_cast<float2*>(weights), stream);
  float* step =
      step_.reserve(static_cast<std::size_t>(batch.n_row()) * plan_.n_input() / plan_.n_ant * plan_.n_beam);
  launch_steer(batch, launch.steering, layout(batch), weights, step, stream);
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
  // power has a row of beams for each polarisation, as beam_sums writes it
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
    launch_norms(batch, norms, stream);
    const Products products = products_of(launch);
    sum(launch, products);
    if (voltages())
      launch_finish_voltages(batch, voltages_.data(), n_all, reinterpret_cast<float2*>(out), stream);
    else
      launch_finish(batch, products, integration, stream);
  }
}

void DeviceBeams::sum_codes(const Launch& launch, const std::int8_t* rows, const Products& products,
                            cudaStream_t stream) {
  const Batch& batch = launch.batch;
  const std::size_t first_row = launch.keep ? static_cast<std::size_t>(batch.first_channel) *
                                                  static_cast<std::size_t>(batch.sections.count())
                                            : 0;
  const std::size_t n_scale = plan_.n_pol * plan_.n_beam;
  beam_sums::Task task;
  task.layout = layout(batch);
  task.samples = rows;
  task.weights = weights_.data() + task.layout.group(static_cast<int>(first_row), 0, 0, 0);
  task.scale = step_.data() + first_row * n_scale;
  if (!launch.fused) {
    task.out = reinterpret_cast<float*>(voltages_.reserve(static_cast<std::size_t>(batch.n_row()) * n_scale *
                                                          static_cast<std::size_t>(batch.sections.stride)));
    beam_sums::launch_wgmma(task, beam_sums::Product::voltage, n_sm_, stream);
    if (!voltages()) launch_detect(batch, voltages_.data(), products, stream);
    return;
  }
  float* scale = scale_.reserve(static_cast<std::size_t>(batch.n_row()) * n_scale);
  launch_normalise(batch, task.scale, scale, stream);
  task.scale = scale;
  task.segment = launch.segment;
  task.out = products.values;
  if (plan_.product != BeamProduct::power)
    return beam_sums::launch_wgmma(task, beam_sums::Product::coherence, n_sm_, stream);
  task.layout.n_chan *= task.layout.n_pol;  // of one polarisation each
  task.layout.n_pol = task.layout.n_weight_pol = 1;
  beam_sums::launch_wgmma(task, beam_sums::Product::power, n_sm_, stream);
}

void DeviceBeams::of_samples(std::int64_t first, const SpectraBlock& validity, const DeviceSamples& samples,
                             float* out, cudaStream_t stream) {
  run(first, validity, out, stream, [&](const Launch& launch, const Products& products) {
    const beam_sums::Layout to = layout(launch.batch);
    std::int8_t* rows = rows_.reserve(to.sample_bytes());
    launch_pack(launch.batch, {samples.data, samples.four_bit, static_cast<int>(plan_.n_channel())}, to, rows,
                stream);
    sum_codes(launch, rows, products, stream);
  });
}

void DeviceBeams::of_codes(std::int64_t first, const SpectraBlock& validity, const std::int8_t* spectra,
                           const x_layout::Layout& from, float* out, cudaStream_t stream) {
  run(first, validity, out, stream, [&](const Launch& launch, const Products& products) {
    const beam_sums::Layout to = layout(launch.batch);
    std::int8_t* rows = rows_.reserve(to.sample_bytes());
    launch_repack(launch.batch, spectra, from, to, rows, stream);
    sum_codes(launch, rows, products, stream);
  });
}

void DeviceBeams::of_spectra(std::int64_t first, const SpectraBlock& validity, const Spectra& spectra,
                             float* out, cudaStream_t stream) {
  run(first, validity, out, stream, [&](const Launch& launch, const Products& products) {
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
  });
}

}  // namespace apsyn
#endif
