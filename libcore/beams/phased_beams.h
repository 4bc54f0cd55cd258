// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of stations in single directions, taken apart for whoever sums over elements elsewhere (a GPU):
//   J(s) = left_p sum over fields of a(s) E R(s),
//   a = mean over elements of exp(2 pi i r . (f s - f0 s0) / c) times the mean over a tile's dipoles,
// which is station_response() of station.h times the normalisation from the left.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <optional>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/view.h"
#include "libcore/beams/jones.h"
#include "libcore/beams/station.h"

namespace apsyn {

/// What is the same at all times and frequencies.
struct PhasedBeams {
  struct Field {
    std::size_t frame = 0;
    std::array<std::vector<Vec3>, 2>
        elements_m;            ///< those with an X, those with a Y, from the phase reference
    std::vector<Vec3> tile_m;  ///< empty: elements are no tiles
  };
  /// Fields of equal axes and elements share what an element sees.
  struct Frame {
    Mat3 axes{};
    std::size_t element = 0;
  };
  std::vector<std::vector<Field>> stations;
  std::vector<Frame> frames;
};

/// One channel at one time.
struct PhasedChannel {
  double freq_hz = 0;          ///< f
  Vec3 delay_hz{}, tile_hz{};  ///< f0 s0 and f0 t0
  std::vector<Jones> left;     ///< [station], over the number of its fields
};

/// No value for elements alone, or elements with coefficients of their own.
std::optional<PhasedBeams> phased_beams(const StationArray& array, BeamPart part, bool are_embedded);

/// E R as [frame][direction][X north, X east, Y north, Y east]; of array factors alone the unit matrix.
void fill_phased_elements(const PhasedBeams& beams, StationKind kind, BeamPart part,
                          const ElementResponses& elements, View<const SkyVector, 1> sky, unsigned n_threads,
                          View<std::complex<float>, 3> into);

}  // namespace apsyn
