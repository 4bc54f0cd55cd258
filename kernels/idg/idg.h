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

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/idg/plan/taper.h"
#include "libcore/base/view.h"
#include "libcore/system/device.h"

namespace apsyn {

enum class Precision { single, double_ };
/// Single precision's rounding adds about 2e-6 of the image's RMS; a smaller error can only be promised in
/// double precision.
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
  double accuracy = 0;      ///< wanted relative RMS error of the image; 0 = 2e-6 in single, 1e-11 in double
  std::size_t subgrid = 0;  ///< L, uv cells and coarse pixels per side
  /// Least number of cells per side that are kept free; limited to subgrid - 2.
  std::size_t kernel_padding = 0;
  std::size_t aterm_cells = 0;  ///< of these, how many A-terms need (added when kernel_padding is chosen)
  double padding = 0;           ///< padded field / image
  TaperKind taper = TaperKind::automatic;  ///< least_misfit on a CPU, pswf on a GPU
  Precision precision = Precision::single;

  /// Cells of the subgrid's side that are kept free: kernel_padding, and in double precision one more on
  /// either side. In a field padded by 1.5, a taper that reaches 1e-11 with fewer free cells is so low at the
  /// edge of the image that rounding, divided by it, exceeds 1e-11. A visibility lies between two cells,
  /// which are never free.
  std::size_t free_cells() const {
    const std::size_t wanted = kernel_padding + (precision == Precision::single ? 0 : 2);
    return subgrid == 0 || wanted + 2 <= subgrid ? wanted : subgrid - 2;
  }
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
  Taper taper;
  WHandling w_handling = WHandling::chebyshev;
  std::size_t n_layers = 1;
  double layer_step_lambda = 0;   ///< between layers
  double first_layer_lambda = 0;  ///< w of layer 0
  double half_w_lambda = 0;       ///< largest |w - w_layer| (Chebyshev), or half the support of the w kernel
  /// How far a subgrid's w may reach beyond the midpoint between its layer and the next.
  double layer_slack_lambda = 0;
  double max_task_half_w_lambda = 0;  ///< largest SubgridTask::half_w_lambda
  double kernel_beta = 0;             ///< of the w kernel
  std::size_t n_terms = 1;            ///< Chebyshev terms, or layers per visibility
  double n_middle = 1;                ///< n about which w phases are expanded
  double n_half_range = 0;            ///< |n - n_middle| over the image at most (kernel) or the padded field
  double modelled_error = 0;
  double max_u_lambda = kNoBound, max_v_lambda = kNoBound;  ///< largest |u|, |v|; CPU

  static constexpr double kNoBound = std::numeric_limits<double>::infinity();

  /// Cells of a side that visibilities lie in, at least 2.
  std::size_t bucket() const { return settings.subgrid - settings.free_cells(); }
  /// Distance between the coarse pixels of a subgrid, which covers the padded field.
  double coarse_l_rad() const {
    return static_cast<double>(n_u) * image.cell_rad / static_cast<double>(settings.subgrid);
  }
  double coarse_m_rad() const {
    return static_cast<double>(n_v) * image.cell_rad / static_cast<double>(settings.subgrid);
  }
  /// Number of uv cells of a layer that the host stores along u and v, cell k at index k mod n_stored: those
  /// that subgrids can reach (a third of n_u for pixels of a third of the beam), or all.
  std::size_t n_u_stored() const { return stored(n_u, max_u_lambda); }
  std::size_t n_v_stored() const { return stored(n_v, max_v_lambda); }
  /// The same with all cells stored.
  IdgPlan with_whole_grids() const {
    IdgPlan all = *this;
    all.max_u_lambda = all.max_v_lambda = kNoBound;
    return all;
  }
  double layer_w_lambda(std::size_t layer) const {
    return first_layer_lambda + static_cast<double>(layer) * layer_step_lambda;
  }
  std::vector<std::string> describe() const;  ///< lines for people

 private:
  /// A subgrid's centre is at most half a subgrid from its visibilities, and its border another half from
  /// there.
  std::size_t stored(std::size_t n, double max_lambda) const {
    const double reach = std::ceil(max_lambda * static_cast<double>(n) * image.cell_rad) +
                         static_cast<double>(settings.subgrid) + 1;
    return 2 * reach < static_cast<double>(n) ? 2 * static_cast<std::size_t>(reach) : n;
  }
};

