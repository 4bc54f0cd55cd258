// SPDX-License-Identifier: GPL-3.0-or-later
// CLEAN by Clark's two loops: select the high pixels, clean among them, subtract from the whole image,
// repeat.
#pragma once

#include "kernels/clean/component_loop.h"
#include "kernels/clean/cpu/psf_subtraction.h"
#include "kernels/clean/cpu/sub_images.h"

namespace apsyn {

/// What an algorithm needs besides the planes.
struct CleanTask {
  LoopLimits limits;
  /// The component for a peak; its fluxes are to be multiplied by `gain`.
  std::function<SetComponent(const SetPeak&, double gain)> component_of;
  /// Called for each component, with the index of its scale and the peak's height before it.
  std::function<void(std::size_t scale, const SetComponent&, double height_jy)> found;
  double gain = 0.1;
  unsigned n_threads = 1;
};

/// Cleans set.residual in place.
LoopStop run_hogbom(const PlaneSet& set, PsfSubtraction& subtraction, const CleanTask& task);
LoopStop run_clark(const PlaneSet& set, PsfSubtraction& subtraction, const SubImages& sub_images,
                   const CleanTask& task);

}  // namespace apsyn
