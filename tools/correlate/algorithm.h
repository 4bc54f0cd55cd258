// SPDX-License-Identifier: GPL-3.0-or-later
// --algorithm: which X stage, and what it means for the F stage and the means.
#pragma once

#include "kernels/common/multiply_codes.h"
#include "libcore/core/error.h"
#include "tools/correlate/plan.h"

namespace apsyn {

/// Whether the CPU's X stage takes integers. `untouched`: spectra are the samples themselves.
inline bool cpu_takes_codes(const std::string& algorithm, const CorrelatePlan& plan, bool untouched) {
  if (algorithm == "register") return false;
  if (algorithm != "auto" && algorithm != "tensor")
    throw UsageError(
        "--algorithm {}: a published GPU design, for comparison on a GPU: give auto, tensor or register",
        algorithm);
  const bool integers = plan.f.requantise.n_bit > 0 || (untouched && plan.header.n_bit <= 8);
  if (algorithm == "auto") return integers && multiplies_codes();
  if (!integers)
    throw UsageError(
        "--algorithm tensor: these spectra are no integers: give --requantise 8, or --algorithm auto");
  if (!multiplies_codes())
    throw UsageError(
        "--algorithm tensor: this processor has no AVX-512 VNNI: give --algorithm auto or register");
  return true;
}

/// Settles what depends on whether anything is to be aligned.
inline void choose_arithmetic(const std::string& algorithm, bool nothing_to_align, CorrelatePlan& plan) {
  QuantiserPlan& quantisers = plan.mean.quantisers;
  if (plan.on_gpu) {
    if (algorithm != "auto" && algorithm != "tensor")
      throw UsageError("--algorithm {}: visibilities on a GPU are made by auto and tensor", algorithm);
    quantisers.of_samples = plan.cuda.untouched(!nothing_to_align);
    if (quantisers.of_samples) quantisers.requantiser.reset();
    return;
  }
  quantisers.of_samples = plan.f.n_sample == 1 && nothing_to_align && plan.f.requantise.n_bit == 0;
  plan.f.codes = plan.x.codes = cpu_takes_codes(algorithm, plan, quantisers.of_samples);
}

}  // namespace apsyn
