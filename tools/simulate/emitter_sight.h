// SPDX-License-Identifier: GPL-3.0-or-later
// What antennas do to the field of each emitter, for voltages through A-terms.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/simulate/voltages.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/sky/aterms.h"

namespace apsyn {

class EmitterSight {
 public:
  using Matrices = Buffer<std::complex<float>, 4>;  ///< [chan][ant][emitter][XX XY YX YY]

  /// Keeps a reference to the model. `centre`: to which some beams refer.
  EmitterSight(AtermModel& aterms, const simulate::VoltageSetup& setup, const SkyDirection& centre,
               unsigned n_threads);
  /// The matrices of a time's slot, at the centre of each channel; kept for the slot.
  std::shared_ptr<const Matrices> at(double time_mjd_s);
  /// [emitter] half the sum of the squares of a matrix at the centre of the band, on average over antennas.
  std::vector<double> received(double time_mjd_s);
  /// Memory of the matrices of two slots.
  double bytes() const;

 private:
  AtermModel& aterms_;
  std::vector<SkyDirection> directions_;  ///< of the emitters
  std::vector<double> channel_hz_;
  double freq_hz_;
  SkyDirection centre_;
  unsigned n_threads_;
  std::optional<std::int64_t> slot_;
  std::shared_ptr<const Matrices> kept_;
};

}  // namespace apsyn
