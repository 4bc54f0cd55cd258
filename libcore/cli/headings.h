// SPDX-License-Identifier: GPL-3.0-or-later
// Headings of --help and of the man pages' OPTIONS that several tools use. Tool::heading() puts the options
// that are declared after it under one.
#pragma once

namespace apsyn::headings {

inline constexpr char kInputOutput[] = "Input and output", kSelection[] = "Selection",
                      kVoltages[] = "Voltages", kChannels[] = "Channels and integration", kImage[] = "Image",
                      kWeighting[] = "Weighting", kAterms[] = "A-terms", kAccuracy[] = "Accuracy",
                      kCompute[] = "Compute", kGeneral[] = "General";

}  // namespace apsyn::headings
