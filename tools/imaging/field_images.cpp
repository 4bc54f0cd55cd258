// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/field_images.h"

#include <cmath>

#include "libcore/base/error.h"

namespace apsyn::imaging {

FieldImages::FieldImages(const Imager& imager, std::size_t n_groups) {
  const std::size_t n_y = imager.options.imaging.n_y, n_x = imager.options.imaging.n_x;
  psf.resize_for_overwrite({n_groups, 1, n_y, n_x});
  for (auto* image : {&dirty, &residual})
    image->resize_for_overwrite({n_groups, imager.planes.size(), n_y, n_x});
  resize_by_threads<float, 4>(imager.threads(), residual.shape(), model);
  if (imager.aterms()) beam.resize({n_groups, n_y, n_x});
  weight.resize({n_groups, imager.planes.size()});
}

std::uint64_t FieldImages::bytes(const Imager& imager, std::size_t n_groups) {
  const std::size_t per_pixel =
      sizeof(float) * (1 + 3 * imager.planes.size()) + (imager.aterms() ? sizeof(double) : 0);
  return std::uint64_t{n_groups} * imager.options.imaging.n_y * imager.options.imaging.n_x * per_pixel;
}

void take_sums(const GroupImages& sums, const Imager& imager, std::size_t group, FieldImages& field) {
  const std::size_t n = field.n_y() * field.n_x();
  auto divide = [&](const double* from, double weight, float* to, float blank) {
    for_pixels(imager.threads(), n, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const auto value = static_cast<float>(from[i] / weight);
        to[i] = std::isfinite(value) ? value : blank;
      }
    });
  };
  for (std::size_t p = 0; p < field.n_planes(); ++p) {
    field.weight(group, p) = sums.weight_sum[p];
    if (!(sums.weight_sum[p] > 0))
      throw FailureError("{}: no usable data for {}: leave it out of --pol", imager.options.inputs[0],
                         imager.planes[p].name);
    divide(&sums.pixels(p, 0, 0), sums.weight_sum[p], &field.residual(group, p, 0, 0), NAN);
  }
  if (sums.pixels.extent(0) > field.n_planes()) {
    const std::size_t p = field.n_planes();
    // Beyond the horizon nothing is known.
    divide(&sums.pixels(p, 0, 0), sums.pixels(p, field.n_y() / 2, field.n_x() / 2),
           &field.psf(group, 0, 0, 0), 0);
    if (sums.beam.size() > 0)
      for (std::size_t i = 0; i < n; ++i)
        (&field.beam(group, 0, 0))[i] = sums.beam.data()[i] / sums.weight_sum[0];
  }
}

Buffer<double, 3> true_model(const FieldImages& field, std::size_t group, unsigned n_threads) {
  Buffer<double, 3> model;
  model.resize_for_overwrite({field.n_planes(), field.n_y(), field.n_x()});
  for (std::size_t p = 0; p < field.n_planes(); ++p)
    for_pixels(n_threads, field.n_y() * field.n_x(), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const double flux = static_cast<double>((&field.model(group, p, 0, 0))[i]);
        const double beam = field.beam.size() == 0 ? 1 : (&field.beam(group, 0, 0))[i];
        (&model(p, 0, 0))[i] = flux == 0 ? 0 : flux / beam;
      }
    });
  return model;
}

void take_true_model(const Buffer<double, 3>& model, std::size_t group, FieldImages& field) {
  const std::size_t n = field.n_y() * field.n_x();
  for (std::size_t i = 0; i < model.size(); ++i) {
    const double beam = field.beam.size() == 0 ? 1 : (&field.beam(group, 0, 0))[i % n];
    field.model.view()[group].data()[i] =
        model.data()[i] == 0 ? 0 : static_cast<float>(model.data()[i] * beam);
  }
}

}  // namespace apsyn::imaging
