// SPDX-License-Identifier: GPL-3.0-or-later
// Par files as TEMPO2, PSRCAT and people write them, and what is refused by name.
#include "libcore/formats/par_file/par_file.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(par_file)

namespace {

const std::string kVela =
    "# made by hand\n"
    "PSRJ           J0835-4510\n"
    "RAJ            08:35:20.61149 1 0.00002\n"
    "DECJ          -45:10:34.8751\n"
    "F0             11.2 1\n"
    "F1            -1.56D-11\n"
    "F2             1.2e-21\n"
    "PEPOCH         51559.319\n"
    "DM             67.99\n"
    "TRES 100\nNTOA 7\nEPHEM DE405\nCLK TT(BIPM)\nUNITS TDB\nJUMP -f x 0.1 1\n";

std::string refusal(const std::string& text) {
  try {
    parse_par(text, "vela.par");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

#define SAYS(message, what) BOOST_TEST((message).find(what) != std::string::npos, message)

}  // namespace

BOOST_AUTO_TEST_CASE(values_are_read_with_their_units) {
  const PulsarTiming vela = parse_par(kVela, "vela.par");
  BOOST_TEST(vela.name == "J0835-4510");
  BOOST_TEST(vela.position.ra_rad == (8 + 35 / 60. + 20.61149 / 3600) * 15 * kRadPerDeg,
             boost::test_tools::tolerance(1e-15));
  BOOST_TEST(vela.position.dec_rad == -(45 + 10 / 60. + 34.8751 / 3600) * kRadPerDeg,
             boost::test_tools::tolerance(1e-15));
  BOOST_REQUIRE(vela.frequency.size() == 3u);
  BOOST_TEST(static_cast<double>(vela.frequency[0] - 11.2L) == 0);  // not the double nearest to it
  BOOST_TEST(static_cast<double>(vela.frequency[1]) == -1.56e-11);
  BOOST_TEST(static_cast<double>(vela.frequency[2]) == 1.2e-21);
  BOOST_TEST(vela.epoch.mjd == 51559);
  BOOST_TEST(vela.epoch.s == 0.319 * 86400, boost::test_tools::tolerance(1e-14));
  BOOST_TEST(vela.position_epoch.s == vela.epoch.s);
  BOOST_TEST(vela.dm_epoch.mjd == 51559);
  BOOST_TEST(vela.dm_pc_cm3 == std::vector<double>{67.99}, boost::test_tools::per_element());
  BOOST_TEST(vela.ephemeris == "DE405");
  BOOST_TEST(vela.clock == "TT(BIPM)");
  BOOST_TEST(!vela.reference);
}

BOOST_AUTO_TEST_CASE(periods_motions_and_references) {
  const PulsarTiming pulsar = parse_par(
      "PSR B0329+54\nRAJ 03:32:59.4\nDECJ +54:34:43\nP0 0.714519699726\nP1 2.048265E-15\nPEPOCH 46473\n"
      "POSEPOCH 50000\nDMEPOCH 49000.5\nDM 26.7641\nDM1 -1e-3\nPMRA 17.0\nPMDEC -9.5\nPX 0.6\n"
      "TZRMJD 50123.25\nTZRSITE @\nTZRFRQ 1400\n",
      "b0329.par");
  BOOST_TEST(static_cast<double>(pulsar.frequency[0]) == 1 / 0.714519699726,
             boost::test_tools::tolerance(1e-15));
  BOOST_TEST(static_cast<double>(pulsar.frequency[1]) == -2.048265e-15 / std::pow(0.714519699726, 2),
             boost::test_tools::tolerance(1e-14));
  BOOST_TEST(pulsar.position_epoch.mjd == 50000);
  BOOST_TEST(pulsar.dm_epoch.s == 43200);
  BOOST_TEST(pulsar.dm_pc_cm3.at(1) == -1e-3);
  BOOST_TEST(pulsar.motion_ra_rad_s * 365.25 * 86400 == 17e-3 * kRadPerArcsec,
             boost::test_tools::tolerance(1e-14));
  BOOST_TEST(pulsar.motion_dec_rad_s * 365.25 * 86400 == -9.5e-3 * kRadPerArcsec,
             boost::test_tools::tolerance(1e-14));
  BOOST_TEST(pulsar.parallax_rad == 0.6e-3 * kRadPerArcsec, boost::test_tools::tolerance(1e-14));
  BOOST_TEST(pulsar.reference.value().mjd == 50123);
  BOOST_TEST(pulsar.reference_site == "@");
  BOOST_TEST(pulsar.reference_hz == 1400e6);
}

BOOST_AUTO_TEST_CASE(what_changes_the_phase_otherwise_is_refused_by_name) {
  SAYS(refusal(kVela + "BINARY ELL1\nPB 1.5\n"),
       "vela.par: line 16: BINARY ELL1: the orbit of a binary pulsar");
  SAYS(refusal(kVela + "PB 1.5\n"), "PB 1.5: the orbit");
  SAYS(refusal(kVela + "GLEP_1 51000\n"), "GLEP_1 51000: a glitch");
  SAYS(refusal(kVela + "WAVE_OM 0.01\n"), "WAVE_OM 0.01: waves of timing noise");
  SAYS(refusal(kVela + "DMX_0001 1e-3\n"), "DMX_0001 1e-3: a dispersion measure in pieces");
  SAYS(refusal(kVela + "ELONG 10\n"), "ELONG 10: an ecliptic position");
  SAYS(refusal(kVela + "SIFUNC 2 0\n"), "SIFUNC 2: timing noise");
  BOOST_TEST(refusal(kVela + "A1 0\nTNRedAmp -13\nDMDATA 1\n") == "");  // nothing changes
  std::string tcb = kVela;
  tcb.replace(tcb.find("UNITS TDB"), 9, "UNITS TCB");
  SAYS(refusal(tcb), "UNITS TCB: times in units other than TDB");
  tcb.replace(tcb.find("UNITS TCB"), 9, "EPHVER 5");
  SAYS(refusal(tcb), "EPHVER 5: times in TCB");
}

BOOST_AUTO_TEST_CASE(malformed_files_are_refused) {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = kVela;
    text.replace(text.find(from), from.size(), to);
    return refusal(text);
  };
  SAYS(changed("F0 ", "FX "), "no F0");
  SAYS(changed("PEPOCH", "EPOCH "), "no PEPOCH");
  SAYS(changed("RAJ  ", "RAX  "), "no RAJ");
  SAYS(changed("11.2", "eleven"), "line 5: F0 eleven: a number above 0");
  SAYS(changed("11.2", "-1"), "a number above 0");
  SAYS(changed("11.2", "1e9"), "faster than any pulsar");
  SAYS(changed("51559.319", "51559.3.19"), "a modified Julian day");
  SAYS(changed("51559.319", "-5"), "a modified Julian day");
  SAYS(changed("08:35", "25:35"), "at most 24");
  SAYS(changed("-45:10", "-45:70"), "minutes and seconds");
  SAYS(changed("67.99", "1e999"), "a number from");
  SAYS(refusal(""), "no PEPOCH");
}

BOOST_AUTO_TEST_SUITE_END()
