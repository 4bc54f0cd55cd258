// SPDX-License-Identifier: GPL-3.0-or-later
// What the imaging sources share: correlation products -> planes of the wanted channels.
#pragma once

#include <vector>

#include "libcore/core/imaging.h"
#include "libcore/core/stokes.h"

namespace apsyn {

/// Indices of the channels that belong to the group.
std::vector<std::size_t> channels_in(const std::vector<double>& channel_hz, const ChannelGroup& group);

/// Fills data and weight of `block` ([n_row][channels][planes], resized here) from products of `n_row` rows.
void make_planes(View<const std::complex<float>, 3> data, View<const float, 3> weight,
                 const std::vector<std::size_t>& channels, const std::vector<PlaneRecipe>& planes,
                 ImagingBlock& block);

/// Distinct frequencies of all the lists, rising.
std::vector<double> merge_channels(const std::vector<std::vector<double>>& lists);

}  // namespace apsyn
