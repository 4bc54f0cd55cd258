// SPDX-License-Identifier: GPL-3.0-or-later
// The text of --stats, by hand against RFC 8259.
#include "tools/quicklook/stats.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(stats)

BOOST_AUTO_TEST_CASE(one_member_a_line_and_one_item_of_objects_a_line) {
  Json inner, outer;
  inner["x"] = 1;
  inner["name"] = "a";
  outer["one"] = inner;
  outer["list"] = std::vector<Json>{inner, inner};
  outer["n"] = std::vector<int>{1, 2};
  BOOST_TEST(stats_text(outer) ==
             "{\n  \"one\": {\"x\": 1, \"name\": \"a\"},\n  \"list\": [\n    {\"x\": 1, \"name\": \"a\"},\n"
             "    {\"x\": 1, \"name\": \"a\"}\n  ],\n  \"n\": [1, 2]\n}");
}

BOOST_AUTO_TEST_CASE(numbers_lead_back_to_the_same_double_and_others_are_null) {
  Json stats;
  stats["third"] = 1.0 / 3;
  stats["count"] = std::uint64_t{18446744073709551615u};
  stats["none"] = std::numeric_limits<double>::quiet_NaN();
  stats["infinite"] = -std::numeric_limits<double>::infinity();
  stats["complex"] = true;
  const std::string text = stats_text(stats);
  BOOST_TEST(std::stod(text.substr(text.find(':') + 1)) == 1.0 / 3);
  for (const char* line :
       {"\"count\": 18446744073709551615", "\"none\": null", "\"infinite\": null", "\"complex\": true"})
    BOOST_TEST(text.find(line) != text.npos, line);
}

// Three integrations of 4 s, whose times are their middles.
BOOST_AUTO_TEST_CASE(visibilities_begin_and_end_with_their_integrations) {
  VisibilitySummary summary;
  summary.first_time_mjd_s = 86400.0 * 60000 + 2;
  summary.last_time_mjd_s = summary.first_time_mjd_s + 8;
  summary.interval_s = 4;
  summary.channel_hz = {150e6, 151e6};
  summary.n_samples = 8;
  summary.n_flagged = 2;
  const Json stats = stats_of(summary);
  BOOST_TEST(stats["start_utc"].get<std::string>().starts_with("2023-02-25T00:00:00"));
  BOOST_TEST(stats["duration_s"] == 12);
  BOOST_TEST(stats["highest_channel_hz"] == 151e6);
  BOOST_TEST(stats["flagged_fraction"] == 0.25);
}

// A hundred samples of power 8: of complex ones either part has an RMS of 2.
BOOST_AUTO_TEST_CASE(voltages_have_the_rms_of_their_components) {
  for (const unsigned n_dim : {1u, 2u}) {
    VoltageSummary summary;
    summary.n_ant = summary.n_pol = 1;
    summary.n_chan = 2;
    summary.n_dim = n_dim;
    summary.n_time = 100;
    summary.sample_s = 0.5;
    summary.time.n = 2;
    summary.power_sum.resize({1, 2});
    summary.n_power.resize({1, 2});
    summary.power_sum(0, 0) = 300, summary.power_sum(0, 1) = 500;
    summary.n_power(0, 0) = 30, summary.n_power(0, 1) = 70;
    summary.n_values = {400};
    summary.n_saturated = {4};
    summary.n_missing = {20};
    const Json stats = stats_of(summary);
    BOOST_TEST(stats["duration_s"] == 50);
    const Json& input = stats["inputs"][0];
    BOOST_TEST(input["power"] == 8);
    BOOST_TEST(std::abs(input["rms"].get<double>() - std::sqrt(8.0 / n_dim)) < 1e-14);
    BOOST_TEST(input["saturated_fraction"] == 0.01);
    BOOST_TEST(input["missing_fraction"] == 0.1);
  }
}

