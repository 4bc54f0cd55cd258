// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of the CUDA beamformer, planned in builds without CUDA too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/beamform/beam_engine.h"

namespace apsyn {

std::uint64_t out_time_bytes(const BeamformPlan& plan);
std::uint64_t out_bytes_of(const BeamformPlan& plan, std::size_t batch_spectra);

}  // namespace apsyn
