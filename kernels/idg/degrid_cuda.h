// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA degridder behind make_degridder(), with what tests and benchmarks ask of it besides.
#pragma once

#include <memory>

#include "kernels/idg/idg.h"

namespace apsyn {

/// The kernel that sums over pixels: the fastest one that is accurate enough, task by task, or always the
/// general one.
enum class DegridSum { automatic, direct };

/// What is summed over pixels: nodes of tracks (cuda/tracks/tracks.cuh), where that spares much and the plan
/// allows it, or always each row. Rows are then made of the nodes on the device, or by the host's threads as
/// they add them to the caller's data, which they can when these are of single precision and without paths:
/// whichever takes less, or the one asked for.
enum class DegridRows { automatic, each, on_device, on_host };

/// Time on the device since the degridder was made, from events in its stream.
struct DegridSeconds {
  double layers = 0;                                        ///< begin_pass(): screens and transforms
  double prepare = 0;                                       ///< visibilities relative to their tasks
  double subgrids = 0;                                      ///< cutting, transforming, screens and A-terms
  double sums = 0;                                          ///< over pixels
  double rows = 0;                                          ///< nodes to rows, and rows into their order
  std::uint64_t tensor_visibilities = 0, visibilities = 0;  ///< on tensor cores; all
  std::uint64_t places = 0;  ///< that were summed over pixels: nodes' channels, and visibilities without
  std::uint64_t host_visibilities = 0;  ///< made of nodes by the host
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