// Two channels of XX and YY: means over both, of the cross-correlations and of the autocorrelations.
BOOST_AUTO_TEST_CASE(products_have_means_over_channels) {
  VisibilitySummary summary;
  summary.channel_hz = {150e6, 151e6};
  summary.channel_width_hz = 1e6;
  summary.products = {Product::XX, Product::YY};
  summary.antennas = {"a", "b", "c"};
  summary.antenna_seen = {1, 0, 1};
  summary.longest_m = 300;
  summary.longest_wavelengths = 150;
  summary.n_rows = 12, summary.n_auto_rows = 4;
  summary.sum_amplitude.resize({2, 2});
  summary.sum_visibility.resize({2, 2});
  summary.n_cross.resize({2, 2});
  summary.sum_auto.resize({3, 2, 2});
  summary.n_auto.resize({3, 2, 2});
  summary.sum_amplitude(1, 0) = 30, summary.sum_amplitude(1, 1) = 50;
  summary.sum_visibility(1, 0) = {0, 6}, summary.sum_visibility(1, 1) = {0, 10};
  summary.n_cross(1, 0) = 6, summary.n_cross(1, 1) = 10;
  summary.sum_auto(0, 1, 0) = 20, summary.sum_auto(2, 1, 1) = 40;
  summary.n_auto(0, 1, 0) = 4, summary.n_auto(2, 1, 1) = 8;
  const Json stats = stats_of(summary);
  BOOST_TEST(stats["channels"] == 2u);
  BOOST_TEST(stats["channel_width_hz"] == 1e6);
  BOOST_TEST(stats["lowest_channel_hz"] == 150e6);
  BOOST_TEST(stats["antennas"] == 3u);
  BOOST_TEST(stats["antennas_with_data"] == 2);
  BOOST_TEST(stats["rows"] == 12u);
  BOOST_TEST(stats["autocorrelation_rows"] == 4u);
  BOOST_TEST(stats["longest_baseline_m"] == 300);
  BOOST_TEST(stats["longest_baseline_wavelengths"] == 150);
  const Json& xx = stats["products"][0];
  BOOST_TEST(xx["product"] == "XX");
  BOOST_TEST(xx["used"] == 0);
  for (const char* none :
       {"mean_amplitude", "amplitude_of_mean", "phase_of_mean_deg", "mean_autocorrelation"})
    BOOST_TEST(std::isnan(xx[none].get<double>()), none);
  const Json& yy = stats["products"][1];
  BOOST_TEST(yy["product"] == "YY");
  BOOST_TEST(yy["used"] == 16);
  BOOST_TEST(yy["mean_amplitude"] == 5);
  BOOST_TEST(yy["amplitude_of_mean"] == 1);
  BOOST_TEST(std::abs(yy["phase_of_mean_deg"].get<double>() - 90) < 1e-12);
  BOOST_TEST(yy["mean_autocorrelation"] == 5);
}

// Pixels 1, 2 ... 12 in rows of four, of the second channel; the part without its first column and row.
BOOST_AUTO_TEST_CASE(images_have_the_figures_of_the_part_that_is_shown) {
  Image image;
  image.info.centre = {1, 0};
  image.info.cell_rad = 1e-3;
  image.info.freq_hz = 150e6, image.info.bandwidth_hz = 2e6;
  image.info.stokes = {"I", "Q"};
  image.info.beam = RestoringBeam{4e-3, 3e-3, 0.5};
  image.pixels.resize({2, 2, 3, 4});
  for (std::size_t i = 0; i < 12; ++i) (&image.pixels(1, 1, 0, 0))[i] = static_cast<double>(i + 1);
  ImageFigureOptions shown;
  shown.stokes = 1, shown.channel = 1;
  shown.x0 = 1, shown.y0 = 1, shown.width = 3, shown.height = 2;
  image.pixels(1, 1, 1, 2) = NAN;  // 7
  const Json stats = stats_of(image, shown);
  BOOST_TEST(stats["frequency_hz"] == 152e6);
  BOOST_TEST(stats["stokes"] == "Q");
  BOOST_TEST(stats["planes"] == 4u);
  BOOST_TEST(stats["width"] == 3u);
  BOOST_TEST(stats["height"] == 2u);
  const double degree = 0.017453292519943295;
  BOOST_TEST(std::abs(stats["cell_deg"].get<double>() - 1e-3 / degree) < 1e-12);
  BOOST_TEST(std::abs(stats["beam_major_deg"].get<double>() - 4e-3 / degree) < 1e-12);
  BOOST_TEST(std::abs(stats["beam_minor_deg"].get<double>() - 3e-3 / degree) < 1e-12);
  BOOST_TEST(std::abs(stats["beam_position_angle_deg"].get<double>() - 0.5 / degree) < 1e-12);
  BOOST_TEST(stats["blank_pixels"] == 1u);
  BOOST_TEST(stats["minimum"] == 6);
  BOOST_TEST(stats["maximum"] == 12);
  BOOST_TEST(stats["maximum_x"] == 3);
  BOOST_TEST(stats["maximum_y"] == 2);
  // One pixel west and one north of the centre, pixel (2, 1).
  BOOST_TEST(std::abs(stats["maximum_ra_deg"].get<double>() - (1 - std::asin(1e-3)) / degree) < 1e-6);
  BOOST_TEST(std::abs(stats["maximum_dec_deg"].get<double>() - std::asin(1e-3) / degree) < 1e-6);
  BOOST_TEST(stats["sum"] == 6 + 8 + 10 + 11 + 12);
  BOOST_TEST(std::abs(stats["mean"].get<double>() - 9.4) < 1e-12);
  BOOST_TEST(std::abs(stats["rms"].get<double>() - std::sqrt((36 + 64 + 100 + 121 + 144) / 5.0)) < 1e-12);
  BOOST_TEST(stats["median"] == 10);
  BOOST_TEST(std::abs(stats["dynamic_range"].get<double>() - 12 / stats["noise"].get<double>()) < 1e-9);
}

