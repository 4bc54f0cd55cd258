// SPDX-License-Identifier: GPL-3.0-or-later
// Direct imaging: spectra of the antennas -> images of the sky, without visibilities in between (MOFF,
// Morales 2011, PASP 123, 1265; EPIC, Thyagarajan et al. 2017, MNRAS 467, 715; signs in
// apsyn-conventions(7)).
//
//   E_p(s)  = sum_i g_ip exp(-2 pi i nu tau_i(s)) E_ip,     tau_i(s) = r_i . s / c - d_i
//   I_pq(s) = sum_t [ E_p(s) conj(E_q(s)) - A_pq ] / W,     A_pq = sum_i g_ip conj(g_iq) E_ip conj(E_iq)
//   W       = sum_t [ n_t^2 - n_t ]
//
// over the spectra t of an accumulation and its channels; s a unit vector, r_i, d_i position and delay of
// antenna i, g_ip a factor of calibration, n_t the antennas that are valid at t. So a source of flux 1
// appears as 1 in the image, and the image equals that from gridding the cross-correlations of the same
// samples with natural weights. With autocorrelations kept A = 0 and W = sum n_t^2. Samples without weight
// are 0 in SpectraBlock and count in no n_t. I_YX = conj(I_XY).
//
// Pixel (x, y), from 0, looks at l = (nx / 2 - x) cell, m = (y - ny / 2) cell, n = sqrt(1 - l^2 - m^2) in the
// axes u, v, w of EpicGeometry (rows of `axes`), so at s = l u + m v + n w. A pixel with l^2 + m^2 >= 1 or
// below the horizon (s . up <= 0) is NaN.
//
// Three ways to the same image:
//   fft   the antennas are gridded on a plane with kernels of their own, the plane is transformed, and its
//         power is divided by the kernels' response: MOFF proper. Cheapest for dense arrays of many antennas.
//   dft   the sums above as they are: any array, any list of directions, exact.
//   corr  sums over t first, which gives V_ij, then images these: cheapest for few antennas or long
//         accumulations.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/common/spectra/spectra.h"
#include "libcore/array/aperture.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/view.h"

namespace apsyn {

enum class EpicMethod { fft, dft, corr };

/// What becomes of w, the antennas' distance from the plane on which `fft` grids. dft and corr always treat w
/// exactly.
enum class EpicW {
  zenith,  ///< the horizontal plane; w turns the phase as it does for the zenith, everywhere
  plane,   ///< the plane that fits the array best; the remaining w turns phases as it would for a source at
           ///< the plane's normal
  kernel,  ///< the same, and each antenna's kernel includes the effect of its w on all other directions
  exact,   ///< not with fft
};

enum class EpicKernel { kaiser_bessel, prolate };

/// A pair of antennas in a channel, where imaging weights look for it.
struct PairPoint {
  double u = 0, v = 0;  ///< wavelengths
  double count = 0;     ///< spectra in which both are valid
};
/// Imaging weights of pairs, for `corr` (corr/pair_weights.h).
struct PairWeighting {
  /// Stores a factor for each pair of an image, of all of its channels. Called for several images at a time.
  std::function<void(std::span<const PairPoint> points, std::span<double> factors)> weigh;
  double step_lambda = 0;   ///< factors hold until a pair has moved by more than this
  std::uint64_t bytes = 0;  ///< of memory that weigh() takes
};

struct EpicPlan {
  std::size_t n_chan = 1;  ///< input channels
  std::size_t n_fine = 1;
  std::size_t n_ant = 1, n_pol = 1;
  std::vector<double> channel_hz;  ///< [input chan * n_fine + fine]
  std::size_t n_average = 1;       ///< neighbouring channels that one image adds up
  /// The products that are accumulated. `second` and `cross` need two polarisations.
  bool first = true;    ///< XX (or RR)
  bool second = false;  ///< YY (or LL)
  bool cross = false;   ///< XY (or RL)
  bool autos = false;   ///< keep A
  /// corr only, of two polarisations and without apertures: the plane of XX is (XX + YY) / 2, and there is no
  /// other. Sums of pairs are added before they are imaged.
  bool total = false;
  /// Images of the field E_p(s) / n_t of single spectra in place of its products: the planes are Re and Im of
  /// X (first) and of Y (second); not `cross`. By `fft` and `dft`, n_average = 1, without apertures.
  bool field = false;
  std::size_t nx = 0, ny = 0;
  double cell = 0;  ///< of a pixel, as a direction cosine
  /// > 0: images show this many directions (EpicGeometry::directions) and have ny = 1, nx = n_direction. Not
  /// with fft.
  std::size_t n_direction = 0;
  std::vector<std::uint8_t> flagged;  ///< [ant] 1 = never valid, and no part of the array; empty = none
  /// [ant][pol][input chan or channel]: g, what E is multiplied by; empty = 1.
  Buffer<std::complex<double>, 3> factor;
  /// [channel] 1 = nothing is known of it: it adds nothing to an image, and nothing to W; empty = none.
  std::vector<std::uint8_t> left_out;
  /// Empty: all antennas respond equally to all directions. Otherwise E_i is weighted by conj(a_i(s)), as in
  /// gridding with the aperture's own illumination, and W and A include its power b_i = |a_i|^2:
  ///   W = sum_t [ (sum_i b_i)^2 - sum_i b_i^2 ],   A_pq = sum_i b_i g_ip conj(g_iq) E_ip conj(E_iq),
  /// so that a source of flux 1 still gives 1; NaN where W is less than kMinApertureResponse of all pairs.
  std::vector<std::shared_ptr<const Aperture>> apertures;
  std::vector<std::uint32_t> aperture;  ///< [ant] which of them
  /// corr only, without autocorrelations, apertures and directions; none: every product counts 1.
  std::optional<PairWeighting> weighting;
  unsigned n_threads = 1;
  bool float64 = false;  ///< CPU, dft: sums over antennas in float64, and no codes

