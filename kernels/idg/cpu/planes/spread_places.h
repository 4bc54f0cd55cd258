// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities, or their sums at the nodes of channels, onto the cells of all terms in w at once:
//
//   cell[pair][v][u] += phi(s_v - v) phi(s_u - u) value t^(2 pair) (1, t).
//
// Places of small w take part in the first pairs of terms alone.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/idg/cpu/grid/spread.h"
#include "libcore/base/view.h"

namespace apsyn {

constexpr std::size_t max_term_pairs = 6;
/// Floats behind a row of cells that spreading may add zeros to.
constexpr std::size_t plane_row_overrun = 64;
/// Floats of a cell of a pair: the even term's [re, im], the odd term's [re, im].
constexpr std::size_t pair_values = 4;

/// Where places lie among the cells. u and v repeat after n_u and n_v cells; places of v < 0 are folded to
/// their conjugates.
struct PlaceFrame {
  double scale_u = 0, scale_v = 0;    ///< cells per wavelength
  double n_u = 0, n_v = 0;            ///< cells
  double origin_u = 0, origin_v = 0;  ///< cell of u = 0, v = 0
  double half_width = 0;              ///< of the spread kernel
  double w_scale = 0;                 ///< t = w w_scale, limited to [-1, 1]
  double turns_of_w = 0;              ///< values are multiplied by exp(-2 pi i w turns_of_w)
  float max_t[max_term_pairs] = {};   ///< [n - 1] largest |t| of which n pairs of terms suffice
};

/// A place: everything but its values.
struct Place {
  std::uint32_t cell;  ///< of the first tap, and pairs of terms: v << 19 | pairs << 16 | u
  float q_u, q_v;      ///< SpreadKernel's q
  float t;             ///< w, in [-1, 1]

  std::size_t v() const { return cell >> 19; }
  std::size_t u() const { return cell & 0xffff; }
  std::size_t n_pairs() const { return cell >> 16 & 7; }
};
constexpr std::size_t max_plane_rows = 1 << 12, max_plane_columns = 1 << 16;

/// Places in any order.
struct Places {
  std::vector<Place> place;
  std::vector<std::complex<float>> value;  ///< [place][plane]
};

/// Coordinates of some places, in wavelengths, which locate_places() may change behind n, too, up to a
/// multiple of 8.
struct PlaceCoordinates {
  std::size_t n = 0;
  double *u = nullptr, *v = nullptr, *w = nullptr;
};

/// Fills the places at these coordinates, and turns and folds their values [place][plane] that are already
/// there.
void locate_places(const PlaceFrame& frame, const PlaceCoordinates& at, std::size_t n_planes, Place* place,
                   std::complex<float>* value);

/// The cells of one plane of visibilities: [pair][v][u][even, odd][re, im].
struct TermCells {
  float* data = nullptr;                        ///< at the begin of a cache line
  std::size_t row_stride = 0, pair_stride = 0;  ///< floats, multiples of 16
};

/// One thread's memory of spread_places().
struct PlaceScratch {
  Buffer<float, 1> taps_u, taps_v;  ///< [place][tap]
};

/// Adds the places of `order`, in that order, to the cells of every plane.
void spread_places(const SpreadTaps<float>& taps, const Places& places, std::span<const std::uint32_t> order,
                   std::span<const TermCells> planes, PlaceScratch& scratch);

}  // namespace apsyn
