// SPDX-License-Identifier: GPL-3.0-or-later
// The images of one field that major cycles work on, and how the sums of a gridder become them.
//
// With A-terms an image is the apparent sky: the true one times the average beam, with the same noise
// everywhere. Models are cleaned in it, too; what is predicted through the A-terms is the model over the
// beam.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "libcore/system/parallel.h"
#include "tools/imaging/images.h"
#include "tools/imaging/primary_beam.h"

namespace apsyn::imaging {

struct FieldImages {
  Buffer<float, 4> psf;                     ///< [group][1][y][x], peak 1 at (ny/2, nx/2)
  Buffer<float, 4> dirty, residual, model;  ///< [group][plane][y][x], NaN where there is no sky
  Buffer<double, 3> beam;                   ///< [group][y][x] with A-terms, else empty
  Buffer<double, 2> weight;                 ///< [group][plane] sum of the visibilities'

  FieldImages(const Imager& imager, std::size_t n_groups) {
    const std::size_t n_y = imager.options.imaging.n_y, n_x = imager.options.imaging.n_x;
    psf.resize_for_overwrite({n_groups, 1, n_y, n_x});
    for (auto* image : {&dirty, &residual})
      image->resize_for_overwrite({n_groups, imager.planes.size(), n_y, n_x});
    resize_by_threads<float, 4>(imager.threads(), residual.shape(), model);
    if (imager.aterms()) beam.resize({n_groups, n_y, n_x});
    weight.resize({n_groups, imager.planes.size()});
  }
  static std::uint64_t bytes(const Imager& imager, std::size_t n_groups) {
    const std::size_t per_pixel =
        sizeof(float) * (1 + 3 * imager.planes.size()) + (imager.aterms() ? sizeof(double) : 0);
    return std::uint64_t{n_groups} * imager.options.imaging.n_y * imager.options.imaging.n_x * per_pixel;
  }

  std::size_t n_groups() const { return psf.extent(0); }
  std::size_t n_planes() const { return model.extent(1); }
  std::size_t n_y() const { return psf.extent(2); }
  std::size_t n_x() const { return psf.extent(3); }

  /// What the beam of a group must be above for a model to be told there: a share of its peak, wherever that
  /// lies.
  double min_beam(std::size_t group) const { return kMinBeam * beam_peak(beam.view()[group]); }
};

/// Calls use(first, last) for parts of n pixels, on threads.
template <class Use>
void for_pixels(unsigned n_threads, std::size_t n, Use&& use) {
  constexpr std::size_t kPart = std::size_t{1} << 18;
  parallel_for(n_threads, (n + kPart - 1) / kPart,
               [&](std::size_t part, unsigned) { use(part * kPart, std::min(n, (part + 1) * kPart)); });
}

/// Takes the residual planes of a group, and all else that `sums` has.
inline void take_sums(const GroupImages& sums, const Imager& imager, std::size_t group, FieldImages& field) {
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

/// The model of a group as a degridder takes it: of the true sky.
inline Buffer<double, 3> true_model(const FieldImages& field, std::size_t group, unsigned n_threads) {
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

/// The other way, when the beam is known.
inline void take_true_model(const Buffer<double, 3>& model, std::size_t group, FieldImages& field) {
  const std::size_t n = field.n_y() * field.n_x();
  for (std::size_t i = 0; i < model.size(); ++i) {
    const double beam = field.beam.size() == 0 ? 1 : (&field.beam(group, 0, 0))[i % n];
    field.model.view()[group].data()[i] =
        model.data()[i] == 0 ? 0 : static_cast<float>(model.data()[i] * beam);
  }
}

}  // namespace apsyn::imaging
