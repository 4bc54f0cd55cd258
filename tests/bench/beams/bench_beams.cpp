// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of stations on one core: Jones matrices (stations x pixels) per second of processor time, on grids of
// 64 x 64 pixels over 8 degrees, 45 degrees from the zenith. Every station has axes and elements of its own.
// bench_beams [seconds per case [folder of skalow's files]]
#include <fmt/core.h>

#include <cstdlib>
#include <ctime>

#include "libcore/base/error.h"
#include "libcore/beams/station_grid.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "tests/libcore/beams/station_field.h"

namespace {

using namespace apsyn;

double processor_s() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct BenchCase {
  const char* name;
  StationKind kind;
  std::shared_ptr<const Element> element;
  std::size_t n_elements;
  double radius_m;
  bool tiles;
  double freq_hz;
  std::size_t n_stations;
};

void run(const BenchCase& of, double seconds) {
  StationArray array;
  array.kind = of.kind;
  for (std::size_t i = 0; i < of.n_stations; ++i) {
    Station station{
        "s",
        {},
        {beam_test::random_field(of.n_elements, of.radius_m, of.tiles, 10 + static_cast<unsigned>(i))}};
    station.fields[0].position_m = {};
    // Two of three OSKAR elements in a row are flagged for one receptor only, which no real station has.
    for (auto& enabled : station.fields[0].enabled) enabled = {true, true};
    array.stations.push_back(std::move(station));
  }
  const std::size_t side = of.element->n_elements() > 1 ? 32 : 64;
  const auto sky = beam_test::sky_about(array.stations[0].fields[0], 0.785, 0.14, side);
  const auto response = of.element->at_frequency(of.freq_hz);
  const StationPointing at{sky(side / 3, side / 2).direction, sky(side / 2, side / 2).direction, of.freq_hz,
                           of.freq_hz};
  const std::vector<Jones> left(of.n_stations, kUnitJones);
  Buffer<std::complex<float>, 4> jones({of.n_stations, side, side, 4});
  const auto once = [&] {
    for (std::size_t i = 0; i < jones.size(); ++i) jones.data()[i] = i % 4 == 0 || i % 4 == 3 ? 1.0f : 0.0f;
    multiply_station_beams(array, BeamPart::full, {response, response}, at, sky, left, 1, jones);
  };
  once();
  const double start = processor_s();
  double n = 0;
  while (processor_s() - start < seconds) {
    once();
    n += static_cast<double>(of.n_stations * side * side);
  }
  fmt::print("{{\"case\": \"{}\", \"elements\": {}, \"jones_per_s\": {:.3g}}}\n", of.name, of.n_elements,
             n / (processor_s() - start));
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const auto folders = beam_data_folders(argc > 2 ? argv[2] : "");
  const auto hamaker = [&](const char* file) {
    return make_hamaker_element(read_hamaker_file(find_beam_file(file, folders)));
  };
  run({"HBA", StationKind::lofar, hamaker("HamakerHBACoeff.h5"), 24, 15, true, 150e6, 16}, seconds);
  run({"LBA", StationKind::lofar, hamaker("HamakerLBACoeff.h5"), 48, 40, false, 60e6, 16}, seconds);
  run({"oskar_dipole", StationKind::oskar, make_dipole_element(false), 256, 19, false, 110e6, 8}, seconds);
  const auto skala = open_oskar_waves(find_beam_file("oskar.h5", folders));
  run({"skala40_wave", StationKind::oskar, make_wave_element(skala, WaveConvention::skala40), 256, 19, false,
       110e6, 8},
      seconds);
  try {
    const auto feko = open_skalow_waves(folders);
    run({"skalow_feko", StationKind::oskar, make_wave_element(feko, WaveConvention::feko), 256, 19, false,
         100e6, 2},
        seconds);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
}
