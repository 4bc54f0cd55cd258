// SPDX-License-Identifier: GPL-3.0-or-later
// Data less a model, computed block by block while they are gridded. Every cycle subtracts the whole model
// from the original data, so that rounding errors do not add up.
//
// Processes that share the work need no visibilities of each other: with one field, a process that grids some
// w layers predicts the same layers; with several fields, whose layers hold different visibilities, a process
// that grids some rows predicts those rows. Visibilities that a process does not grid do not have the full
// model subtracted, and are not used. Gains, however, are those of whole baselines: while they are found,
// each process predicts its share, and all get the sum.
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
#include "tools/imaging/calibration/self_calibration.h"
#include "tools/imaging/field.h"
#include "tools/imaging/imager.h"

namespace apsyn::imaging {

class ResidualSource final : public ImagingSource {
 public:
  /// `models` [field]: [plane][y][x] as the group's images, through A-terms if there are any. If `own`'s
  /// gridders and the degridders fit into memory with all their layers, visibilities are predicted while they
  /// are read; otherwise the residual visibilities are kept, in a file in `folder` if memory does not suffice
  /// for that either.
  ResidualSource(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields, ImagingSource& data,
                 const std::vector<Buffer<double, 3>>& models, const std::string& folder);
  /// The same for data that are calibrated before anything is subtracted from them: predicts all of the model
  /// first, for what `calibration.uncorrected()` reads, has the group solved, and then gives what
  /// calibration.corrected() reads, less the predictions, which are kept meanwhile.
  ResidualSource(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                 calibrate::SelfCalibration& calibration, const std::vector<Buffer<double, 3>>& models,
                 const std::string& folder);

  const ImagingInfo& info() const override { return data_.info(); }
  void rewind(const ChannelGroup& group) override;
  bool read(ImagingBlock& block, std::uint64_t max_bytes) override;
  const ImagingBlock* next(std::uint64_t max_bytes) override {
    return read(imager_.block, max_bytes) ? &imager_.block : nullptr;
  }

 private:
  /// The weights with which the block will be gridded, if predicting and gridding have to cut it in the same
  /// way.
  View<const float, 3> weights_of(const ImagingBlock& block);

  /// The negative model, so that predicting subtracts.
  void set_model(Degridder& degridder, const Buffer<double, 3>& model) const;

  void subtract(Degridder& degridder, std::size_t f, const ImagingBlock& from,
                Buffer<std::complex<float>, 3>& data);

  /// Subtracts the model field by field, each in as many passes as it needs: from `data`, or, where only
  /// predictions are kept, from 0.
  void keep_residuals(ImagingSource& data, const std::vector<Buffer<double, 3>>& models,
                      const std::string& folder);

  void add_pass(ImagingSource& data, Degridder& degridder, std::size_t f);

  /// The predictions of all processes, added up in their order, take the place of each one's.
  void sum_predictions(ImagingSource& data);

  Imager& imager_;
  PreparedGroup& own_;
  const std::vector<Field>& fields_;
  ImagingSource& data_;
  std::vector<std::unique_ptr<Degridder>> degridders_;  ///< [field]; none when residuals are kept
  std::optional<PredictionStore> kept_;
  bool keeps_predictions_ = false;  ///< alone, not data less these
  PredictionStore::Data predicted_;
  bool read_ = false;  ///< whether the kept residuals (or the data, while they are predicted) have been read
  BlockMover move_;
};

}  // namespace apsyn::imaging
