// SPDX-License-Identifier: GPL-3.0-or-later
// A storage manager for a column that is added to a table with rows, or of a table that gets all of its rows
// at once. For libcore/formats/ms only.
#pragma once

#include <casacore/casa/Arrays/IPosition.h>
#include <casacore/tables/DataMan/TiledColumnStMan.h>

namespace apsyn {

/// A TiledColumnStMan, to the byte, of zeros. The file system makes these when it sets the file's space
/// aside, or leaves holes for them; casacore's own would write every one of them, which takes longer than to
/// write the column itself.
class AllocatedColumnStMan final : public casacore::TiledColumnStMan {
 public:
  enum class Space { set_aside, holes };
  AllocatedColumnStMan(const casacore::String& name, const casacore::IPosition& tile,
                       Space space = Space::set_aside)
      : TiledColumnStMan(name, tile), tile_(tile), space_(space) {}
  casacore::DataManager* clone() const override;

 private:
  void create64(casacore::rownr_t n_rows) override;
  void addRow64(casacore::rownr_t n_rows) override;
  void take_rows(casacore::rownr_t n_rows);

  casacore::IPosition tile_;
  Space space_;
};

}  // namespace apsyn
