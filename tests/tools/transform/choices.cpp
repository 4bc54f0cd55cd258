// SPDX-License-Identifier: GPL-3.0-or-later
// What the options of transform choose: antennas and pairs of them, the kind of output, what cannot be.
#include "tools/transform/options.h"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>
#include <vector>

#include "libcore/base/error.h"

using namespace apsyn;
using namespace apsyn::transform;

BOOST_AUTO_TEST_SUITE(choices)

namespace {

ArrayLayout four_antennas() {
  ArrayLayout layout;
  for (const char* name : {"a", "b", "c", "d"}) layout.antennas.push_back({name, {}, 0, false});
  layout.antennas[1].flagged = true;  // which is no choice
  return layout;
}

/// "ab ac ..." of the pairs that are wanted, in the order of the antennas.
std::string pairs(const std::string& antennas, const std::string& baselines, bool no_autos = false) {
  Options options;
  options.antennas = antennas;
  options.baselines = baselines;
  options.no_autos = no_autos;
  const auto wanted = wanted_pairs(options, four_antennas());
  std::string text;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      BOOST_TEST(wanted[i][j] == wanted[j][i]);
      if (j >= i && wanted[i][j]) text += std::string(text.empty() ? "" : " ") + "abcd"[i] + "abcd"[j];
    }
  return text;
}

/// Whether the options are accepted, with an output.
bool accepted(Options options) {
  Tool tool("transform", "");
  tool.common().output = "out.ms";
  try {
    check_options(tool, options);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(antennas_and_baselines_choose_pairs) {
  BOOST_TEST(pairs("", "") == "aa ab ac ad bb bc bd cc cd dd");
  BOOST_TEST(pairs("", "", true) == "ab ac ad bc bd cd");
  BOOST_TEST(pairs("d,1", "") == "bb bd dd");
  BOOST_TEST(pairs("", "c:a,0:3") == "ac ad");
  BOOST_TEST(pairs("a,c", "c:a,0:3") == "ac");
  Options options;
  options.antennas = "c,0";
  BOOST_TEST(wanted_antennas(options, four_antennas()) == std::vector<int>({0, 2}),
             boost::test_tools::per_element());
  options.antennas = "e";
  BOOST_CHECK_THROW(wanted_antennas(options, four_antennas()), UsageError);
}

BOOST_AUTO_TEST_CASE(outputs_are_of_the_kind_of_their_name_or_of_to) {
  Tool tool("transform", "");
  Options options;
  const auto kind = [&](const std::string& output, const std::string& to = "") {
    tool.common().output = output;
    options.to = to;
    return output_kind(tool, options);
  };
  BOOST_TEST((kind("a.ms") == OutputKind::measurement_set));
  BOOST_TEST((kind("a.MS/") == OutputKind::measurement_set));
  BOOST_TEST((kind("a.uvh5") == OutputKind::uvh5));
  BOOST_TEST((kind("a.uvfits") == OutputKind::uvfits));
  BOOST_TEST((kind("a.vis") == OutputKind::stream));
  BOOST_TEST((kind("anything") == OutputKind::stream));
  BOOST_TEST((kind("-") == OutputKind::stream));
  BOOST_TEST((kind("a.ms", "vis") == OutputKind::stream));
  BOOST_TEST((kind("a", "ms") == OutputKind::measurement_set));
  BOOST_TEST((kind("a", "uvh5") == OutputKind::uvh5));
  BOOST_TEST((kind("a.ms", "uvfits") == OutputKind::uvfits));
  BOOST_TEST((kind("-", "vis") == OutputKind::stream));
  BOOST_CHECK_THROW(kind("-", "ms"), UsageError);
}

BOOST_AUTO_TEST_CASE(ranges_that_hold_nothing_and_options_without_their_partner_are_refused) {
  BOOST_TEST(accepted({}));
  Options options;
  options.average_time_s = -1;
  BOOST_TEST(!accepted(options));
  options = {};
  options.min_uvw_m = 5, options.max_uvw_m = 5;
  BOOST_TEST(!accepted(options));
  options.max_uvw_m = 6;
  BOOST_TEST(accepted(options));
  options.min_uvw_m = -1;
  BOOST_TEST(!accepted(options));
  options = {};
  options.bda_radius_rad = 0.1;  // without --bda
  BOOST_TEST(!accepted(options));
  options.bda_loss = 0.01;
  BOOST_TEST(accepted(options));
  for (const double bad : {-0.01, 0.5, 1.0}) {
    options.bda_loss = bad;
    BOOST_TEST(!accepted(options));
  }
  options.bda_loss = 0.01;
  for (const double bad_rad : {0.0, -1.0, 1.6}) {
    options.bda_radius_rad = bad_rad;
    BOOST_TEST(!accepted(options));
  }
  options = {};
  options.mwa.flag_edge_hz = -1;
  BOOST_TEST(!accepted(options));

  // Averaging by baseline goes to a minute, unless --average-time says otherwise.
  Tool tool("transform", "");
  Options unnamed;
  BOOST_CHECK_THROW(check_options(tool, unnamed), UsageError);
  tool.common().output = "out.ms";
  for (const double wanted_s : {0.0, 10.0}) {
    Options bda;
    bda.bda_loss = 0.01, bda.bda_radius_rad = 0.1, bda.average_time_s = wanted_s;
    check_options(tool, bda);
    BOOST_TEST(bda.average_time_s == (wanted_s == 0 ? 60 : 10));
  }
}

BOOST_AUTO_TEST_SUITE_END()
