// SPDX-License-Identifier: GPL-3.0-or-later
// Elements against EveryBeam's, and single precision against double.
#include "libcore/beams/elements/element.h"

#include <cmath>
#include <map>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/beams/lanes.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "tests/libcore/beams/truth.h"

using namespace apsyn;
using namespace beam_test;

BOOST_AUTO_TEST_SUITE(elements)

namespace {

std::shared_ptr<const Element> element_of(const std::string& model) {
  const auto folders = beam_data_folders("");
  if (model == "hamaker_lba")
    return make_hamaker_element(read_hamaker_file(find_beam_file("HamakerLBACoeff.h5", folders)));
  if (model == "hamaker_hba")
    return make_hamaker_element(read_hamaker_file(find_beam_file("HamakerHBACoeff.h5", folders)));
  if (model == "oskar_dipole") return make_dipole_element(false);
  if (model == "oskar_dipole_cos") return make_dipole_element(true);
  if (model == "skala40_wave")
    return make_wave_element(open_oskar_waves(find_beam_file("oskar.h5", folders)), WaveConvention::skala40);
  if (model == "gridded_eep")
    return make_grid_element(open_gridded_eep(APSYN_TEST_DATA "/gridded-eep-synthetic.h5"));
  if (model == "skalow_feko") return make_wave_element(open_skalow_waves(folders), WaveConvention::feko);
  throw std::invalid_argument(model);
}

ElementDirection direction_of(double theta, double phi) {
  return element_direction(
      {std::sin(theta) * std::cos(phi), std::sin(theta) * std::sin(phi), std::cos(theta)});
}

}  // namespace

BOOST_AUTO_TEST_CASE(they_are_those_of_everybeam) {
  const Truth truth("beams-elements.csv");
  std::map<std::string, double> worst, peak;
  std::map<std::string, std::shared_ptr<const Element>> known;
  for (const CsvRow& row : truth.rows()) {
    const std::string model = truth.text(row, "model");
    if (!known.contains(model)) {
      try {
        known[model] = element_of(model);
      } catch (const FailureError& error) {  // skalow's files are too large to be kept here
        BOOST_TEST(model == "skalow_feko", error.what());
        known[model] = nullptr;
      }
    }
    const auto& element = known[model];
    if (!element) continue;
    const Jones expected = truth.jones(row, "xtheta", "xphi", "ytheta", "yphi");
    const Jones e = element->at_frequency(truth.number(row, "freq_hz"))
                        ->at(static_cast<std::size_t>(truth.number(row, "element")),
                             direction_of(truth.number(row, "theta_rad"), truth.number(row, "phi_rad")));
    worst[model] = std::max(worst[model], difference(e, expected));
    for (const auto& value : expected) peak[model] = std::max(peak[model], std::abs(value));
  }
  BOOST_TEST(worst.size() >= 6u);
  for (const auto& [model, error] : worst)
    BOOST_TEST(error < 1e-6 * peak[model], model << ": " << error << " of " << peak[model]);
}

// Along the dipole, at the horizon, the quotient would be 0 / 0; at the normal phi is not defined.
BOOST_AUTO_TEST_CASE(they_are_finite_where_angles_are_not) {
  for (const char* model : {"hamaker_hba", "oskar_dipole", "skala40_wave", "gridded_eep"}) {
    const auto response = element_of(model)->at_frequency(110e6);
    for (const Vec3& local : {Vec3{0, 0, 1}, Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, -1}})
      for (const auto& e : response->at(0, element_direction(local))) BOOST_TEST(std::isfinite(std::abs(e)));
  }
  const Jones along = make_dipole_element(false)->at_frequency(1e8)->at(0, element_direction({1, 0, 0}));
  BOOST_TEST(std::abs(along[0]) < 1e-12);        // no cos(theta) is left
  BOOST_TEST(std::abs(along[3] - 1.0) < 1e-12);  // Y along phi, its whole length
}

BOOST_AUTO_TEST_CASE(frequencies_beyond_a_grid_are_errors) {
  const auto element = element_of("gridded_eep");
  for (const double hz : {99.9e6, 125.1e6}) BOOST_CHECK_THROW(element->at_frequency(hz), DataError);
}

BOOST_AUTO_TEST_CASE(single_precision_agrees_with_double) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> flat(-1, 1);
  const std::size_t n = 4 * kLanes;
  for (const char* model :
       {"hamaker_lba", "hamaker_hba", "oskar_dipole", "oskar_dipole_cos", "skala40_wave", "gridded_eep"}) {
    const auto response = element_of(model)->at_frequency(110e6);
    Buffer<float, 2> local({3, n});
    Buffer<float, 3> e({4, 2, n});
    e.fill(1e30f);
    std::vector<ElementDirection> directions;
    for (std::size_t i = 0; i < n; ++i) {
      const double theta = i == 0 ? 1e-5 : 0.5 * kPi * std::abs(flat(random)), phi = kPi * flat(random);
      directions.push_back(direction_of(theta, phi));
      local(0, i) = static_cast<float>(std::sin(theta) * std::cos(phi));
      local(1, i) = static_cast<float>(std::sin(theta) * std::sin(phi));
      local(2, i) = static_cast<float>(std::cos(theta));
    }
    response->many(local, e);
    double worst = 0, peak = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Jones exact = response->at(0, directions[i]);
      for (std::size_t j = 0; j < 4; ++j) {
        worst = std::max(worst, std::abs(exact[j] - std::complex<double>(e(j, 0, i), e(j, 1, i))));
        peak = std::max(peak, std::abs(exact[j]));
      }
    }
    BOOST_TEST(worst < 2e-6 * peak, model << ": " << worst / peak);
  }
}

BOOST_AUTO_TEST_SUITE_END()
