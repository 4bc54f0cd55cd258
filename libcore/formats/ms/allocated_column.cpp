// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/allocated_column.h"

#include <casacore/casa/Containers/Record.h>
#include <casacore/casa/IO/AipsIO.h>
#include <casacore/casa/IO/ArrayIO.h>
#include <casacore/casa/IO/MemoryIO.h>
#include <casacore/tables/DataMan/TSMCube.h>
#include <casacore/tables/DataMan/TSMFile.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

using casacore::IPosition;

/// Sets the size of a file to n_bytes, all of them zeros.
void allocate(const std::string& path, std::uint64_t n_bytes, AllocatedColumnStMan::Space space) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) throw FailureError("{}: cannot be opened: {}", path, std::strerror(errno));
  int error = 0;
  if (space == AllocatedColumnStMan::Space::holes)
    error = ::ftruncate(fd, static_cast<off_t>(n_bytes)) == 0 ? 0 : errno;
  else if (n_bytes > 0)
    error = ::posix_fallocate(fd, 0, static_cast<off_t>(n_bytes));
  ::close(fd);
  if (error != 0)
    throw FailureError("{}: {} bytes cannot be set aside: {}", path, n_bytes, std::strerror(error));
}

}  // namespace

casacore::DataManager* AllocatedColumnStMan::clone() const {
  return new AllocatedColumnStMan(hypercolumnName_p, tile_, space_);
}

/// Makes what TiledColumnStMan makes, a file with a cube of all rows. A cube that grows would take its new
/// tiles for missing ones; one whose description is read again takes them as they are in the file.
void AllocatedColumnStMan::create64(casacore::rownr_t n_rows) {
  setup(1);
  createFile(0);
  IPosition shape = fixedCellShape_p;
  shape.append(IPosition(1, 0));
  cubeSet_p.resize(1);
  cubeSet_p[0] = makeTSMCube(fileSet_p[0], shape, tile_, casacore::Record());
  take_rows(n_rows);
}

/// Further rows grow the cube as casacore's own do.
void AllocatedColumnStMan::addRow64(casacore::rownr_t n_rows) {
  if (nrrow_p == 0) return take_rows(n_rows);
  cubeSet_p[0]->extend(n_rows, casacore::Record(), nullptr);
  nrrow_p += n_rows;
  setDataChanged();
}

/// Creates the first rows, all of them 0.
void AllocatedColumnStMan::take_rows(casacore::rownr_t n_rows) {
  casacore::TSMCube* const cube = cubeSet_p[0];
  nrrow_p += n_rows;
  setDataChanged();
  if (multiFile() != nullptr || tsmOption().option() != casacore::TSMOption::Cache) {
    cube->extend(n_rows, casacore::Record(), nullptr);
    return;
  }
  const IPosition tile = cube->tileShape();
  IPosition shape = fixedCellShape_p;
  shape.append(IPosition(1, static_cast<ssize_t>(n_rows)));
  std::uint64_t n_bytes = cube->bucketSize();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    n_bytes *= static_cast<std::uint64_t>((shape[axis] + tile[axis] - 1) / tile[axis]);
  allocate(fileName() + "_TSM0", n_bytes, space_);
  fileSet_p[0]->extend(static_cast<casacore::Int64>(n_bytes));
  casacore::MemoryIO bytes;
  casacore::AipsIO description(&bytes);
  description.putstart("cube", 1);
  description << casacore::uInt{1} << cube->valueRecord() << true << static_cast<casacore::uInt>(shape.size())
              << shape << tile << casacore::Int{0} << casacore::uInt{0};  // in file 0, from its first byte on
  description.putend();
  description.setpos(0);
  description.getstart("cube");
  cube->resync(description);
  description.getend();
}

}  // namespace apsyn
