// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/sky_predictor.h"

#include <algorithm>
#include <cmath>

#include "kernels/simulate/components.h"
#include "libcore/system/parallel.h"
#include "libcore/visibility/stokes.h"

namespace apsyn::calibrate {
namespace {

/// Planes that are mixed into products at once.
constexpr std::size_t kPlaneBytes = 8'000'000;

}  // namespace

SkyPredictor::SkyPredictor(const SkyModel& sky, const InputInfo& info,
                           const imaging::ComponentSumsSetup& setup)
    : sky_(sky),
      info_(info),
      setup_(setup),
      polarised_(setup.aterms != nullptr || simulate::stokes_of(sky).size() > 1),
      mix_(setup.aterms != nullptr ? products_of_correlations(info.products)
                                   : products_of_planes({"I", "Q", "U", "V"}, info.products, info.path)) {
  if (!polarised_) return;
  mixes_ = info.products.size() != 4;
  for (std::size_t p = 0; p < mix_.extent(0); ++p)
    for (std::size_t plane = 0; plane < 4; ++plane)
      mixes_ = mixes_ || mix_(p, plane) != (p == plane ? 1.0 : 0.0);
  for (std::size_t p = 0; p < mix_.extent(0); ++p) {
    PlanePair pair;
    std::size_t n = 0;
    for (std::size_t plane = 0; plane < 4; ++plane) {
      const std::complex<double> factor = mix_(p, plane);
      if (factor == 0.0) continue;
      const bool is_unit = std::abs(factor.real()) + std::abs(factor.imag()) == 1 &&
                           (factor.real() == 0 || factor.imag() == 0);
      if (!is_unit || n == 2) {
        pairs_.clear();
        return;
      }
      pair.plane[n] = plane;
      pair.re[n] = static_cast<float>(factor.real());
      pair.im[n] = static_cast<float>(factor.imag());
      ++n;
    }
    pairs_.push_back(pair);
  }
}

imaging::ComponentSums& SkyPredictor::sums_of(int window, int field) {
  auto& made = sums_[{window, field}];
  if (!made)
    made = std::make_unique<imaging::ComponentSums>(
        sky_, info_.fields[static_cast<std::size_t>(field)].phase_centre,
        info_.windows[static_cast<std::size_t>(window)].channel_hz, setup_);
  return *made;
}

void SkyPredictor::predict(const InputBlock& block, Buffer<std::complex<float>, 3>& model) {
  const MsRows& rows = block.rows;
  const std::size_t n_row = rows.ant1.size();
  const std::size_t n_chan = info_.windows[static_cast<std::size_t>(rows.spw)].channel_hz.size();
  model.resize_for_overwrite({n_row, n_chan, n_planes()});
  const std::size_t at_once =
      mixes_ ? std::max<std::size_t>(
                   1, kPlaneBytes / (4 * sizeof(std::complex<float>) * std::max<std::size_t>(1, n_chan)))
             : n_row;
  // Rows of one field.
  for (std::size_t first = 0, n = 0; first < n_row; first += n) {
    for (n = 1; n < at_once && first + n < n_row && rows.field[first + n] == rows.field[first];) ++n;
    predict_part(block, first, n, model);
  }
}

void SkyPredictor::predict_part(const InputBlock& block, std::size_t first, std::size_t n,
                                Buffer<std::complex<float>, 3>& model) {
  const MsRows& rows = block.rows;
  imaging::ComponentSums& sums = sums_of(rows.spw, rows.field[first]);
  imaging::ComponentRows own{{&rows.uvw_m(first, 0), {n, 3}}, {}};
  if (block.path_m.size() > 0) own.path_m = {&block.path_m(first), {n}};
  if (setup_.aterms != nullptr) {
    station_.resize_for_overwrite({n, 2});
    for (std::size_t row = 0; row < n; ++row) {
      station_(row, 0) = static_cast<std::uint32_t>(rows.ant1[first + row]);
      station_(row, 1) = static_cast<std::uint32_t>(rows.ant2[first + row]);
    }
    own.station = station_;
    own.time_mjd_s = std::span(rows.time_mjd_s).subspan(first, n);
  }
  const std::size_t n_chan = model.extent(1), n_products = model.extent(2);
  std::complex<float>* const to = n_chan == 0 ? nullptr : &model(first, 0, 0);
  if (!mixes_) return sums.predict(own, {to, {n, n_chan, n_products}});
  planes_.resize_for_overwrite({n, n_chan, 4});
  sums.predict(own, planes_);
  parallel_for(setup_.n_threads, n, [&](std::size_t row, unsigned) {
    mix_row(planes_.data() + row * n_chan * 4, n_chan, to + row * n_chan * n_products);
  });
}

/// Planes [chan][4] to products [chan][product].
void SkyPredictor::mix_row(const std::complex<float>* from, std::size_t n_chan,
                           std::complex<float>* to) const {
  const std::size_t n_products = mix_.extent(0);
  if (!pairs_.empty()) {
    for (std::size_t p = 0; p < n_products; ++p) {
      const PlanePair& pair = pairs_[p];
      const auto [re_0, re_1] = pair.re;
      const auto [im_0, im_1] = pair.im;
      const std::complex<float>*a = from + pair.plane[0], *b = from + pair.plane[1];
      for (std::size_t chan = 0; chan < n_chan; ++chan) {
        const std::complex<float> x = a[4 * chan], y = b[4 * chan];
        to[chan * n_products + p] = {
            (re_0 * x.real() - im_0 * x.imag()) + (re_1 * y.real() - im_1 * y.imag()),
            (re_0 * x.imag() + im_0 * x.real()) + (re_1 * y.imag() + im_1 * y.real())};
      }
    }
    return;
  }
  for (std::size_t chan = 0; chan < n_chan; ++chan, from += 4)
    for (std::size_t p = 0; p < n_products; ++p, ++to) {
      std::complex<double> sum = 0;
      for (std::size_t plane = 0; plane < 4; ++plane)
        sum += mix_(p, plane) * std::complex<double>(from[plane]);
      *to = std::complex<float>(sum);
    }
}

std::uint64_t SkyPredictor::bytes() const {
  std::uint64_t sum = mixes_ ? kPlaneBytes : 0;
  for (const MsSpectralWindow& window : info_.windows)
    sum += std::max<std::size_t>(1, info_.fields_with_rows.size()) *
           imaging::component_sums_bytes(setup_, sky_.components.size(), window.channel_hz.size(),
                                         kPlaneBytes / sizeof(std::complex<float>));
  return sum;
}

}  // namespace apsyn::calibrate
