// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/aterms/images.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "libcore/aterms/sampling.h"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxKeptBytes = 256u << 20;
constexpr double kSecondsOf1900 = 1.3e9;  // MJD seconds of about that year; MJD in days is far below

SmoothingWindow read_window(const AtermEntry& entry) {
  const std::string name = entry.text("window", "raised_hann");
  const auto window = find_smoothing_window(name);
  if (!window)
    throw DataError("{} = '{}': unknown window: give one of {}", entry.where("window"), name,
                    fmt::join(smoothing_window_names(), ", "));
  return *window;
}

void check_time(const std::string& path, const FitsAxis& time) {
  const double last = time.first() + time.step * static_cast<double>(time.length - 1);
  if (time.length > 1 && !(time.step > 0))
    throw DataError("{}: the steps of TIME are {} s: they must be positive", path, time.step);
  if (time.length > 1 && last > 10000 && last < kSecondsOf1900)
    throw DataError("{}: TIME ends at {}: MJD in seconds is needed, that is MJD x 86400", path, last);
}

}  // namespace

AtermImages::File AtermImages::open(const AtermEntry& entry, const std::string& path) const {
  File file{SkyCube(path), 1, {}, {}};
  const std::string where = fmt::format("{}: {}", entry.where("images"), path);
  std::vector<std::string> expected;
  if (layout_.n_matrix > 1) expected.push_back("MATRIX");
  if (layout_.has_antennas) expected.push_back("ANTENNA");
  expected.insert(expected.end(), {"FREQ", "TIME"});
  std::size_t next = 0;
  bool has_matrix = layout_.n_matrix == 1;
  int number = 3;
  for (const FitsAxis& axis : file.cube.axes()) {
    const auto at =
        std::find(expected.begin() + static_cast<std::ptrdiff_t>(next), expected.end(), axis.type);
    if (at == expected.end())
      throw DataError("{}: axis {} is '{}' where {} needs RA---SIN, DEC--SIN, {} in this order", where,
                      number, axis.type, entry.type(), fmt::join(expected, ", "));
    next = static_cast<std::size_t>(at - expected.begin()) + 1;
    ++number;
    if (axis.type == "MATRIX") {
      has_matrix = true;
      if (axis.length != layout_.n_matrix)
        throw DataError("{}: MATRIX has the length {}: {} has {} elements", where, axis.length, entry.type(),
                        layout_.n_matrix);
    } else if (axis.type == "ANTENNA") {
      file.n_antennas = axis.length;
      if (axis.length != 1 && axis.length != n_stations_)
        throw DataError("{}: ANTENNA has the length {}: 1 or the data's {} antennas are needed", where,
                        axis.length, n_stations_);
    } else if (axis.type == "FREQ") {
      file.freq = axis;
      if (axis.length > 1 && axis.step == 0)
        throw DataError("{}: CDELT of FREQ is 0: the frequencies must differ", where);
    } else {
      file.time = axis;
    }
  }
  if (!has_matrix) throw DataError("{}: no axis MATRIX of length {}", where, layout_.n_matrix);
  if (file.cube.nx() < 4 || file.cube.ny() < 4)
    throw DataError("{}: {} x {} pixels: at least 4 x 4 are needed", where, file.cube.nx(), file.cube.ny());
  check_time(path, file.time);
  return file;
}

AtermImages::AtermImages(const AtermEntry& entry, Layout layout, std::size_t n_stations)
    : layout_(std::move(layout)), window_(read_window(entry)), n_stations_(n_stations) {
  for (const std::string& path : entry.files("images")) cubes_.push_back(open(entry, path));
  std::sort(cubes_.begin(), cubes_.end(),
            [](const File& a, const File& b) { return a.time.first() < b.time.first(); });
  for (std::size_t file = 0; file < cubes_.size(); ++file)
    for (std::size_t i = 0; i < cubes_[file].time.length; ++i) {
      const FitsAxis& time = cubes_[file].time;
      const double time_mjd_s = time.first() + time.step * static_cast<double>(i);
      if (!steps_.empty() && time_mjd_s <= steps_.back().time_mjd_s)
        throw DataError("{}: {} and {} overlap in time (TIME {} after {}): give each time once",
                        entry.where("images"), cubes_[steps_.back().file].cube.path(),
                        cubes_[file].cube.path(), time_mjd_s, steps_.back().time_mjd_s);
      if (!steps_.empty()) boundaries_.push_back(0.5 * (steps_.back().time_mjd_s + time_mjd_s));
      steps_.push_back({time_mjd_s, file, i});
    }
}

std::size_t AtermImages::step_of(double time_mjd_s) const {
  return static_cast<std::size_t>(std::lower_bound(boundaries_.begin(), boundaries_.end(), time_mjd_s) -
                                  boundaries_.begin());
}

