// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA degridder behind make_degridder(), with choices and timings for tests and benchmarks.
#pragma once

#include <memory>

#include "kernels/idg/idg.h"

namespace apsyn {

/// The kernel that sums over pixels: the fastest one that is accurate enough, task by task, or always the
/// general one.
enum class DegridSum { automatic, direct };

/// Which visibilities are summed over pixels: nodes of tracks (cuda/tracks/tracks.cuh) if that saves much
/// time and the plan allows it, or always every row. Rows are then interpolated from the nodes, either on the
/// device or by the host's threads while they add them to the caller's data (possible in single precision and
/// without paths): the faster of both, or the one asked for.
enum class DegridRows { automatic, each, on_device, on_host };

/// Time on the device since the degridder was made, from events in its stream.
struct DegridSeconds {
  double layers = 0;                                        ///< begin_pass(): screens and transforms
  double prepare = 0;                                       ///< visibilities relative to their tasks
  double subgrids = 0;                                      ///< cutting, transforming, screens and A-terms
  double sums = 0;                                          ///< over pixels
  double rows = 0;                                          ///< nodes to rows, and rows into their order
  std::uint64_t tensor_visibilities = 0, visibilities = 0;  ///< on tensor cores; all
  std::uint64_t places = 0;  ///< sums over pixels: channels of nodes, and visibilities without nodes
  std::uint64_t host_visibilities = 0;  ///< interpolated from nodes by the host
};

class CudaDegridder : public Degridder {
 public:
  virtual DegridSeconds seconds() = 0;
};

/// For a setup that make_degridder() takes. DeviceError in a build without CUDA.
std::unique_ptr<CudaDegridder> make_cuda_degridder(const Device& device, const IdgPlan& plan,
                                                   const IdgSetup& setup, DegridSum sum,
                                                   DegridRows rows = DegridRows::automatic);

}  // namespace apsyn
