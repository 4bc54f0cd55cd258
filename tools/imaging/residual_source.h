// SPDX-License-Identifier: GPL-3.0-or-later
// Data less a model, computed block by block while they are gridded. Every cycle subtracts the whole model
// from the original data, so that rounding errors do not add up.
//
// Processes that share the work need no visibilities of each other: whoever grids some w layers of one field
// predicts the same ones; of several fields, whose layers hold other visibilities each, whoever grids some
// rows predicts these. A process does not subtract the full model from visibilities that it does not grid;
// nobody uses those.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/idg/idg.h"
#include "libcore/base/view.h"
#include "libcore/imaging/prediction_store.h"
#include "libcore/visibility/imaging.h"
#include "tools/imaging/field.h"
#include "tools/imaging/imager.h"

namespace apsyn::imaging {

class ResidualSource final : public ImagingSource {
 public:
  /// `models` [field]: [plane][y][x] as the group's images, through the A-terms where there are any. Predicts
  /// while it is read when `own`'s gridders and the degridders have room for all their layers at once; else
  /// it keeps the residual visibilities, in a file in `folder` when the memory is short of that too.
  ResidualSource(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields, ImagingSource& data,
                 const std::vector<Buffer<double, 3>>& models, const std::string& folder);

  const ImagingInfo& info() const override { return data_.info(); }
  void rewind(const ChannelGroup& group) override;
  bool read(ImagingBlock& block, std::uint64_t max_bytes) override;
  const ImagingBlock* next(std::uint64_t max_bytes) override {
    return read(imager_.block, max_bytes) ? &imager_.block : nullptr;
  }

 private:
  /// Weights that the block will be gridded with, where predicting and gridding have to cut it alike.
  View<const float, 3> weights_of(const ImagingBlock& block);

  /// The negative model, so that predicting subtracts.
  void set_model(Degridder& degridder, const Buffer<double, 3>& model) const;

  void subtract(Degridder& degridder, std::size_t f, const ImagingBlock& from,
                Buffer<std::complex<float>, 3>& data);

  /// One field after the other, in as many passes as it needs.
  void keep_residuals(const IdgSetup& setup, const std::vector<Buffer<double, 3>>& models,
                      const std::string& folder);

  void add_pass(Degridder& degridder, std::size_t f);

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
