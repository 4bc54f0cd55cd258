// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/cuda/input.cuh"

#include "kernels/common/spectra/validity_mask.h"

namespace apsyn::epic_cuda {

Samples EpicInput::shape(std::size_t first_chan, std::size_t n_chan, std::size_t n_spectra) const {
  Samples samples;
  samples.first_channel = static_cast<int>(first_chan * plan_.n_fine);
  samples.n_channel = static_cast<int>(n_chan * plan_.n_fine);
  samples.n_spectra = static_cast<int>(n_spectra);
  samples.n_ant = static_cast<int>(plan_.n_ant);
  samples.n_pol = static_cast<int>(plan_.n_pol);
  return samples;
}

Samples EpicInput::from(const SpectraBlock& block, cudaStream_t stream) {
  Samples samples = shape(block.first_chan, block.n_chan, block.n_spectra);
  const std::size_t n_input = plan_.n_ant * plan_.n_pol, n_row = block.n_chan * block.n_fine;
  const std::size_t n = n_row * n_input * block.n_spectra;
  PanelTask task;
  task.n_channel = samples.n_channel;
  task.n_spectra = samples.n_spectra;
  task.n_input = static_cast<int>(n_input);
  const auto upload = [&](const auto& array) {
    task.n_held = static_cast<int>(array.extent(2));
    const std::size_t bytes =
        n_row * array.extent(1) * array.extent(2) * array.extent(3) * sizeof(*array.data());
    std::uint8_t* to = panels_.reserve(bytes);
    cuda_check(cudaMemcpyAsync(to, array.data(), bytes, cudaMemcpyHostToDevice, stream), "copying spectra");
    task.panels = to;
  };
  if (block.coded) {
    upload(block.codes);
    launch_from_codes(task, integers_.reserve(n), stream);
    samples.data = integers_.data();
    samples.format = SampleFormat::int8;
    samples.channel_stride = n_input;
    samples.spectrum_stride = n_row * n_input;
  } else {
    upload(block.planes);
    launch_from_planes(task, floats_.reserve(n), stream);
    samples.data = floats_.data();
    samples.format = SampleFormat::float32;
    samples.channel_stride = n_input * block.n_spectra;
    samples.spectrum_stride = n_input;
  }
  return samples;
}

Samples EpicInput::from(DeviceSpectrumSource& source, std::int64_t first, SpectraBlock& validity,
                        cudaStream_t stream) {
  const std::size_t n_input = plan_.n_ant * plan_.n_pol, n_channel = plan_.n_channel();
  Samples samples = shape(0, plan_.n_chan, validity.n_spectra);
  if (source.untouched()) {
    const DeviceSamples raw = source.samples(first, validity, stream);
    samples.data = raw.data;
    samples.format = raw.four_bit ? SampleFormat::int4 : SampleFormat::int8;
    samples.channel_stride = n_input;
    samples.spectrum_stride = n_channel * n_input;
    if (!validity.all_valid) samples.valid = upload_mask(validity, stream);
    return samples;
  }
  samples.channel_stride = n_input * validity.n_spectra;
  samples.spectrum_stride = n_input;
  samples.format = SampleFormat::float32;
  float2* to = floats_.reserve(n_channel * samples.channel_stride);
  source.spectra(first, validity, samples.channel_stride, to, stream);
  samples.data = to;
  return samples;
}

const std::uint8_t* EpicInput::upload_mask(const SpectraBlock& validity, cudaStream_t stream) {
  const std::size_t n_ant = plan_.n_ant, n = validity.n_spectra;
  if (mask_in_flight_) mask_sent_.wait();
  if (mask_bytes_ < n * n_ant) {
    mask_ = pinned<std::uint8_t>(n * n_ant);
    mask_bytes_ = n * n_ant;
  }
  mask_of(validity, mask_.get());
  std::uint8_t* to = device_mask_.reserve(n * n_ant);
  cuda_check(cudaMemcpyAsync(to, mask_.get(), n * n_ant, cudaMemcpyHostToDevice, stream), "copying validity");
  mask_sent_.record(stream);
  mask_in_flight_ = true;
  return to;
}

}  // namespace apsyn::epic_cuda
