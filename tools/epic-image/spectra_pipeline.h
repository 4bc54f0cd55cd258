// SPDX-License-Identifier: GPL-3.0-or-later
// The F stage and the imager of the chosen device.
#pragma once

#include <memory>

#include "kernels/epic/epic.h"
#include "kernels/epic/spectra_pipeline.h"
#include "libcore/array/delays.h"
#include "tools/epic-image/setup.h"

namespace apsyn {

/// `delays` may be null; it and the setup must outlive the pipeline.
std::unique_ptr<SpectraPipeline> make_pipeline(const EpicSetup& setup, EpicPlan plan, DelaySource* delays);

}  // namespace apsyn
