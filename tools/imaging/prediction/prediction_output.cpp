// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/prediction/prediction_output.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/system/parallel.h"

namespace apsyn::imaging {

Output::Output(const PredictionOptions& options, const PredictionTarget& target, unsigned n_threads)
    : path_(target.path()), combine_(options.combine()), n_threads_(n_threads) {
  if (combine_ != Combine::replace)
    input_.emplace(target.path(), selection_of(options, options.input_column));
}

Output::Output(const PredictionOptions& options, const PredictionTarget& target,
               const VisibilityColumnState& inspected, FluxUnit model, unsigned n_threads)
    : Output(options, target, n_threads) {
  const FluxUnit unit = input_ ? input_->flux_unit() : model;
  if (unit != model)
    log_warning(
        "{}: column {} is in {}, and the model, which is {} it, in {}: scale one of them to the other's unit",
        target.path(), options.input_column, name_of(unit),
        combine_ == Combine::subtract ? "subtracted from" : "added to", name_of(model));
  if (inspected.exists && inspected.flux_unit != unit)
    log_warning("{}: column {} is there already and keeps its unit {}: what it gets is in {}", target.path(),
                options.written_column(), name_of(inspected.flux_unit), name_of(unit));
  pending_ = std::async(std::launch::async, [this, inspected, unit, path = target.path(),
                                             selection = selection_of(options, options.written_column())] {
    column_.emplace(path, selection, inspected, unit);
  });
}

std::unique_ptr<Output> Output::beside(const PredictionOptions& options, const PredictionTarget& target,
                                       unsigned n_threads) {
  std::unique_ptr<Output> output(new Output(options, target, n_threads));
  output->column_.emplace(
      VisibilityColumnWriter::beside(target.path(), selection_of(options, options.written_column())));
  return output;
}

bool Output::in_tiles() {
  wait();
  return column_->in_tiles();
}

void Output::write(PredictionBlock& block, const Buffer<std::complex<double>, 2>& mix,
                   Buffer<std::complex<float>, 3>& planes) {
  wait();
  std::swap(block_, block);
  std::swap(planes_, planes);
  mix_.emplace(mix, combine_ == Combine::subtract ? -1 : 1);
  pending_ = std::async(std::launch::async, [this] { write_pending(); });
}

void Output::commit(const std::vector<std::string>& history) {
  wait();
  column_->commit(history);
}

void Output::write_pending() {
  if (input_) {
    resize_for_threads(n_threads_, {planes_.extent(0), planes_.extent(1), mix_->n_products()}, input_values_);
    input_->read(block_.rows, block_.channels, input_values_, n_threads_);
  }
  column_->write(
      block_.rows, block_.channels, mix_->n_products(),
      [this](std::size_t first_row, View<std::complex<float>, 3> cells) { make_cells(first_row, cells); },
      n_threads_);
}

/// From a thread of several.
void Output::make_cells(std::size_t first_row, View<std::complex<float>, 3> cells) const {
  const std::size_t n_chan = planes_.extent(1), row_values = n_chan * mix_->n_products();
  for (std::size_t i = 0; i < cells.extent(0); ++i) {
    const std::size_t row = first_row + i;
    std::complex<float>* values = cells.data() + i * row_values;
    if (input_)
      std::copy_n(&input_values_(row, 0, 0), row_values, values);
    else if (!block_.without_uvw.empty())
      std::fill_n(values, row_values, std::complex<float>{});
    if (std::binary_search(block_.without_uvw.begin(), block_.without_uvw.end(), row)) continue;
    if (!mix_->apply(&planes_(row, 0, 0), n_chan, input_.has_value(), values))
      throw FailureError(
          "{}: row {}: a predicted visibility is not finite: look for fluxes, pixels or A-terms that are too "
          "large for numbers of 32 bits",
          path_, block_.rows.row_number[row]);
  }
}

}  // namespace apsyn::imaging