  // fft only
  EpicKernel kernel = EpicKernel::kaiser_bessel;
  std::size_t kernel_cells = 7;  ///< 1 .. 9 along each axis
  double padding = 1;            ///< field that is transformed / field of the image, >= 1
  EpicW w = EpicW::kernel;
  /// [ant] 1 = too far from the others for the grid: its products with all others are summed over time and
  /// added to the image exactly (fft/off_grid.h); empty = none. Not for images of the field.
  std::vector<std::uint8_t> off_grid;

  /// Whether an antenna is part of the array, and whether `fft` grids it.
  bool used(std::size_t ant) const { return flagged.empty() || flagged[ant] == 0; }
  bool gridded(std::size_t ant) const { return used(ant) && (off_grid.empty() || off_grid[ant] == 0); }
  std::size_t n_channel() const { return n_chan * n_fine; }
  std::size_t n_image_channel() const { return n_channel() / n_average; }
  double highest_hz() const { return *std::max_element(channel_hz.begin(), channel_hz.end()); }
  /// Planes of EpicImages: XX, YY, Re XY, Im XY, those that are asked for; of a field Re X, Im X, Re Y, Im Y.
  std::size_t n_plane() const {
    return ((first ? 1u : 0u) + (second ? 1u : 0u)) * (field ? 2u : 1u) + (cross ? 2u : 0u);
  }
  std::size_t width() const { return n_direction > 0 ? n_direction : nx; }
  std::size_t height() const { return n_direction > 0 ? 1 : ny; }
};

inline constexpr double kMinApertureResponse = 1e-6;

/// std::logic_error for a plan that contradicts itself (lengths, no product, products without polarisation).
void check_epic_plan(const EpicPlan& plan);

/// Positions, delays and directions of an accumulation, for its middle.
struct EpicGeometry {
  std::vector<Vec3> enu_m;      ///< [ant] r about any common point: east, north, up
  std::vector<double> delay_s;  ///< [ant] d: delay of cables, and r . s / c of tracking that has been applied
  Mat3 axes{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};  ///< rows u, v, w of the image in east, north, up
  std::vector<Vec3> directions;                  ///< [EpicPlan::n_direction] unit vectors east, north, up
};

/// Unit vector east, north, up of a pixel, or of direction x; all NaN where there is no sky.
Vec3 epic_direction(const EpicPlan& plan, const EpicGeometry& geometry, std::size_t x, std::size_t y);

/// Of the pixels of a region that have a value in one plane.
struct EpicRegion {
  double n = 0, mean = 0, largest = 0;  ///< mean and largest are NaN where n is 0
};

struct EpicImages {
  /// [image channel][plane][y][x], normalised; NaN where there is no sky, and everywhere when weight is 0.
  Buffer<float, 4> planes;
  /// [image channel] W divided by its value if all unflagged antennas were valid in all spectra.
  std::vector<double> weight;
  std::int64_t n_spectra = 0;  ///< of the accumulation
  /// [image channel][plane][region], of imagers that measure(): `planes` are those of another time then.
  Buffer<EpicRegion, 3> regions;
  /// What an imager of a device has done to the memory of `planes`, and undoes before that is freed.
  std::shared_ptr<void> pin;