// Four bands; samples of 0.5 s: the third is the strongest, and in its second band nothing was measured.
BOOST_AUTO_TEST_CASE(filterbanks_have_the_powers_of_bands_and_the_time_of_the_highest) {
  DynamicSpectrum spectrum;
  spectrum.sample_s = 0.5;
  spectrum.start_with({150e6, 151e6, 152e6, 153e6}, 4);
  Buffer<float, 2> samples({5, 4});
  for (std::size_t t = 0; t < 5; ++t)
    for (std::size_t chan = 0; chan < 4; ++chan)
      samples(t, chan) = static_cast<float>(chan + 1) + (t == 2 ? 10.0f : t == 4 ? -0.5f : 0.0f);
  samples(2, 1) = NAN;
  spectrum.add(samples);
  const Json stats = stats_of(spectrum);
  BOOST_TEST(stats["samples"] == 5u);
  BOOST_TEST(stats["duration_s"] == 2.5);
  BOOST_TEST(stats["bands"] == 4u);
  BOOST_TEST(stats["lowest_band_hz"] == 150e6);
  BOOST_TEST(stats["highest_band_hz"] == 153e6);
  BOOST_TEST(stats["used_values"] == 19);
  BOOST_TEST(std::abs(stats["mean_power"].get<double>() - (50 + 30 - 2 - 2) / 19.0) < 1e-6);
  BOOST_TEST(stats["step_s"] == 0.5);
  BOOST_TEST(stats["lowest_power"] == 2);
  BOOST_TEST(std::abs(stats["highest_power"].get<double>() - (8 / 3.0 + 10)) < 1e-6);
  BOOST_TEST(stats["highest_power_s"] == 1.25);
  BOOST_TEST(std::abs(stats["band_mean_power"][0].get<double>() - (5 + 10 - 0.5) / 5) < 1e-6);
  BOOST_TEST(std::abs(stats["band_mean_power"][1].get<double>() - (8 - 0.5) / 4) < 1e-6);
}

// Names come from files: what is well formed is the table of RFC 3629, section 4.
BOOST_AUTO_TEST_CASE(bytes_that_are_no_utf8_become_replacement_characters) {
  const auto inside = [](const std::string& name) {
    const std::string text = stats_text({{"object", name}});
    const std::size_t first = text.find(": \"") + 3;
    return text.substr(first, text.rfind('"') - first);
  };
  for (const char* good : {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    BOOST_TEST(inside(good) == good);
  const std::string one = "\xef\xbf\xbd";
  BOOST_TEST(inside("caf\xe9 5") == "caf" + one + " 5");
  BOOST_TEST(inside("a\"b\\c\n") == "a\\\"b\\\\c\\n");
  for (const char* bad : {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82", "\xf5\x80\x80\x80"})
    BOOST_TEST(inside(bad).starts_with(one));
  BOOST_TEST(inside("\xe2\x82x").ends_with("x"));
}

BOOST_AUTO_TEST_SUITE_END()
