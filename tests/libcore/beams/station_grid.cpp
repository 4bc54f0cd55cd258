// SPDX-License-Identifier: GPL-3.0-or-later
// Grids in single precision against the sums in double precision, direction by direction.
#include "libcore/beams/station_grid.h"

#include <cstring>

#include "libcore/beams/lanes.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "tests/libcore/beams/station_field.h"
#include "tests/libcore/beams/truth.h"

using namespace apsyn;
using namespace beam_test;

BOOST_AUTO_TEST_SUITE(station_grid)

namespace {

/// Two stations: one of two fields, one of one.
StationArray array_of(StationKind kind, std::size_t n_elements, double radius_m, bool tiles) {
  StationArray array;
  array.kind = kind;
  Station joined{"joined", {}, {random_field(n_elements, radius_m, tiles, 1)}};
  if (kind == StationKind::lofar) joined.fields.push_back(random_field(n_elements - 5, radius_m, tiles, 2));
  Station single{"single", {1, -2, 0.5}, {random_field(n_elements, radius_m, tiles, 3)}};
  single.fields[0].position_m = single.phase_reference_m;
  array.stations = {joined, single};
  return array;
}

struct Case {
  StationArray array;
  ElementResponses elements;
  StationPointing at;
  Buffer<SkyVector, 2> sky;

  Case(StationArray of, std::shared_ptr<const Element> element, double freq_hz, double zenith_rad,
       double wide, std::size_t side)
      : array(std::move(of)), sky(sky_about(array.stations[0].fields[0], zenith_rad, wide, side)) {
    const auto response = element->at_frequency(freq_hz);
    elements = {response, response};
    // Stations look off the middle, and tiles elsewhere.
    at = {sky(side / 3, side / 2).direction, sky(side / 2, side / 4).direction, freq_hz, freq_hz - 7e4};
  }

  Buffer<std::complex<float>, 4> grid(BeamPart part, unsigned n_threads = 1) const {
    Buffer<std::complex<float>, 4> jones({2, sky.extent(0), sky.extent(1), 4});
    for (std::size_t i = 0; i < jones.size(); i += 4) jones.data()[i] = jones.data()[i + 3] = 1;
    const std::vector<Jones> left(2, kUnitJones);
    multiply_station_beams(array, part, elements, at, sky, left, n_threads, jones);
    return jones;
  }

  /// Over the largest element of any pixel, or of 1e-3 of what a station has at most.
  double error(BeamPart part) const {
    const auto jones = grid(part);
    double worst = 0, peak = 0;
    for (std::size_t station = 0; station < 2; ++station)
      for (std::size_t y = 0; y < sky.extent(0); ++y)
        for (std::size_t x = 0; x < sky.extent(1); ++x) {
          const Jones exact =
              station_response(array.stations[station], array.kind, part, elements, at, sky(y, x));
          for (std::size_t i = 0; i < 4; ++i) {
            worst = std::max(worst, std::abs(exact[i] - std::complex<double>(jones(station, y, x, i))));
            peak = std::max(peak, std::abs(exact[i]));
          }
        }
    BOOST_TEST_MESSAGE(worst / peak);
    return worst / peak;
  }
};

std::shared_ptr<const Element> hamaker(const char* file) {
  return make_hamaker_element(read_hamaker_file(find_beam_file(file, beam_data_folders(""))));
}
std::shared_ptr<const Element> skala() {
  return make_wave_element(open_oskar_waves(find_beam_file("oskar.h5", beam_data_folders(""))),
                           WaveConvention::skala40);
}

}  // namespace

BOOST_AUTO_TEST_CASE(high_band_tiles_agree_with_double_precision) {
  const Case wide(array_of(StationKind::lofar, 24, 15, true), hamaker("HamakerHBACoeff.h5"), 150e6, 0.8, 0.17,
                  48);
  for (const BeamPart part : {BeamPart::full, BeamPart::array_factor, BeamPart::element})
    BOOST_TEST(wide.error(part) < 1e-6);
}

