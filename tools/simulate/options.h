// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of simulate, and what it names: the array, the sky and the time.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "libcore/core/array_layout.h"
#include "libcore/core/sky_model.h"
#include "libcore/core/time.h"
#include "libcore/core/visibility.h"
#include "libcore/io/load_layout.h"

namespace apsyn {

struct SimulateOptions {
  std::string array, sky, site, start = "2024-01-01T12:00:00", phase_centre = "zenith",
                                products = "XX,XY,YX,YY";
  double freq_hz = 150e6, bandwidth_hz = 1.28e6, duration_s = 1, integration_s = 1, sefd_jy = 0, drop = 0;
  std::size_t n_chan = 1;
  unsigned n_bit = 8;
  std::uint64_t seed = 1;
  std::vector<CLI::Option*> for_voltages, for_visibilities;
};

inline void declare(Tool& tool, SimulateOptions& options) {
  CLI::App& app = tool.app();
  app.add_option("--array", options.array, "built-in array, antennas CSV or MWA metafits")
      ->required()
      ->type_name("NAME|PATH");
  app.add_option("--sky", options.sky, "sky model in WSClean/BBS text form (default: receiver noise only)")
      ->type_name("PATH");
  app.add_option("--site", options.site, "where the array stands (default: as the array says)")
      ->type_name("LAT,LON,ALT");
  app.add_option("--start", options.start, "UTC of the first sample (default 2024-01-01T12:00:00)")
      ->type_name("UTC");
  tool.add_frequency("--freq", options.freq_hz, "centre of the band (default 150MHz)");
  tool.add_frequency("--bandwidth", options.bandwidth_hz, "width of the band (default 1.28MHz)");
  app.add_option("--channels", options.n_chan, "channels that divide the band (default 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 65535));
  tool.add_duration("--duration", options.duration_s, "length of the recording (default 1s)");
  tool.add_flux("--noise", options.sefd_jy,
                "system equivalent flux density of each input (default 0Jy: no receiver noise)");
  app.add_option("--seed", options.seed, "seed of all noise (default 1)")->type_name("N");
  options.for_voltages = {
      app.add_option("--bits", options.n_bit, "bits per component of the voltages: 4, 8 or 32 (default 8)")
          ->type_name("N")
          ->check(CLI::IsMember({4, 8, 32})),
      app.add_option("--drop", options.drop, "fraction of the packets of voltages to lose (default 0)")
          ->type_name("FRACTION")
          ->check(CLI::Range(0.0, 1.0)),
  };
  options.for_visibilities = {
      app.add_option("--phase-centre", options.phase_centre,
                     "of the visibilities (default zenith, at mid-observation)")
          ->type_name("'RA DEC'|zenith"),
      tool.add_duration("--integration", options.integration_s, "of the visibilities (default 1s)"),
      app.add_option("--pol", options.products, "products of the visibilities (default XX,XY,YX,YY)")
          ->type_name("LIST"),
  };
}

inline bool makes_visibilities(const std::string& output) {
  return std::filesystem::path(output).extension() == ".ms";
}

/// Ranges, and options that do not go with the kind of output.
inline void check(const SimulateOptions& options, const std::string& output) {
  for (const CLI::Option* option :
       makes_visibilities(output) ? options.for_voltages : options.for_visibilities)
    if (option->count() > 0)
      throw UsageError("{}: --output {}: that option is for {}", option->get_name(), output,
                       makes_visibilities(output) ? "voltages: choose a name that does not end in .ms"
                                                  : "visibilities: choose a name that ends in .ms");
  const auto positive = [](const char* name, double value) {
    if (!(value > 0)) throw UsageError("{}: {}: must be positive", name, value);
  };
  positive("--freq", options.freq_hz);
  positive("--bandwidth", options.bandwidth_hz);
  positive("--duration", options.duration_s);
  positive("--integration", options.integration_s);
  if (!(options.sefd_jy >= 0)) throw UsageError("--noise: {} Jy: must not be negative", options.sefd_jy);
  if (options.freq_hz <= 0.5 * options.bandwidth_hz)
    throw UsageError("--bandwidth: {}: reaches below 0 Hz about --freq {}",
                     format_frequency(options.bandwidth_hz), format_frequency(options.freq_hz));
}

struct Scene {
  ArrayLayout layout;  ///< with site
  SkyModel sky;
  UtcTime start;
  std::string source = "noise";  ///< the sky model's name without folder and extension
  std::vector<Vec3> antenna_enu_m() const {
    std::vector<Vec3> enu_m;
    for (const Antenna& antenna : layout.antennas) enu_m.push_back(antenna.enu_m);
    return enu_m;
  }
  double longest_baseline_m() const {
    double longest = 0;
    for (const Antenna& a : layout.antennas)
      for (const Antenna& b : layout.antennas)
        longest = std::max(longest, dot(a.enu_m - b.enu_m, a.enu_m - b.enu_m));
    return std::sqrt(longest);
  }
};

inline Scene load_scene(const SimulateOptions& options) {
  Scene scene;
  scene.layout = load_layout(options.array);
  if (!options.site.empty()) set_site(scene.layout, parse_site(options.site));
  if (!scene.layout.site) throw UsageError("{}: names no site: give --site LAT,LON,ALT", options.array);
  if (!options.sky.empty()) {
    scene.sky = read_sky_model(options.sky);
    scene.source = std::filesystem::path(options.sky).stem().string();
    std::replace_if(
        scene.source.begin(), scene.source.end(), [](unsigned char c) { return c <= ' ' || c > '~'; }, '_');
  }
  try {
    scene.start = parse_utc(options.start);
  } catch (const DataError& error) {
    throw UsageError("--start: {}", error.what());
  }
  return scene;
}

/// --pol: products of one kind of feed, each once.
inline std::vector<Product> parse_products(const std::string& list) {
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
