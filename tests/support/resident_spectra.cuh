// SPDX-License-Identifier: GPL-3.0-or-later
// Samples that stay on a device, as an F stage hands them out: integers as they are, or spectra in floats.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "kernels/common/cuda/spectra.cuh"
#include "kernels/common/cuda/transfer.h"

namespace apsyn::support {

struct ResidentShape {
  std::size_t n_spectra = 0, n_chan = 1, n_ant = 0, n_pol = 1;
  std::size_t n_input() const { return n_ant * n_pol; }
};

class ResidentSpectra final : public DeviceSpectrumSource {
 public:
  /// raw [spectrum][chan][input], a byte each of 4 bits or int8 re, im; valid [ant][spectrum], empty = all.
  ResidentSpectra(const ResidentShape& shape, const std::uint8_t* raw, bool four_bit,
                  std::vector<std::uint8_t> valid = {})
      : shape_(shape), four_bit_(four_bit), valid_(std::move(valid)) {
    integers_.copy(raw, (four_bit ? 1 : 2) * values());
    cuda_check(cudaDeviceSynchronize(), "copying samples");
  }
  /// spectra [chan][spectrum][input]
  ResidentSpectra(const ResidentShape& shape, const float2* spectra) : shape_(shape) {
    floats_.copy(spectra, values());
    cuda_check(cudaDeviceSynchronize(), "copying spectra");
  }

  std::size_t append(const VoltageBlock&, std::size_t) override { return 0; }
  std::function<void()> taken() override { return {}; }
  void end_of_stream() override {}
  std::int64_t available() const override { return static_cast<std::int64_t>(shape_.n_spectra); }
  void release(std::int64_t) override {}
  std::size_t max_spectra() const override { return shape_.n_spectra; }
  std::size_t good_spectra() const override { return 1; }
  bool untouched() const override { return integers_.data() != nullptr; }
  void used(cudaStream_t) override {}
  View<const float, 2> scales(std::int64_t) const override { return {}; }
  std::vector<std::uint64_t> clipped() const override { return {}; }

  DeviceSamples samples(std::int64_t first, SpectraBlock& validity, cudaStream_t) override {
    fill(first, validity);
    const std::size_t before = static_cast<std::size_t>(first) * shape_.n_chan * shape_.n_input();
    return {integers_.data() + (four_bit_ ? 1 : 2) * before, four_bit_};
  }
  void spectra(std::int64_t, SpectraBlock&, const x_layout::Layout&, std::int8_t*, cudaStream_t) override {
    throw std::logic_error("ResidentSpectra: not requantised");
  }
  void spectra(std::int64_t first, SpectraBlock& validity, std::size_t channel_stride, float2* out,
               cudaStream_t stream) override {
    fill(first, validity);
    const std::size_t row = shape_.n_input() * sizeof(float2);
    cuda_check(cudaMemcpy2DAsync(out, channel_stride * sizeof(float2),
                                 floats_.data() + static_cast<std::size_t>(first) * shape_.n_input(),
                                 shape_.n_spectra * row, validity.n_spectra * row, shape_.n_chan,
                                 cudaMemcpyDeviceToDevice, stream),
               "copying spectra");
  }

 private:
  std::size_t values() const { return shape_.n_spectra * shape_.n_chan * shape_.n_input(); }
  void fill(std::int64_t first, SpectraBlock& validity) const {
    validity.first_chan = 0;
    validity.n_chan = shape_.n_chan;
    validity.n_fine = 1;
    validity.all_valid = valid_.empty();
    validity.valid.resize({1, shape_.n_ant, validity.n_spectra});
    validity.valid.fill(1);
    for (std::size_t ant = 0; ant < shape_.n_ant && !valid_.empty(); ++ant)
      std::copy_n(valid_.data() + ant * shape_.n_spectra + first, validity.n_spectra,
                  &validity.valid(0, ant, 0));
  }

  ResidentShape shape_;
  bool four_bit_ = false;
  std::vector<std::uint8_t> valid_;
  Upload<std::uint8_t> integers_;
  Upload<float2> floats_;
};

}  // namespace apsyn::support
