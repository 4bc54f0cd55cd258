// SPDX-License-Identifier: GPL-3.0-or-later
// How batches are cut, and what is uploaded: tables at first, then delays and validity when they change.
#include <algorithm>
#include <cmath>

#include "kernels/beamform/beam_weights.h"
#include "kernels/beamform/cuda/device.cuh"
#include "kernels/beamform/norm_rows.h"
#include "libcore/base/constants.h"
#include "libcore/system/parallel.h"

namespace apsyn {

using namespace beam_stage;

namespace {

constexpr std::int64_t kLongInterval = 128;  // spectra from which on a batch holds whole ones only
constexpr std::uint64_t kMaxDelayBytes = 64u << 20;

using Table = Buffer<std::complex<double>, 3>;  // [ant][pol][input chan or channel]; empty = 1

bool is_fine(const BeamformPlan& plan, const Table& table) {
  return table.size() > 0 && table.extent(2) != plan.n_chan;
}

/// Of a row that is a channel (`of_channels`) or an input channel.
std::complex<double> table_entry(const BeamformPlan& plan, const Table& table, std::size_t row,
                                 bool of_channels, std::size_t input) {
  if (table.size() == 0) return std::complex<double>(1);
  const std::size_t chan = is_fine(plan, table) || !of_channels ? row : row / plan.n_fine;
  return table(input / plan.n_pol, input % plan.n_pol, chan);
}

}  // namespace

void DeviceBeams::make_tables() {
  channel_hz_ = uploaded(plan_.channel_hz);
  const auto& hz = plan_.channel_hz;
  const auto last = static_cast<double>(hz.size() - 1);
  even_channels_ = true;
  for (std::size_t i = 0; i < hz.size() && hz.size() > 1; ++i)
    if (std::abs(hz[i] - hz[0] - static_cast<double>(i) / last * (hz.back() - hz[0])) >
        1e-9 * std::abs(hz.back()))
      even_channels_ = false;
  make_gain_tables();
  if (plan_.weights.size() > 0) {
    std::vector<double> amplitude;
    for (std::size_t row = 0; row < plan_.weights.extent(2); ++row)
      for (std::size_t input = 0; input < plan_.n_input(); ++input)
        amplitude.push_back(std::abs(table_entry(plan_, plan_.weights, row, amplitude_of_channels_, input)));
    amplitude_ = uploaded(amplitude);
  }
  if (!voltages())
    for (DeviceArray<double>& open : open_)
      open = DeviceArray<double>(plan_.n_beam * plan_.n_out_channel() *
                                 static_cast<std::size_t>(n_detected() + 1));
}

void DeviceBeams::make_gain_tables() {
  used_.assign(plan_.n_ant, 0);
  for (std::size_t beam = 0; beam < plan_.n_beam; ++beam)
    for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) used_[ant] |= plan_.member(beam, ant);
  member_ = uploaded(std::vector<std::uint8_t>(plan_.member.begin(), plan_.member.end()));
  amplitude_of_channels_ = is_fine(plan_, plan_.weights);
  factor_of_channels_ = amplitude_of_channels_ || is_fine(plan_, plan_.calibration);
  const std::size_t n_row = factor_of_channels_ ? plan_.n_channel() : plan_.n_chan;
  base_.clear();
  for (std::size_t row = 0; row < n_row; ++row)
    for (std::size_t input = 0; input < plan_.n_input(); ++input)
      base_.push_back(plan_.scale * table_entry(plan_, plan_.weights, row, factor_of_channels_, input) *
                      table_entry(plan_, plan_.calibration, row, factor_of_channels_, input));
  set_scales({});
}

