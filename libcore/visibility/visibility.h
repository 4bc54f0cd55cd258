// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities: blocks in memory, and the stream of apsyn-visibility(5).
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"

namespace apsyn {

/// Correlation products by their CASA Stokes numbers.
enum class Product : int {
  I = 1,
  Q = 2,
  U = 3,
  V = 4,
  RR = 5,
  RL = 6,
  LR = 7,
  LL = 8,
  XX = 9,
  XY = 10,
  YX = 11,
  YY = 12
};
std::string product_name(Product product);     ///< as the enumerator is written
Product parse_product(std::string_view name);  ///< throws DataError

struct Baseline {
  int ant1 = 0, ant2 = 0;  ///< i <= j
};
/// Row-major i <= j, or i < j without autocorrelations.
std::vector<Baseline> all_baselines(std::size_t n_ant, bool with_autos);

struct VisibilityHeader {
  std::string telescope = "unknown", source = "unknown";
  UtcTime start;                   ///< start of the first integration
  double integration_s = 0;        ///< TSAMP of the stream
  double sample_s = 0;             ///< the correlator's input sample, 0 when unknown
  std::vector<double> channel_hz;  ///< centres
  double channel_width_hz = 0;     ///< signed like the channels' order, magnitude of one channel
  std::vector<Product> products;   ///< in stream order, for example XX XY YX YY
  std::vector<Baseline> baselines;
  ArrayLayout layout;                        ///< with site
  std::optional<SkyDirection> phase_centre;  ///< absent: drift scan, phased to the zenith
  FluxUnit flux_unit = FluxUnit::adu;        ///< FLUX_UNIT
  std::vector<std::string> history;
};

/// One integration. Means over the valid samples; weights are the fraction of valid samples, 0 = no data.
struct VisibilityRecord {
  std::int64_t index = 0;               ///< integration number since `start`
  Buffer<std::complex<float>, 3> data;  ///< [baseline][chan][product]
  Buffer<float, 3> weight;              ///< the same
};

}  // namespace apsyn
