// SPDX-License-Identifier: GPL-3.0-or-later
// Solutions as images of A-terms: every pixel has the solutions of the patch nearest to it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/aterm_cube.h"
#include "libcore/formats/solution_files/formats.h"
#include "libcore/sky/projection.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;

constexpr std::uint64_t kMaxBytes = std::uint64_t{2} << 30;
constexpr double kLargestRadius = 0.999;  ///< in direction cosines: pixels beyond take what is there

AtermExportGrid choose_grid(const Solutions& solutions, const SolutionWriteOptions& options,
                            const std::string& path) {
  AtermExportGrid grid = options.aterm_grid.value_or(AtermExportGrid{});
  if (!options.aterm_grid) {
    if (solutions.field_centre)
      grid.centre = *solutions.field_centre;
    else if (solutions.is_directional())
      grid.centre = solutions.directions.front().direction;
    else
      throw UsageError(
          "{}: the solutions do not tell the centre of their field, which images of A-terms need", path);
  }
  if (grid.side < 4) throw UsageError("{}: {} pixels a side: at least 4 are needed", path, grid.side);
  if (grid.field_rad > 0) return grid;
  grid.field_rad = kRadPerDeg;
  for (const SolutionDirection& direction : solutions.directions)
    grid.field_rad = std::max(grid.field_rad, 2.2 * separation_rad(grid.centre, direction.direction));
  grid.field_rad = std::min(grid.field_rad, 2.0);
  return grid;
}

/// Of each pixel, rows of x.
std::vector<std::optional<std::size_t>> patches(const Solutions& solutions, const AtermExportGrid& grid) {
  std::vector<std::optional<std::size_t>> patch(grid.side * grid.side);
  if (!solutions.is_directional()) return patch;
  const double cell = grid.field_rad / static_cast<double>(grid.side),
               middle = static_cast<double>(grid.side / 2);
  for (std::size_t y = 0; y < grid.side; ++y)
    for (std::size_t x = 0; x < grid.side; ++x) {
      const double l = (middle - static_cast<double>(x)) * cell, m = (static_cast<double>(y) - middle) * cell;
      const double shrink = std::min(1.0, kLargestRadius / std::max(std::hypot(l, m), 1e-300));
      patch[y * grid.side + x] = solutions.nearest_direction(unproject(grid.centre, l * shrink, m * shrink));
    }
  return patch;
}

/// Equal steps of one axis: the first, the step, how many.
struct Steps {
  double first = 0, step = 0;
  std::size_t n = 1;
};

Steps regular(const std::vector<double>& centres) {
  if (centres.size() == 1) return {centres[0], 0, 1};
  double step = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < centres.size(); ++i) step = std::min(step, centres[i] - centres[i - 1]);
  const double n_steps = std::round((centres.back() - centres.front()) / step);
  if (n_steps > 1e6) return {centres.front(), step, 1000000};
  return {centres.front(), (centres.back() - centres.front()) / n_steps,
          static_cast<std::size_t>(n_steps) + 1};
}

}  // namespace

SolutionWriteReport write_aterm_images(const std::string& path, const Solutions& solutions,
                                       const SolutionWriteOptions& options) {
  if (!solutions.is_diagonal())
    throw UsageError(
        "{}: images of A-terms are diagonal, and these solutions have 4 polarisations: write .h5, and image "
        "with A-terms of type h5parm",
        path);
  const AtermExportGrid grid = choose_grid(solutions, options, path);
  const std::vector<std::optional<std::size_t>> patch = patches(solutions, grid);
  const SolutionSteps steps = choose_steps(solutions, options.n_chan, path);
  const bool tec =
      std::all_of(solutions.tables.begin(), solutions.tables.end(), [](const SolutionTable& table) {
        return table.type == SolutionType::tec_tecu && table.values.extent(4) == 1;
      });
  const Steps time = regular(steps.time_mjd_s), freq = regular(steps.freq_hz);

  AtermCubeAxes axes;
  axes.tec = tec;
  axes.centre = grid.centre;
  axes.side = grid.side;
  axes.cell_rad = grid.field_rad / static_cast<double>(grid.side);
  axes.n_antenna = solutions.antennas.size();
  axes.n_time = time.n;
  axes.time_mjd_s = time.first;
  axes.time_step_s = time.step;
  axes.n_freq = tec ? 1 : freq.n;
  axes.freq_hz = freq.first;
  axes.freq_step_hz = freq.step;
  const std::uint64_t n_bytes = std::uint64_t{axes.step_size()} * axes.n_time * sizeof(float);
  if (n_bytes > kMaxBytes)
    throw UsageError(
        "{}: images of {} MB for {} times and {} channels: write .h5, and image with A-terms of type h5parm",
        path, n_bytes >> 20, axes.n_time, axes.n_freq);

  std::vector<std::string> names;
  for (const SolutionAntenna& antenna : solutions.antennas) names.push_back(antenna.name);
  const SolutionEvaluator evaluator(solutions, names, Interpolation::nearest);
  // TEC from the phase at two frequencies would wrap: it is summed from the tables at a frequency so high
  // that no phase does.
  const double tec_hz = 1e15, tecu_per_rad = -tec_hz / 8.44797245e9;
  std::vector<double> freq_hz;
  for (std::size_t chan = 0; chan < axes.n_freq; ++chan)
    freq_hz.push_back(tec ? tec_hz : freq.first + freq.step * static_cast<double>(chan));

  const std::size_t n_dir = std::max<std::size_t>(solutions.directions.size(), 1), n_ant = names.size();
  // Of flagged solutions the last good ones, or 1.
  Buffer<Complex, 4> gains({n_dir, n_ant, freq_hz.size(), 2});
  gains.fill(1.0);
  Buffer<Complex, 3> now({n_ant, freq_hz.size(), 2});
  Buffer<std::uint8_t, 2> flagged({n_ant, freq_hz.size()});
  std::size_t n_flagged = 0;
  const std::size_t n_pixels = grid.side * grid.side;
  write_aterm_cube(
      path, axes, solutions.history, options.overwrite, [&](std::size_t step, std::span<double> pixels) {
        const double time_mjd_s = time.first + time.step * static_cast<double>(step);
        for (std::size_t dir = 0; dir < n_dir; ++dir) {
          evaluator.evaluate_diagonal(time_mjd_s, freq_hz,
                                      solutions.is_directional() ? std::optional(dir) : std::nullopt, now,
                                      flagged);
          for (std::size_t i = 0; i < flagged.size(); ++i) {
            n_flagged += flagged.data()[i] != 0;
            if (flagged.data()[i] == 0) std::copy_n(now.data() + 2 * i, 2, gains.view()[dir].data() + 2 * i);
          }
        }
        double* out = pixels.data();
        for (std::size_t chan = 0; chan < freq_hz.size(); ++chan)
          for (std::size_t ant = 0; ant < n_ant; ++ant)
            for (std::size_t element = 0; element < axes.n_matrix(); ++element)
              for (std::size_t pixel = 0; pixel < n_pixels; ++pixel) {
                const Complex gain = gains(patch[pixel].value_or(0), ant, chan, element / 2);
                *out++ = tec ? std::arg(gain) * tecu_per_rad : element % 2 == 0 ? gain.real() : gain.imag();
              }
      });
  SolutionWriteReport report;
  if (n_flagged > 0)
    report.warnings.push_back(
        fmt::format("{}: {} flagged solutions have the values of the last good ones before them, or a gain "
                    "of 1: flag their data",
                    path, n_flagged));
  return report;
}

}  // namespace apsyn
