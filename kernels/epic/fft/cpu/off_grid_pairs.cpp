// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/cpu/off_grid_pairs.h"

#include <algorithm>
#include <array>

#include "kernels/epic/dft/cpu/tile.h"
#include "kernels/epic/factors.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr std::size_t kRowNumbers = 2 * kPanelInputs;

/// Positions of antennas in another order.
EpicGeometry in_order(const EpicGeometry& geometry, const std::vector<std::size_t>& antennas) {
  EpicGeometry out;
  for (const std::size_t ant : antennas) {
    out.enu_m.push_back(geometry.enu_m[ant]);
    out.delay_s.push_back(geometry.delay_s[ant]);
  }
  return out;
}

/// sums [re 16 | im 16] += those of E_row E_column* over spectra [re 16 | im 16] of a panel.
void add_row(const float* row, const float* panel, std::size_t n_spectra, double* sums) {
  float re[kPanelInputs] = {}, im[kPanelInputs] = {};
  for (std::size_t t = 0; t < n_spectra; ++t, row += kRowNumbers, panel += kRowNumbers) {
    const float a = row[0], b = row[kPanelInputs];
    for (std::size_t i = 0; i < kPanelInputs; ++i) {
      re[i] += a * panel[i] + b * panel[kPanelInputs + i];
      im[i] += b * panel[i] - a * panel[kPanelInputs + i];
    }
  }
  for (std::size_t i = 0; i < kPanelInputs; ++i) {
    sums[i] += static_cast<double>(re[i]);
    sums[kPanelInputs + i] += static_cast<double>(im[i]);
  }
}

}  // namespace

OffGridPairs::OffGridPairs(const EpicPlan& plan, std::size_t n_turn)
    : plan_(plan),
      order_(off_grid_order(plan)),
      n_turn_(n_turn),
      n_panel_(panel_count(plan.n_ant * plan.n_pol)),
      scratch_(any() ? plan.n_threads : 0) {
  if (!any()) return;
  sums_.resize({plan_.n_channel(), n_turn_, order_.n_off * plan_.n_pol * n_panel_ * kRowNumbers});
  matrices_.resize({plan_.n_channel(), order_.n_off, order_.antennas.size(), plan_.n_plane()});
  powers_.resize({plan_.n_channel(), order_.n_off, plan_.n_plane()});
}

void OffGridPairs::start(const EpicGeometry& geometry) {
  if (!any()) return;
  sums_.fill(0);
  if (positions_.padded() > 0 && same_geometry(geometry, geometry_)) return;
  geometry_ = geometry;
  positions_ = AntennaPositions(in_order(geometry, order_.antennas), 2 * kDftLanes);
}

void OffGridPairs::add(const LaneSpectra& spectra, std::size_t channel, std::size_t turn) {
  double* sums = any() ? &sums_(channel, turn, 0) : nullptr;
  for (std::size_t off = 0; off < order_.n_off; ++off)
    for (std::size_t pol = 0; pol < plan_.n_pol; ++pol) {
      const std::size_t input = order_.antennas[off] * plan_.n_pol + pol;
      const float* row = spectra.planes + input / kPanelInputs * spectra.panel_stride + input % kPanelInputs;
      for (std::size_t panel = 0; panel < n_panel_; ++panel, sums += kRowNumbers)
        add_row(row, spectra.planes + panel * spectra.panel_stride, spectra.n_spectra, sums);
    }
}

std::complex<double> OffGridPairs::sum(std::size_t channel, std::size_t off, std::size_t p, std::size_t ant,
                                       std::size_t q) const {
  const std::size_t input = ant * plan_.n_pol + q;
  const std::size_t at =
      ((off * plan_.n_pol + p) * n_panel_ + input / kPanelInputs) * kRowNumbers + input % kPanelInputs;
  std::complex<double> sum = 0;
  for (std::size_t turn = 0; turn < n_turn_; ++turn)
    sum += std::complex<double>(sums_(channel, turn, at), sums_(channel, turn, at + kPanelInputs));
  return sum * epic_factor(plan_, order_.antennas[off], p, channel) *
         std::conj(epic_factor(plan_, ant, q, channel));
}

