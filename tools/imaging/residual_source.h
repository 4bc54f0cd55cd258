// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities less those of a model, block by block on their way into an image. They are the data less the
// whole model every time, so that no rounding adds up from one major cycle to the next.
//
// Processes that share the work need no visibilities of each other: whoever grids some w layers of one field
// predicts the same ones; of several fields, whose layers hold other visibilities each, whoever grids some
// rows predicts these. Others' visibilities keep some of the model here, but are not gridded here either.
#pragma once

#include <algorithm>
#include <complex>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/idg/partition/partition.h"
#include "libcore/imaging/prediction_store.h"
#include "libcore/system/parallel.h"
#include "tools/imaging/degrid_passes.h"
#include "tools/imaging/imager.h"

namespace apsyn::imaging {

class ResidualSource final : public ImagingSource {
 public:
  /// `models` [field]: [plane][y][x] as the group's images, through the A-terms where there are any. Predicts
  /// while it is read when `own`'s gridders and the degridders have room for all their layers at once; else
  /// it keeps the residual visibilities, in a file in `folder` when the memory is short of that too.
  ResidualSource(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields, ImagingSource& data,
                 const std::vector<Buffer<double, 3>>& models, const std::string& folder)
      : imager_(imager), own_(own), fields_(fields), data_(data) {
    const IdgSetup setup = prediction_setup(imager);
    if (predicts_while_gridding(imager, own_)) {
      for (std::size_t f = 0; f < fields_.size(); ++f) {
        degridders_.push_back(make_degridder(imager_.device, own_.fields[f].plan, setup));
        set_model(*degridders_[f], models[f]);
        const LayerRange layers = predicted_layers(imager_, own_, f);
        degridders_[f]->begin_pass(layers);
      }
    } else {
      keep_residuals(setup, models, folder);
    }
  }

  const ImagingInfo& info() const override { return data_.info(); }
  void rewind(const ChannelGroup& group) override {
    if (read_)
      throw std::logic_error("ResidualSource: a second pass over visibilities that are predicted once");
    read_ = !kept_;
    data_.rewind(group);
    if (kept_) kept_->rewind();
  }
  bool read(ImagingBlock& block, std::uint64_t max_bytes) override {
    imager_.tool.stage("predict");
    if (!data_.read(block, max_bytes)) {
      degridders_.clear();  // their layers make room for the images
      return false;
    }
    if (kept_)
      kept_->copy(block.data);
    else
      for (std::size_t f = 0; f < fields_.size(); ++f) subtract(*degridders_[f], f, block, block.data);
    return true;
  }
  const ImagingBlock* next(std::uint64_t max_bytes) override {
    return read(imager_.block, max_bytes) ? &imager_.block : nullptr;
  }

 private:
  /// Those that the block will be gridded with, where it matters that both cut it alike.
  View<const float, 3> weights_of(const ImagingBlock& block) {
    if (imager_.ranks.size == 1) return block.weight;
    own_.weights->apply(block, imager_.threads(), imager_.weighted);
    return imager_.weighted;
  }

  /// The negative model, so that predicting subtracts.
  void set_model(Degridder& degridder, const Buffer<double, 3>& model) const {
    Buffer<double, 3> negative;
    negative.resize_for_overwrite(model.shape());
    const std::size_t n_x = model.extent(2);
    parallel_for(imager_.threads(), model.size() / n_x, [&](std::size_t row, unsigned) {
      const double* from = model.data() + row * n_x;
      std::transform(from, from + n_x, negative.data() + row * n_x, [](double flux) { return -flux; });
    });
    degridder.set_model(negative);
  }

  void subtract(Degridder& degridder, std::size_t f, const ImagingBlock& from,
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

  /// One field after the other, in as many passes as it needs.
  void keep_residuals(const IdgSetup& setup, const std::vector<Buffer<double, 3>>& models,
                      const std::string& folder) {
    const auto& common = imager_.tool.common();
    std::vector<DegridPasses> passes;
    std::uint64_t needed = own_.passes.host.bytes(own_.passes.layers);
    for (const FieldGridder& field : own_.fields) {
      passes.push_back(
          plan_degrid_passes(imager_.device, field.plan, setup, prediction_demand(imager_, own_)));
      needed = std::max(needed, passes.back().memory.bytes(passes.back().layers));
    }
    needed += own_.other_bytes + static_cast<std::uint64_t>(own_.found.n_visibilities) *
                                     sizeof(std::complex<float>) * setup.n_data_planes;
    const bool in_memory = needed <= common.max_memory_bytes;
    log_verbose("residual visibilities are kept {}: gridding and predicting at once takes more memory",
                in_memory ? "in memory" : "in a temporary file in " + folder);
    kept_.emplace(in_memory, folder);
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      auto degridder = make_degridder(imager_.device, own_.fields[f].plan, passes[f].setup);
      set_model(*degridder, models[f]);
      const LayerRange layers = predicted_layers(imager_, own_, f);
      for (std::size_t done = 0; done < layers.n; done += passes[f].layers) {
        degridder->begin_pass({layers.first + done, std::min(passes[f].layers, layers.n - done)});
        add_pass(*degridder, f);
      }
    }
  }

  void add_pass(Degridder& degridder, std::size_t f) {
    imager_.tool.stage("predict");
    ImagingBlock block;
    data_.rewind(own_.group);
    kept_->rewind();
    while (data_.read(block, imager_.block_bytes)) {
      kept_->load(block.data);
      subtract(degridder, f, block, block.data);
      kept_->save(block.data);
    }
  }

  Imager& imager_;
  PreparedGroup& own_;
  const std::vector<Field>& fields_;
  ImagingSource& data_;
  std::vector<std::unique_ptr<Degridder>> degridders_;  ///< [field]; none when residuals are kept
  std::optional<PredictionStore> kept_;
  bool read_ = false;  ///< or being read, while they are predicted
  BlockMover move_;
};

}  // namespace apsyn::imaging
