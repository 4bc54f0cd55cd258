// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of telescopes whose Measurement Sets tell of their antennas. For libcore/aterms only.
#pragma once

#include <memory>
#include <string>

#include "libcore/array/array_layout.h"
#include "libcore/aterms/config.h"
#include "libcore/aterms/part.h"

namespace apsyn {

/// `model` is that of the configuration, or what the telescope's name stands for.
std::string beam_model_of(const AtermEntry& entry, const ArrayLayout& layout);

/// Models station, mwa-fee, vla, atca, gmrt, meerkat, mid, alma, dsa110 and fits.
std::unique_ptr<AtermPart> open_aterm_stations(const AtermEntry& entry, const ArrayLayout& layout,
                                               const ArrayTables& tables);
std::unique_ptr<AtermPart> open_aterm_mwa_fee(const AtermEntry& entry, const ArrayLayout& layout,
                                              const ArrayTables& tables);
std::unique_ptr<AtermPart> open_aterm_voltages(const AtermEntry& entry, const std::string& model,
                                               const ArrayLayout& layout, const ArrayTables& tables);
std::unique_ptr<AtermPart> open_aterm_patterns(const AtermEntry& entry, const ArrayLayout& layout,
                                               const ArrayTables& tables);

}  // namespace apsyn
