// SPDX-License-Identifier: GPL-3.0-or-later
// How batches are cut, and what is uploaded: tables at first, then delays and validity with each batch.
#ifdef APSYN_CUDA
#include <algorithm>
#include <cmath>

#include "kernels/beamform/beam_device.cuh"
#include "kernels/beamform/beam_weights.h"
#include "kernels/beamform/validity_runs.h"
#include "libcore/core/parallel.h"

namespace apsyn {

using namespace beam_stage;

namespace {

constexpr std::int64_t kLongInterval = 128;  // spectra from which on a batch holds whole ones only
constexpr std::uint64_t kMostDelayBytes = 64u << 20;

}  // namespace

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
    parallel_for(plan_.n_threads, n_section * plan_.n_beam, [&](std::size_t index, unsigned) {
      const auto at = first_interval + static_cast<std::int64_t>(index / plan_.n_beam);
      delays_.delays_s(index % plan_.n_beam, steering_middle_s(plan_, at),
                       {delay_s + index * plan_.n_ant, plan_.n_ant});
    });
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

}  // namespace apsyn
#endif
