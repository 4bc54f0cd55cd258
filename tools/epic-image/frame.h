// SPDX-License-Identifier: GPL-3.0-or-later
// Where the antennas and the sky are at an image's middle.
#pragma once

#include <optional>
#include <vector>

#include "kernels/epic/epic.h"
#include "libcore/array/array_layout.h"
#include "libcore/array/beam_table.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/measures/coordinates.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

class AccumulationFrame {
 public:
  /// `aligned`: the F stage has taken out cables and the delays of `followed`; without it, those of the
  /// zenith, unless the stream was tracked. `followed`: the centre of all images; none: the zenith of each.
  /// `one_centre`: all images have the centre of the first. `directions`: of light curves.
  AccumulationFrame(const VoltageHeader& header, bool aligned, std::optional<SkyDirection> followed,
                    bool one_centre, std::vector<BeamDirection> directions);

  /// At the time of an image's middle; times rise.
  EpicGeometry at(const UtcTime& middle);

  /// Takes what was made for the last image as that of another middle. An image that is fixed to the ground
  /// shows the zenith of whatever time; false, and nothing changed, when something in it follows the sky: a
  /// centre, that of the images before, a tracking that was undone, directions.
  bool move_to(const UtcTime& middle);

  /// Of the last image.
  SkyDirection centre() const { return centre_.value(); }

 private:
  ArrayLayout layout_;
  std::optional<SkyDirection> tracked_;  ///< whose delays are not in the spectra any more
  bool aligned_, one_centre_;
  std::vector<BeamDirection> directions_;
  SkyFrame sky_;
  std::optional<SkyDirection> centre_;
  bool inherited_ = false;
};

}  // namespace apsyn
