// SPDX-License-Identifier: GPL-3.0-or-later
// Made-up stations of which some have two fields, tiles and flagged receptors, directions that they see, and
// their beams there one by one in float64.
#pragma once

#include <complex>
#include <vector>

#include "libcore/beams/phased_beams.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "tests/libcore/beams/station_field.h"

namespace apsyn::test {

using Complex = std::complex<double>;

struct PhasedCase {
  StationArray array;
  BeamPart part;
  Buffer<SkyVector, 1> sky;  ///< [direction]
  ElementResponses elements;
  StationPointing at;
  std::vector<Jones> left;  ///< [station]

  PhasedCase(StationKind kind, BeamPart of_part, double freq_hz = 151e6, std::size_t n_stations = 5)
      : part(of_part) {
    array.kind = kind;
    const bool is_lofar = kind == StationKind::lofar;
    for (unsigned i = 0; i < n_stations; ++i) {
      Station& station = array.stations.emplace_back();
      for (unsigned field = 0; field < (is_lofar && i == 2 ? 2u : 1u); ++field)
        station.fields.push_back(
            beam_test::random_field(is_lofar ? 24 : 40, is_lofar ? 15 : 20, is_lofar, 10 + i + 20 * field));
      // Positions are 100 m from the reference, as those of two fields of a station are.
      left.push_back({Complex(0.9, 0.1 * i), {0.05, -0.02}, {-0.1, 0.03}, Complex(1.1, -0.05 * i)});
    }
    const auto grid = beam_test::sky_about(array.stations[0].fields[0], 0.785, 0.5, 12);
    sky.resize({grid.size()});
    std::copy(grid.begin(), grid.end(), sky.begin());
    const auto element = is_lofar ? make_hamaker_element(read_hamaker_file(
                                        find_beam_file("HamakerHBACoeff.h5", beam_data_folders(""))))
                                  : make_dipole_element(false);
    const auto response = element->at_frequency(freq_hz);
    elements = {response, response};
    at = {sky(17).direction, sky(40).direction, freq_hz, 150e6};
    if (!is_lofar) at.delay_freq_hz = freq_hz;
  }

  /// The parts of a channel, as AtermModel::evaluate_phased gives them.
  void fill(const PhasedBeams& beams, PhasedChannel& channel, View<double, 2> directions,
            View<std::complex<float>, 3> planes, std::size_t first = 0) const {
    const std::size_t n = directions.extent(0);
    channel.freq_hz = at.freq_hz;
    channel.left = left;
    for (std::size_t i = 0; i < left.size(); ++i)
      for (Complex& element : channel.left[i])
        element /= static_cast<double>(array.stations[i].fields.size());
    for (std::size_t axis = 0; axis < 3; ++axis) {
      channel.delay_hz[axis] = at.delay_freq_hz * at.delay[axis];
      channel.tile_hz[axis] = at.delay_freq_hz * at.tile[axis];
      for (std::size_t i = 0; i < n; ++i) directions(i, axis) = sky(first + i).direction[axis];
    }
    fill_phased_elements(beams, array.kind, part, elements, {sky.data() + first, {n}}, 1, planes);
  }

  Jones expected(std::size_t station, std::size_t direction) const {
    return apsyn::product(left[station], station_response(array.stations[station], array.kind, part, elements,
                                                          at, sky(direction)));
  }
};

}  // namespace apsyn::test
