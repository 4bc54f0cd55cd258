// SPDX-License-Identifier: GPL-3.0-or-later
// A thread takes an interval, sorts its visibilities by cell and adds runs of the same cell to a patch of its
// own that stays in its cache. Patches are then added to the grid by threads that own rows of it, in the
// order of the intervals. Degridding copies a patch out of the grid and runs likewise.
#include "tests/bench/projection/projection_cpu.h"

#include <algorithm>
#include <chrono>

#include "libcore/system/parallel.h"
#include "tests/bench/projection/interval_cpu.h"
#include "tests/bench/projection/runs.h"
#include "tests/bench/projection/weights.h"

namespace apsyn::projection {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t intervals_at_once = 64, rows_at_once = 16;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What a thread needs for one interval.
struct Scratch {
  SortScratch sorting;
  std::vector<Sample> samples;
  std::vector<const float*> weights;
  std::vector<float> values;                   ///< [sample][pol][re, im]
  Buffer<std::complex<float>, 1> own_weights;  ///< AW-projection
  double weights_s = 0, all_s = 0;
};

class CpuGridder final : public Gridder {
 public:
  CpuGridder(const Setup& setup, unsigned n_threads)
      : setup_(setup),
        n_threads_(n_threads),
        maker_(setup),
        scratch_(n_threads),
        patches_(intervals_at_once) {
    grid_.resize({setup.n_grid, n_pol, setup.n_grid});
    if (setup.has_aterms()) {
      for (Scratch& s : scratch_) s.own_weights.resize({maker_.n_weights()});
    } else {
      table_.resize({setup.n_w_planes, maker_.n_weights()});
      parallel_for(n_threads, setup.n_w_planes, [&](std::size_t plane, unsigned) {
        maker_.make(static_cast<double>(plane) * setup.w_step_lambda() - setup.max_w_lambda, 0, 0,
                    &table_(plane, 0));
      });
    }
  }

  void grid(const Visibilities& visibilities) override {
    const auto begin = Clock::now();
    start_timing();
    const std::size_t n_intervals = count_intervals(visibilities);
    for (std::size_t first = 0; first < n_intervals; first += intervals_at_once) {
      const std::size_t n = std::min(intervals_at_once, n_intervals - first);
      parallel_for(n_threads_, n, [&](std::size_t i, unsigned thread) {
        fill_patch(visibilities, first + i, scratch_[thread], patches_[i]);
      });
      parallel_for(n_threads_, (setup_.n_grid + rows_at_once - 1) / rows_at_once,
                   [&](std::size_t i, unsigned) {
                     add_patches({patches_.data(), n}, i * rows_at_once,
                                 std::min(setup_.n_grid, (i + 1) * rows_at_once), grid_);
                   });
    }
    end_timing(begin);
  }

  void degrid(const Visibilities& where, View<std::complex<float>, 3> data) override {
    const auto begin = Clock::now();
    start_timing();
    std::vector<Patch> patches(n_threads_);
    parallel_for(n_threads_, count_intervals(where), [&](std::size_t interval, unsigned thread) {
      predict(where, interval, scratch_[thread], patches[thread], data);
    });
    end_timing(begin);
  }

  void set_grid(View<const std::complex<float>, 3> grid) override {
    std::copy(grid.begin(), grid.end(), grid_.begin());
  }

  Seconds seconds() const override { return seconds_; }

  Buffer<std::complex<float>, 3> grid_copy() const override {
    Buffer<std::complex<float>, 3> copy(grid_.shape());
    std::copy(grid_.begin(), grid_.end(), copy.begin());
    return copy;
  }

 private:
  std::size_t count_intervals(const Visibilities& visibilities) const {
    return (visibilities.uvw_m.extent(0) + setup_.interval - 1) / setup_.interval;
  }
  void start_timing() {
    for (Scratch& s : scratch_) s.weights_s = s.all_s = 0;
  }
  /// The wall clock's time in proportion to the threads'.
  void end_timing(Clock::time_point begin) {
    double weights = 0, all = 1e-30;
    for (const Scratch& s : scratch_) weights += s.weights_s, all += s.all_s;
    const double wall = seconds_since(begin);
    seconds_ = {wall * weights / all, wall * (1 - weights / all)};
  }

