// SPDX-License-Identifier: GPL-3.0-or-later
// The power that a station of a Measurement Set receives over the sky, from its A-terms.
#include <algorithm>
#include <complex>
#include <filesystem>

#include "libcore/aterms/aterms.h"
#include "libcore/base/error.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/visibility/stokes.h"
#include "tools/quicklook/quicklook.h"
#include "tools/quicklook/stats.h"

namespace apsyn {
namespace {

constexpr std::size_t kSide = 257;  // odd: one pixel is the centre

/// A configuration, or a model for one that has nothing else.
AtermConfig config_of(const std::string& beam) {
  std::error_code error;
  if (std::filesystem::is_regular_file(beam, error)) return beam;
  return {"--beam " + beam, "aterms = [ beam ]\nbeam.model = \"" + beam + "\"\n"};
}

std::size_t find_station(const ArrayLayout& layout, const std::string& name) {
  if (name.empty()) return 0;
  for (std::size_t i = 0; i < layout.antennas.size(); ++i)
    if (layout.antennas[i].name == name) return i;
  throw UsageError("--station {}: the set has no such antenna: {} is the first", name,
                   layout.antennas[0].name);
}

}  // namespace

Look look_at_beam(Tool& tool, const QuicklookOptions& o) {
  check_image_options(o);
  tool.stage("read");
  MsSelection selection;
  selection.column.clear();
  const MeasurementSetReader reader(o.inputs[0], selection);
  const std::vector<int>& fields = reader.fields_with_rows();
  if (fields.empty()) throw DataError("{}: no rows: no field and no time to look at", o.inputs[0]);
  const std::size_t station = find_station(reader.layout(), o.station);
  set_beam_data_folder(o.beam_data);
  const auto model = open_aterms(config_of(o.beam), reader.layout(), are_circular(reader.products()),
                                 {{o.inputs[0]}, "", {fields[0]}});
  const auto& channels = reader.spectral_windows()[0].channel_hz;
  const double freq_hz = channels[channels.size() / 2];
  const double time_mjd_s = (reader.begin_mjd_s() + reader.end_mjd_s()) / 2;
  const double step_rad = o.beam_width_rad / static_cast<double>(kSide);
  const AtermGrid grid{reader.fields()[static_cast<std::size_t>(fields[0])].phase_centre, kSide, step_rad,
                       step_rad};
  tool.stage("evaluate");
  Buffer<std::complex<float>, 4> jones({model->n_stations(), kSide, kSide, 4});
  model->evaluate(model->slot_of(time_mjd_s), freq_hz, grid, tool.common().threads, jones);

  Image image;
  image.info.centre = grid.centre;
  image.info.cell_rad = step_rad;
  image.info.freq_hz = freq_hz;
  image.info.unit = "POWER";
  image.info.object = reader.layout().antennas[station].name;
  image.info.telescope = reader.telescope();
  image.info.time = from_mjd_seconds(time_mjd_s);
  image.pixels.resize({1, 1, kSide, kSide});
  // Of unpolarised light, half of what both receptors take.
  for (std::size_t i = 0; i < kSide * kSide; ++i) {
    double power = 0;
    for (std::size_t k = 0; k < 4; ++k) power += std::norm(jones.view()[station].data()[4 * i + k]) / 2;
    image.pixels.data()[i] = power;
  }
  ImageFigureOptions figure = plane_options(o, image, {});
  Look look;
  if (o.stats) look.stats = stats_of(image, figure);
  if (!o.picture) return look;
  show_pattern(o, image, figure);
  if (o.title.empty()) figure.title = fmt::format("Beam of {}", image.info.object);
  tool.stage("draw");
  look.picture = draw_image_figure(image, figure);
  return look;
}

}  // namespace apsyn
