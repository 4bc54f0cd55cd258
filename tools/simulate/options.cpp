// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/simulate/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/formats/fits/ionosphere.h"
#include "libcore/formats/fits/metafits.h"

namespace apsyn {

OutputKind kind_of(const std::string& output) {
  const auto extension = std::filesystem::path(output).extension();
  return extension == ".ms"     ? OutputKind::visibilities
         : extension == ".fits" ? OutputKind::ionosphere
                                : OutputKind::voltages;
}

void declare(Tool& tool, SimulateOptions& options) {
  CLI::App& app = tool.app();
  tool.heading("Array, sky and time");
  const std::vector<CLI::Option*> of_observations = {
      tool.add_file("--array", options.array, "built-in array, antennas CSV or MWA metafits")
          ->type_name("NAME|FILE"),
      tool.add_file("--like", options.like,
                    "array, pointing, band, times and products of a Measurement Set, where no other option "
                    "tells them")
          ->type_name("SET.ms"),
      tool.add_file("--sky", options.sky,
                    "sky model in WSClean/BBS text form (default: receiver noise only)"),
      tool.add_file("--ionosphere", options.ionosphere,
                    "screens that the sky is seen through, see apsyn-ionosphere(5) (default: none)"),
      tool.add_file("--aterms", options.aterms,
                    "let the antennas see the sky through A-terms: a configuration, apsyn-aterms(5)"),
      app.add_option("--beam-data", options.beam_data, "folder of beams' coefficients, searched first")
          ->type_name("FOLDER"),
      app.add_option("--site", options.site, "where the array stands (default: as the array says)")
          ->type_name("LAT,LON,ALT"),
      tool.add_frequency("--freq", options.freq_hz, "centre of the band (default 150MHz)"),
      tool.add_frequency("--bandwidth", options.bandwidth_hz, "width of the band (default 1.28MHz)"),
      app.add_option("--channels", options.n_chan, "channels that divide the band (default 1)")
          ->type_name("N")
          ->check(CLI::Range(1, 65535)),
      tool.add_flux("--noise", options.sefd_jy,
                    "system equivalent flux density of each input (default 0Jy: no receiver noise)"),
  };
  app.add_option("--start", options.start, "UTC of the first sample (default 2024-01-01T12:00:00)")
      ->type_name("UTC");
  tool.add_duration("--duration", options.duration_s, "length of the recording (default 1s)");
  app.add_option("--seed", options.seed, "seed of all that is random (default 1)")->type_name("N");
  tool.heading(headings::kVoltages);
  const std::vector<CLI::Option*> of_voltages = {
      app.add_option("--bits", options.n_bit, "bits per component of the voltages: 4, 8 or 32 (default 8)")
          ->type_name("N")
          ->check(CLI::IsMember({4, 8, 32})),
      app.add_option(
             "--pulsar", options.pulsar,
             "the sky's component NAME (default: its first) pulses: period, DM in pc/cm^3, width of a pulse "
             "in periods")
          ->type_name("P,DM,DUTY[,NAME]"),
      tool.add_file("--gains", options.gains,
                    "what antennas do to the sky's field as time goes by: a CSV (default: nothing)"),
      app.add_flag("--live", options.live, "hand the samples out as fast as they would be recorded"),
      app.add_option("--drop", options.drop, "fraction of the packets of voltages to lose (default 0)")
          ->type_name("FRACTION")
          ->check(CLI::Range(0.0, 1.0)),
  };
  tool.heading("Visibilities");
  const std::vector<CLI::Option*> of_visibilities = {
      app.add_option("--phase-centre", options.phase_centre,
                     "of the visibilities (default zenith, at mid-observation)")
          ->type_name("'RA DEC'|zenith"),
      tool.add_duration("--integration", options.integration_s, "of the visibilities (default 1s)"),
      app.add_option("--pol", options.products, "products of the visibilities (default XX,XY,YX,YY)")
          ->type_name("LIST"),
  };
  tool.heading("Random ionosphere");
  const std::vector<CLI::Option*> of_screens = {
      tool.add_tec("--tec-rms", options.tec_rms_tecu, "RMS of a random ionosphere (default 0.1TECU)"),
      tool.add_length("--outer-scale", options.outer_scale_m, "of its turbulence (default 100km)"),
      tool.add_length("--screen-height", options.screen_height_m, "above the array (default 100km)"),
      tool.add_length("--screen-size", options.screen_size_m, "width of the screens (default 300km)"),
      tool.add_length("--screen-spacing", options.screen_spacing_m, "of their points (default 1km)"),
      tool.add_duration("--screen-interval", options.screen_interval_s,
                        "how long a screen lasts until another takes its place (default 2min)"),
  };
  options.given = [&app](const char* name) { return app.get_option(name)->count() > 0; };
  using enum OutputKind;
  options.groups = {
      {{voltages, visibilities}, "observations: choose a name that does not end in .fits", of_observations},
      {{voltages}, "voltages: choose a name that ends neither in .ms nor in .fits", of_voltages},
      {{visibilities}, "visibilities: choose a name that ends in .ms", of_visibilities},
      {{ionosphere}, "a random ionosphere: choose a name that ends in .fits", of_screens},
  };
}

void check(const SimulateOptions& options, const std::string& output) {
  const OutputKind kind = kind_of(output);
  for (const OptionGroup& group : options.groups) {
    if (std::find(group.kinds.begin(), group.kinds.end(), kind) != group.kinds.end()) continue;
    for (const CLI::Option* option : group.options)
      if (option->count() > 0)
        throw UsageError("{}: --output {}: that option is for {}", option->get_name(), output, group.cure);
  }
  if (!options.array.empty() && !options.like.empty())
    throw UsageError("--like {}: --array {} names the antennas, too: give one of them", options.like,
                     options.array);
  if (options.array.empty() && options.like.empty() && kind != OutputKind::ionosphere)
    throw UsageError(
        "--array: missing: name a built-in array, an antennas CSV or an MWA metafits, or a set with --like");
  const auto positive = [](const char* name, double value) {
    if (!(value > 0)) throw UsageError("{}: {}: must be positive", name, value);
  };
  positive("--freq", options.freq_hz);
  positive("--bandwidth", options.bandwidth_hz);
  positive("--duration", options.duration_s);
  constexpr double kMax_s = 36525.0 * 86400;
  if (!(options.duration_s <= kMax_s))
    throw UsageError("--duration: {}: more than a century", format_duration(options.duration_s));
  positive("--integration", options.integration_s);
  positive("--tec-rms", options.tec_rms_tecu);
  positive("--outer-scale", options.outer_scale_m);
  positive("--screen-height", options.screen_height_m);
  positive("--screen-size", options.screen_size_m);
  positive("--screen-spacing", options.screen_spacing_m);
  positive("--screen-interval", options.screen_interval_s);
  if (!(options.sefd_jy >= 0)) throw UsageError("--noise: {} Jy: must not be negative", options.sefd_jy);
  if (options.freq_hz <= 0.5 * options.bandwidth_hz)
    throw UsageError("--bandwidth: {}: reaches below 0 Hz about --freq {}",
                     format_frequency(options.bandwidth_hz), format_frequency(options.freq_hz));
}

std::vector<Vec3> Scene::antenna_enu_m() const {
  std::vector<Vec3> enu_m;
  for (const Antenna& antenna : layout.antennas) enu_m.push_back(antenna.enu_m);
  return enu_m;
}

UtcTime parse_start(const SimulateOptions& options) {
  try {
    return parse_utc(options.start);
  } catch (const DataError& error) {
    throw UsageError("--start: {}", error.what());
  }
}

Scene load_scene(SimulateOptions& options) {
  Scene scene;
  if (options.like.empty())
    scene.layout = load_layout(options.array);
  else
    scene = read_like(options);
  if (!options.site.empty()) set_site(scene.layout, parse_site(options.site));
  if (!scene.layout.site) throw UsageError("{}: names no site: give --site LAT,LON,ALT", options.array);
  if (!options.sky.empty()) {
    scene.sky = read_sky_model(options.sky);
    scene.source = std::filesystem::path(options.sky).stem().string();
    std::replace_if(
        scene.source.begin(), scene.source.end(), [](unsigned char c) { return c <= ' ' || c > '~'; }, '_');
  }
  if (!options.ionosphere.empty())
    scene.ionosphere.emplace(read_ionosphere(options.ionosphere), options.ionosphere);
  scene.start = parse_start(options);
  return scene;
}

std::vector<Product> parse_products(const std::string& list) {
  std::vector<Product> products;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    try {
      products.push_back(parse_product(list.substr(from, comma - from)));
    } catch (const DataError& error) {
      throw UsageError("--pol: {}", error.what());
    }
    const Product last = products.back();
    if (last < Product::RR || (last >= Product::XX) != (products[0] >= Product::XX) ||
        std::count(products.begin(), products.end(), last) > 1)
      throw UsageError(
          "--pol: {}: name products of linear (XX,XY,YX,YY) or circular (RR,RL,LR,LL) feeds, each once",
          list);
    from = comma + 1;
  }
  return products;
}

}  // namespace apsyn
