// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of simulate, and what it names: the array, the sky, the ionosphere and the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/time.h"
#include "libcore/cli/tool.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/sky/ionosphere_screen.h"
#include "libcore/sky/sky_model.h"
#include "libcore/visibility/visibility.h"

namespace apsyn {

enum class OutputKind { voltages, visibilities, ionosphere };

OutputKind kind_of(const std::string& output);

/// Options that go with some kinds of output only, and what to say when they meet another.
struct OptionGroup {
  std::vector<OutputKind> kinds;
  const char* cure;
  std::vector<CLI::Option*> options;
};

struct SimulateOptions {
  std::string array, like, sky, site, ionosphere, pulsar, start = "2024-01-01T12:00:00",
                                                          phase_centre = "zenith", products = "XX,XY,YX,YY";
  std::string aterms, beam_data, gains;
  double freq_hz = 150e6, bandwidth_hz = 1.28e6, duration_s = 1, integration_s = 1, sefd_jy = 0, drop = 0;
  std::size_t n_chan = 1;
  unsigned n_bit = 8;
  bool live = false;
  std::uint64_t seed = 1;
  double tec_rms_tecu = 0.1, outer_scale_m = 100e3, screen_height_m = 100e3, screen_size_m = 300e3,
         screen_spacing_m = 1e3, screen_interval_s = 120;
  std::vector<OptionGroup> groups;
  std::function<bool(const char* name)> given;  ///< on the command line
};

void declare(Tool& tool, SimulateOptions& options);

/// Ranges, and options that do not go with the kind of output.
void check(const SimulateOptions& options, const std::string& output);

struct Scene {
  ArrayLayout layout;            ///< with site
  std::optional<MsField> field;  ///< of the set that --like names
  SkyModel sky;
  std::optional<IonosphereScreen> ionosphere;
  UtcTime start;
  std::string source = "noise";  ///< the sky model's name without folder and extension
  std::vector<Vec3> antenna_enu_m() const;
};

UtcTime parse_start(const SimulateOptions& options);

/// What --like takes from a Measurement Set, for options that are not given: its band, times and products.
/// Returns its array, and its field.
Scene read_like(SimulateOptions& options);

/// Of --array or, completing the options, of --like.
Scene load_scene(SimulateOptions& options);

/// --pol: products of one kind of feed, each once.
std::vector<Product> parse_products(const std::string& list);

}  // namespace apsyn
