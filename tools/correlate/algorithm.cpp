// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/correlate/algorithm.h"

#include <optional>
#include <string>

#include "kernels/common/spectra/multiply_codes.h"
#include "kernels/correlate/fx_engine.h"
#include "kernels/correlate/mean.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

/// Whether the CPU's X stage takes integers. `untouched`: spectra are the samples themselves.
bool cpu_takes_codes(const std::string& algorithm, const CorrelatePlan& plan, bool untouched) {
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

/// The GPU's X stage on floats of that name; none for integers.
std::optional<FloatAlgorithm> float_algorithm(const std::string& name) {
  if (name == "register") return FloatAlgorithm::register_tiles;
  if (name == "pair") return FloatAlgorithm::pair;
  if (name == "group2") return FloatAlgorithm::group2;
  if (name == "group4") return FloatAlgorithm::group4;
  if (name == "hybrid2") return FloatAlgorithm::hybrid2;
  if (name == "hybrid4") return FloatAlgorithm::hybrid4;
  return {};
}

}  // namespace

void choose_arithmetic(const std::string& algorithm, bool nothing_to_align, CorrelatePlan& plan) {
  QuantiserPlan& quantisers = plan.mean.quantisers;
  if (plan.on_gpu) {
    quantisers.of_samples = plan.cuda.untouched(!nothing_to_align);
    plan.cuda_floats = float_algorithm(algorithm);
    if (plan.cuda_floats && plan.f.requantise.n_bit > 0)
      throw UsageError(
          "--algorithm {}: multiplies floats: leave --requantise out, or give --algorithm tensor", algorithm);
    if (plan.cuda_floats || quantisers.of_samples) plan.cuda.requantisation = {};
    if (quantisers.of_samples) quantisers.requantiser.reset();
    return;
  }
  quantisers.of_samples = plan.f.n_sample == 1 && nothing_to_align && plan.f.requantise.n_bit == 0;
  plan.f.codes = plan.x.codes = cpu_takes_codes(algorithm, plan, quantisers.of_samples);
}

}  // namespace apsyn
