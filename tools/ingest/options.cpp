// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/ingest/options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {
namespace {

/// Recorders' formats, and visibilities.
std::vector<std::string> ingest_formats() {
  std::vector<std::string> names = capture_formats();
  names.push_back("uvfits");
  return names;
}

void declare_facts(Tool& tool, IngestOptions& o) {
  CLI::App& app = tool.app();
  CaptureFacts& facts = o.request.facts;
  const auto voltages = [&](CLI::Option* option) {
    o.groups.push_back({capture_formats(), {option}});
    return option;
  };
  tool.heading("Recording");
  voltages(tool.add_frequency("--freq", facts.freq_hz, "centre of the band"));
  voltages(
      tool.add_frequency("--bandwidth", facts.bandwidth_hz, "width of the band; negative: channels descend"));
  CLI::Option* tsamp = tool.add_duration("--tsamp", facts.sample_s, "time between the samples of a channel");
  voltages(tool.add_frequency("--sample-rate", o.sample_rate_hz, "samples of a channel in a second"))
      ->excludes(tsamp);
  voltages(app.add_option("--start", o.start, "UTC of the first sample")->type_name("UTC"));
  voltages(app.add_option("--telescope", facts.telescope, "name of the telescope")->type_name("TEXT"));
  voltages(app.add_option("--source", facts.source, "what was observed")->type_name("TEXT"));
  voltages(app.add_option("--pol-basis", facts.pol_basis, "XY or RL")
               ->type_name("NAME")
               ->check(CLI::IsMember({"XY", "RL"})));
  voltages(app.add_option("--scale", facts.scale, "what a step of the samples is worth (default 1)")
               ->type_name("NUMBER")
               ->check(CLI::PositiveNumber));
  CLI::Option* conjugate = voltages(
      app.add_flag("--conjugate", facts.conjugate, "the samples are conjugates of those of a rising band"));
  voltages(
      app.add_flag("--no-conjugate", facts.no_conjugate, "they are not (guppi, where the band descends)"))
      ->excludes(conjugate);
  tool.heading("Array");
  CLI::Option* antennas = voltages(
      tool.add_file("--antennas", facts.layout.antennas, "antenna positions: CSV or a built-in array"));
  voltages(tool.add_file("--metafits", facts.layout.metafits, "antenna positions: MWA metafits"))
      ->excludes(antennas);
  voltages(app.add_option("--site", facts.layout.site, "site of the array: degrees, degrees, metres")
               ->type_name("LAT,LON,ALT"));
  voltages(
      app.add_option("--flag-antennas", facts.layout.flag_antennas, "bad antennas: names or indices from 0")
          ->type_name("LIST"));
  tool.heading("Missing data");
  voltages(tool.add_duration("--max-gap", facts.max_gap_s,
                             "the longest pause that is filled with missing data (default 600s)"));
  voltages(app.add_option("--missing-block", facts.missing_samples,
                          "samples that are missing together where some are (default: the format's)")
               ->type_name("N")
               ->check(CLI::Range(1, 1 << 24)));
}

void declare_uvfits(Tool& tool, IngestOptions& o) {
  o.groups.push_back({{"uvfits"},
                      {tool.app().add_flag("--absolute-weights", o.absolute_weights,
                                           "the sign of a weight flags nothing")}});
}

void declare_mwa32t(Tool& tool, IngestOptions& o) {
  CLI::App& app = tool.app();
  Mwa32tOptions& mwa = o.request.mwa32t;
  o.groups.push_back(
      {{"mwa32t"},
       {app.add_option("--marker", mwa.marker,
                       "bits of the marker from the highest: 0, 1, c (counter), x (default: all c)")
            ->type_name("BITS"),
        app.add_option("--word-bits", mwa.word_bits, "16: samples of 5+5 bits; 8: of 4+4 (default 16)")
            ->type_name("N")
            ->check(CLI::IsMember({8, 16})),
        app.add_option("--output-bits", mwa.output_bits, "8, 5 (PACK5X5) or 4 (one bit dropped) (default 8)")
            ->type_name("N")
            ->check(CLI::IsMember({4, 5, 8}))}});
  o.groups.push_back(
      {{"mwa32t", "mwa-vcs"},
       {app.add_option("--real-bit", mwa.real_bit,
                       "lowest bit of the real part (default 5, or 4 of 8; mwa-vcs: 0)")
            ->type_name("N")
            ->check(CLI::Range(0, 15)),
        app.add_option("--imag-bit", mwa.imag_bit, "lowest bit of the imaginary part (default 0; mwa-vcs: 4)")
            ->type_name("N")
            ->check(CLI::Range(0, 15))}});
  o.groups.push_back(
      {{"mwa32t", "mwa-vcs", "vdif", "tbf", "chips", "tbn", "best2"},
       {app.add_option("--input-order", o.input_order,
                       "captured inputs from 0 in the order of the output's antennas and polarisations")
            ->type_name("LIST")}});
}

void declare_raw(Tool& tool, IngestOptions& o) {
  CLI::App& app = tool.app();
  RawOptions& raw = o.request.raw;
  CaptureFacts& facts = o.request.facts;
  o.groups.push_back(
      {{"mwa32t", "raw", "guppi"},
       {app.add_option("--endian", o.endian,
                       "LITTLE or BIG (default LITTLE; guppi: BIG, a byte's highest bits first)")
            ->type_name("NAME")
            ->check(CLI::IsMember({"LITTLE", "BIG"}))}});
  o.groups.push_back(
      {{"vdif", "guppi", "raw"},
       {app.add_option("--encoding", facts.encoding,
                       "TWOSCOMPLEMENT (default of raw, guppi), OFFSETBINARY (of vdif); raw: FLOAT, PACK5X5")
            ->type_name("NAME")
            ->check(CLI::IsMember({"TWOSCOMPLEMENT", "OFFSETBINARY", "FLOAT", "PACK5X5"}))}});
  o.groups.push_back({{"vdif", "raw"},
                      {app.add_option("--pols", facts.n_pol, "polarisations: 1 or 2")
                           ->type_name("N")
                           ->check(CLI::Range(1, 2))}});
  o.groups.push_back({{"raw", "mark5b"},
                      {app.add_option("--bits", raw.n_bit,
                                      "bits of a component: 4, 5, 8, 16 or 32; mark5b: 1 or 2 (default 2)")
                           ->type_name("N")
                           ->check(CLI::IsMember({1, 2, 4, 5, 8, 16, 32}))}});
  o.groups.push_back(
      {{"raw"},
       {app.add_flag("--real", o.real, "real samples (default: complex)"),
        app.add_option("--order", raw.order, "axes T F A P, the slowest first (default TFAP)")
            ->type_name("ORDER"),
        app.add_option("--heap", raw.block_samples, "samples of a heap where T is not the slowest axis")
            ->type_name("N")
            ->check(CLI::Range(1, 1 << 30)),
        app.add_option("--antenna-count", facts.n_ant, "antennas")
            ->type_name("N")
            ->check(CLI::Range(1, 1 << 20)),
        app.add_option_function<std::string>(
               "--skip", [&raw](const std::string& text) { raw.skip_bytes = parse_bytes(text); },
               "bytes to pass over at the beginning of each input, for example 512B")
            ->type_name("SIZE")}});
}

void declare_channels(Tool& tool, IngestOptions& o) {
  CLI::App& app = tool.app();
  CaptureFacts& facts = o.request.facts;
  o.groups.push_back({{"raw", "mark5b", "tbf", "chips", "best2"},
                      {app.add_option("--channels", facts.n_chan, "channels")
                           ->type_name("N")
                           ->check(CLI::Range(1, 1 << 24))}});
  o.groups.push_back({{"tbf", "chips", "best2"},
                      {app.add_option("--first-channel", facts.first_channel,
                                      "the first channel to take, in the recorder's numbers (default: all)")
                           ->type_name("N")
                           ->check(CLI::Range(0, 65535))}});
  o.groups.push_back({{"drx"},
                      {app.add_option("--tuning", facts.tuning, "the tuning to take where there are two")
                           ->type_name("N")
                           ->check(CLI::Range(1, 7))}});
}

/// "3,0-2" -> 3, 0, 1, 2
std::vector<std::size_t> parse_input_order(const std::string& list) {
  std::vector<std::size_t> order;
  if (list.empty()) return order;
  for (std::string_view piece : split(list, ',')) {
    std::size_t ends[2];
    const std::size_t dash = std::min(piece.find('-'), piece.size());
    const auto number = [&](std::string_view text, std::size_t& value) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc() && end == text.data() + text.size() && value < 65536;
    };
    const bool good =
        number(piece.substr(0, dash), ends[0]) &&
        (dash == piece.size() ? (ends[1] = ends[0], true) : number(piece.substr(dash + 1), ends[1])) &&
        ends[0] <= ends[1];
    if (!good) throw UsageError("--input-order {}: give numbers and ranges, for example 3,0-2", list);
    for (std::size_t input = ends[0]; input <= ends[1]; ++input) order.push_back(input);
  }
  return order;
}

}  // namespace