bool AtermImages::lies_outside(double time_mjd_s) const {
  const std::size_t n = steps_.size();
  return n > 1 && (time_mjd_s < 2 * steps_[0].time_mjd_s - steps_[1].time_mjd_s ||
                   time_mjd_s > 2 * steps_[n - 1].time_mjd_s - steps_[n - 2].time_mjd_s);
}

std::size_t AtermImages::plane_of(const File& file, std::size_t step, std::size_t freq, std::size_t antenna,
                                  std::size_t matrix) const {
  return ((step * file.freq.length + freq) * file.n_antennas + antenna) * layout_.n_matrix + matrix;
}

void AtermImages::read(const File& file, std::size_t plane, std::size_t matrix,
                       View<double, 2> pixels) const {
  file.cube.read_plane(plane, pixels);
  for (double& pixel : pixels)
    if (!std::isfinite(pixel)) pixel = layout_.blanks[matrix];
}

View<const double, 4> AtermImages::on_grid(std::size_t step, double freq_hz, const AtermGrid& grid,
                                           unsigned n_threads) {
  const File& file = cubes_[steps_[step].file];
  std::size_t freq = 0;
  if (file.freq.length > 1) {
    const double position = std::round((freq_hz - file.freq.first()) / file.freq.step);
    freq = static_cast<std::size_t>(std::clamp(position, 0.0, static_cast<double>(file.freq.length - 1)));
  }
  if (kept_step_ != step || !(kept_grid_ == grid) || kept_bytes_ > kMaxKeptBytes) {
    kept_.clear();
    kept_bytes_ = 0;
  }
  kept_step_ = step;
  kept_grid_ = grid;
  for (const Sampled& sampled : kept_)
    if (sampled.freq_index == freq) return sampled.values;

  const std::size_t ny = file.cube.ny(), nx = file.cube.nx();
  const ScreenResampler resampler(file.cube.info(), ny, nx, grid, window_);
  Sampled sampled{freq, {}};
  sampled.values.resize({file.n_antennas, layout_.n_matrix, grid.side, grid.side});
  std::vector<Buffer<double, 2>> pixels(std::max(1u, n_threads));
  for (auto& buffer : pixels) buffer.resize({ny, nx});
  parallel_for(n_threads, file.n_antennas * layout_.n_matrix, [&](std::size_t item, unsigned thread) {
    const std::size_t antenna = item / layout_.n_matrix, matrix = item % layout_.n_matrix;
    read(file, plane_of(file, steps_[step].index, freq, antenna, matrix), matrix, pixels[thread]);
    resampler.resample(pixels[thread], sampled.values.view()[antenna][matrix]);
  });
  kept_bytes_ += sampled.values.size() * sizeof(double);
  kept_.push_back(std::move(sampled));
  return kept_.back().values;
}

std::vector<double> AtermImages::lost_rms(const AtermGrid& grid) const {
  const Step& step = steps_.front();
  const File& file = cubes_[step.file];
  const ScreenResampler resampler(file.cube.info(), file.cube.ny(), file.cube.nx(), grid, window_);
  Buffer<double, 2> pixels({file.cube.ny(), file.cube.nx()});
  std::vector<double> lost(layout_.n_matrix, 0.0);
  for (std::size_t antenna = 0; antenna < file.n_antennas; ++antenna)
    for (std::size_t matrix = 0; matrix < layout_.n_matrix; ++matrix) {
      read(file, plane_of(file, step.index, 0, antenna, matrix), matrix, pixels);
      lost[matrix] = std::max(lost[matrix], resampler.lost_rms(pixels));
    }
  return lost;
}

Buffer<double, 3> AtermImages::half_way(const AtermGrid& grid, std::size_t matrix, std::size_t n) const {
  const File& file = cubes_[steps_.front().file];
  const std::size_t n_others = std::min(n, file.n_antennas - 1);
  const AtermGrid fine = halved(grid);
  const ScreenResampler resampler(file.cube.info(), file.cube.ny(), file.cube.nx(), fine, window_, 2);
  Buffer<double, 2> pixels({file.cube.ny(), file.cube.nx()});
  Buffer<double, 3> out({1 + n_others, fine.side, fine.side});
  for (std::size_t i = 0; i <= n_others; ++i) {
    const std::size_t antenna = i == 0 ? 0 : i * (file.n_antennas - 1) / n_others;
    read(file, plane_of(file, steps_.front().index, 0, antenna, matrix), matrix, pixels);
    resampler.resample(pixels, out.view()[i]);
  }
  return out;
}

bool AtermImages::covers(const AtermGrid& grid) const {
  return std::all_of(cubes_.begin(), cubes_.end(), [&](const File& file) {
    return ScreenResampler(file.cube.info(), file.cube.ny(), file.cube.nx(), grid, window_).covers_grid();
  });
}

}  // namespace apsyn
