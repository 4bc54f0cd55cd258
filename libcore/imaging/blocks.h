// SPDX-License-Identifier: GPL-3.0-or-later
// What the imaging sources share: correlation products -> planes of the wanted channels.
#pragma once

#include <complex>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"
#include "libcore/visibility/imaging.h"
#include "libcore/visibility/stokes.h"

namespace apsyn {

/// Indices of the channels that belong to the group.
std::vector<std::size_t> channels_in(const std::vector<double>& channel_hz, const ChannelGroup& group);

/// Room for data and weight of `block`, [n_row][n_chan][n_planes], which hold anything and which n_threads
/// fill.
void resize_planes(ImagingBlock& block, std::size_t n_row, std::size_t n_chan, std::size_t n_planes,
                   unsigned n_threads = 1);

/// Fills data and weight of `block`, which has room for them, from products of as many rows as `data` has:
/// those from first_row on.
void make_planes(View<const std::complex<float>, 3> data, View<const float, 3> weight,
                 const std::vector<std::size_t>& channels, const std::vector<PlaneRecipe>& planes,
                 ImagingBlock& block, std::size_t first_row = 0);

/// The same for memory of [row][chan][plane].
void make_planes(View<const std::complex<float>, 3> data, View<const float, 3> weight,
                 const std::vector<std::size_t>& channels, const std::vector<PlaneRecipe>& planes,
                 std::complex<float>* out, float* out_weight);

/// Whether any of the rows has to be moved to get to `centre`: then path_m of its block is not empty.
bool moves_to_centre(const MsRows& rows, const std::vector<MsField>& fields, const SkyDirection& centre);

/// Fills uvw_m and path_m of `block` with the rows' coordinates about `centre`. Returns the rows whose
/// coordinates are no numbers: they are 0 in the block.
std::vector<std::size_t> move_to_centre(const MsRows& rows, const std::vector<MsField>& fields,
                                        const SkyDirection& centre, ImagingBlock& block,
                                        unsigned n_threads = 1);

/// Distinct frequencies of all windows, rising, each with the greatest width that it has in any.
struct MergedChannels {
  std::vector<double> channel_hz, width_hz;
};
MergedChannels merge_channels(const std::vector<MsSpectralWindow>& windows);

}  // namespace apsyn
