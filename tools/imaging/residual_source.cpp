// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/residual_source.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "libcore/base/log.h"
#include "libcore/system/parallel.h"
#include "libcore/system/ranks.h"
#include "tools/imaging/passes.h"
#include "tools/imaging/prediction/degrid_passes.h"
#include "tools/imaging/rank_rows.h"
#include "tools/imaging/rank_share.h"

namespace apsyn::imaging {

ResidualSource::ResidualSource(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                               ImagingSource& data, const std::vector<Buffer<double, 3>>& models,
                               const std::string& folder)
    : imager_(imager), own_(own), fields_(fields), data_(data) {
  if (predicts_while_gridding(imager, own_)) {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      degridders_.push_back(make_degridder(imager_.device, own_.fields[f].plan, prediction_setup(imager)));
      set_model(*degridders_[f], models[f]);
      const LayerRange layers = predicted_layers(imager_, own_, f);
      degridders_[f]->begin_pass(layers);
    }
  } else {
    keep_residuals(data, models, folder);
  }
}

ResidualSource::ResidualSource(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                               calibrate::SelfCalibration& calibration,
                               const std::vector<Buffer<double, 3>>& models, const std::string& folder)
    : imager_(imager), own_(own), fields_(fields), data_(calibration.corrected()), keeps_predictions_(true) {
  keep_residuals(calibration.uncorrected(), models, folder);
  if (imager_.ranks.size > 1) sum_predictions(calibration.uncorrected());
  imager_.tool.stage("calibrate");
  calibration.solve(own_.group, *kept_, imager_.block_bytes);
}

void ResidualSource::rewind(const ChannelGroup& group) {
  if (read_)
    throw std::logic_error("ResidualSource: a second pass over visibilities that are predicted once");
  read_ = !kept_;
  data_.rewind(group);
  if (kept_) kept_->rewind();
}

bool ResidualSource::read(ImagingBlock& block, std::uint64_t max_bytes) {
  imager_.tool.stage("predict");
  if (!data_.read(block, max_bytes)) {
    degridders_.clear();  // frees their layers, for the memory of the images
    return false;
  }
  if (keeps_predictions_) {
    resize_for_threads(imager_.threads(), block.data.shape(), predicted_);
    kept_->copy(predicted_);
    const std::size_t row_values = block.data.extent(1) * block.data.extent(2);
    parallel_for(imager_.threads(), block.data.extent(0), [&](std::size_t row, unsigned) {
      const std::complex<float>* from = predicted_.data() + row * row_values;
      std::complex<float>* to = block.data.data() + row * row_values;
      for (std::size_t i = 0; i < row_values; ++i) to[i] += from[i];
    });
  } else if (kept_) {
    kept_->copy(block.data);
  } else {
    for (std::size_t f = 0; f < fields_.size(); ++f) subtract(*degridders_[f], f, block, block.data);
  }
  return true;
}

View<const float, 3> ResidualSource::weights_of(const ImagingBlock& block) {
  if (imager_.ranks.size == 1 || keeps_predictions_) return block.weight;
  own_.weights->apply(block, imager_.threads(), imager_.weighted);
  return imager_.weighted;
}

void ResidualSource::set_model(Degridder& degridder, const Buffer<double, 3>& model) const {
  Buffer<double, 3> negative;
  negative.resize_for_overwrite(model.shape());
  const std::size_t n_x = model.extent(2);
  parallel_for(imager_.threads(), model.size() / n_x, [&](std::size_t row, unsigned) {
    const double* from = model.data() + row * n_x;
    std::transform(from, from + n_x, negative.data() + row * n_x, [](double flux) { return -flux; });
  });
  degridder.set_model(negative);
}

void ResidualSource::subtract(Degridder& degridder, std::size_t f, const ImagingBlock& from,
                              Buffer<std::complex<float>, 3>& data) {
  const std::size_t row_values = data.extent(1) * data.extent(2);
  const RankShare& share = own_.shares[f];
  std::size_t first = 0;
  own_.fields[f].for_each_part(from, move_(from, weights_of(from), fields_[f]), [&](GridBlock part) {
    const std::size_t n_rows = part.uvw_m.extent(0);
    const auto [skip, n] = share.rows_of_part(first, n_rows, data.extent(0));
    const std::size_t begin = first + skip;
    first += n_rows;
    if (n == 0) return;
    part.data = {};
    if (n < n_rows) part = rows_of(part, skip, n);
    degridder.degrid(part, View<std::complex<float>, 3>(data.data() + begin * row_values,
                                                        {n, data.extent(1), data.extent(2)}));
  });
}

void ResidualSource::keep_residuals(ImagingSource& data, const std::vector<Buffer<double, 3>>& models,
                                    const std::string& folder) {
  const KeptPlan plan = plan_kept(imager_, own_);
  const std::vector<DegridPasses>& passes = plan.fields;
  const bool in_memory = plan.bytes <= imager_.tool.common().max_memory_bytes;
  const std::string where = in_memory ? "in memory" : "in a temporary file in " + folder;
  if (keeps_predictions_)
    log_verbose("predictions are kept {}", where);
  else
    log_verbose("residual visibilities are kept {}: gridding and predicting at once takes more memory",
                where);
  kept_.emplace(in_memory, folder);
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    auto degridder = make_degridder(imager_.device, own_.fields[f].plan, passes[f].setup);
    set_model(*degridder, models[f]);
    const LayerRange layers = keeps_predictions_ ? own_.shares[f].layers : predicted_layers(imager_, own_, f);
    for (std::size_t done = 0; done < layers.n; done += passes[f].layers) {
      degridder->begin_pass(layers.part(done, passes[f].layers));
      add_pass(data, *degridder, f);
    }
  }
}

void ResidualSource::add_pass(ImagingSource& data, Degridder& degridder, std::size_t f) {
  imager_.tool.stage("predict");
  ImagingBlock block;
  data.rewind(own_.group);
  kept_->rewind();
  while (data.read(block, imager_.block_bytes)) {
    if (keeps_predictions_) block.data.fill({});
    kept_->load(block.data);
    subtract(degridder, f, block, block.data);
    kept_->save(block.data);
  }
}

void ResidualSource::sum_predictions(ImagingSource& data) {
  ImagingBlock block;
  data.rewind(own_.group);
  kept_->rewind();
  while (data.read(block, imager_.block_bytes)) {
    kept_->load(block.data);
    if (imager_.ranks.root())
      for (int rank = 1; rank < imager_.ranks.size; ++rank) add_rows_of(rank, block.data);
    else
      send_rows_to_root(block.data);
    broadcast(std::span(block.data.data(), block.data.size()));
    kept_->save(block.data);
  }
}

}  // namespace apsyn::imaging
