// SPDX-License-Identifier: GPL-3.0-or-later
// One set: its rows in blocks through a predictor, in as many passes as that needs, into a column. Processes
// that share the work each go through all rows by themselves; the first adds up what the others predict of a
// block, and writes.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "libcore/core/parallel.h"
#include "libcore/core/program_memory.h"
#include "libcore/core/stokes.h"
#include "libcore/io/prediction_store.h"
#include "tools/imaging/predictors.h"
#include "tools/imaging/rank_rows.h"

namespace apsyn::imaging {

/// The column that predictions go to, and the one that they are combined with.
class Output {
 public:
  Output(const PredictionOptions& options, const PredictionTarget& target, unsigned n_threads)
      : combine_(options.combine()), n_threads_(n_threads) {
    if (combine_ != Combine::replace)
      input_.emplace(target.path(), selection_of(options, options.input_column));
    column_.emplace(target.path(), selection_of(options, options.written_column()));
  }
  /// `mix` as Predictor::mix().
  void write(const PredictionBlock& block, const Buffer<std::complex<double>, 2>& mix,
             View<const std::complex<float>, 3> planes) {
    const std::size_t n_row = planes.extent(0), n_chan = planes.extent(1);
    values_.resize({n_row, n_chan, mix.extent(0)});
    if (input_) input_->read(block.rows, block.channels, values_);
    const double sign = combine_ == Combine::subtract ? -1 : 1;
    parallel_for(n_threads_, n_row, [&](std::size_t row, unsigned) {
      if (std::binary_search(block.without_uvw.begin(), block.without_uvw.end(), row)) return;
      for (std::size_t chan = 0; chan < n_chan; ++chan)
        for (std::size_t product = 0; product < mix.extent(0); ++product) {
          std::complex<double> sum = 0;
          for (std::size_t plane = 0; plane < mix.extent(1); ++plane)
            sum += mix(product, plane) * std::complex<double>(planes(row, chan, plane));
          // Rounded as in a column of its own, so that a prediction less itself is 0.
          values_(row, chan, product) += std::complex<float>(sign * sum);
        }
    });
    column_->write(block.rows, block.channels, values_);
  }
  void commit(const std::vector<std::string>& history) { column_->commit(history); }

 private:
  Combine combine_;
  unsigned n_threads_;
  std::optional<VisibilityColumnReader> input_;
  std::optional<VisibilityColumnWriter> column_;
  Buffer<std::complex<float>, 3> values_;  ///< [row][chan][product]
};

/// First look: how many visibilities, how large |u|, |v| and |w|, about `centre`.
inline void survey(PredictionTarget& target, const SkyDirection& centre, Task& task) {
  PredictionBlock block;
  target.rewind(task.wanted, centre);
  while (target.read(block, task.max_block)) {
    const auto [low, high] = std::minmax_element(block.at.channel_hz.begin(), block.at.channel_hz.end());
    const double lowest = *low / kSpeedOfLight_m_s, highest = *high / kSpeedOfLight_m_s;
    for (std::size_t row = 0; row < block.at.uvw_m.extent(0); ++row) {
      Vec3 uvw_lambda;
      for (std::size_t i = 0; i < 3; ++i) {
        task.max_lambda[i] = std::max(task.max_lambda[i], std::abs(block.at.uvw_m(row, i)) * highest);
        uvw_lambda[i] = block.at.uvw_m(row, i) * (lowest + highest) / 2;
      }
      task.by_w.add(uvw_lambda, static_cast<double>(block.channels.size()));
    }
    task.n_visibilities += static_cast<double>(block.rows.row_number.size() * block.channels.size());
  }
}

/// All the task's rows and channels into `output`, which the first process alone has. Returns the number of
/// visibilities, planes counted.
inline double predict(Tool& tool, PredictionTarget& target, std::optional<Output>& output,
                      Predictor& predictor, const Task& task) {
  const std::vector<std::string> planes = predictor.planes();
  const auto mix = predictor.mix(target);
  const double n_values = task.n_visibilities * static_cast<double>(planes.size());
  const std::size_t n_passes = predictor.n_passes();
  const double free_bytes = static_cast<double>(tool.common().max_memory_bytes) -
                            static_cast<double>(predictor.bytes() + kProgramBytes);
  PredictionStore store(n_passes == 1 || n_values * sizeof(std::complex<float>) < free_bytes / 2);
  Progress progress(tool, "predicting", task.n_visibilities * static_cast<double>(n_passes), "vis");
  PredictionBlock block;
  Buffer<std::complex<float>, 3> data;
  double done = 0;
  for (std::size_t pass = 0; pass < n_passes; ++pass) {
    tool.stage("layers");
    predictor.begin_pass(pass);
    target.rewind(task.wanted, predictor.centre());
    store.rewind();
    for (tool.stage("read"); target.read(block, task.max_block); tool.stage("read")) {
      data.resize({block.rows.row_number.size(), block.channels.size(), planes.size()});
      store.load(data);
      tool.stage("predict");
      predictor.predict(block, data);
      tool.stage("write");
      if (pass + 1 == n_passes) {
        if (output) {
          for (int rank = 1; rank < tool.ranks().size; ++rank) add_rows_of(rank, data);
          output->write(block, mix, data);
        } else {
          send_rows_to_root(data);
        }
        store.skip(data);
      } else {
        store.save(data);
      }
      progress.update(done += static_cast<double>(block.rows.row_number.size() * block.channels.size()));
    }
  }
  return n_values;
}

}  // namespace apsyn::imaging
