// SPDX-License-Identifier: GPL-3.0-or-later
// The images of one field that major cycles work on, and how the sums of a gridder become them.
//
// With A-terms an image is the apparent sky: the true one times the average beam, with the same noise
// everywhere. CLEAN works on the apparent sky, too; before a model is predicted through the A-terms it is
// divided by the average beam.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "libcore/base/view.h"
#include "libcore/system/parallel.h"
#include "tools/imaging/field.h"
#include "tools/imaging/images.h"

namespace apsyn::imaging {

struct FieldImages {
  Buffer<float, 4> psf;                     ///< [group][1][y][x], peak 1 at (ny/2, nx/2)
  Buffer<float, 4> dirty, residual, model;  ///< [group][plane][y][x], NaN where there is no sky
  Buffer<double, 3> beam;                   ///< [group][y][x] with A-terms, else empty
  Buffer<double, 2> weight;                 ///< [group][plane] sum of the visibilities'

  FieldImages(const Imager& imager, std::size_t n_groups);
  static std::uint64_t bytes(const Imager& imager, std::size_t n_groups);

  std::size_t n_groups() const { return psf.extent(0); }
  std::size_t n_planes() const { return model.extent(1); }
  std::size_t n_y() const { return psf.extent(2); }
  std::size_t n_x() const { return psf.extent(3); }

  /// Components are allowed where a group's beam is above this response, a fraction of its peak, wherever the
  /// peak lies.
  double min_beam(std::size_t group) const { return kMinBeam * beam_peak(beam.view()[group]); }
};

/// Calls use(first, last) for parts of n pixels, on threads.
template <class Use>
void for_pixels(unsigned n_threads, std::size_t n, Use&& use) {
  constexpr std::size_t kPart = std::size_t{1} << 18;
  parallel_for(n_threads, (n + kPart - 1) / kPart,
               [&](std::size_t part, unsigned) { use(part * kPart, std::min(n, (part + 1) * kPart)); });
}

/// Takes the residual planes of a group and, where `sums` has them, its PSF and average beam.
void take_sums(const GroupImages& sums, const Imager& imager, std::size_t group, FieldImages& field);

/// The model of a group for a degridder: that of the true sky.
Buffer<double, 3> true_model(const FieldImages& field, std::size_t group, unsigned n_threads);

/// The inverse of true_model(), once the beam is known.
void take_true_model(const Buffer<double, 3>& model, std::size_t group, FieldImages& field);

}  // namespace apsyn::imaging
