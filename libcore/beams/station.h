// SPDX-License-Identifier: GPL-3.0-or-later
// Stations of dipoles that look by delays: LOFAR's and OSKAR's (SKA-Low's). Their beams in double precision,
// one direction at a time; station_grid.h has them for the pixels of an image.
//
// Vectors are ITRF, in metres, and directions apparent ones. A phasor of a position r is
//   g(r, d) = exp(-2 pi i (r . d) / c), d = f0 s0 - f s:
// f and s are the frequency and the direction that are looked at, s0 the direction that the delays point to,
// f0 the frequency that they were made for (f, or that of a subband).
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/units.h"
#include "libcore/beams/elements/element.h"
#include "libcore/beams/jones.h"

namespace apsyn {

/// Elements about a position, all with the axes p, q (along the ground) and r (its normal).
struct StationField {
  Vec3 position_m{};
  Mat3 axes{};                               ///< rows p, q, r
  std::vector<Vec3> elements_m;              ///< about the position
  std::vector<std::array<bool, 2>> enabled;  ///< [element][X, Y]
  std::vector<Vec3> tile_m;  ///< dipoles of a tile about an element's place; empty: elements are no tiles
  std::size_t element = 0;   ///< which of the array's models of elements
};

struct Station {
  std::string name;
  Vec3 phase_reference_m{};
  std::vector<StationField> fields;  ///< one or two
};

enum class StationKind { lofar, oskar };

/// A spectral window's channels, and the frequency that delays were made for.
struct StationWindow {
  double low_hz = 0, high_hz = 0, reference_hz = 0;
};

/// What a Measurement Set tells of its stations.
struct StationArray {
  StationKind kind = StationKind::lofar;
  std::vector<Station> stations;
  std::vector<StationWindow> windows;
  SkyDirection delay, tile, reference;
};

/// What a beam consists of.
enum class BeamPart { full, array_factor, element };

/// Towards which ITRF directions stations and tiles look, at one time and frequency.
struct StationPointing {
  Vec3 delay{}, tile{};
  double freq_hz = 0, delay_freq_hz = 0;  ///< f and f0
};

/// An ITRF direction and the sky's north there; east = north x direction.
struct SkyVector {
  Vec3 direction{}, north{};
};

/// The responses of an array's elements at one frequency, by StationField::element.
using ElementResponses = std::vector<std::shared_ptr<const ElementResponse>>;

/// Sum of g over the elements of a field that have the receptor (0 X, 1 Y), over their number, times the mean
/// over a tile's dipoles. 0 where no element has it. LOFAR's X receptor counts for both.
std::complex<double> array_factor(const StationField& field, StationKind kind, std::size_t receptor,
                                  const StationPointing& at, const Vec3& direction);

/// J = 1/n sum over the n fields of g(position - phase reference, d) a E R: a is the array factor, E the
/// element and R = [e_theta . north, e_theta . east; e_phi . north, e_phi . east]. Of LOFAR it is 0 below the
/// horizon; OSKAR's elements keep what they have there, and there is no phase between fields. An element
/// alone is that of the first field.
Jones station_response(const Station& station, StationKind kind, BeamPart part,
                       const ElementResponses& elements, const StationPointing& at, const SkyVector& sky);

/// The direction, held above the horizon where OSKAR's elements end.
ElementDirection clamped_to_horizon(StationKind kind, ElementDirection direction);

/// E R: `local_north` in the axes of the field. R is [a, b; b, -a] with a = e_theta . north, b = e_phi .
/// north.
Jones turned_to_sky(const Jones& e, const ElementDirection& direction, const Vec3& local_north);

/// LOFAR's element models count phi from 225 degrees: the cosine and the sine of that.
inline constexpr double kHamakerTurn = -std::numbers::sqrt2 / 2;

/// Of a field: [X north, X east, Y north, Y east] of an element `index` in a direction.
Jones element_jones(const StationField& field, StationKind kind, const ElementResponse& element,
                    std::size_t index, const SkyVector& sky);

}  // namespace apsyn
