// SPDX-License-Identifier: GPL-3.0-or-later
// From options and a stream's header to what each stage does, and what it costs.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/channelise/channelise.h"
#include "kernels/channelise/channelise_cuda.h"
#include "kernels/correlate/correlate.h"
#include "kernels/correlate/fx_engine.h"
#include "kernels/correlate/mean.h"
#include "libcore/base/view.h"
#include "libcore/cli/tool.h"
#include "libcore/measures/delay_tracker.h"
#include "libcore/streams/open_voltages.h"
#include "libcore/system/device.h"
#include "libcore/visibility/visibility.h"
#include "libcore/voltage/voltage.h"
#include "tools/correlate/options.h"

namespace apsyn {

struct CorrelatePlan {
  VoltageHeader header;  ///< with the effective layout
  ChannelisePlan f;
  CudaChannelisePlan cuda;                    ///< f on a GPU
  std::optional<FloatAlgorithm> cuda_floats;  ///< X stage on floats there; none = on integers
  bool on_gpu = false;
  CorrelatorPlan x;
  IntegrationPlan integration;
  MeanPlan mean;
  Buffer<std::complex<double>, 3> bandpass;  ///< [ant][pol][chan * fine]; empty = 1
  DelayTarget target;
  VisibilityHeader visibilities;
  double spectrum_s = 0;
  std::int64_t n_samples = -1;  ///< to be read; -1 = to the end
  std::size_t gulp_samples = 0;
  std::uint64_t memory_bytes = 0;
};

CorrelatePlan make_plan(Tool& tool, const CorrelateOptions& options, OpenedVoltages& voltages,
                        const Device& device);

/// What voltages are divided by, as MeanPlan::gains: the gains that were last read, times the bandpass.
Buffer<std::complex<double>, 3> gains_of(const CorrelatePlan& plan, const OpenedVoltages& voltages);

}  // namespace apsyn