  EpicImages() = default;
  EpicImages(EpicImages&&) = default;
  /// Memory and what was done to it change places together.
  EpicImages& operator=(EpicImages&& other) noexcept {
    std::swap(planes, other.planes);
    std::swap(weight, other.weight);
    std::swap(n_spectra, other.n_spectra);
    std::swap(regions, other.regions);
    std::swap(pin, other.pin);
    return *this;
  }
};

class DirectImager {
 public:
  virtual ~DirectImager() = default;
  /// Whether SpectraBlock::codes are taken as well as planes.
  virtual bool takes_codes() const { return false; }
  /// Begins an accumulation. Repeating the last geometry costs nothing. std::logic_error for lengths other
  /// than planned; UsageError when an accumulation of this geometry cannot be imaged as planned (an array
  /// that does not fit the field's grid).
  virtual void start(const EpicGeometry& geometry) = 0;
  /// Adds spectra of whole input channels and whole averaged channels. In total, the batches of one
  /// accumulation must contain the same number of spectra for each channel. std::logic_error for another
  /// shape.
  virtual void add(const SpectraBlock& block) = 0;
  /// Ends the accumulation and stores its images in `images`, whose arrays are resized.
  virtual void take(EpicImages& images) = 0;
  /// The same, but may return true: the planes of `images`, which must not move, are then complete only after
  /// settle(). Until then one more accumulation may begin and end, and a second one may begin.
  virtual bool take_later(EpicImages& images) {
    take(images);
    return false;
  }
  /// Completes the oldest images that are not complete yet.
  virtual void settle() {}
  /// From the next accumulation on only regions of the images are wanted, each a list of pixels y * nx + x.
  /// False where images are stored all the same.
  virtual bool measure(const std::vector<std::vector<std::uint32_t>>& /*regions*/) { return false; }
};

/// Results do not depend on n_threads.
std::unique_ptr<DirectImager> make_fft_imager(EpicPlan plan);
std::unique_ptr<DirectImager> make_dft_imager(EpicPlan plan);
std::unique_ptr<DirectImager> make_corr_imager(EpicPlan plan);
/// EpicPlan::field: accumulations hold one spectrum. A source whose field is 1 where east = north = up = 0
/// gives 1.
std::unique_ptr<DirectImager> make_field_dft_imager(EpicPlan plan);
std::unique_ptr<DirectImager> make_field_fft_imager(EpicPlan plan);
/// Makes the imager for the method, of power or of the field as the plan says. UsageError for a field by
/// corr.
std::unique_ptr<DirectImager> make_imager(EpicMethod method, EpicPlan plan);

const char* epic_method_name(EpicMethod method);
/// fft, dft or corr; UsageError for anything else.
EpicMethod parse_epic_method(std::string_view name);

// The choice (--method auto).

/// Seconds of one core, measured (tests/bench/README.md); ratios between methods matter.
struct EpicCost {
  double spectrum_s = 0;    ///< of each spectrum of all channels
  double image_s = 0;       ///< of each accumulation of all channels
  std::uint64_t bytes = 0;  ///< held by the imager
  bool of_codes = false;    ///< the imager takes spectra of integers, not of floats
  double of(double n_spectra) const { return spectrum_s * n_spectra + image_s; }
};

/// `geometry` gives the size of the array.
EpicCost fft_cost(const EpicPlan& plan, const EpicGeometry& geometry);
EpicCost dft_cost(const EpicPlan& plan, const EpicGeometry& geometry);
EpicCost corr_cost(const EpicPlan& plan, const EpicGeometry& geometry);

/// The cheapest method for accumulations of n_spectra among those that need no more than max_bytes, or of all
/// if none does. fft is excluded for EpicW::exact, for directions, and if the array or the image needs a
/// larger grid than fft supports.
EpicMethod choose_epic_method(const EpicPlan& plan, const EpicGeometry& geometry, double n_spectra,
                              std::uint64_t max_bytes);

}  // namespace apsyn
