// SPDX-License-Identifier: GPL-3.0-or-later
// Image-domain gridding (van der Tol, Veenboer and Offringa 2018; Veenboer and Romein 2020; Hodgson 2025).
//
// The dirty image of weighted visibilities, for l east, m north and n = sqrt(1 - l^2 - m^2):
//
//   I(l, m) = Re sum_k weight_k V_k exp(-2 pi i (u_k l + v_k m + w_k (n - 1)))
//
// which inverts V = sum I exp(+2 pi i (u l + v m + w (n - 1))), apsyn-conventions(7). Visibilities are sorted
// into subgrids of L x L uv cells and w layers. A subgrid is made in the image domain: each visibility, less
// the subgrid's own (u, v, w) in float64, is summed over L x L coarse pixels of the whole padded field, times
// a taper; its FFT is added to the layer's uv grid. Each layer's grid is transformed, multiplied by
// exp(-2 pi i w_layer (n - 1)) at full resolution, summed, and divided by the taper.
//
// Visibilities with w < 0 are replaced by their conjugates at (-u, -v, -w): only the real part is imaged.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/idg/taper.h"
#include "libcore/core/device.h"
#include "libcore/core/view.h"

namespace apsyn {

enum class Precision { single, double_ };
/// Single precision's rounding adds about 2e-6 of the image's RMS; below that only double keeps a promise.
inline Precision precision_for(double accuracy) {
  return accuracy < 1e-5 ? Precision::double_ : Precision::single;
}

/// Pixel (x, y) lies at l = (n_x/2 - x) cell, m = (y - n_y/2) cell (integer division).
struct ImageGeometry {
  std::size_t n_x = 0, n_y = 0;
  double cell_rad = 0;
};

/// 0 = chosen from `accuracy`.
struct IdgSettings {
  double accuracy = 0;      ///< wanted relative RMS error of the image; 0 = 2e-6 in single, 2e-11 in double
  std::size_t subgrid = 0;  ///< L, uv cells and coarse pixels per side
  std::size_t kernel_padding = 0;  ///< cells of the subgrid's side kept free of visibilities
  double padding = 0;              ///< padded field / image
  TaperKind taper = TaperKind::pswf;
  Precision precision = Precision::single;
};

/// How w is handled. Small fields: each layer takes |w - w_layer| <= half_w_lambda, and the rest is a phase
/// in the subgrid, expanded in Chebyshev polynomials of (w - w_layer) / half_w. Fields close to the horizon,
/// where n has no bounded slope: each visibility is spread over `n_terms` layers by a kernel in w, whose
/// transform is divided out of the image.
enum class WHandling { chebyshev, kernel };

struct IdgPlan {
  ImageGeometry image;
  IdgSettings settings;          ///< nothing left at 0
  std::size_t n_u = 0, n_v = 0;  ///< uv grid, cells of 1 / (n cell_rad) wavelengths
  double taper_c = 0;
  WHandling w_handling = WHandling::chebyshev;
  std::size_t n_layers = 1;
  double layer_step_lambda = 0;   ///< between layers
  double first_layer_lambda = 0;  ///< w of layer 0
  double half_w_lambda = 0;       ///< Chebyshev range, or half the support of the w kernel
  double kernel_beta = 0;         ///< of the w kernel
  std::size_t n_terms = 1;        ///< Chebyshev terms, or layers per visibility
  double n_middle = 1;            ///< n about which w phases are expanded
  double n_half_range = 0;        ///< |n - n_middle| over the image at most (kernel) or the padded field
  double modelled_error = 0;

  std::size_t bucket() const { return settings.subgrid - settings.kernel_padding; }
  double layer_w_lambda(std::size_t layer) const {
    return first_layer_lambda + static_cast<double>(layer) * layer_step_lambda;
  }
  /// Memory of one layer's grids, and of everything else that does not grow with the number of layers.
  std::uint64_t bytes_per_layer(std::size_t n_planes) const;
  std::uint64_t fixed_bytes(std::size_t n_planes, unsigned n_threads) const;
  std::vector<std::string> describe() const;  ///< lines for people
};

/// Plans for visibilities of |w| <= max_w_lambda, about n_visibilities of them (for the cost model).
/// UsageError for sizes that cannot work: an empty or too large image, a subgrid that is odd, below 8 or no
/// larger than the kernel padding, a padding below 1.05, an accuracy outside [1e-12, 0.1].
IdgPlan make_idg_plan(const ImageGeometry& image, const IdgSettings& settings, double max_w_lambda,
                      double n_visibilities);

/// Rows of visibilities of one set of channels. Weight 0 = no data (the data are then ignored).
struct GridBlock {
  View<const double, 2> uvw_m;       ///< [row][u, v, w]
  View<const double, 1> path_m;      ///< [row] V is multiplied by exp(-2 pi i path / wavelength); or empty
  View<const double, 1> wavenumber;  ///< [chan] 1 / wavelength, per metre
  View<const std::complex<double>, 3> data;  ///< [row][chan][plane]
  View<const double, 3> weight;              ///< [row][chan][plane], at least one plane (the PSF's)
};

/// Whether the gridder makes a last plane of its own from the weights of plane 0 with V = 1.
enum class PsfPlane { none, last };

struct GridCounts {
  std::uint64_t n_visibilities = 0;  ///< gridded (times the planes they have)
  std::uint64_t n_subgrids = 0;
};

class Gridder {
 public:
  virtual ~Gridder() = default;
  /// Starts a pass over the data for layers [first, first + n). All layers in one pass, or several passes
  /// over the same blocks when memory is short.
  virtual void begin_pass(std::size_t first_layer, std::size_t n_layers) = 0;
  virtual GridCounts grid(const GridBlock& block) = 0;
  /// What grid() would do in a pass over all layers, without doing it.
  virtual GridCounts count(const GridBlock& block) = 0;
  /// Transforms the pass's layers and adds them to the images.
  virtual void end_pass() = 0;
  /// The images [plane][y][x], float64, summed (not divided by weights); NaN where l^2 + m^2 >= 1.
  virtual Buffer<double, 3> take_images() = 0;
};

/// How many layers a pass may have on the device: all of them on the CPU, what its memory holds with CUDA.
/// DeviceError when not even one fits.
std::size_t layers_on_device(const Device& device, const IdgPlan& plan, std::size_t n_planes);

/// `n_planes` data planes, plus the PSF's. Results do not depend on n_threads.
std::unique_ptr<Gridder> make_gridder(const Device& device, const IdgPlan& plan, std::size_t n_planes,
                                      PsfPlane psf, unsigned n_threads);

}  // namespace apsyn
