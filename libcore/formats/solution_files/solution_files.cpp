// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/solution_files/solution_files.h"

#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/formats/fits/hyperdrive.h"
#include "libcore/formats/h5parm/h5parm.h"
#include "libcore/formats/solution_files/formats.h"
#include "libcore/streams/recognise.h"

namespace apsyn {
namespace {

std::string suffix_of(const std::string& path) {
  return lower(std::filesystem::path(path).extension().string());
}

std::string first_bytes(const std::string& path) {
  ByteSource source(path);
  std::string bytes(kRecogniseBytes, '\0');
  bytes.resize(source.read(bytes.data(), bytes.size()));
  return bytes;
}

const SolutionContext& context_of(const std::string& path, const SolutionReadOptions& options) {
  if (!options.context)
    throw UsageError(
        "{}: this format only counts antennas and channels: give the data that the solutions are of", path);
  return *options.context;
}

}  // namespace

Solutions read_solutions(const std::string& path, const SolutionReadOptions& options) {
  if (path == "-") throw UsageError("-: solutions are read from files");
  const std::string bytes = first_bytes(path);
  if (is_hdf5(bytes)) return read_h5parm(path, {options.solset, options.soltabs});
  if (!options.solset.empty() || !options.soltabs.empty())
    throw UsageError("{}: it is no H5Parm: only these have solsets and soltabs", path);
  if (is_ao(bytes)) return read_ao(path, context_of(path, options));
  if (bytes.starts_with(kFitsMagic) && is_hyperdrive(path))
    return convert_hyperdrive(path, context_of(path, options));
  if (suffix_of(path) == ".csv") return read_gains_table(path, context_of(path, options));
  throw DataError(
      "{}: no file of solutions{}: H5Parm, AO calibrations (.bin), hyperdrive's FITS and gains (.csv) are "
      "read",
      path, foreign_hint(bytes, "hdf5"));
}

SolutionWriteReport write_solutions(const std::string& path, const Solutions& solutions,
                                    const SolutionWriteOptions& options) {
  check_solutions(solutions);
  const std::string suffix = suffix_of(path);
  if (suffix == ".h5" || suffix == ".h5parm") {
    write_h5parm(path, solutions, {options.fill, options.overwrite, options.n_threads});
    return {};
  }
  if (suffix == ".bin") {
    write_ao(path, solutions, options);
    return {};
  }
  if (suffix == ".csv") return write_gains_table(path, solutions, options);
  if (suffix == ".fits" || suffix == ".fit") return write_aterm_images(path, solutions, options);
  throw UsageError(
      "{}: the suffix chooses the format: .h5, .csv (gains), .bin (AO calibration) or .fits (A-terms)", path);
}

}  // namespace apsyn
