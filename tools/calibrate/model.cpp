// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/model.h"

#include <algorithm>
#include <numeric>

#include "libcore/base/error.h"
#include "libcore/formats/ms/columns.h"
#include "libcore/sky/sky_model.h"
#include "libcore/visibility/stokes.h"
#include "tools/calibrate/image_model.h"
#include "tools/calibrate/sky_predictor.h"

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
      : info_(input.info()), sky_(read_sky_model(path)), predictor_(sky_, info_) {
    if (std::all_of(sky_.components.begin(), sky_.components.end(), [](const SkyComponent& c) {
          return std::all_of(c.stokes_jy.begin(), c.stokes_jy.end(), [](double jy) { return jy == 0; });
        }))
      throw FailureError("{}: no usable data: the model has no flux", path);
  }
  std::string describe() const override {
    return fmt::format("model: {} components", sky_.components.size());
  }
  std::size_t n_planes() const override { return predictor_.n_planes(); }
  SumKind jones_kind() const override {
    return !predictor_.is_polarised()              ? SumKind::jones_unpolarised
           : has_cross_hands(sky_, info_.products) ? SumKind::jones_general
                                                   : SumKind::jones_diagonal;
  }
  void predict(const InputBlock& block, unsigned n_threads, Buffer<std::complex<float>, 3>& model) override {
    predictor_.predict(block, n_threads, model);
  }

 private:
  const InputInfo& info_;
  SkyModel sky_;
  SkyPredictor predictor_;
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
