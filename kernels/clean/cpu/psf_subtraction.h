// SPDX-License-Identifier: GPL-3.0-or-later
// Subtracts components times PSF from a residual: pixel by pixel within a rectangle, or everywhere by FFT.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/clean/cpu/image_convolver.h"
#include "kernels/clean/plane_set.h"

namespace apsyn {

struct Rectangle {
  std::size_t x = 0, y = 0, nx = 0, ny = 0;
};

/// image -= flux psf around (x, y) within the rectangle; the PSF is zero beyond its array.
void subtract_within(View<float, 2> image, const Rectangle& where, View<const float, 2> psf, std::size_t x,
                     std::size_t y, float flux);

/// The same for many components over the whole images, plane by plane.
void subtract_directly(const std::vector<View<float, 2>>& images,
                       const std::vector<View<const float, 2>>& psfs,
                       std::span<const SetComponent> components, unsigned n_threads);

/// Sorts components by row, then column, and adds up those of one pixel in their order.
std::vector<SetComponent> merge_components(std::span<const SetComponent> components);

/// Keeps the PSFs' transforms from call to call.
class PsfSubtraction {
 public:
  /// `psf`: the PSF of each plane of the set. Planes with the same view share a transform. The PSFs must
  /// outlive this object. `more_reach`: pixels by which the PSFs are going to be smoothed.
  PsfSubtraction(const std::vector<View<const float, 2>>& psf, std::size_t ny, std::size_t nx,
                 std::size_t more_reach, unsigned n_threads);
  /// residual[plane] -= components (*) psf[plane], [y][x].
  void subtract(const std::vector<View<float, 2>>& residual, std::span<const SetComponent> components);
  /// residual -= model (*) psf[plane], with the model smoothed by the kernel of this transform before, when
  /// it is given.
  void subtract(std::size_t plane, View<float, 2> residual, View<const float, 2> model,
                const ImageConvolver::EvenSpectrum* smooth = nullptr);
  /// The number of pixels of one plane that could be subtracted one by one in the time that the FFTs take.
  double break_even() const { return break_even_; }
  const ImageConvolver& convolver() const { return convolver_; }
  const ImageConvolver::Spectrum& spectrum(std::size_t plane);
  /// Working memory for calls of convolver(), shared with subtractions and kept until release().
  ImageConvolver::Scratch& scratch() { return scratch_; }
  void release();

 private:
  std::vector<View<const float, 2>> psf_;
  unsigned n_threads_;
  ImageConvolver convolver_;
  double break_even_;
  std::vector<std::shared_ptr<ImageConvolver::Spectrum>> spectra_;  ///< made when first asked for
  ImageConvolver::Scratch scratch_;
  ImageConvolver::Spectrum model_spectrum_;
};

}  // namespace apsyn
