// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of real stations against EveryBeam's: 1e-5 of the stations' peak.
#include <cmath>
#include <map>
#include <tuple>

#include "libcore/base/error.h"
#include "tests/libcore/aterms/beam/beam_sets.h"
#include "tests/libcore/beams/truth.h"

using namespace apsyn;
using namespace beam_test;

BOOST_AUTO_TEST_SUITE(stations)

namespace {

/// Worst difference over the peak, by normalisation and model.
std::map<std::string, double> compare(const BeamSet& set, const std::string& table) {
  const Truth truth(table);
  std::map<std::string, std::unique_ptr<AtermModel>> models;
  std::map<std::string, double> worst, peak;
  for (const CsvRow& row : truth.rows()) {
    const std::string norm = truth.text(row, "normalisation"), element = truth.text(row, "model"),
                      by_channel = truth.text(row, "usechannelfreq");
    const std::string name = norm + " " + element;
    if (!models.contains(name)) {
      try {
        models[name] = set.open("beam.update_interval = 0.001\nbeam.beam_normalisation_mode = " + norm +
                                "\nbeam.usechannelfreq = " + (by_channel == "1" ? "true" : "false") +
                                "\nbeam.element_response_model = " + element);
      } catch (const FailureError& error) {
        BOOST_TEST(element == "skalow_feko", error.what());
        BOOST_TEST_MESSAGE(error.what());
        models[name] = nullptr;
      }
    }
    if (!models[name]) continue;
    const auto j = towards(*models[name], truth.number(row, "time_mjd_s"), truth.number(row, "freq_hz"),
                           truth.number(row, "ra_deg"), truth.number(row, "dec_deg"));
    const Jones expected = truth.jones(row, "xn", "xe", "yn", "ye");
    const auto station = static_cast<std::size_t>(truth.number(row, "station"));
    for (std::size_t i = 0; i < 4; ++i) {
      worst[name] = std::max(worst[name], std::abs(std::complex<double>(j(station, 0, 0, i)) - expected[i]));
      peak[name] = std::max(peak[name], std::abs(expected[i]));
    }
  }
  for (auto& [name, error] : worst) {
    error /= peak[name];
    BOOST_TEST_MESSAGE(name << ": " << error);
  }
  return worst;
}

}  // namespace

BOOST_AUTO_TEST_CASE(lofar_is_that_of_everybeam) {
  const auto worst = compare(lofar_set(), "beams-lofar-hba-3c48.csv");
  BOOST_TEST(worst.size() == 2u);
  for (const auto& [name, error] : worst) BOOST_TEST(error < 1e-5, name << ": " << error);
}

BOOST_AUTO_TEST_CASE(oskar_is_that_of_everybeam) {
  const auto worst = compare(oskar_set(), "beams-oskar-dev.csv");
  BOOST_TEST(worst.size() >= 4u);
  for (const auto& [name, error] : worst) BOOST_TEST(error < 1e-5, name << ": " << error);
}

BOOST_AUTO_TEST_SUITE_END()
