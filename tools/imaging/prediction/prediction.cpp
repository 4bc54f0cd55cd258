// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/prediction/prediction.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/base/view.h"
#include "libcore/imaging/prediction_store.h"
#include "libcore/system/parallel.h"
#include "libcore/system/program_memory.h"
#include "tools/imaging/rank_rows.h"

namespace apsyn::imaging {

void survey(PredictionTarget& target, const SkyDirection& centre, unsigned n_threads, Task& task) {
  PredictionBlock block;
  target.rewind(task.wanted, centre);
  while (target.read(block, task.max_block, n_threads)) {
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

double kept_bytes(const Predictor& predictor, const Task& task) {
  return task.n_visibilities * static_cast<double>(predictor.planes().size() * sizeof(std::complex<float>));
}

bool kept_in_memory(const Tool& tool, const Predictor& predictor, const Task& task) {
  const double free_bytes = static_cast<double>(tool.common().max_memory_bytes) -
                            static_cast<double>(predictor.bytes() + program_bytes(0));
  return predictor.n_passes() > 1 && kept_bytes(predictor, task) < free_bytes / 2;
}

double predict(Tool& tool, PredictionTarget& target, Output* output, Predictor& predictor, const Task& task) {
  const std::vector<std::string> planes = predictor.planes();
  const auto mix = predictor.mix(target);
  const double n_values = task.n_visibilities * static_cast<double>(planes.size());
  const std::size_t n_passes = predictor.n_passes();
  const unsigned n_threads = tool.common().threads;
  PredictionStore store(n_passes == 1 || kept_in_memory(tool, predictor, task));
  Progress progress(tool, "predicting", task.n_visibilities * static_cast<double>(n_passes), "vis");
  const double n_parts = task.own_rows ? tool.ranks().size : 1;
  PredictionBlock block, next;
  Buffer<std::complex<float>, 3> data;
  double done = 0;
  // Reads the next block after the current write has ended, while a block is predicted: casacore serves one
  // thread at a time.
  const auto read = [&](PredictionBlock& into) {
    return std::async(std::launch::async, [&] {
      if (output != nullptr) output->wait();
      return target.read(into, task.max_block, n_threads);
    });
  };
  for (std::size_t pass = 0; pass < n_passes; ++pass) {
    const bool last = pass + 1 == n_passes;
    tool.stage("layers");
    predictor.begin_pass(pass);
    target.rewind(task.wanted, predictor.centre());
    store.rewind();
    tool.stage("read");
    for (bool found = read(block).get(); found; std::swap(block, next)) {
      std::future<bool> more = read(next);
      resize_by_threads(n_threads, {block.rows.row_number.size(), block.channels.size(), planes.size()},
                        data);
      store.load(data);
      tool.stage("predict");
      predictor.predict(block, data);
      done += n_parts * static_cast<double>(block.rows.row_number.size() * block.channels.size());
      tool.stage("read");
      found = more.get();
      tool.stage("write");
      if (last) {
        store.skip(data);
        for (int rank = 1; !task.own_rows && output != nullptr && rank < tool.ranks().size; ++rank)
          add_rows_of(rank, data);
        output != nullptr ? output->write(block, mix, data) : send_rows_to_root(data);
      } else {
        store.save(data);
      }
      progress.update(done);
    }
  }
  if (output != nullptr) output->wait();
  return n_values;
}

}  // namespace apsyn::imaging
