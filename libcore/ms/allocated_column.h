// SPDX-License-Identifier: GPL-3.0-or-later
// A storage manager for a column that is added to a table with rows. For libcore/ms only.
#pragma once

#include <casacore/casa/Arrays/IPosition.h>
#include <casacore/tables/DataMan/TiledColumnStMan.h>

namespace apsyn {

/// A TiledColumnStMan, to the byte, of zeros. The file system makes these when it sets the file's space
/// aside; casacore's own would write every one of them, which takes longer than to write the column itself.
class AllocatedColumnStMan final : public casacore::TiledColumnStMan {
 public:
  AllocatedColumnStMan(const casacore::String& name, const casacore::IPosition& tile)
      : TiledColumnStMan(name, tile), tile_(tile) {}
  casacore::DataManager* clone() const override;

 private:
  void create64(casacore::rownr_t n_rows) override;

  casacore::IPosition tile_;
};

}  // namespace apsyn
