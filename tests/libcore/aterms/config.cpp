// SPDX-License-Identifier: GPL-3.0-or-later
// Configurations of A-terms: what is understood, and that every mistake is refused with its file and line.
#include "libcore/aterms/config.h"

#include <boost/test/unit_test.hpp>
#include <random>

#include "libcore/aterms/aterms.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "tests/libcore/aterms/aterm_files.h"

using namespace apsyn;
using namespace aterm_test;

BOOST_AUTO_TEST_SUITE(config)

namespace {

/// What open_aterms says of a configuration; empty when it is accepted.
std::string complaint(const Folder& folder, const std::string& text,
                      const ArrayLayout& layout = three_stations()) {
  try {
    open_aterms(folder.file("a.conf", text), layout);
  } catch (const DataError& error) {
    BOOST_TEST((error.status() == ExitStatus::malformed));
    return error.what();
  }
  return "";
}

void check_complaint(const Folder& folder, const std::string& text, const std::string& line,
                     const std::string& words) {
  const std::string message = complaint(folder, text);
  BOOST_TEST(message.find("a.conf") != std::string::npos, text << " -> " << message);
  BOOST_TEST(message.find(line) != std::string::npos, text << " -> " << message);
  BOOST_TEST(message.find(words) != std::string::npos, text << " -> " << message);
}

std::string tec_cube(std::size_t n_antennas = 1, int bitpix = -32) {
  return cube_text(joined(sky_axes(kCentre, 4, 4, -1, 1),
                          {{"ANTENNA", n_antennas}, {"FREQ", 1, 150e6}, {"TIME", 2, 5e9, 60}}),
                   bitpix, [](const auto&) { return 0.0; });
}

}  // namespace

BOOST_AUTO_TEST_CASE(lists_words_and_comments_are_read) {
  const auto entries = parse_aterm_config(
      "# WSClean's own example, and what its parsets allow\r\n"
      "aterms = [ tec,dldm beam ]   # in this order\r\n"
      "tec.images = [ 'a b.fits', c.fits\n   d.fits ]\n"
      "tec.window=raised-hann\n"
      "dldm.images = \"x#y.fits\"\n"
      "\n"
      "beam.update_interval = \\\n  120\n"
      "beam.differential = true",
      "source");
  BOOST_REQUIRE(entries.size() == 3u);
  BOOST_TEST(entries[0].name() == "tec");
  BOOST_TEST((entries[0].list("images") == std::vector<std::string>{"a b.fits", "c.fits", "d.fits"}));
  BOOST_TEST(entries[0].text("window") == "raised-hann");
  BOOST_TEST(entries[1].text("images") == "x#y.fits");
  BOOST_TEST(entries[1].type() == "dldm");
  BOOST_TEST(entries[2].number("update_interval", 0) == 120);
  BOOST_TEST(entries[2].flag("differential", false));
  BOOST_TEST(entries[2].where("update_interval") == "source: line 8: beam.update_interval");
}

