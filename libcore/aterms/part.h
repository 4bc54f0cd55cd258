// SPDX-License-Identifier: GPL-3.0-or-later
// One entry of an A-term configuration; the model is the product of its parts. For libcore/aterms only.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
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
  virtual std::vector<std::string> warnings(const AtermGrid& grid, double freq_hz) const = 0;
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

/// The parameter update_interval in seconds; DataError below a millisecond.
UpdateInterval read_update_interval(const AtermEntry& entry, double otherwise_s);

/// Types tec, dldm and diagonal; `circular`: the receptors are R and L.
std::unique_ptr<AtermPart> open_aterm_images(const AtermEntry& entry, const ArrayLayout& layout,
                                             bool circular);

/// Type beam: models airy and gaussian; dipole and mwa.
std::unique_ptr<AtermPart> open_aterm_dish(const AtermEntry& entry);
std::unique_ptr<AtermPart> open_aterm_dipoles(const AtermEntry& entry, const ArrayLayout& layout);
/// Type h5parm: solutions of a calibration.
std::unique_ptr<AtermPart> open_aterm_solutions(const AtermEntry& entry, const ArrayLayout& layout,
                                                bool circular);
/// Type screen.
std::unique_ptr<AtermPart> open_aterm_screen(const AtermEntry& entry, const ArrayLayout& layout);

}  // namespace apsyn
