// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "libcore/aterms/aterms.h"
#include "libcore/base/error.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "libcore/formats/ms/columns.h"
#include "libcore/sky/sky_model.h"
#include "libcore/system/program_memory.h"
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
  SkyModelSource(const SkyInput& sky, const VisibilityInput& input)
      : info_(input.info()), input_(sky), predictor_(sky.sky, info_, sky.setup) {}
  std::string describe() const override {
    return fmt::format("model: {} components{}{}", input_.sky.components.size(),
                       input_.aterms ? " through the A-terms of each station" : "",
                       input_.setup.device.kind == Device::Kind::cuda ? ", summed on a GPU" : "");
  }
  std::size_t n_planes() const override { return predictor_.n_planes(); }
  SumKind jones_kind() const override {
    return !predictor_.is_polarised()                                     ? SumKind::jones_unpolarised
           : input_.aterms || has_cross_hands(input_.sky, info_.products) ? SumKind::jones_general
                                                                          : SumKind::jones_diagonal;
  }
  void predict(const InputBlock& block, unsigned, Buffer<std::complex<float>, 3>& model) override {
    predictor_.predict(block, model);
  }
  std::uint64_t bytes() const override { return predictor_.bytes(); }

 private:
  const InputInfo& info_;
  const SkyInput& input_;
  SkyPredictor predictor_;
};

class ColumnModelSource final : public ModelSource {
 public:
  ColumnModelSource(const Options& options, const VisibilityInput& input, const std::string& column)
      : info_(input.info()), name_(column), reader_(info_.path, selection_of(options, column)) {}
  std::string describe() const override { return "model: column " + name_; }
  std::size_t n_planes() const override { return info_.products.size(); }
  SumKind jones_kind() const override { return SumKind::jones_general; }
  bool reads_the_set() const override { return true; }
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

SkyInput open_sky(const Tool& tool, const Options& options, const InputInfo& info) {
  SkyInput input{read_sky_model(options.sky), nullptr, {}};
  if (std::all_of(input.sky.components.begin(), input.sky.components.end(), [](const SkyComponent& c) {
        return std::all_of(c.stokes_jy.begin(), c.stokes_jy.end(), [](double jy) { return jy == 0; });
      }))
    throw FailureError("{}: no usable data: the model has no flux", options.sky);
  input.setup.n_threads = tool.common().threads;
  input.setup.single = true;
  input.setup.max_matrix_bytes = memory_for_data(tool.common().max_memory_bytes) / 16;
  if (!options.selection.aterms.empty()) {
    set_beam_data_folder(options.selection.beam_data);
    ArrayTables tables;
    if (!info.is_stream) tables = {{info.path}, options.selection.column, info.fields_with_rows};
    input.aterms = open_aterms({options.selection.aterms, options.selection.aterms_text}, info.layout,
                               are_circular(info.products), tables);
    input.setup.aterms = input.aterms.get();
  }
  if (!options.directions.empty()) {  // a model for each patch, of small blocks
    input.setup.device = tool.device(CudaSupport::none);
    return input;
  }
  double n_terms = static_cast<double>(input.sky.components.size()), n_rows = 0, n_chan = 0;
  for (const MsIntegration& integration : info.integrations)
    n_rows += static_cast<double>(integration.n_rows);
  for (const MsSpectralWindow& window : info.windows)
    n_chan = std::max(n_chan, static_cast<double>(window.channel_hz.size()));
  n_terms *= options.follow ? INFINITY : n_rows * n_chan;  // a stream that is followed has no end
  input.setup.device = imaging::component_device(tool, n_terms, imaging::component_rate(input.setup));
  return input;
}

std::unique_ptr<ModelSource> open_model(Tool& tool, const Options& options, const SkyInput* sky,
                                        VisibilityInput& input) {
  if (sky != nullptr) return std::make_unique<SkyModelSource>(*sky, input);
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
