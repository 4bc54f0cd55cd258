// SPDX-License-Identifier: GPL-3.0-or-later
// A-terms: what every station does to the field that arrives, a Jones matrix per direction, time and
// frequency, V_pq = A_p B A_q^H with B the brightness. They are smooth, so they are given on the coarse
// pixels of a subgrid.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libcore/base/units.h"
#include "libcore/base/view.h"

namespace apsyn {

struct PhasedBeams;
struct PhasedChannel;

/// The pixels of a subgrid, which covers the whole padded field: pixel (y, x) from 0 lies at the direction
/// cosines l = ((side - 1) / 2 - x) step_l_rad, m = (y - (side - 1) / 2) step_m_rad about `centre`
/// (half-integers of the step when the side is even; SIN projection, l east, m north).
struct AtermGrid {
  SkyDirection centre;
  std::size_t side = 0;
  double step_l_rad = 0, step_m_rad = 0;

  double l(std::size_t x) const {
    return (0.5 * static_cast<double>(side - 1) - static_cast<double>(x)) * step_l_rad;
  }
  double m(std::size_t y) const {
    return (static_cast<double>(y) - 0.5 * static_cast<double>(side - 1)) * step_m_rad;
  }
  bool operator==(const AtermGrid&) const = default;
};

class AtermModel {
 public:
  virtual ~AtermModel() = default;
  virtual std::size_t n_stations() const = 0;
  /// A-terms are constant over a slot of time. A slot's number rises with time; numbers may be left out.
  virtual std::int64_t slot_of(double time_mjd_s) const = 0;
  /// jones [station][y][x][XX XY YX YY] of a slot that slot_of returned: rows are the station's receptors,
  /// columns the sky's X (north) and Y (east). Always finite. A pixel with l^2 + m^2 >= 1 has the value of
  /// the nearest point of the horizon circle. The result does not depend on n_threads. One call at a time:
  /// implementations keep what neighbouring calls share. DataError, FailureError when a file behind the model
  /// turns out to be malformed or unreadable.
  virtual void evaluate(std::int64_t slot, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                        View<std::complex<float>, 4> jones) = 0;
  /// The same in single directions: jones [station][direction][4], of any memory. `centre` is the image's, to
  /// which some beams refer. DataError of a model that knows images only.
  virtual void evaluate_at(std::int64_t slot, double freq_hz, const SkyDirection& centre,
                           std::span<const SkyDirection> directions, unsigned n_threads,
                           View<std::complex<float>, 3> jones) = 0;
  /// Null unless the model is nothing but beams of stations whose sums over elements may be made elsewhere
  /// (libcore/beams/phased_beams.h), with the parts that evaluate_phased() gives for a channel: directions
  /// [direction][ITRF x, y, z] and elements [frame][direction][4].
  virtual const PhasedBeams* phased_beams() const { return nullptr; }
  virtual void evaluate_phased([[maybe_unused]] std::int64_t slot, [[maybe_unused]] double freq_hz,
                               [[maybe_unused]] std::span<const SkyDirection> from,
                               [[maybe_unused]] unsigned n_threads, [[maybe_unused]] PhasedChannel& channel,
                               [[maybe_unused]] View<double, 2> directions,
                               [[maybe_unused]] View<std::complex<float>, 3> elements) {}
  /// One line each on what the grid cannot carry (screens finer than its pixels) at a frequency, or what does
  /// not cover it.
  virtual std::vector<std::string> warnings(const AtermGrid& grid, double freq_hz) const = 0;
};

}  // namespace apsyn
