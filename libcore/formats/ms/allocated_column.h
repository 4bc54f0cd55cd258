// SPDX-License-Identifier: GPL-3.0-or-later
// A storage manager for a column that is added to a table with rows, or for a table whose rows are all
// created together. For libcore/formats/ms only.
#pragma once

#include <casacore/casa/Arrays/IPosition.h>
#include <casacore/tables/DataMan/TiledColumnStMan.h>

namespace apsyn {

/// A TiledColumnStMan, identical to the byte, that is filled with zeros. The file system provides these when
/// it allocates the file's space, or leaves holes; casacore's own manager would write every zero, which takes
/// longer than writing the column itself.
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