/// What a plan is made for. Only max_w_lambda, and max_u_lambda and max_v_lambda if they are given, must be
/// right; the rest is for the cost model.
struct IdgWorkload {
  double max_w_lambda = 0;  ///< largest |w|
  /// Largest |u| and |v|, so that a CPU keeps no more of the uv grids than these reach.
  double max_u_lambda = IdgPlan::kNoBound, max_v_lambda = IdgPlan::kNoBound;
  double n_visibilities = 0;
  std::size_t n_planes = 1;
  double n_baselines = 0;  ///< 0 = unknown: subgrids are then taken to hold a thousand visibilities each
  double time_track_lambda = 0,
         channel_track_lambda = 0;  ///< mean length of a baseline's path in the uv plane
  Device::Kind device = Device::Kind::cpu;
  bool is_interval = false;  ///< one of many short intervals of time, whose images are made one by one
  /// With A-terms of stations most of which respond alike, so that subgrids of different baselines are joined
  /// in each slot: how many slots of time and of channels there are; else 0.
  double n_row_slots = 0, n_chan_slots = 0;
};

/// UsageError for sizes that cannot work: an empty or too large image, a subgrid that is odd, below 8 or no
/// larger than the kernel padding, a padding below 1.05, an accuracy outside [1e-12, 0.1].
IdgPlan make_idg_plan(const ImageGeometry& image, const IdgSettings& settings, const IdgWorkload& workload);
inline IdgPlan make_idg_plan(const ImageGeometry& image, const IdgSettings& settings, double max_w_lambda,
                             double n_visibilities) {
  return make_idg_plan(image, settings, {.max_w_lambda = max_w_lambda, .n_visibilities = n_visibilities});
}

/// Jones matrices of the stations for a block's slots, on the coarse pixels of a subgrid: pixel (y, x) lies
/// at l = ((L - 1) / 2 - x) l_step, m = (y - (L - 1) / 2) m_step with IdgPlan::coarse_l_rad() and
/// coarse_m_rad(). V_pq = sum A_p B A_q^H exp(+2 pi i ...), B the brightness. Stations that respond alike
/// should share their matrices: subgrids then take the visibilities of all pairs of such stations together.
/// All views are empty without A-terms.
struct AtermBlock {
  View<const std::uint32_t, 1> row_slot;     ///< [row]
  View<const std::uint32_t, 1> chan_slot;    ///< [chan]
  View<const std::complex<float>, 6> jones;  ///< [row slot][chan slot][response][y][x][XX XY YX YY]
  /// [row slot][chan slot][station] which response it has; empty: that of its own number. Contents of slots
  /// that no row has count for nothing, but are in range.
  View<const std::uint32_t, 3> response{};
};

/// Rows of visibilities of one set of channels. Weight 0 = no data (the data are then ignored).
struct GridBlock {
  View<const double, 2> uvw_m;       ///< [row][u, v, w]
  View<const double, 1> path_m;      ///< [row] V is multiplied by exp(-2 pi i path / wavelength); or empty
  View<const double, 1> wavenumber;  ///< [chan] 1 / wavelength, per metre
  View<const std::complex<float>, 3> data;  ///< [row][chan][plane]; empty for a degridder
  /// [row][chan][plane], at least one plane (the PSF's). For a degridder it may be empty: every visibility is
  /// then predicted; else those of weight 0 in all planes are left alone.
  View<const float, 3> weight;
  View<const std::uint32_t, 2> station;  ///< [row][p, q] of V_pq; empty: the rows are of one baseline
  AtermBlock aterms;
  /// If not 0: all blocks with this id have the same contents throughout the life of a gridder, so that a
  /// device may keep them from pass to pass.
  std::uint64_t id = 0;
};

/// Rows [first, first + n) of a block.
inline GridBlock rows_of(const GridBlock& block, std::size_t first, std::size_t n) {
  auto part = [&](const auto& view) {
    auto shape = view.shape();
    if (view.size() == 0) return view;
    const std::size_t stride = view.size() / shape[0];
    shape[0] = n;
    return std::remove_cvref_t<decltype(view)>(view.data() + first * stride, shape);
  };
  return {part(block.uvw_m),
          part(block.path_m),
          block.wavenumber,
          part(block.data),
          part(block.weight),
          part(block.station),
          {part(block.aterms.row_slot), block.aterms.chan_slot, block.aterms.jones, block.aterms.response}};
}

