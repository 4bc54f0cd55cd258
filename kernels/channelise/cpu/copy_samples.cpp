// SPDX-License-Identifier: GPL-3.0-or-later
// Spectra that are the samples themselves, and the scales of those that become integers.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/channelise/channelise.h"
#include "kernels/channelise/input_scales.h"
#include "kernels/channelise/sample_store.h"

namespace apsyn {

namespace {

/// codes[input][re, im, re, im] of n inputs from two time samples [input][re, im]; a null `second` is 0.
void pack_codes(const std::int8_t* first, const std::int8_t* second, std::size_t n, std::int8_t* codes) {
  std::uint16_t one[kPanelInputs], other[kPanelInputs];
  if (n == kPanelInputs && second != nullptr) {  // of known size: stays in registers
    std::memcpy(one, first, sizeof(one));
    std::memcpy(other, second, sizeof(other));
  } else {
    std::fill_n(one, kPanelInputs, std::uint16_t{0});
    std::fill_n(other, kPanelInputs, std::uint16_t{0});
    std::memcpy(one, first, 2 * n);
    if (second != nullptr) std::memcpy(other, second, 2 * n);
  }
  std::uint32_t words[kPanelInputs];
  for (std::size_t i = 0; i < kPanelInputs; ++i)
    words[i] = static_cast<std::uint32_t>(one[i]) | static_cast<std::uint32_t>(other[i]) << 16;
  std::memcpy(codes, words, sizeof(words));
}

}  // namespace

void Channeliser::copy_samples(std::int64_t first, std::size_t spectrum, std::size_t panel,
                               SpectraBlock& block) const {
  const std::size_t n_input = plan_.n_ant * plan_.n_pol;
  const std::size_t first_input = panel * kPanelInputs;
  const std::size_t n_used = std::min(kPanelInputs, n_input - first_input);
  const std::int64_t sample = plan_.first_sample + first + static_cast<std::int64_t>(spectrum);
  const auto copy = [&](const auto* row) {
    for (std::size_t chan = 0; chan < block.n_chan; ++chan) {
      const auto* from = row + ((block.first_chan + chan) * n_input + first_input) * 2;
      float* to = &block.planes(chan, panel, spectrum, 0);
      for (std::size_t input = 0; input < n_used; ++input) {
        to[input] = from[2 * input];
        to[kPanelInputs + input] = from[2 * input + 1];
      }
      if (block.all_valid) continue;
      const std::size_t row_of_valid = block.valid.extent(0) == 1 ? 0 : chan;
      for (std::size_t input = 0; input < n_used; ++input)
        if (block.valid(row_of_valid, (first_input + input) / plan_.n_pol, spectrum) == 0)
          to[input] = to[kPanelInputs + input] = 0;
    }
  };
  if (store_->integer())
    copy(store_->row_i8(sample));
  else
    copy(store_->row_f32(sample));
}

void Channeliser::pack_samples(std::int64_t first, std::size_t spectrum, std::size_t panel,
                               SpectraBlock& block) const {
  const std::size_t n_input = plan_.n_ant * plan_.n_pol;
  const std::size_t first_input = panel * kPanelInputs;
  const std::size_t n_used = std::min(kPanelInputs, n_input - first_input);
  const std::int64_t sample = plan_.first_sample + first + static_cast<std::int64_t>(spectrum);
  const std::size_t n_held = std::min<std::size_t>(2, block.n_spectra - spectrum);
  const std::int8_t* rows[2] = {store_->row_i8(sample), n_held == 2 ? store_->row_i8(sample + 1) : nullptr};
  for (std::size_t chan = 0; chan < block.n_chan; ++chan) {
    const std::size_t offset = ((block.first_chan + chan) * n_input + first_input) * 2;
    std::int8_t* codes = &block.codes(chan, panel, spectrum / 2, 0);
    pack_codes(rows[0] + offset, rows[1] ? rows[1] + offset : nullptr, n_used, codes);
    if (block.all_valid) continue;
    const std::size_t row_of_valid = block.valid.extent(0) == 1 ? 0 : chan;
    for (std::size_t half = 0; half < n_held; ++half)
      for (std::size_t input = 0; input < n_used; ++input)
        if (block.valid(row_of_valid, (first_input + input) / plan_.n_pol, spectrum + half) == 0)
          codes[4 * input + 2 * half] = codes[4 * input + 2 * half + 1] = 0;
  }
}

/// Takes an integration's scales into the block; antennas that have none yet become invalid.
void Channeliser::prepare_scales(std::int64_t first, SpectraBlock& block) const {
  const std::int64_t integration = first / plan_.integration_spectra;
  const std::int64_t last = first + static_cast<std::int64_t>(block.n_spectra) - 1;
  if (last / plan_.integration_spectra != integration)
    throw std::logic_error("Channeliser: requantised spectra of two integrations");
  const auto scales = scales_->scales(integration);
  block.steps.resize({block.n_chan, plan_.n_ant * plan_.n_pol});
  for (std::size_t chan = 0; chan < block.n_chan; ++chan)
    for (std::size_t input = 0; input < block.steps.extent(1); ++input)
      block.steps(chan, input) = scales(block.first_chan + chan, input);
  for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) {
    const std::int64_t usable = scales_->first_usable(integration, ant);
    if (usable <= first) continue;
    block.all_valid = false;
    const auto n = static_cast<std::size_t>(std::min(usable - 1, last) - first + 1);
    for (std::size_t row = 0; row < block.valid.extent(0); ++row)
      for (std::size_t i = 0; i < n; ++i) block.valid(row, ant, i) = 0;
  }
}

}  // namespace apsyn
