// SPDX-License-Identifier: GPL-3.0-or-later
// The F and X stages of the chosen device.
#pragma once

#include "kernels/channelise/channelise_cuda.h"
#include "kernels/correlate/fx_engine.h"
#include "libcore/system/device.h"
#include "tools/correlate/plan.h"

namespace apsyn {

/// `delays` may be null; it and the plan must outlive the engine.
inline std::unique_ptr<FxEngine> make_engine(const Device& device, const CorrelatePlan& plan,
                                             DelaySource* delays) {
  if (device.kind == Device::Kind::cpu)
    return make_fx_engine(std::make_shared<Channeliser>(plan.f, delays), plan.x, plan.integration, plan.mean);
  return make_cuda_fx_engine(make_cuda_channeliser(plan.cuda, delays, device.index), plan.x, plan.integration,
                             plan.mean, device.index, plan.cuda_floats);
}

}  // namespace apsyn
