// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/record.h"

#include <cmath>
#include <cstddef>
#include <string>

#include "kernels/epic/epic.h"
#include "libcore/array/array_layout.h"
#include "libcore/cli/tool.h"
#include "libcore/formats/fits/cube.h"
#include "libcore/image/image.h"
#include "libcore/system/parallel.h"
#include "libcore/voltage/voltage.h"
#include "tools/epic-image/products.h"
#include "tools/epic-image/setup.h"

namespace apsyn {

FitsCubeShape shape_of(const EpicSetup& setup, std::optional<double> step_s) {
  FitsCubeShape shape;
  shape.nx = setup.epic.width();
  shape.ny = setup.epic.height();
  shape.n_chan = setup.epic.n_image_channel();
  shape.n_stokes = setup.planes.size();
  shape.complex = is_complex(setup.planes);
  shape.in_time = step_s.has_value();
  shape.step_s = step_s.value_or(0);
  if (setup.epic.field) shape.quantity = "Electric field";
  return shape;
}

Record::Record(const EpicSetup& setup, unsigned n_threads)
    : setup_(setup), shape_(shape_of(setup, std::nullopt)), n_threads_(n_threads) {}

std::span<const float> Record::make(const EpicImages& images) {
  const EpicPlan& epic = setup_.epic;
  // one plane as it was made
  if (epic.n_plane() == 1 && setup_.planes.size() == 1 && !is_complex(setup_.planes) &&
      setup_.planes[0].real[epic.first ? 0 : 1] == 1)
    return {images.planes.data(), images.planes.size()};
  // where XX, YY, Re XY and Im XY, or Re X, Im X, Re Y and Im Y, stand among the planes that were made
  const std::size_t cross = (epic.first ? 1u : 0u) + (epic.second ? 1u : 0u);
  std::size_t place[4] = {0, epic.first ? 1u : 0u, cross, cross + 1};
  if (epic.field) place[1] = 1, place[2] = epic.first ? 2 : 0, place[3] = place[2] + 1;
  values_.resize(shape_.n_record());
  const std::size_t n_pixel = shape_.nx * shape_.ny;
  parallel_for(n_threads_, shape_.n_part() * shape_.n_stokes * shape_.n_chan, [&](std::size_t i, unsigned) {
    const std::size_t chan = i % shape_.n_chan, plane = i / shape_.n_chan % shape_.n_stokes,
                      part = i / shape_.n_chan / shape_.n_stokes;
    const ProductMix& factors = part == 0 ? setup_.planes[plane].real : setup_.planes[plane].imaginary;
    mix(images, chan, factors, place, values_.data() + i * n_pixel);
  });
  return values_;
}

void Record::mix(const EpicImages& images, std::size_t chan, const ProductMix& factors,
                 const std::size_t (&place)[4], float* to) {
  const std::size_t n_pixel = images.planes.extent(2) * images.planes.extent(3);
  bool any = false;
  for (std::size_t product = 0; product < 4; ++product) {
    if (factors[product] == 0) continue;
    const float factor = factors[product];
    const float* from = &images.planes(chan, place[product], 0, 0);
    if (any)
      for (std::size_t i = 0; i < n_pixel; ++i) to[i] += factor * from[i];
    else
      for (std::size_t i = 0; i < n_pixel; ++i) to[i] = 0 + factor * from[i];  // 0, not -0
    any = true;
  }
  // an imaginary part of nothing is NaN where there is no sky, too
  const float* sky = &images.planes(chan, 0, 0, 0);
  for (std::size_t i = 0; i < n_pixel && !any; ++i) to[i] = std::isnan(sky[i]) ? sky[i] : 0.0f;
}

ImageInfo info_of(const Tool& tool, const EpicSetup& setup, const TimedImages& first) {
  const VoltageHeader& header = setup.header;
  const EpicPlan& epic = setup.epic;
  ImageInfo info;
  info.centre = first.centre;
  info.cell_rad = epic.cell;
  info.freq_hz = (epic.channel_hz[0] + epic.channel_hz[epic.n_average - 1]) / 2;
  info.bandwidth_hz = setup.f.channel_step_hz() * static_cast<double>(epic.n_average);
  info.stokes.clear();
  for (const OutputPlane& plane : setup.planes) info.stokes.push_back(plane.name);
  info.unit = epic.field ? of_field(header.flux_unit) : per_beam(header.flux_unit);
  info.object = header.source;
  info.telescope = header.layout.telescope.empty() ? header.telescope : header.layout.telescope;
  info.time = first.begin;
  info.keywords = site_keywords(header.layout.site);
  info.history = header.history;
  for (const std::string& line : tool.provenance()) info.history.push_back(line);
  return info;
}

}  // namespace apsyn