/// Whether the gridder adds a last plane, the PSF: V = 1 with the weights of plane 0.
enum class PsfPlane { none, last };

/// How a gridder undoes A-terms at each pixel of a subgrid (Hodgson 2025, section 3.3).
///   normalised  A_p^-1 V A_q^-H / N with N = |A_p^-1 A_q^-H|_F / sqrt(2): the noise level is unchanged;
///               the image is the sky times the weighted mean of 1 / N, which average_beam.h computes
///   adjoint     A_p^H V A_q: the exact adjoint of the degridder
enum class AtermMode { none, normalised, adjoint };

/// Where the layers' grids live while a GPU makes the subgrids (Veenboer and Romein 2020, section 3); the CPU
/// has them in its own memory.
///   gpu             in the GPU's
///   hybrid          in the host's: subgrids travel, the CPU adds or cuts them and transforms the layers
///   unified         in managed memory, no more of it than the GPU has free
///   oversubscribed  in managed memory, however much; pages move to and fro
enum class GridMemory { gpu, hybrid, unified, oversubscribed };

/// What is gridded or degridded, apart from geometry.
struct IdgSetup {
  std::size_t n_data_planes = 1;  ///< of the blocks; with A-terms 4: XX XY YX YY
  PsfPlane psf = PsfPlane::none;  ///< gridders only
  AtermMode aterms = AtermMode::none;
  /// With A-terms, image plane s = sum_c mix[s][c] corr[c] for gridders (I: {.5, 0, 0, .5}), and corr[c] =
  /// sum_s mix[s][c] plane s for degridders (I: {1, 0, 0, 1}). Empty without A-terms: planes are the data's.
  std::vector<std::array<std::complex<double>, 4>> mix{};
  unsigned n_threads = 1;
  GridMemory grid_memory = GridMemory::gpu;  ///< place_grids() says what fits

  /// Planes of the images, without the PSF's.
  std::size_t n_image_planes() const { return mix.empty() ? n_data_planes : mix.size(); }
  /// Planes of the images with the PSF's.
  std::size_t n_planes() const { return n_image_planes() + (psf == PsfPlane::last ? 1 : 0); }
};

struct GridCounts {
  std::uint64_t n_visibilities = 0;  ///< (times the planes they have)
  std::uint64_t n_subgrids = 0;
};

/// The layers of a pass. In the first layer only subgrids whose middle w, folded to w >= 0, is at least
/// min_w_lambda take part, and in the last (which may be the same) only those where it is below max_w_lambda:
/// when two ranges meet at some w within a layer, each subgrid belongs to exactly one of them. Layers of a w
/// kernel, which share their subgrids, have no such limits: std::invalid_argument.
struct LayerRange {
  std::size_t first = 0, n = 0;
  double min_w_lambda = -std::numeric_limits<double>::infinity();
  double max_w_lambda = std::numeric_limits<double>::infinity();
  bool operator==(const LayerRange&) const = default;

  /// The layers of one pass: [first + skip, first + skip + at_most), cut off at the end of this range.
  LayerRange part(std::size_t skip, std::size_t at_most) const {
    LayerRange own{first + std::min(skip, n), std::min(at_most, n - std::min(skip, n))};
    if (own.first == first) own.min_w_lambda = min_w_lambda;
    if (own.first + own.n == first + n) own.max_w_lambda = max_w_lambda;
    return own;
  }
};

class KeptVisibilities;

/// Rows of a part of what a GPU keeps, and their A-terms, whose first row is the first of these.
struct KeptPiece {
  std::size_t part = 0, first_row = 0, n_rows = 0;
  AtermBlock aterms{};
};

