// SPDX-License-Identifier: GPL-3.0-or-later
// The FITS cubes of one A-term entry, one after the other in time: axes RA---SIN, DEC--SIN, [MATRIX,]
// [ANTENNA,] FREQ, TIME. For libcore/aterms only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "libcore/aterms/config.h"
#include "libcore/base/view.h"
#include "libcore/formats/fits/sky_cube.h"
#include "libcore/sky/aterms.h"
#include "libcore/sky/screen_resampler.h"

namespace apsyn {

class AtermImages {
 public:
  struct Layout {
    std::size_t n_matrix = 1;    ///< length of the axis MATRIX; 1: there is none
    bool has_antennas = false;   ///< there may be an axis ANTENNA
    std::vector<double> blanks;  ///< [n_matrix] what stands for blank pixels
  };
  /// Opens all of `images`; DataError when their axes are not these, they overlap in time, or hold neither
  /// one antenna nor n_stations.
  AtermImages(const AtermEntry& entry, Layout layout, std::size_t n_stations);

  /// The step nearest to a time (the earlier one half-way between two).
  std::size_t step_of(double time_mjd_s) const;
  /// Whether a time lies farther from the first or last step than the next one does; of one step none does.
  bool lies_outside(double time_mjd_s) const;
  double first_mjd_s() const { return steps_.front().time_mjd_s; }
  double last_mjd_s() const { return steps_.back().time_mjd_s; }
  /// The images on the grid's pixels, [antenna: 1 or n_stations][matrix][y][x], from the plane nearest in
  /// frequency. Valid until the next call; what neighbouring calls share is kept.
  View<const double, 4> on_grid(std::size_t step, double freq_hz, const AtermGrid& grid, unsigned n_threads);
  /// Largest RMS over a plane of what smoothing to the grid takes away, per element of the matrix, over the
  /// antennas of the first step.
  std::vector<double> lost_rms(const AtermGrid& grid) const;
  /// One element of the first step on halved(grid), smoothed for `grid`, [antenna][y][x] for the first
  /// antenna and up to `n` others spread over the rest.
  Buffer<double, 3> half_way(const AtermGrid& grid, std::size_t matrix, std::size_t n) const;
  std::size_t n_antennas() const { return cubes_.front().n_antennas; }  ///< of the first file
  bool covers(const AtermGrid& grid) const;
  const std::string& first_path() const { return cubes_.front().cube.path(); }

 private:
  struct File {
    SkyCube cube;
    std::size_t n_antennas = 1;
    FitsAxis freq, time;
  };
  struct Step {
    double time_mjd_s = 0;
    std::size_t file = 0, index = 0;
  };
  struct Sampled {
    std::size_t freq_index = 0;
    Buffer<double, 4> values;
  };

  File open(const AtermEntry& entry, const std::string& path) const;
  std::size_t plane_of(const File& file, std::size_t step, std::size_t freq, std::size_t antenna,
                       std::size_t matrix) const;
  void read(const File& file, std::size_t plane, std::size_t matrix, View<double, 2> pixels) const;

  Layout layout_;
  SmoothingWindow window_;
  std::size_t n_stations_;
  std::vector<File> cubes_;
  std::vector<Step> steps_;         ///< in the order of time
  std::vector<double> boundaries_;  ///< between steps
  // What on_grid keeps: of one step and one grid, every frequency plane asked for.
  std::size_t kept_step_ = 0;
  AtermGrid kept_grid_;
  std::vector<Sampled> kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace apsyn