void OffGridPairs::make_matrices(std::size_t channel) {
  for (std::size_t off = 0; off < order_.n_off; ++off) {
    for (std::size_t i = off + 1; i < order_.antennas.size(); ++i) {
      std::complex<float>* matrix = &matrices_(channel, off, i, 0);
      const auto value = [&](std::size_t p, std::size_t q) {
        return sum(channel, off, p, order_.antennas[i], q);
      };
      // as PairProducts of corr
      if (plan_.first) *matrix++ = std::complex<float>(2.0 * value(0, 0));
      if (plan_.second) *matrix++ = std::complex<float>(2.0 * value(1, 1));
      if (!plan_.cross) continue;
      const std::complex<double> xy = value(0, 1), yx = value(1, 0), difference = xy - yx;
      matrix[0] = std::complex<float>(xy + yx);
      matrix[1] = std::complex<float>(std::complex<double>(difference.imag(), -difference.real()));
    }
    const std::size_t ant = order_.antennas[off];
    double* power = &powers_(channel, off, 0);
    if (plan_.first) *power++ = sum(channel, off, 0, ant, 0).real();
    if (plan_.second) *power++ = sum(channel, off, 1, ant, 1).real();
    if (!plan_.cross) continue;
    const std::complex<double> xy = sum(channel, off, 0, ant, 1);
    power[0] = xy.real();
    power[1] = xy.imag();
  }
}

/// Only the first antennas of each tile, those off the grid, have products.
void OffGridPairs::lay_out(std::size_t channel, std::size_t pass, Buffer<float, 1>& tiles) const {
  const std::size_t n_here = n_matrix(pass), columns = pair_tile_columns(n_here), n_ant = positions_.padded();
  tiles.resize_for_overwrite({pair_tile_begin(n_ant / columns, n_here)});
  for (std::size_t b = 0; b < n_ant; ++b)
    for (std::size_t off = 0; off < order_.n_off; ++off)
      for (std::size_t matrix = 0; matrix < n_here; ++matrix) {
        const std::complex<float> value = off < b && b < order_.antennas.size()
                                              ? matrices_(channel, off, b, 2 * pass + matrix)
                                              : std::complex<float>{};
        const std::size_t row = n_here == 2 ? matrix : b % columns / kDftLanes;
        float* to = tiles.data() + pair_tile_begin(b / columns, n_here) + off * kDftAntNumbers +
                    2 * row * kDftLanes + b % kDftLanes;
        to[0] = value.real();
        to[kDftLanes] = value.imag();
      }
}

