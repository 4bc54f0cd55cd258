// SPDX-License-Identifier: GPL-3.0-or-later
// The times and channels for which solutions hold: time slots and channel blocks of each term of a chain, and
// the cells of which they all consist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"

namespace apsyn::calibrate {

/// Consecutive integrations.
struct TimeSlot {
  std::size_t first = 0, n = 0;
  double centre_mjd_s = 0, length_s = 0;  ///< from the beginning of the first to the end of the last
};

/// One slot for the whole time (interval_s = 0), or slots of about interval_s, rounded to whole integrations:
/// none crosses a scan boundary or a gap, and the slots between two of these differ by one integration at
/// most. A gap is a step of more than 1.5 integrations.
std::vector<TimeSlot> make_slots(std::span<const MsIntegration> integrations, double interval_s);

/// The cell of each integration, rising. A cell is a run of integrations in which no slot of any term ends.
std::vector<std::uint32_t> make_cells(const std::vector<std::vector<TimeSlot>>& terms,
                                      std::size_t n_integrations);

/// The integration of a row: the first whose time is not before the row's.
std::size_t integration_at(std::span<const MsIntegration> integrations, double time_mjd_s);

/// Solutions in the channels of one window.
struct ChannelBlocks {
  std::vector<std::uint32_t> of_channel;  ///< [chan]
  std::vector<double> freq_hz, width_hz;  ///< [block] the mean of its channels, from edge to edge
  std::size_t size() const { return freq_hz.size(); }
};

/// Blocks of `channels` neighbouring channels (0: one block of all); the last block takes the remaining ones.
ChannelBlocks make_blocks(const MsSpectralWindow& window, std::size_t channels);

/// The coarsest blocks that no block of any term cuts, each of at most `max_channels` channels.
ChannelBlocks common_blocks(const MsSpectralWindow& window, std::span<const ChannelBlocks> terms,
                            std::size_t max_channels);

/// [block of `fine`] the block of `coarse` that it lies in.
std::vector<std::uint32_t> block_map(const ChannelBlocks& fine, const ChannelBlocks& coarse);

}  // namespace apsyn::calibrate
