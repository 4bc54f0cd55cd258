// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/cli/voltage_options.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>

namespace apsyn {
namespace {

// A count of samples; the whole text or nothing.
bool parse_count(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

}  // namespace

void parse_sample_range(VoltageOptions& options) {
  options.first_sample = 0;
  options.n_samples = -1;
  if (options.samples.empty()) return;
  const std::string_view text = options.samples;
  const std::size_t colon = text.find(':');
  const std::string_view first = text.substr(0, colon);
  const std::string_view count = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const bool good = colon != std::string_view::npos && text.size() > 1 &&
                    (first.empty() || parse_count(first, options.first_sample)) &&
                    (count.empty() || (parse_count(count, options.n_samples) && options.n_samples > 0));
  if (!good)
    throw UsageError("--samples {}: give FIRST:COUNT, for example 1000:500; FIRST: reads to the end", text);
}

void add_voltage_options(Tool& tool, VoltageOptions& options) {
  CLI::App& app = tool.app();
  tool.heading(headings::kVoltages);
  CLI::Option* antennas = tool.add_file("--antennas", options.antennas,
                                        "antenna positions (CSV) in place of the stream's own table");
  tool.add_file("--metafits", options.metafits, "MWA metafits in place of the stream's own antenna table")
      ->excludes(antennas);
  app.add_option("--site", options.site, "site of the array: degrees, degrees, metres above the ellipsoid")
      ->type_name("LAT,LON,ALT");
  app.add_option("--flag-antennas", options.flag_antennas, "antennas to leave out: names or indices from 0")
      ->type_name("LIST");
  tool.add_file("--gains", options.gains,
                "measured gains (CSV), or solutions of calibrate (H5Parm); data are divided by them");
  app.add_option_function<std::string>(
         "--samples",
         [&options](const std::string& text) {
           options.samples = text;
           parse_sample_range(options);
         },
         "samples to read, counted from 0; FIRST: reads to the end")
      ->type_name("FIRST:COUNT");
}

void add_gains_follow(Tool& tool, VoltageOptions& options) {
  tool.app().add_flag("--gains-follow", options.gains_follow,
                      "take the file of --gains anew whenever it has been replaced");
}

std::string describe(const VoltageHeader& header) {
  return fmt::format(
      "input: {} antennas, {} polarisations, {} channels of {} around {}, {} bits, samples of {}",
      header.n_ant, header.n_pol, header.n_chan,
      format_frequency(std::abs(header.bandwidth_hz) / static_cast<double>(header.n_chan)),
      format_frequency(header.freq_hz), header.n_bit, format_duration(header.sample_s));
}

std::string describe_blocks(std::uint64_t memory_bytes, std::size_t gulp_samples, std::size_t block_spectra,
                            std::size_t n_channel) {
  return fmt::format("memory: {}, reading {} samples at a time, {} spectra of {} channels per block",
                     format_bytes(static_cast<double>(memory_bytes)), gulp_samples, block_spectra, n_channel);
}

}  // namespace apsyn
