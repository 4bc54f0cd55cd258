// SPDX-License-Identifier: GPL-3.0-or-later
// One entry of an A-term configuration; the model is the product of its parts. For libcore/aterms only.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/array/array_tables.h"
#include "libcore/aterms/config.h"
#include "libcore/base/view.h"
#include "libcore/sky/aterms.h"

namespace apsyn {

class AtermPart {
 public:
  virtual ~AtermPart() = default;
  /// DataError when there are no A-terms for this time; a warning, once, when only others' are nearest.
  virtual void check([[maybe_unused]] double time_mjd_s) const {}
  /// The slot of a time, like AtermModel::slot_of. Takes any time.
  virtual std::int64_t slot_of(double time_mjd_s) const = 0;
  /// jones := jones J with J the part's Jones matrices [station][y][x][4]. The same for all times of a slot.
  virtual void multiply(double time_mjd_s, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                        View<std::complex<float>, 4> jones) = 0;
  /// The same for single directions, jones [station][direction][4]: here as many grids of one pixel.
  virtual void multiply_at(double time_mjd_s, double freq_hz, const SkyDirection& centre,
                           std::span<const SkyDirection> directions, unsigned n_threads,
                           View<std::complex<float>, 3> jones);
  /// The functions of the same names of AtermModel, at a time.
  virtual const PhasedBeams* phased_beams() const { return nullptr; }
  virtual void evaluate_phased([[maybe_unused]] double time_mjd_s, [[maybe_unused]] double freq_hz,
                               [[maybe_unused]] std::span<const SkyDirection> from,
                               [[maybe_unused]] unsigned n_threads, [[maybe_unused]] PhasedChannel& channel,
                               [[maybe_unused]] View<double, 2> directions,
                               [[maybe_unused]] View<std::complex<float>, 3> elements) {}
  virtual std::vector<std::string> warnings(const AtermGrid& grid, double freq_hz) const = 0;

 protected:
  /// The image's centre, which a grid of one pixel has not.
  const SkyDirection& centre_of(const AtermGrid& grid) const {
    return image_centre_ ? *image_centre_ : grid.centre;
  }

 private:
  std::optional<SkyDirection> image_centre_;
};

/// Intervals of equal length, counted from MJD 0.
struct UpdateInterval {
  double length_s = 0;  ///< 0: one slot for all times

  std::int64_t index(double time_mjd_s) const {
    return length_s > 0 ? static_cast<std::int64_t>(std::floor(time_mjd_s / length_s)) : 0;
  }
  /// The middle of the interval that holds at a time.
  double middle(double time_mjd_s) const {
    return length_s > 0 ? (static_cast<double>(index(time_mjd_s)) + 0.5) * length_s : time_mjd_s;
  }
};

/// Update interval of what the rotation of the Earth turns, unless the entry has one: the sky moves by a
/// quarter of a degree.
inline constexpr double kSkyUpdate_s = 60;

/// The parameter update_interval in seconds; DataError below a millisecond.
UpdateInterval read_update_interval(const AtermEntry& entry, double otherwise_s);

/// Types tec, dldm and diagonal; `circular`: the receptors are R and L.
std::unique_ptr<AtermPart> open_aterm_images(const AtermEntry& entry, const ArrayLayout& layout,
                                             bool circular);

/// Type beam. What the models airy, gaussian, dipole and mwa need is in the configuration and the layout
/// alone.
std::unique_ptr<AtermPart> open_aterm_beam(const AtermEntry& entry, const ArrayLayout& layout,
                                           const ArrayTables& tables);
std::unique_ptr<AtermPart> open_aterm_dish(const AtermEntry& entry);
std::unique_ptr<AtermPart> open_aterm_dipoles(const AtermEntry& entry, const ArrayLayout& layout,
                                              const ArrayTables& tables);
/// Type h5parm: solutions of a calibration.
std::unique_ptr<AtermPart> open_aterm_solutions(const AtermEntry& entry, const ArrayLayout& layout,
                                                bool circular);
/// Type screen.
std::unique_ptr<AtermPart> open_aterm_screen(const AtermEntry& entry, const ArrayLayout& layout);

}  // namespace apsyn
