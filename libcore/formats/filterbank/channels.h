// SPDX-License-Identifier: GPL-3.0-or-later
// Samples of a filterbank file by channel: total intensity, [channel][time].
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "libcore/base/view.h"
#include "libcore/formats/filterbank/reader.h"

namespace apsyn {

/// The IFs that make the intensity: the first one (Stokes I of IQUV), or the sum of the first two (powers of
/// two polarisations). The header of a SIGPROC filterbank does not tell.
enum class IntensityKind { first, sum };
/// "first", "sum", or "auto": what `products` tell; where they are not known the sum for two IFs, else the
/// first. UsageError for another name, or sum of one IF.
IntensityKind parse_intensity(std::string_view name, std::size_t n_if, Products products);
/// What "auto" is.
IntensityKind usual_intensity(std::size_t n_if, Products products);

/// Channels first .. first + out.extent(0) - 1 of the whole samples in `bytes`; out.extent(1) may exceed
/// their number.
void decode_filterbank_channels(const FilterbankInput& input, std::span<const std::uint8_t> bytes,
                                IntensityKind kind, std::size_t first, View<float, 2> out);

}  // namespace apsyn
