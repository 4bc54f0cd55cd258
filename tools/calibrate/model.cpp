// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/model.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "kernels/simulate/components.h"
#include "kernels/simulate/fast_components.h"
#include "libcore/base/error.h"
#include "libcore/ms/columns.h"
#include "libcore/sky/sky_model.h"
#include "libcore/system/parallel.h"
#include "libcore/visibility/stokes.h"
#include "tools/calibrate/image_model.h"

namespace apsyn::calibrate {
namespace {

/// Stokes parameters that do not go to the parallel hands of these products.
bool has_cross_hands(const SkyModel& sky, const std::vector<Product>& products) {
  const bool circular = are_circular(products);
  return std::any_of(sky.components.begin(), sky.components.end(), [&](const SkyComponent& c) {
    const auto& jy = c.stokes_jy;
    return circular ? jy[1] != 0 || jy[2] != 0 : jy[2] != 0 || jy[3] != 0 || c.rotation_measure_rad_m2 != 0;
  });
}

class SkyModelSource final : public ModelSource {
 public:
  SkyModelSource(const std::string& path, const VisibilityInput& input)
      : info_(input.info()), sky_(read_sky_model(path)), polarised_(simulate::stokes_of(sky_).size() > 1) {
    if (std::all_of(sky_.components.begin(), sky_.components.end(), [](const SkyComponent& c) {
          return std::all_of(c.stokes_jy.begin(), c.stokes_jy.end(), [](double jy) { return jy == 0; });
        }))
      throw FailureError("{}: no usable data: the model has no flux", path);
    // Throws where the products are none of feeds.
    mix_ = products_of_planes({"I", "Q", "U", "V"}, info_.products, info_.path);
  }
  std::string describe() const override {
    return fmt::format("model: {} components", sky_.components.size());
  }
  std::size_t n_planes() const override { return polarised_ ? info_.products.size() : 1; }
  SumKind jones_kind() const override {
    return !polarised_                             ? SumKind::jones_unpolarised
           : has_cross_hands(sky_, info_.products) ? SumKind::jones_general
                                                   : SumKind::jones_diagonal;
  }

  void predict(const InputBlock& block, unsigned n_threads, Buffer<std::complex<float>, 3>& model) override {
    const MsRows& rows = block.rows;
    const std::size_t n_row = rows.ant1.size();
    const std::vector<double>& channel_hz = info_.windows[static_cast<std::size_t>(rows.spw)].channel_hz;
    model.resize_for_overwrite({n_row, channel_hz.size(), n_planes()});
    std::vector<std::pair<std::size_t, std::size_t>> parts;  // rows of one field, few at a time
    constexpr std::size_t kRows = 256;
    for (std::size_t first = 0, n = 0; first < n_row; first += n) {
      for (n = 1; n < kRows && first + n < n_row && rows.field[first + n] == rows.field[first];) ++n;
      parts.emplace_back(first, n);
      predictor(rows.spw, rows.field[first]);
    }
    parallel_for(n_threads, parts.size(), [&](std::size_t item, unsigned) {
      predict_part(block, parts[item].first, parts[item].second, model);
    });
  }

 private:
  const simulate::FastComponentPredictor& predictor(int spw, int field) {
    auto& made = predictors_[{spw, field}];
    if (!made)
      made.emplace(sky_, info_.fields[static_cast<std::size_t>(field)].phase_centre,
                   info_.windows[static_cast<std::size_t>(spw)].channel_hz);
    return *made;
  }

  void predict_part(const InputBlock& block, std::size_t first, std::size_t n,
                    Buffer<std::complex<float>, 3>& model) const {
    const MsRows& rows = block.rows;
    const simulate::FastComponentPredictor& predictor = *predictors_.at({rows.spw, rows.field[first]});
    const View<const double, 2> uvw(&rows.uvw_m(first, 0), {n, 3});
    const View<const double, 1> path(block.path_m.size() == 0 ? nullptr : &block.path_m(first),
                                     {block.path_m.size() == 0 ? 0 : n});
    const std::size_t n_chan = model.extent(1), n_planes = model.extent(2);
    std::complex<float>* const to = n_chan == 0 ? nullptr : &model(first, 0, 0);
    if (!polarised_) return predictor.predict(uvw, path, {to, {n, n_chan, n_planes}});
    thread_local Buffer<std::complex<float>, 3> stokes;
    stokes.resize_for_overwrite({n, n_chan, 4});
    predictor.predict(uvw, path, stokes);
    for (std::size_t i = 0; i < n * n_chan; ++i)
      for (std::size_t p = 0; p < n_planes; ++p) {
        std::complex<double> sum = 0;
        for (std::size_t s = 0; s < 4; ++s)
          sum += mix_(p, s) * std::complex<double>(stokes.data()[4 * i + s]);
        to[i * n_planes + p] = std::complex<float>(sum);
      }
  }

  const InputInfo& info_;
  SkyModel sky_;
  bool polarised_;
  Buffer<std::complex<double>, 2> mix_;  ///< [product][stokes]
  std::map<std::pair<int, int>, std::optional<simulate::FastComponentPredictor>> predictors_;
};

class ColumnModelSource final : public ModelSource {
 public:
  ColumnModelSource(const Options& options, const VisibilityInput& input, const std::string& column)
      : info_(input.info()), name_(column), reader_(info_.path, selection_of(options, column)) {}
  std::string describe() const override { return "model: column " + name_; }
  std::size_t n_planes() const override { return info_.products.size(); }
  SumKind jones_kind() const override { return SumKind::jones_general; }
  void predict(const InputBlock& block, unsigned n_threads, Buffer<std::complex<float>, 3>& model) override {
    const std::size_t n_chan = info_.windows[static_cast<std::size_t>(block.rows.spw)].channel_hz.size();
    std::vector<std::size_t> channels(n_chan);
    std::iota(channels.begin(), channels.end(), std::size_t{0});
    model.resize_for_overwrite({block.rows.ant1.size(), n_chan, n_planes()});
    reader_.read(block.rows, channels, model, n_threads);
  }

 private:
  const InputInfo& info_;
  std::string name_;
  VisibilityColumnReader reader_;
};

}  // namespace

std::unique_ptr<ModelSource> open_model(Tool& tool, const Options& options, VisibilityInput& input) {
  if (!options.sky.empty()) return std::make_unique<SkyModelSource>(options.sky, input);
  if (!options.models.empty()) return open_image_model(tool, options, input);
  const std::string column = options.model_column.empty() ? "MODEL_DATA" : options.model_column;
  if (input.info().is_stream)
    throw UsageError("{}: a stream has no model: give one with --sky or --model", options.input());
  if (options.model_column.empty() && !input.has_column(column))
    throw UsageError("{}: there is no column MODEL_DATA: give a model with --sky, --model or --model-column",
                     options.input());
  return std::make_unique<ColumnModelSource>(options, input, column);
}

}  // namespace apsyn::calibrate
