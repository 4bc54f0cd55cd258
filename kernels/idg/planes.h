// SPDX-License-Identifier: GPL-3.0-or-later
// Gridding without subgrids, for images of few visibilities, such as those of short intervals of time: a
// subgrid's transforms would take longer than its visibilities. They are spread onto planes of the whole uv
// plane, one for each term of a power series of the phase in w:
//
//   I(l, m) = Re sum_r (-i)^r c_r(2 pi W n') F_r(l, m),                            n' = n - n_middle
//   F_r(l, m) = sum_k (w_k / W)^r exp(-2 pi i w_k (n_middle - 1)) weight_k V_k exp(-2 pi i (u_k l + v_k m))
//
// with W the largest |w| and c_r(z) = z^r / r!, changed so that few terms suffice. Even terms take the real
// part of F_r and odd terms the imaginary part, so that one complex transform makes a pair of terms. Only the
// few visibilities of large w take part in the later pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/common/math/spread_kernel.h"
#include "kernels/idg/idg.h"
#include "libcore/system/device.h"

namespace apsyn {

struct PlanesPlan {
  ImageGeometry image;
  double accuracy = 0;           ///< relative RMS error of the image
  std::size_t n_u = 0, n_v = 0;  ///< cells of the uv plane, of 1 / (n cell_rad) wavelengths
  SpreadKernel kernel;           ///< from visibilities to cells, and their neighbours
  double max_w_lambda = 0;
  double n_middle = 1, n_half_range = 0;  ///< n' is within n_half_range over the image
  /// [n - 1] the largest |w| of which n pairs of terms suffice, up to max_w_lambda.
  std::vector<double> pairs_w_lambda{};

  std::size_t n_pairs() const { return pairs_w_lambda.size(); }
  std::vector<std::string> describe() const;  ///< lines for people
};

/// Of an image of few visibilities, beside IdgWorkload.
struct PlanesWorkload {
  IdgWorkload all;
  double n_rows = 0;  ///< with data
};

/// Whether single precision and nothing about subgrids was asked for.
bool leaves_planes(const IdgSettings& asked);
/// The plan of planes where they are expected to take less time than the subgrids of `plan`: for one of many
/// intervals of time, if leaves_planes().
std::optional<PlanesPlan> planes_instead(const IdgPlan& plan, const IdgSettings& asked,
                                         const PlanesWorkload& work);
/// Planes whatever they cost; none where w turns phases too far.
std::optional<PlanesPlan> plan_planes(const ImageGeometry& image, double accuracy,
                                      const PlanesWorkload& work);
/// Expected time of one core.
double modelled_seconds(const PlanesPlan& plan, const PlanesWorkload& work);

/// The gridder of a plan, for the same calls as that of subgrids: it has a single layer, 0. Results do not
/// depend on setup.n_threads. std::invalid_argument for A-terms.
std::unique_ptr<Gridder> make_planes_gridder(const Device& device, const PlanesPlan& plan,
                                             const IdgSetup& setup);
/// Memory of the host.
std::uint64_t planes_gridder_bytes(Device::Kind device, const PlanesPlan& plan, const IdgSetup& setup);
/// Memory of a GPU. DeviceError in a build without CUDA.
std::uint64_t planes_device_bytes(const PlanesPlan& plan, const IdgSetup& setup);

}  // namespace apsyn
