// SPDX-License-Identifier: GPL-3.0-or-later
// What gridding or degridding by a plan would take.
#pragma once

#include "kernels/idg/idg.h"

namespace apsyn {

/// Seconds of one core, or of the GPU. The constants were measured (tests/bench/README.md): on a Zen 4 core
/// with AVX-512 and on an H200; their ratios matter, and differ little from one model to the next.
double modelled_seconds(const IdgPlan& plan, const IdgWorkload& work);

}  // namespace apsyn
