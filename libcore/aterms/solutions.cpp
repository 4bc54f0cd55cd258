// SPDX-License-Identifier: GPL-3.0-or-later
// The type h5parm: solutions of patches. Every direction has those of the patch nearest to it, smoothed to
// what the pixels of a subgrid can carry. Smoothing is linear: the weights of the patches in a pixel are
// their smoothed areas, the same for all stations and times.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "libcore/aterms/part.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/h5parm/h5parm.h"
#include "libcore/sky/projection.h"
#include "libcore/sky/screen_resampler.h"
#include "libcore/solutions/evaluator.h"
#include "libcore/solutions/fill.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Complex = std::complex<float>;
using Matrix = std::array<std::complex<double>, 4>;

constexpr std::size_t kFinePerPixel = 4;  ///< of the image of patches that is smoothed
constexpr double kForever = 1e15;         ///< seconds, hertz

Matrix multiplied(const Matrix& a, const Matrix& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}

/// S^H J S, S = [1 i; 1 -i] / sqrt(2): matrices of R and L between X and Y, as for the type diagonal.
Matrix from_circular(const Matrix& jones) {
  const std::complex<double> i(0, 1);
  const double half = std::sqrt(0.5);
  const Matrix s{half, half * i, half, -half * i}, s_adjoint{half, half, -half * i, half * i};
  return multiplied(multiplied(s_adjoint, jones), s);
}

/// The solutions of one file, which hold at all times and have values where they were flagged: data cannot be
/// flagged here.
Solutions without_gaps(Solutions solutions) {
  for (SolutionTable& table : solutions.tables) {
    table = fill_flagged(table);
    std::fill(table.interval_s.begin(), table.interval_s.end(), kForever);
    std::fill(table.width_hz.begin(), table.width_hz.end(), kForever);
  }
  return solutions;
}

/// One file.
class SolutionsOfFile {
 public:
  SolutionsOfFile(const AtermEntry& entry, const std::string& path, const ArrayLayout& layout, bool circular)
      : filled_(without_gaps(read_h5parm(path, selection(entry)))) {
    std::vector<std::string> names;
    for (const Antenna& antenna : layout.antennas) names.push_back(antenna.name);
    evaluator_.emplace(filled_, names, Interpolation::nearest);
    const bool matrices = std::any_of(filled_.tables.begin(), filled_.tables.end(),
                                      [](const SolutionTable& table) { return table.values.extent(4) > 1; });
    if (matrices && circular != (filled_.basis == ReceptorBasis::circular))
      log_warning(
          "{}: {}: solutions of {} receptors for data of {} ones: their polarisations are taken in order",
          entry.name(), path, circular ? "linear" : "circular", circular ? "circular" : "linear");
    const std::size_t n_missing = evaluator_->missing_antennas().size();
    if (n_missing > 0)
      log_warning("{}: {}: {} of {} antennas of the data have no solutions and are taken as they are",
                  entry.name(), path, n_missing, names.size());
  }

  const Solutions& solutions() const { return filled_; }
  const SolutionEvaluator& evaluator() const { return *evaluator_; }

 private:
  static H5ParmSelection selection(const AtermEntry& entry) {
    H5ParmSelection selection;
    selection.solset = entry.text("solset", "");
    if (entry.has("soltabs")) selection.soltabs = entry.list("soltabs");
    return selection;
  }

  Solutions filled_;
  std::optional<SolutionEvaluator> evaluator_;
};

class SolutionsPart final : public AtermPart {
 public:
  SolutionsPart(const AtermEntry& entry, const ArrayLayout& layout, bool circular)
      : name_(entry.name()), circular_(circular), n_stations_(layout.antennas.size()) {
    const std::string window = entry.text("window", "raised_hann");
    const auto found = find_smoothing_window(window);
    if (!found) throw DataError("{} = '{}': no known window", entry.where("window"), window);
    window_ = *found;
    for (const std::string& path : entry.files("files")) {
      files_.push_back(std::make_unique<SolutionsOfFile>(entry, path, layout, circular));
      for (const SolutionTable& table : files_.back()->solutions().tables) {
        if (table.n_time() < 2) continue;
        const std::vector<double>& times = table.time_mjd_s;
        earliest_mjd_s_ = std::max(earliest_mjd_s_, 2 * times[0] - times[1]);
        latest_mjd_s_ = std::min(latest_mjd_s_, 2 * times[times.size() - 1] - times[times.size() - 2]);
      }
    }
  }

  void check(double time_mjd_s) const override {
    if (warned_ || (time_mjd_s >= earliest_mjd_s_ && time_mjd_s <= latest_mjd_s_)) return;
    warned_ = true;
    log_warning(
        "{}: data of TIME {:.0f} lie outside of the solutions, {:.0f} to {:.0f} s, and take the nearest",
        name_, time_mjd_s, earliest_mjd_s_, latest_mjd_s_);
  }

  std::int64_t slot_of(double time_mjd_s) const override {
    std::int64_t slot = 0;
    for (const auto& file : files_) slot += file->evaluator().slot_of(time_mjd_s);
    return slot;
  }

