// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities of a sky model's components about one centre, on the CPU or a GPU, seen by all stations alike
// or through A-terms, which are evaluated for each channel.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/simulate/components.h"
#include "kernels/simulate/device_components.h"
#include "kernels/simulate/fast_components.h"
#include "libcore/base/view.h"
#include "libcore/cli/tool.h"
#include "libcore/sky/aterms.h"
#include "libcore/sky/sky_model.h"
#include "libcore/system/device.h"

namespace apsyn::imaging {

struct ComponentSumsSetup {
  Device device;
  unsigned n_threads = 1;
  /// On the CPU without A-terms: sums in single precision (fast_components.h) instead of float64.
  bool single = false;
  AtermModel* aterms = nullptr;  ///< null: none
  std::uint64_t max_matrix_bytes =
      0;  ///< for matrices of a time slot on the host; batches have at least some
};

/// Rows of `data`; stations and times are those of A-terms.
struct ComponentRows {
  View<const double, 2> uvw_m;             ///< [row][3]
  View<const double, 1> path_m;            ///< [row] or empty
  View<const std::uint32_t, 2> station{};  ///< [row][p, q]
  std::span<const double> time_mjd_s{};    ///< [row]
};

/// What the stations see in some directions, as a GPU asks for it.
struct StationSight {
  AtermModel* aterms = nullptr;
  SkyDirection centre;  ///< of the field
  const std::vector<double>& channel_hz;
  const std::vector<SkyDirection>& directions;
  unsigned n_threads = 1;
};
/// Of a slot of time, [chan][station][direction][XX XY YX YY].
void evaluate_matrices(std::int64_t slot, const StationSight& sight, Buffer<std::complex<float>, 4>& jones);
/// Of a slot of time. A GPU sums over the elements of stations where the A-terms are nothing but their beams.
simulate::StationMatrices station_matrices(std::int64_t slot, const StationSight& sight);

class ComponentSums {
 public:
  /// Keeps a reference to the sky.
  ComponentSums(const SkyModel& sky, const SkyDirection& centre, const std::vector<double>& channel_hz,
                const ComponentSumsSetup& setup);
  /// 1, Stokes I; 4: I Q U V, or with A-terms XX XY YX YY.
  std::size_t n_planes() const;
  /// data [row][chan][plane], overwritten.
  void predict(const ComponentRows& rows, View<std::complex<float>, 3> data);

 private:
  /// Of rows of one time slot, on the CPU.
  void predict_slot(std::int64_t slot, const ComponentRows& rows, View<std::complex<float>, 3> data);
  /// [chan][station][component][4] of components from `first` on; those of all are kept for the slot.
  View<const std::complex<float>, 4> matrices(std::int64_t slot, std::size_t first);

  const SkyModel& sky_;
  SkyDirection centre_;
  std::vector<double> channel_hz_;
  ComponentSumsSetup setup_;
  std::vector<SkyDirection> directions_;
  std::unique_ptr<simulate::DeviceComponents> on_device_;
  std::optional<simulate::ComponentPredictor> in_double_;
  std::optional<simulate::FastComponentPredictor> in_single_;
  std::size_t batch_ = 1;                    ///< components
  Buffer<std::complex<float>, 4> matrices_;  ///< [chan][station][component][4] of the last batch
  std::optional<std::int64_t> slot_;         ///< theirs
  Buffer<std::complex<double>, 3> sums_;
};

/// Memory of one of these besides the blocks of rows, which have up to so many values (rows times channels
/// times planes).
std::uint64_t component_sums_bytes(const ComponentSumsSetup& setup, std::size_t n_components,
                                   std::size_t n_chan, std::uint64_t max_values);

/// Terms (rows times channels times components) that one core of a CPU sums in a second.
double component_rate(const ComponentSumsSetup& setup);
/// Tool::device() for so many terms, of which a core makes `rate` a second: with --device auto the CPU if
/// that finishes before a GPU has started.
Device component_device(const Tool& tool, double n_terms, double rate);

}  // namespace apsyn::imaging
