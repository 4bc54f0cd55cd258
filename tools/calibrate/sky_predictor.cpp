// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/sky_predictor.h"

#include <vector>

#include "kernels/simulate/components.h"
#include "libcore/system/parallel.h"
#include "libcore/visibility/stokes.h"

namespace apsyn::calibrate {

SkyPredictor::SkyPredictor(const SkyModel& sky, const InputInfo& info)
    : sky_(sky),
      info_(info),
      polarised_(simulate::stokes_of(sky).size() > 1),
      mix_(products_of_planes({"I", "Q", "U", "V"}, info.products, info.path)) {}

void SkyPredictor::predict(const InputBlock& block, unsigned n_threads,
                           Buffer<std::complex<float>, 3>& model) {
  const MsRows& rows = block.rows;
  const std::size_t n_row = rows.ant1.size();
  const std::vector<double>& channel_hz = info_.windows[static_cast<std::size_t>(rows.spw)].channel_hz;
  model.resize_for_overwrite({n_row, channel_hz.size(), n_planes()});
  std::vector<std::pair<std::size_t, std::size_t>> parts;  // rows of one field, few at a time
  constexpr std::size_t kRows = 256;
  for (std::size_t first = 0, n = 0; first < n_row; first += n) {
    for (n = 1; n < kRows && first + n < n_row && rows.field[first + n] == rows.field[first];) ++n;
    parts.emplace_back(first, n);
    auto& made = predictors_[{rows.spw, rows.field[first]}];
    if (!made)
      made.emplace(sky_, info_.fields[static_cast<std::size_t>(rows.field[first])].phase_centre, channel_hz);
  }
  parallel_for(n_threads, parts.size(), [&](std::size_t item, unsigned) {
    predict_part(block, parts[item].first, parts[item].second, model);
  });
}

void SkyPredictor::predict_part(const InputBlock& block, std::size_t first, std::size_t n,
                                Buffer<std::complex<float>, 3>& model) const {
  const MsRows& rows = block.rows;
  const simulate::FastComponentPredictor& predictor = *predictors_.at({rows.spw, rows.field[first]});
  const View<const double, 2> uvw(&rows.uvw_m(first, 0), {n, 3});
  const View<const double, 1> path(block.path_m.size() == 0 ? nullptr : &block.path_m(first),
                                   {block.path_m.size() == 0 ? 0 : n});
  const std::size_t n_chan = model.extent(1), n_products = model.extent(2);
  std::complex<float>* const to = n_chan == 0 ? nullptr : &model(first, 0, 0);
  if (!polarised_) return predictor.predict(uvw, path, {to, {n, n_chan, 1}});
  thread_local Buffer<std::complex<float>, 3> stokes;
  stokes.resize_for_overwrite({n, n_chan, 4});
  predictor.predict(uvw, path, stokes);
  for (std::size_t i = 0; i < n * n_chan; ++i)
    for (std::size_t p = 0; p < n_products; ++p) {
      std::complex<double> sum = 0;
      for (std::size_t s = 0; s < 4; ++s) sum += mix_(p, s) * std::complex<double>(stokes.data()[4 * i + s]);
      to[i * n_products + p] = std::complex<float>(sum);
    }
}

}  // namespace apsyn::calibrate
