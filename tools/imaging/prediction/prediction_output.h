// SPDX-License-Identifier: GPL-3.0-or-later
// The output of a set's predictions: a column of the set, which is opened and written in a separate thread.
#pragma once

#include <complex>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/formats/ms/columns.h"
#include "libcore/imaging/prediction_target.h"
#include "tools/imaging/plane_mix.h"
#include "tools/imaging/prediction/prediction_options.h"

namespace apsyn::imaging {

/// The column to which predictions are written, and the one with which they are combined. Call wait() before
/// reading the set or ending, because casacore serves one thread at a time.
class Output {
 public:
  /// Starts adding the column if it is missing. `inspected`: by inspect_visibility_column(). Predictions are
  /// in the unit of the model, or of the column that they are combined with.
  Output(const PredictionOptions& options, const PredictionTarget& target,
         const VisibilityColumnState& inspected, FluxUnit model, unsigned n_threads);
  /// For rows of this process, beside the first one's output, which has added the column and commits.
  static std::unique_ptr<Output> beside(const PredictionOptions& options, const PredictionTarget& target,
                                        unsigned n_threads);
  /// Whether others can be written beside this one; after waiting for it.
  bool in_tiles();

  /// Waits until everything that was started has finished, and rethrows its exception.
  void wait() {
    if (pending_.valid()) pending_.get();
  }

  /// Begins to write `planes` of `block`, `mix` as Predictor::mix(). Swaps both for buffers of earlier calls,
  /// so that nothing is allocated.
  void write(PredictionBlock& block, const Buffer<std::complex<double>, 2>& mix,
             Buffer<std::complex<float>, 3>& planes);

  void commit(const std::vector<std::string>& history);

 private:
  Output(const PredictionOptions& options, const PredictionTarget& target, unsigned n_threads);
  void write_pending();
  void make_cells(std::size_t first_row, View<std::complex<float>, 3> cells) const;

  std::string path_;
  Combine combine_;
  unsigned n_threads_;
  std::optional<VisibilityColumnReader> input_;
  std::optional<VisibilityColumnWriter> column_;
  PredictionBlock block_;                  ///< what is being written
  Buffer<std::complex<float>, 3> planes_;  ///< [row][chan][plane]
  std::optional<PlaneMix> mix_;
  Buffer<std::complex<float>, 3> input_values_;  ///< [row][chan][product] of the column that is added to
  /// Declared last, so that it finishes before the members that it uses are destroyed.
  std::future<void> pending_;
};

}  // namespace apsyn::imaging
