// SPDX-License-Identifier: GPL-3.0-or-later
// Where pixels lie from where dishes point. For libcore/aterms only.
#pragma once

#include <memory>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/array/array_tables.h"
#include "libcore/aterms/config.h"
#include "libcore/beams/dish.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/aterms.h"

namespace apsyn {

class DishPointing {
 public:
  /// The entry's `pointing`, or DELAY_DIR of the set's field. DataError where there is neither.
  DishPointing(const AtermEntry& entry, const ArrayLayout& layout, const ArrayTables& tables);
  /// DataError where the layout does not tell where the array is.
  void need_site(const AtermEntry& entry) const;
  /// Direction cosines of each pixel from the pointing, towards east and north; NaN behind the dish.
  std::vector<DishOffset> sky_offsets(const AtermGrid& grid) const;
  /// Towards rising azimuth and elevation.
  std::vector<DishOffset> local_offsets(double time_mjd_s, const AtermGrid& grid) const;

 private:
  SkyDirection pointing_;
  std::unique_ptr<SkyFrame> frame_;
};

}  // namespace apsyn