void DeviceBeams::renew_gains() {
  make_gain_tables();
  known_valid_.clear();  // of antennas in any beam
  all_known_ = false;
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
  kept_scales_ = false;
  kept_steps_ = false;
  shared_weights_ = true;
  for (std::size_t i = 1; i < factor.size(); i += plan_.n_pol)
    if (plan_.n_pol == 2 && (factor[i].x != factor[i - 1].x || factor[i].y != factor[i - 1].y))
      shared_weights_ = false;
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
        std::max<std::uint64_t>(2, kMaxDelayBytes / (8 * plan_.n_beam * plan_.n_ant));
    return std::min<std::int64_t>(most, static_cast<std::int64_t>(sections - 1) * interval);
  }
  const std::int64_t off = (plan_.first_spectrum + first) % interval, left = interval - off;
  if (most <= left) return most;
  const std::uint64_t sections =
      std::max<std::uint64_t>(1, kMaxDelayBytes / (8 * plan_.n_beam * plan_.n_ant));
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
  launch.keep = weight_bytes(batch) <= kMaxWeightBytes;
  const std::int64_t first_interval = steering_interval_of(plan_, first);
  launch.steer = !launch.keep || kept_interval_ != first_interval || kept_sections_ != sections.count();
  kept_interval_ = launch.keep ? first_interval : -1;
  kept_sections_ = sections.count();
  look_up(validity, launch, stream);

  Steering& steering = launch.steering;
  if (launch.steer && !plan_.incoherent) {
    follow(first_interval, sections.count(), stream);
    const std::size_t n_delay = plan_.n_beam * plan_.n_ant;
    const auto steps = static_cast<std::size_t>(first_interval - path_.begin);
    steering.delay_s = path_.device.data() + (path_.sloped ? 0 : steps * n_delay);
    if (path_.sloped) steering.slope_s = path_.device.data() + n_delay;
    steering.steps = static_cast<double>(steps);
  }
  steering.channel_hz = channel_hz_.data();
  steering.even = even_channels_;
  steering.factor = factor_.data();
  steering.factor_of_channels = factor_of_channels_;
  steering.shift = shift_;
  batch.norm_of_channels = plan_.weights.size() > 0 || batch.n_valid_row > 1;
  launch.fused = integers() && !voltages() && batch.n_run == 1;
  launch.segment = voltages() ? 1 : segment_of(first, launch);
  launch.direct = is_direct(first, launch);
  return launch;
}

/// Sums that are of whole integrations and of single channels are what files hold.
bool DeviceBeams::is_direct(std::int64_t first, const Launch& launch) const {
  const auto integrate = static_cast<std::int64_t>(plan_.n_integrate);
  return launch.fused && plan_.n_average == 1 && integrate == launch.segment && first % integrate == 0 &&
         launch.batch.sections.n_spectra % integrate == 0;
}

/// Delays of an interval that begins with first_interval, as long as straight lines describe them.
void DeviceBeams::follow(std::int64_t first_interval, std::int64_t n_section, cudaStream_t stream) {
  constexpr double kMaxPhase = 2e-5;  // rad that a line may be off by
  const std::int64_t last = first_interval + n_section - 1;
  if (first_interval >= path_.begin && last <= path_.end) return;
  const std::size_t n_ant = plan_.n_ant, n_delay = plan_.n_beam * n_ant;
  if (path_.busy) path_.sent.wait();
  const auto room = [&](std::size_t size) {
    if (path_.host_size >= size) return;
    path_.host.reset();
    path_.host = pinned<double>(size);
    path_.host_size = size;
  };
  const auto middle_s = [&](std::int64_t interval) { return steering_middle_s(plan_, interval); };
  double highest_hz = 0;
  for (const double hz : plan_.channel_hz) highest_hz = std::max(highest_hz, std::abs(hz));
  path_.begin = first_interval;
  path_.sloped = false;
  constexpr std::int64_t kLongest = 1 << 14, kShortest = 4;
  if (plan_.update_spectra != kNeverSteered)
    for (std::int64_t span = std::min(kLongest, 4 * path_.span); span >= kShortest; span /= 4) {
      if (span < n_section - 1) break;
      room(2 * n_delay);
      const double off_s =
          fit_delay_lines(plan_, delays_, first_interval, span, path_.host.get(), path_.host.get() + n_delay);
      path_.sloped = kTwoPi * highest_hz * off_s <= kMaxPhase;
      if (!path_.sloped) continue;
      path_.span = span;
      path_.end = first_interval + span;
      break;
    }
  std::size_t size = 2 * n_delay;
  if (!path_.sloped) {
    const auto n = static_cast<std::size_t>(n_section);
    size = n * n_delay;
    room(size);
    delays_.prepare(middle_s(first_interval), middle_s(last));
    parallel_for(plan_.n_threads, n * plan_.n_beam, [&](std::size_t index, unsigned) {
      const auto at = first_interval + static_cast<std::int64_t>(index / plan_.n_beam);
      delays_.delays_s(index % plan_.n_beam, middle_s(at), {path_.host.get() + index * n_ant, n_ant});
    });
    path_.end = last;
  }
  double* device = path_.device.reserve(size);
  cuda_check(cudaMemcpyAsync(device, path_.host.get(), size * sizeof(double), cudaMemcpyHostToDevice, stream),
             "copying delays");
  path_.sent.record(stream);
  path_.busy = true;
}