void declare(Tool& tool, IngestOptions& o) {
  tool.add_inputs(o.request.inputs, "captures (-: stdin)", 0);
  tool.app()
      .add_option("--from", o.request.format, "format of the captures")
      ->type_name("NAME")
      ->check(CLI::IsMember(ingest_formats()));
  declare_facts(tool, o);
  tool.heading("Samples and channels of a format");
  declare_mwa32t(tool, o);
  declare_raw(tool, o);
  declare_channels(tool, o);
  tool.heading("Visibilities");
  declare_uvfits(tool, o);
}

void complete(IngestOptions& o) {
  CaptureRequest& request = o.request;
  if (request.format.empty())
    throw UsageError("--from: missing: name the format of the captures: {}",
                     fmt::join(ingest_formats(), ", "));
  for (const FormatOptions& group : o.groups) {
    if (std::find(group.formats.begin(), group.formats.end(), request.format) != group.formats.end())
      continue;
    for (const CLI::Option* option : group.options)
      if (option->count() > 0)
        throw UsageError("{}: --from {}: that option is for {}", option->get_name(), request.format,
                         group.formats == capture_formats()
                             ? "voltages"
                             : fmt::format("{}", fmt::join(group.formats, " and ")));
  }
  if (std::count(request.inputs.begin(), request.inputs.end(), "-") > 1)
    throw UsageError("-: standard input can be read once: name files or named pipes");
  CaptureFacts& facts = request.facts;
  if (!std::isnan(o.sample_rate_hz)) {
    if (!(o.sample_rate_hz > 0)) throw UsageError("--sample-rate: {} Hz: must be positive", o.sample_rate_hz);
    facts.sample_s = 1 / o.sample_rate_hz;
  }
  if (!(facts.max_gap_s >= 0))
    throw UsageError("--max-gap: {} s: a pause lasts 0 s or longer", facts.max_gap_s);
  if (!o.start.empty()) {
    try {
      facts.start = parse_utc(o.start);
    } catch (const DataError& error) {
      throw UsageError("--start: {}", error.what());
    }
  }
  facts.input_order = parse_input_order(o.input_order);
  if (request.format != "raw" && (facts.encoding == "FLOAT" || facts.encoding == "PACK5X5"))
    throw UsageError("--encoding {}: samples of {} are OFFSETBINARY or TWOSCOMPLEMENT", facts.encoding,
                     request.format);
  request.mwa_vcs = {request.mwa32t.real_bit, request.mwa32t.imag_bit};
  request.raw.n_dim = o.real ? 1 : 2;
  if (!o.endian.empty()) request.guppi.endian = o.endian == "BIG" ? ByteOrder::big : ByteOrder::little;
  request.raw.byte_order = request.mwa32t.byte_order = o.endian == "BIG" ? ByteOrder::big : ByteOrder::little;
}

}  // namespace apsyn