class Gridder {
 public:
  virtual ~Gridder() = default;
  /// Pins memory of the caller, so that a GPU reads blocks from there directly at full bus speed instead of
  /// through threads and staging buffers. Pinning takes 0.08 s for each GB, which pays for memory that is
  /// used repeatedly. Release the handle before the memory. Null where there is nothing to pin.
  virtual std::shared_ptr<void> pin(void* /*memory*/, std::size_t /*bytes*/) { return nullptr; }
  /// Starts a pass over the data. All layers in one pass, or several passes over the same blocks when memory
  /// is short.
  virtual void begin_pass(const LayerRange& layers) = 0;
  virtual GridCounts grid(const GridBlock& block) = 0;
  /// The same for rows that the gridder's GPU keeps, with the weights that they have there.
  virtual GridCounts grid_kept(const KeptVisibilities& kept, const KeptPiece& piece);
  /// Counts what grid() would do in a pass over all layers, without doing it.
  virtual GridCounts count(const GridBlock& block) = 0;
  /// Transforms the pass's layers and adds them to the images.
  virtual void end_pass() = 0;
  /// A handle by which another process of this machine can read the images and add them to its own, before
  /// either process takes its images; they must not change until it has done so. Empty where that is
  /// impossible: not on a GPU, or the images are too small.
  virtual std::vector<std::byte> images_handle() { return {}; }
  /// Adds the images of another process's gridder with the same plan and setup. Returns false, with nothing
  /// added, if they cannot be read from here.
  virtual bool add_images(std::span<const std::byte> /*handle*/) { return false; }
  /// The images [plane][y][x], float64, summed (not divided by weights); NaN where l^2 + m^2 >= 1.
  virtual Buffer<double, 3> take_images() = 0;
  /// [data plane] sums of the weights of rows that the GPU keeps, of the images that were taken last.
  virtual std::vector<double> kept_weight_sums() const { return {}; }
  /// Whether begin_pass() may follow take_images() to make other images with the same plan.
  virtual bool is_reusable() const { return false; }
  /// Takes back the memory of images that are no longer needed, for the next ones of a reusable gridder.
  virtual void recycle(Buffer<double, 3> /*images*/) {}
};

/// Predicts visibilities, the other direction:
///   V_k = sum_pixels I(l, m) exp(+2 pi i (u_k l + v_k m + w_k (n - 1))), times exp(+2 pi i path /
///   wavelength).
/// Pixels where l^2 + m^2 >= 1 or that are NaN count as 0. Without A-terms and with weights 1 the matrix is
/// the gridder's transposed; with A-terms it is that of AtermMode::adjoint's, whatever setup.aterms says (but
/// none).
class Degridder {
 public:
  virtual ~Degridder() = default;
  /// images [plane][y][x], setup.n_image_planes() of them; before the first pass, and again for another
  /// model.
  virtual void set_model(View<const double, 3> images) = 0;
  /// Transforms the model's layers: a pass adds what these contribute to its subgrids.
  virtual void begin_pass(const LayerRange& layers) = 0;
  /// data [row][chan][data plane] += the prediction. Call the one of the precision in which the result is
  /// wanted.
  virtual GridCounts degrid(const GridBlock& block, View<std::complex<float>, 3> data) = 0;
  virtual GridCounts degrid(const GridBlock& block, View<std::complex<double>, 3> data) = 0;
};

/// Memory of a gridder or degridder. gridder_memory() and degridder_memory() are for the CPU and ignore
/// setup.grid_memory.
struct IdgMemory {
  /// Memory that does not grow with the layers of a pass, without the caller's images.
  std::uint64_t fixed_bytes = 0;
  std::uint64_t layer_bytes = 0;  ///< one layer's grids
  std::uint64_t bytes(std::size_t n_layers) const { return fixed_bytes + n_layers * layer_bytes; }
};
IdgMemory gridder_memory(const IdgPlan& plan, const IdgSetup& setup);
/// The part of gridder_memory() that a CPU gridder never touches if none of its blocks has more than
/// n_subgrids subgrids.
std::uint64_t unused_bytes(const IdgPlan& plan, const IdgSetup& setup, std::size_t n_subgrids);
IdgMemory degridder_memory(const IdgPlan& plan, const IdgSetup& setup);

/// Results do not depend on n_threads. std::invalid_argument for a setup that contradicts itself.
std::unique_ptr<Gridder> make_gridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup);
std::unique_ptr<Degridder> make_degridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup);

}  // namespace apsyn
