// SPDX-License-Identifier: GPL-3.0-or-later
// What an H5Parm file holds, as it holds it: between the library of HDF5 and Solutions. For
// libcore/formats/h5parm only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "libcore/formats/h5parm/h5parm.h"
#include "libcore/solutions/solutions.h"

namespace apsyn {

struct H5Soltab {
  std::string name;   ///< "amplitude000"
  std::string title;  ///< "amplitude"
  std::string term;   ///< ours: what it was solved as; "product" of all others; empty in files of others
  std::string order;  ///< ours: place in the chain, a number
  std::string history;
  std::vector<std::string> axes;       ///< slowest first: of time, freq, ant, dir, pol
  std::vector<std::uint64_t> extents;  ///< of the axes
  std::vector<double> values;          ///< in the order of the axes
  std::vector<float> weights;
  std::vector<std::uint8_t> flags;  ///< ours: SolutionFlag; may be empty
  std::vector<double> time_mjd_s, freq_hz;
  std::vector<double> interval_s, width_hz;  ///< ours; may be empty
  std::vector<std::string> ant, pol, dir;
};

struct H5Solset {
  std::string name;
  std::vector<SolutionAntenna> antennas;
  std::vector<SolutionDirection> sources;  ///< with the brackets that the file may have
  std::vector<H5Soltab> soltabs;
};

/// The parts of the file in `image` that the selection names; `path` names it in errors. For
/// a process of its own: libhdf5 trusts what it reads. DataError.
H5Solset read_solset(const std::string& image, const std::string& path, const H5ParmSelection& selection);

/// The bytes of a file; the same solset gives the same bytes. FailureError.
std::string write_solset(const H5Solset& solset, const std::string& path);

/// From one process to another.
std::string pack_solset(const H5Solset& solset);
/// DataError when bytes are missing.
H5Solset unpack_solset(const std::string& bytes, const std::string& path);

}  // namespace apsyn