void OffGridPairs::image_channel(std::size_t channel, std::size_t first_pixel, const SkyPixels& pixels,
                                 const ApertureWeights& apertures, Scratch& scratch,
                                 View<double, 2> sums) const {
  const std::size_t n_pixel = sums.extent(0), stride = 2 * positions_.padded();
  scratch.weights.resize_for_overwrite({n_pixel, stride});
  DftWeights<float> weights = positions_.weights();
  weights.hz = plan_.channel_hz[channel];
  weights.unit = &pixels.unit(first_pixel, 0);
  weights.n_pixel = n_pixel;
  weights.weights = scratch.weights.data();
  weights.weight_stride = stride;
  turn_weights(weights);
  for (std::size_t pixel = 0; pixel < n_pixel && apertures.any(); ++pixel)
    for (std::size_t i = 0; i < order_.antennas.size(); ++i) {
      float* weight = &scratch.weights(pixel, 2 * i);
      const auto heard = apertures.heard()(channel, plan_.aperture[order_.antennas[i]], first_pixel + pixel);
      const auto product = std::complex<float>(weight[0], weight[1]) * std::conj(heard);
      weight[0] = product.real();
      weight[1] = product.imag();
    }
  for (std::size_t pass = 0; pass < (plan_.n_plane() + 1) / 2; ++pass) {
    lay_out(channel, pass, scratch.tiles);
    PairProduct product;
    product.pairs = scratch.tiles.data();
    product.n_matrix = n_matrix(pass);
    product.n_tile = positions_.padded() / pair_tile_columns(product.n_matrix);
    product.n_ant = order_.n_off;
    product.weights = weights.weights;
    product.weight_stride = stride;
    product.n_pixel = n_pixel;
    scratch.sums.resize({n_pixel * product.n_matrix * kDftLanes});
    product.sums = scratch.sums.data();
    image_pairs(product);
    const float* from = product.sums;
    for (std::size_t pixel = 0; pixel < n_pixel; ++pixel)
      for (std::size_t matrix = 0; matrix < product.n_matrix; ++matrix, from += kDftLanes)
        for (std::size_t lane = 0; lane < kDftLanes; ++lane)
          sums(pixel, 2 * pass + matrix) += static_cast<double>(from[lane]);
  }
  for (std::size_t off = 0; off < order_.n_off && plan_.autos; ++off)
    for (std::size_t pixel = 0; pixel < n_pixel; ++pixel) {
      const double re = static_cast<double>(scratch.weights(pixel, 2 * off)),
                   im = static_cast<double>(scratch.weights(pixel, 2 * off + 1));
      // without apertures 1, but for rounding
      const double heard = apertures.any() ? re * re + im * im : 1;
      for (std::size_t plane = 0; plane < plan_.n_plane(); ++plane)
        sums(pixel, plane) += heard * powers_(channel, off, plane);
    }
}

void OffGridPairs::image(const EpicWeights& weights, const SkyPixels& pixels,
                         const ApertureWeights& apertures, EpicImages& images) {
  if (!any()) return;
  parallel_for(plan_.n_threads, plan_.n_channel(),
               [&](std::size_t channel, unsigned) { make_matrices(channel); });
  const std::size_t n_piece = (pixels.size() + kItemPixels - 1) / kItemPixels;
  parallel_for(plan_.n_threads, plan_.n_image_channel() * n_piece, [&](std::size_t item, unsigned thread) {
    const std::size_t image = item / n_piece, first = item % n_piece * kItemPixels;
    Buffer<double, 2> sums({std::min(kItemPixels, pixels.size() - first), plan_.n_plane()});
    for (std::size_t i = 0; i < plan_.n_average; ++i)
      image_channel(image * plan_.n_average + i, first, pixels, apertures, scratch_[thread], sums.view());
    const auto pairs = static_cast<double>(weights.pairs(image));
    for (std::size_t pixel = 0; pixel < sums.extent(0); ++pixel) {
      const std::size_t index = pixels.index[first + pixel];
      for (std::size_t plane = 0; plane < plan_.n_plane(); ++plane) {
        float& value = images.planes(image, plane, index / plan_.nx, index % plan_.nx);
        value = static_cast<float>(static_cast<double>(value) + sums(pixel, plane) / pairs);
      }
    }
  });
}

std::uint64_t OffGridPairs::bytes(const EpicPlan& plan, std::size_t n_turn) {
  const std::uint64_t n_off = off_grid_order(plan).n_off;
  if (n_off == 0) return 0;
  const std::uint64_t inputs = panel_count(plan.n_ant * plan.n_pol) * kPanelInputs;
  const std::uint64_t tiles = pair_tile_begin(plan.n_ant / kDftLanes + 1, 2) * sizeof(float);
  return plan.n_channel() * n_off *
             (n_turn * plan.n_pol * inputs * 2 * sizeof(double) +
              plan.n_ant * plan.n_plane() * sizeof(std::complex<float>)) +
         std::uint64_t{plan.nx} * plan.ny * (3 * sizeof(double) + sizeof(std::uint32_t)) +
         plan.n_threads * (tiles + kItemPixels * plan.n_ant * 2 * sizeof(float));
}

}  // namespace apsyn