BOOST_AUTO_TEST_CASE(low_band_dipoles_agree_with_double_precision) {
  const Case wide(array_of(StationKind::lofar, 48, 40, false), hamaker("HamakerLBACoeff.h5"), 60e6, 0.7, 0.3,
                  50);
  BOOST_TEST(wide.error(BeamPart::full) < 1e-6);
}

// Blocks whose expansion would need too many terms are halved, and at the horizon pixels stand alone.
BOOST_AUTO_TEST_CASE(the_whole_sky_agrees_with_double_precision) {
  const Case lofar(array_of(StationKind::lofar, 48, 40, false), hamaker("HamakerLBACoeff.h5"), 60e6, 0.3, 2.2,
                   64);
  BOOST_TEST(lofar.error(BeamPart::full) < 1e-6);
  const Case oskar(array_of(StationKind::oskar, 100, 19, false), skala(), 110e6, 0.5, 2.2, 40);
  BOOST_TEST(oskar.error(BeamPart::full) < 2e-6);
}

BOOST_AUTO_TEST_CASE(receptors_with_flags_of_their_own_agree_with_double_precision) {
  for (const bool with_cosine : {false, true}) {
    const Case wide(array_of(StationKind::oskar, 256, 19, false), make_dipole_element(with_cosine), 110e6,
                    0.6, 0.2, 33);
    BOOST_TEST(wide.error(BeamPart::full) < 1e-6);
    BOOST_TEST(wide.error(BeamPart::array_factor) < 1e-6);
  }
}

// Elements with coefficients of their own, of which the two stations flag different ones.
BOOST_AUTO_TEST_CASE(embedded_elements_agree_with_double_precision) {
  class Source final : public WaveSource {
   public:
    std::size_t n_elements() const override { return 40; }
    WaveCoefficients nearest(double) const override {
      WaveCoefficients waves{1e8, {}};
      waves.values.resize({40, 15, 4});
      for (std::size_t i = 0; i < waves.values.size(); ++i)
        waves.values.data()[i] =
            std::polar(1.0 / (1.0 + static_cast<double>(i % 7)), 0.3 * static_cast<double>(i * i % 101));
      return waves;
    }
  };
  const Case wide(array_of(StationKind::oskar, 40, 19, false),
                  make_wave_element(std::make_shared<Source>(), WaveConvention::feko), 100e6, 0.5, 0.3, 20);
  BOOST_TEST(wide.error(BeamPart::full) < 1e-6);
}

// Whatever the processor has.
BOOST_AUTO_TEST_CASE(every_instruction_set_agrees_with_double_precision) {
  for (const LaneTarget target : {LaneTarget::baseline, LaneTarget::avx2}) {
    limit_lane_target(target);
    const Case hba(array_of(StationKind::lofar, 24, 15, true), hamaker("HamakerHBACoeff.h5"), 150e6, 0.8, 0.6,
                   35);
    BOOST_TEST(hba.error(BeamPart::full) < 1e-6);
    const Case oskar(array_of(StationKind::oskar, 60, 19, false), skala(), 110e6, 0.5, 2.2, 20);
    BOOST_TEST(oskar.error(BeamPart::full) < 2e-6);
    const Case dipoles(array_of(StationKind::oskar, 60, 19, false), make_dipole_element(true), 110e6, 0.5,
                       0.2, 20);
    BOOST_TEST(dipoles.error(BeamPart::full) < 1e-6);
  }
  limit_lane_target(LaneTarget::avx512);
}

BOOST_AUTO_TEST_CASE(threads_do_not_change_a_bit) {
  const Case wide(array_of(StationKind::lofar, 24, 15, true), hamaker("HamakerHBACoeff.h5"), 150e6, 0.8, 0.6,
                  70);
  const auto one = wide.grid(BeamPart::full, 1), four = wide.grid(BeamPart::full, 4);
  BOOST_TEST(std::memcmp(one.data(), four.data(), one.size() * sizeof one.data()[0]) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