  void multiply(double time_mjd_s, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                View<Complex, 4> jones) override {
    const std::size_t n_pixels = grid.side * grid.side;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const Solutions& solutions = files_[i]->solutions();
      const Buffer<float, 2>& weights = patch_weights(i, grid, n_threads);
      const std::size_t n_patch = weights.extent(0);
      Buffer<std::complex<double>, 4> gains({n_patch, n_stations_, 1, 4});
      Buffer<std::uint8_t, 2> flagged({n_stations_, 1});
      for (std::size_t patch = 0; patch < n_patch; ++patch) {
        const auto direction = solutions.is_directional() ? std::optional(patch) : std::nullopt;
        files_[i]->evaluator().evaluate(time_mjd_s, std::span(&freq_hz, 1), direction, gains.view()[patch],
                                        flagged);
      }
      parallel_for(n_threads, n_stations_, [&](std::size_t station, unsigned) {
        std::vector<Matrix> of_patch(n_patch);
        for (std::size_t patch = 0; patch < n_patch; ++patch) {
          std::copy_n(&gains(patch, station, 0, 0), 4, of_patch[patch].begin());
          if (circular_) of_patch[patch] = from_circular(of_patch[patch]);
        }
        for (std::size_t pixel = 0; pixel < n_pixels; ++pixel) {
          Matrix mean{};
          for (std::size_t patch = 0; patch < n_patch; ++patch)
            if (const double weight = weights(patch, pixel); weight != 0)
              for (std::size_t k = 0; k < 4; ++k) mean[k] += weight * of_patch[patch][k];
          Complex* out = jones[station].data() + 4 * pixel;
          const Matrix before{out[0], out[1], out[2], out[3]};
          const Matrix after = multiplied(before, mean);
          for (std::size_t k = 0; k < 4; ++k) out[k] = Complex(after[k]);
        }
      });
    }
  }

  std::vector<std::string> warnings(const AtermGrid& grid, double) const override {
    std::vector<std::string> lines;
    for (const auto& file : files_) {
      const Solutions& solutions = file->solutions();
      std::string small;
      std::size_t n_small = 0;
      const Buffer<float, 2> weights = smoothed_patches(solutions, grid, 1);
      for (std::size_t patch = 0; patch < solutions.directions.size(); ++patch) {
        const DirectionCosines at = project(grid.centre, solutions.directions[patch].direction);
        const double half = 0.5 * static_cast<double>(grid.side);
        if (at.n <= 0 || std::abs(at.l) > half * grid.step_l_rad || std::abs(at.m) > half * grid.step_m_rad)
          continue;
        const auto of_patch = weights.view()[patch];
        if (*std::max_element(of_patch.begin(), of_patch.end()) >= 0.5f) continue;
        ++n_small;
        if (small.empty()) small = solutions.directions[patch].name;
      }
      if (n_small > 0)
        lines.push_back(
            fmt::format("{}: {}: {} patches, the first of them {}, are smaller than the subgrid's pixels of "
                        "{}: choose larger subgrids",
                        name_, solutions.source, n_small, small, format_angle(std::abs(grid.step_l_rad))));
    }
    return lines;
  }

 private:
  /// [patch][pixel]: how much of each patch a pixel sees.
  Buffer<float, 2> smoothed_patches(const Solutions& solutions, const AtermGrid& grid,
                                    unsigned n_threads) const {
    const std::size_t n_patch = std::max<std::size_t>(solutions.directions.size(), 1);
    const std::size_t n_pixels = grid.side * grid.side;
    Buffer<float, 2> weights({n_patch, n_pixels});
    if (n_patch == 1) {
      weights.fill(1);
      return weights;
    }
    const std::size_t fine = std::max<std::size_t>(kFinePerPixel * grid.side, 4);
    ImageInfo info;
    info.centre = grid.centre;
    info.cell_rad = std::max(std::abs(grid.step_l_rad), std::abs(grid.step_m_rad)) / kFinePerPixel;
    const ScreenResampler resampler(info, fine, fine, grid, window_);
    std::vector<std::size_t> nearest(fine * fine);
    const double middle = static_cast<double>(fine / 2);
    parallel_for(n_threads, fine, [&](std::size_t y, unsigned) {
      for (std::size_t x = 0; x < fine; ++x) {
        const double l = (middle - static_cast<double>(x)) * info.cell_rad;
        const double m = (static_cast<double>(y) - middle) * info.cell_rad;
        const double shrink = 1 / std::max(1.0, std::hypot(l, m));
        nearest[y * fine + x] = solutions.nearest_direction(unproject(grid.centre, l * shrink, m * shrink));
      }
    });
    parallel_for(n_threads, n_patch, [&](std::size_t patch, unsigned) {
      Buffer<double, 2> area({fine, fine}), smoothed({grid.side, grid.side});
      for (std::size_t i = 0; i < nearest.size(); ++i) area.data()[i] = nearest[i] == patch ? 1 : 0;
      resampler.resample(area, smoothed);
      for (std::size_t pixel = 0; pixel < n_pixels; ++pixel)
        weights(patch, pixel) = static_cast<float>(smoothed.data()[pixel]);
    });
    return weights;
  }

  const Buffer<float, 2>& patch_weights(std::size_t file, const AtermGrid& grid, unsigned n_threads) {
    if (!(kept_grid_ == grid)) kept_.clear();
    kept_grid_ = grid;
    kept_.resize(files_.size());
    if (kept_[file].size() == 0) kept_[file] = smoothed_patches(files_[file]->solutions(), grid, n_threads);
    return kept_[file];
  }

  std::string name_;
  bool circular_;
  std::size_t n_stations_;
  SmoothingWindow window_ = SmoothingWindow::raised_hann;
  std::vector<std::unique_ptr<SolutionsOfFile>> files_;
  double earliest_mjd_s_ = -HUGE_VAL, latest_mjd_s_ = HUGE_VAL;
  mutable bool warned_ = false;
  AtermGrid kept_grid_;
  std::vector<Buffer<float, 2>> kept_;  ///< [file], for kept_grid_
};

}  // namespace

std::unique_ptr<AtermPart> open_aterm_solutions(const AtermEntry& entry, const ArrayLayout& layout,
                                                bool circular) {
  entry.allow({"files", "solset", "soltabs", "window"});
  return std::make_unique<SolutionsPart>(entry, layout, circular);
}

}  // namespace apsyn