/// Brings what is known of missing samples to the device, unless it is there.
void DeviceBeams::look_up(const SpectraBlock& validity, Launch& launch, cudaStream_t stream) {
  Batch& batch = launch.batch;
  const std::size_t n_row = validity.valid.extent(0), n_ant = plan_.n_ant;
  batch.n_valid_row = static_cast<int>(n_row);
  const auto known = [&] {
    launch.known = true;
    batch.n_run = 1;
    batch.valid = known_valid_device_;
  };
  if (validity.all_valid && all_known_ && known_valid_.size() == n_row * n_ant) {
    launch.all_good = true;
    return known();
  }
  std::vector<std::vector<ValidityRun>> runs;
  std::size_t n_run = 1;
  for (std::size_t row = 0; row < n_row; ++row) {
    runs.push_back(validity_runs(validity, row, used_));
    n_run = std::max(n_run, runs.back().size());
  }
  std::vector<std::uint8_t> valid(n_row * n_run * n_ant, 0);
  launch.all_good = n_run == 1;
  for (std::size_t row = 0; row < n_row; ++row)
    for (std::size_t i = 0; i < runs[row].size(); ++i)
      for (std::size_t ant = 0; ant < n_ant; ++ant) {
        const std::uint8_t one = validity.valid(row, ant, runs[row][i].begin);
        valid[(row * n_run + i) * n_ant + ant] = one;
        if (one == 0 && used_[ant] != 0) launch.all_good = false;
      }
  if (n_run == 1 && valid == known_valid_) return known();
  kept_scales_ = false;
  const std::size_t run_bytes = n_run == 1 ? 0 : n_row * validity.n_spectra * sizeof(int);
  Slot& slot = slots_[turn_++ % 2];
  if (slot.busy) slot.sent.wait();
  const std::size_t bytes = run_bytes + valid.size();
  if (slot.host_bytes < bytes) {
    slot.host.reset();
    slot.host = pinned<std::uint8_t>(bytes);
    slot.host_bytes = bytes;
  }
  auto* run = reinterpret_cast<int*>(slot.host.get());
  for (std::size_t row = 0; n_run > 1 && row < n_row; ++row)
    for (std::size_t i = 0; i < runs[row].size(); ++i)
      std::fill(run + row * validity.n_spectra + runs[row][i].begin,
                run + row * validity.n_spectra + runs[row][i].end, static_cast<int>(i));
  std::copy(valid.begin(), valid.end(), slot.host.get() + run_bytes);
  std::uint8_t* device = slot.device.reserve(bytes);
  cuda_check(cudaMemcpyAsync(device, slot.host.get(), bytes, cudaMemcpyHostToDevice, stream),
             "copying what is missing");
  slot.sent.record(stream);
  slot.busy = true;
  batch.n_run = static_cast<int>(n_run);
  batch.run = reinterpret_cast<const int*>(device);
  batch.valid = device + run_bytes;
  known_valid_.clear();
  if (n_run == 1) {
    known_valid_device_ = batch.valid;
    known_valid_ = std::move(valid);
  }
  all_known_ = n_run == 1 && validity.all_valid;
}

}  // namespace apsyn
