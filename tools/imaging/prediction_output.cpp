// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/prediction_output.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/system/parallel.h"

namespace apsyn::imaging {

Output::Output(const PredictionOptions& options, const PredictionTarget& target,
               const VisibilityColumnState& inspected, FluxUnit model, unsigned n_threads)
    : path_(target.path()), combine_(options.combine()), n_threads_(n_threads) {
  if (combine_ != Combine::replace)
    input_.emplace(target.path(), selection_of(options, options.input_column));
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

void Output::write(PredictionBlock& block, const Buffer<std::complex<double>, 2>& mix,
                   Buffer<std::complex<float>, 3>& planes) {
  wait();
  std::swap(block_, block);
  std::swap(planes_, planes);
  mix_.resize_for_overwrite(mix.shape());
  std::copy(mix.begin(), mix.end(), mix_.begin());
  pending_ = std::async(std::launch::async, [this] {
    combine();
    column_->write(block_.rows, block_.channels, values_, n_threads_);
  });
}

void Output::commit(const std::vector<std::string>& history) {
  wait();
  column_->commit(history);
}

void Output::combine() {
  const std::size_t n_row = planes_.extent(0), n_chan = planes_.extent(1), n_plane = planes_.extent(2),
                    n_product = mix_.extent(0);
  resize_for_threads(n_threads_, {n_row, n_chan, n_product}, values_);
  if (input_) input_->read(block_.rows, block_.channels, values_, n_threads_);
  const double sign = combine_ == Combine::subtract ? -1 : 1;
  constexpr std::size_t rows_at_once = 64;
  parallel_for(n_threads_, (n_row + rows_at_once - 1) / rows_at_once, [&](std::size_t item, unsigned) {
    for (std::size_t row = item * rows_at_once; row < std::min(n_row, (item + 1) * rows_at_once); ++row) {
      std::complex<float>* value = &values_(row, 0, 0);
      if (!input_) std::fill_n(value, n_chan * n_product, std::complex<float>{});
      if (std::binary_search(block_.without_uvw.begin(), block_.without_uvw.end(), row)) continue;
      const std::complex<float>* plane = &planes_(row, 0, 0);
      for (std::size_t chan = 0; chan < n_chan; ++chan, plane += n_plane)
        for (std::size_t product = 0; product < n_product; ++product, ++value) {
          const std::complex<double>* factor = &mix_(product, 0);
          double re = 0, im = 0;
          for (std::size_t p = 0; p < n_plane; ++p) {
            // Multiplied by hand, because the operator for complex numbers checks for infinities.
            const double x = plane[p].real(), y = plane[p].imag();
            re += factor[p].real() * x - factor[p].imag() * y;
            im += factor[p].real() * y + factor[p].imag() * x;
          }
          // Rounded as if it were written to a separate column, so that a prediction minus itself is 0.
          const std::complex<float> predicted(static_cast<float>(sign * re), static_cast<float>(sign * im));
          if (!std::isfinite(predicted.real()) || !std::isfinite(predicted.imag()))
            throw FailureError(
                "{}: row {}: a predicted visibility is not finite: look for fluxes, pixels or A-terms that "
                "are too large for numbers of 32 bits",
                path_, block_.rows.row_number[row]);
          *value += predicted;
        }
    }
  });
}

}  // namespace apsyn::imaging