BOOST_AUTO_TEST_CASE(mistakes_name_their_line) {
  const Folder folder;
  folder.file("t.fits", tec_cube());
  const std::string good = "aterms = [ tec ]\ntec.images = [ t.fits ]\n";
  BOOST_TEST(complaint(folder, good) == "");
  check_complaint(folder, "", "", "lists no A-terms");
  check_complaint(folder, "tec.images = [ t.fits ]\n", "", "lists no A-terms");
  check_complaint(folder, "aterms = [ ]\n", "", "lists no A-terms");
  check_complaint(folder, "aterms = [ tec\n", "line 1", "not closed");
  check_complaint(folder, "aterms = [ tec [ beam ] ]\n", "line 1", "out of place");
  check_complaint(folder, "aterms = [ tec ] beam\n", "line 1", "out of place");
  check_complaint(folder, "aterms [ tec ]\n", "line 1", "NAME = VALUE");
  check_complaint(folder, "\n= tec\n", "line 2", "NAME = VALUE");
  check_complaint(folder, "aterms =\n", "line 1", "no value");
  check_complaint(folder, "aterms = 'tec\n", "line 1", "quotation mark");
  check_complaint(folder, "aterms = [ tec tec ]\n", "line 1", "twice");
  check_complaint(folder, good + "tec.images = [ t.fits ]\n", "line 3", "second time");
  check_complaint(folder, good + "aterm = tec\n", "line 3", "unknown key 'aterm'");
  check_complaint(folder, good + "tec. = 3\n", "line 3", "unknown key");
  check_complaint(folder, good + "tec.imagse = [ t.fits ]\n", "line 3", "tec knows images, window");
  check_complaint(folder, good + "tec.window = welch\n", "line 3", "raised_hann");
  check_complaint(folder, good + "tec.update_interval = 0\n", "line 3", "at least 0.001");
  check_complaint(folder, good + "tec.update_interval = 5min\n", "line 3", "finite number");
  check_complaint(folder, good + "tec.type = paf\n", "line 3", "tec, dldm, diagonal, h5parm, beam or screen");
  check_complaint(folder, "aterms = [ tec ]\n", "line 1: tec.images", "missing");
  check_complaint(folder, "aterms = [ tec ]\ntec.images = [ u.fits ]\n", "line 2", "no such file");
  check_complaint(folder, "aterms = [ tec ]\ntec.images = [ ]\n", "line 2", "empty");
  check_complaint(folder, "aterms = [ tec ]\ntec.images = [ t.fits t.fits ]\n", "line 2", "overlap in time");
  check_complaint(folder, "aterms = [ beam ]\n", "line 1: beam.model", "airy, gaussian, dipole or mwa");
  const std::string beam = "aterms = [ beam ]\nbeam.model = ";
  check_complaint(folder, beam + "lobes", "line 2", "airy, gaussian, dipole or mwa");
  check_complaint(folder, beam + "airy", "beam.diameter", "missing");
  check_complaint(folder, beam + "airy\nbeam.diameter = 25", "line 3", "unit");
  check_complaint(folder, beam + "airy\nbeam.diameter = 0m", "line 3", "above 0");
  check_complaint(folder, beam + "airy\nbeam.diameter = 25m\nbeam.pointing = zenith", "line 4", "zenith");
  check_complaint(folder, beam + "gaussian\nbeam.fwhm = -1deg", "line 3", "above 0");
  check_complaint(folder, beam + "dipole", "beam.height", "missing");
  check_complaint(folder, beam + "dipole\nbeam.height = 1m\nbeam.delays = [ 1 ]", "line 4",
                  "unknown parameter");
  check_complaint(folder, beam + "dipole\nbeam.height = 1m\nbeam.usechannelfreq = false", "line 4",
                  "leave it out");
  check_complaint(folder, beam + "mwa", "line 2", "delays or metafits");
  check_complaint(folder, beam + "mwa\nbeam.delays = [ 1 2 3 ]", "line 3", "3 values");
  check_complaint(folder, beam + "mwa\nbeam.delays = [ 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 33 ]", "line 3", "'33'");
  BOOST_TEST(complaint(folder, beam + "mwa\nbeam.metafits = t.fits").find("metafits is needed") !=
             std::string::npos);
  check_complaint(folder, "aterms = [ screen ]\nscreen.images = [ t.fits t.fits ]", "line 2", "2 files");
}

BOOST_AUTO_TEST_CASE(dipoles_need_a_site_and_airy_discs_do_not) {
  const Folder folder;
  ArrayLayout layout = three_stations();
  layout.site.reset();
  BOOST_TEST(complaint(folder, "aterms=[beam]\nbeam.model=dipole\nbeam.height=1m", layout).find("site") !=
             std::string::npos);
  BOOST_TEST(complaint(folder, "aterms=[beam]\nbeam.model=airy\nbeam.diameter=1m", layout) == "");
}

BOOST_AUTO_TEST_CASE(parameters_of_others_are_ignored_aloud) {
  const Folder folder;
  folder.file("t.fits", tec_cube());
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel level, const std::string& line) {
    if (level == LogLevel::warning) lines.push_back(line);
  });
  BOOST_TEST(complaint(folder, "aterms = [ tec ]\ntec.images = [ t.fits ]\nbeam.model = airy\n") == "");
  set_log_sink({});
  BOOST_REQUIRE(lines.size() == 1u);
  BOOST_TEST(lines[0].find("line 3: 'beam.model' is ignored") != std::string::npos);
}

// Images are looked for in the working folder, then beside the configuration.
BOOST_AUTO_TEST_CASE(files_may_lie_beside_the_configuration) {
  const Folder folder;
  folder.file("t.fits", tec_cube());
  const auto before = std::filesystem::current_path();
  const std::string text = "aterms = [ tec ]\ntec.images = [ t.fits ]\n";
  std::filesystem::create_directory(folder.path + "/sub");
  std::ofstream(folder.path + "/sub/a.conf") << text;
  BOOST_CHECK_THROW(open_aterms(folder.path + "/sub/a.conf", three_stations()), DataError);
  std::filesystem::current_path(folder.path);
  BOOST_CHECK_NO_THROW(open_aterms("sub/a.conf", three_stations()));
  std::filesystem::current_path(before);
  BOOST_CHECK_NO_THROW(open_aterms(folder.file("a.conf", text), three_stations()));
  BOOST_CHECK_THROW(open_aterms(folder.path + "/none.conf", three_stations()), FailureError);
}

