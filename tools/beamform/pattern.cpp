// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/beamform/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/beamform/pattern.h"
#include "libcore/array/beam_table.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/files/output.h"
#include "libcore/formats/fits/image.h"
#include "libcore/image/image.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/beams.h"
#include "libcore/voltage/voltage.h"
#include "tools/beamform/outputs.h"

namespace apsyn {
namespace {

/// An image of a beam's power at the first sample: of the whole sky about the zenith, or of a smaller field
/// about the beam.
Image pattern_of(const Tool& tool, const BeamformOptions& options, const BeamformSetup& setup,
                 std::size_t beam) {
  const VoltageHeader& header = setup.header;
  const SkyFrame frame(*header.layout.site);
  const UtcTime time = sample_time(header.start, setup.f.first_sample, header.sample_s);
  const BeamDirection& direction = setup.beams[beam];
  PatternPlan plan;
  plan.freq_hz = header.freq_hz;
  plan.n_threads = setup.b.n_threads;
  plan.steered = direction.sky ? frame.enu_from_direction(time, *direction.sky) : direction.enu;
  plan.element = parse_element(options.element, plan.steered, plan.freq_hz);
  for (std::size_t ant = 0; ant < setup.b.n_ant; ++ant) {
    if (setup.b.member(beam, ant) == 0) continue;
    plan.enu_m.push_back(header.layout.antennas[ant].enu_m);
    if (setup.b.weights.size() > 0) plan.weights.push_back(setup.b.weights(ant, 0, setup.b.n_chan / 2));
  }
  Image image;
  const bool whole = options.field_rad >= kPi;
  image.info.centre =
      whole ? frame.zenith(time) : direction.sky.value_or(frame.direction_from_enu(time, direction.enu));
  plan.axes = frame.uvw_rotation(time, image.info.centre);
  plan.cell = 2 * std::sin(std::min(options.field_rad, kPi) / 2) / static_cast<double>(options.size);
  image.info.cell_rad = plan.cell;
  image.info.freq_hz = header.freq_hz;
  image.info.bandwidth_hz = header.bandwidth_hz;
  image.info.unit = "POWER";
  image.info.object = direction.id;
  image.info.telescope = header.layout.telescope.empty() ? header.telescope : header.layout.telescope;
  image.info.time = time;
  image.info.keywords = site_keywords(setup.header.layout.site);
  image.info.history = tool.provenance();
  image.pixels.resize({1, 1, options.size, options.size});
  array_pattern(plan, View<double, 2>(image.pixels.data(), {options.size, options.size}));
  return image;
}

}  // namespace

std::function<double(const Vec3&)> parse_element(const std::string& text, const Vec3& steered,
                                                 double freq_hz) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (text == "none") return {};
  if (colon == std::string::npos || (kind != "dipole" && kind != "dish"))
    throw UsageError("--element {}: give none, dipole:HEIGHT or dish:DIAMETER, for example dipole:50cm",
                     text);
  const double length_m = parse_length(text.substr(colon + 1));
  if (!(length_m > 0)) throw UsageError("--element {}: the length must be positive", text);
  if (kind == "dipole") return [=](const Vec3& s) { return ground_plane_voltage(s[2], length_m, freq_hz); };
  return [=](const Vec3& s) {
    const double cosine = std::min(1.0, dot(s, steered));
    return cosine > 0 ? airy_voltage(std::sqrt(1 - cosine * cosine), length_m, freq_hz) : 0;
  };
}

void write_patterns(Tool& tool, const BeamformOptions& options, const BeamformSetup& setup) {
  const std::vector<std::string> names = output_names("--pattern", options.pattern, setup.beams.size());
  for (const std::string& name : names) check_output(name, tool.common().overwrite);
  for (std::size_t beam = 0; beam < names.size(); ++beam)
    write_fits_image(names[beam], pattern_of(tool, options, setup, beam), FitsPixel::float32,
                     tool.common().overwrite);
}

}  // namespace apsyn