  /// Sorts an interval and finds the weights of its samples.
  void prepare(const Visibilities& visibilities, std::size_t interval, Scratch& s, Patch& patch) const {
    const std::complex<float>* table = table_.data();
    const auto begin = Clock::now();
    if (setup_.has_aterms()) {
      maker_.make(interval_w_lambda(setup_, visibilities, interval), visibilities.station(interval, 0),
                  visibilities.station(interval, 1), s.own_weights.data());
      table = s.own_weights.data();
    }
    s.weights_s += seconds_since(begin);
    sort_interval(setup_, visibilities, interval, s.sorting, s.samples, patch);
    const std::size_t n_cells = setup_.size * setup_.size;
    s.weights.clear();
    for (const Sample& sample : s.samples)
      s.weights.push_back(
          reinterpret_cast<const float*>(table + (sample.table * n_offsets + sample.offset) * n_cells));
  }

  /// Calls work(run) for samples of the same cell.
  template <class Work>
  void for_runs(Scratch& s, Patch& patch, Work work) const {
    for (std::size_t i = 0, n; i < s.samples.size(); i += n) {
      for (n = 1; i + n < s.samples.size() && s.samples[i].same_cell(s.samples[i + n]);) ++n;
      const auto v = static_cast<std::size_t>(s.samples[i].v - patch.first_v);
      const auto u = static_cast<std::size_t>(s.samples[i].u - patch.first_u);
      work(Run{n, setup_.size, s.weights.data() + i, s.values.data() + i * 2 * n_pol,
               patch.cells.data() + (v * n_pol * patch.n_u + u) * 2, patch.n_u * 2});
    }
  }

  void fill_patch(const Visibilities& visibilities, std::size_t interval, Scratch& s, Patch& patch) const {
    const auto begin = Clock::now();
    prepare(visibilities, interval, s, patch);
    s.values.clear();
    for (const Sample& sample : s.samples)
      for (std::size_t pol = 0; pol < n_pol; ++pol) {
        const float weight = visibilities.weight(sample.row, sample.chan, pol);
        const auto value = weight == 0 ? 0 : weight * visibilities.data(sample.row, sample.chan, pol);
        s.values.push_back(value.real());
        s.values.push_back(value.imag());
      }
    patch.cells.assign(patch.n_v * n_pol * patch.n_u * 2, 0);
    for_runs(s, patch, add_run);
    s.all_s += seconds_since(begin);
  }

  void predict(const Visibilities& where, std::size_t interval, Scratch& s, Patch& patch,
               View<std::complex<float>, 3> data) const {
    const auto begin = Clock::now();
    prepare(where, interval, s, patch);
    read_patch(grid_, patch);
    s.values.resize(s.samples.size() * n_pol * 2);
    for_runs(s, patch, dot_run);
    for (std::size_t i = 0; i < s.samples.size(); ++i)
      for (std::size_t pol = 0; pol < n_pol; ++pol) {
        const float* value = s.values.data() + (i * n_pol + pol) * 2;
        data(s.samples[i].row, s.samples[i].chan, pol) = {value[0], value[1]};
      }
    s.all_s += seconds_since(begin);
  }

  const Setup& setup_;
  unsigned n_threads_;
  WeightMaker maker_;
  std::vector<Scratch> scratch_;
  std::vector<Patch> patches_;
  Buffer<std::complex<float>, 2> table_;  ///< [plane][weights]
  Buffer<std::complex<float>, 3> grid_;   ///< [v][pol][u]
  Seconds seconds_;
};

}  // namespace

std::unique_ptr<Gridder> make_cpu_gridder(const Setup& setup, unsigned n_threads) {
  return std::make_unique<CpuGridder>(setup, n_threads);
}

}  // namespace apsyn::projection