BOOST_AUTO_TEST_CASE(wrong_cubes_are_refused) {
  const Folder folder;
  const auto refuse = [&](const std::string& type, const std::vector<CubeAxis>& axes,
                          const std::string& words, const std::vector<std::string>& cards = {}) {
    folder.file("t.fits", cube_text(
                              axes, -32, [](const auto&) { return 0.0; }, cards));
    const std::string message =
        complaint(folder, "aterms = [ x ]\nx.type = " + type + "\nx.images = [ t.fits ]\n");
    BOOST_TEST(message.find("t.fits") != std::string::npos, message);
    BOOST_TEST(message.find(words) != std::string::npos, message);
  };
  const auto sky = sky_axes(kCentre, 4, 4, -1, 1);
  const CubeAxis freq{"FREQ", 1, 150e6}, antenna{"ANTENNA", 3}, matrix2{"MATRIX", 2}, matrix4{"MATRIX", 4};
  refuse("tec", joined(sky, {{"ANTENNA", 2}, freq}), "1 or the data's 3");
  refuse("tec", joined(sky, {freq, antenna}), "in this order");
  refuse("tec", joined(sky, {matrix2, freq}), "in this order");
  refuse("tec", joined(sky, {antenna, {"STOKES", 1}}), "STOKES");
  refuse("tec", joined(sky, {antenna, freq, {"TIME", 3, 56859.8, 0.1}}), "MJD x 86400");
  refuse("tec", joined(sky, {antenna, freq, {"TIME", 3, 5e9, -10}}), "positive");
  refuse("tec", joined(sky, {antenna, {"FREQ", 3, 150e6, 0}}), "FREQ is 0");
  refuse("tec", joined(sky_axes(kCentre, 3, 4, -1, 1), {antenna}), "at least 4 x 4");
  refuse("tec", joined({{"GLON-SIN", 4}, {"GLAT-SIN", 4}}, {antenna}), "RA---SIN");
  refuse("tec", joined(sky, {antenna}), "rotated", {"CROTA2  =                 12.5"});
  refuse("dldm", joined(sky, {freq}), "no axis MATRIX");
  refuse("dldm", joined(sky, {matrix4, freq}), "has 2 elements");
  refuse("dldm", joined(sky, {matrix2, antenna, freq}), "in this order");
  refuse("diagonal", joined(sky, {matrix2, antenna}), "has 4 elements");
  refuse("diagonal", joined(sky, {antenna, matrix4}), "in this order");

  const std::string text = "aterms = [ tec ]\ntec.images = [ t.fits ]\n", good = tec_cube(3);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{79}, std::size_t{2879}, std::size_t{2880}, std::size_t{3000}}) {
    folder.file("t.fits", good.substr(0, length));
    BOOST_TEST(complaint(folder, text) != "");
  }
  folder.file("t.fits", std::string(5000, 'x'));
  BOOST_TEST(complaint(folder, text) != "");
}

// Whatever bytes are wrong: an error of ours, or A-terms that are finite.
BOOST_AUTO_TEST_CASE(damaged_files_do_no_harm) {
  const Folder folder;
  std::mt19937 random(5);
  const std::string text = "aterms = [ tec ]\ntec.images = [ t.fits ]\ntec.window = hann\n";
  const AtermGrid grid{kCentre, 4, 0.05, 0.05};
  for (int trial = 0; trial < 400; ++trial) {
    std::string cube = tec_cube(3, trial % 2 == 0 ? -32 : -64), conf = text;
    const bool damage_cube = trial % 4 != 3;
    std::string& damaged = damage_cube ? cube : conf;
    for (int i = 0; i < 1 + trial % 5; ++i)
      damaged[random() % std::min<std::size_t>(damaged.size(), 1600 + 2000 * (trial % 3 == 0))] =
          static_cast<char>(trial % 5 < 3 ? 32 + random() % 95 : random());
    folder.file("t.fits", cube);
    try {
      const auto model = open_aterms(folder.file("a.conf", conf), three_stations());
      for (const auto& value : evaluate(*model, 5e9, 150e6, grid))
        BOOST_REQUIRE(std::isfinite(value.real()) && std::isfinite(value.imag()));
      model->warnings(grid, kFreq_hz);
    } catch (const Error&) {
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
