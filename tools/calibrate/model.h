// SPDX-License-Identifier: GPL-3.0-or-later
// The sky that data are compared with: components, a column of the set, or model images.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/calibrate/sums.h"
#include "libcore/base/view.h"
#include "libcore/cli/tool.h"
#include "libcore/sky/aterms.h"
#include "libcore/sky/sky_model.h"
#include "tools/calibrate/input.h"
#include "tools/calibrate/options.h"
#include "tools/imaging/components/component_sums.h"

namespace apsyn::calibrate {

class ModelSource {
 public:
  virtual ~ModelSource() = default;
  /// Text for --dry-run and -v.
  virtual std::string describe() const = 0;
  /// Number of planes that predict() gives: 1 (the same for each hand), 2 (the parallel hands of four) or as
  /// many as the data have products.
  virtual std::size_t n_planes() const = 0;
  /// The smallest SumKind that 2x2 terms need for this model, as far as that is known in advance.
  virtual SumKind jones_kind() const = 0;
  /// Call it before the rows are read again.
  virtual void rewind() {}
  /// The model of all rows of a block, whose cells have been read: [row][chan][plane].
  virtual void predict(const InputBlock& block, unsigned n_threads,
                       Buffer<std::complex<float>, 3>& model) = 0;
  /// Whether predict() reads the Measurement Set, which only one thread may do at a time.
  virtual bool reads_the_set() const { return false; }
  /// Memory besides the blocks.
  virtual std::uint64_t bytes() const { return 0; }
};

/// The components of --sky, and how they are predicted.
struct SkyInput {
  SkyModel sky;
  std::unique_ptr<AtermModel> aterms;
  imaging::ComponentSumsSetup setup;
};

/// Chooses the device, too. FailureError "no usable data" for a sky without any flux; DataError as
/// open_aterms().
SkyInput open_sky(const Tool& tool, const Options& options, const InputInfo& info);

/// `sky`, that of --sky, or null, must outlive the result. UsageError when no model is named and the set has
/// no MODEL_DATA.
std::unique_ptr<ModelSource> open_model(Tool& tool, const Options& options, const SkyInput* sky,
                                        VisibilityInput& input);

}  // namespace apsyn::calibrate
