// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/transform/open_sources.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/mwa_fits/mwa_fits.h"
#include "libcore/formats/uvfits/uvfits.h"
#include "libcore/formats/uvh5/uvh5.h"
#include "libcore/streams/detect.h"

namespace apsyn::transform {
namespace {

/// The metafits and the files of a correlator among the inputs.
struct MwaInputs {
  std::string metafits;
  std::vector<std::string> files;
};

bool are_mwa(const Options& options) {
  return !options.metafits.empty() ||
         std::any_of(options.inputs.begin(), options.inputs.end(), [](const std::string& path) {
           return is_mwa_correlator_file(path) || is_mwa_metafits(path);
         });
}

MwaInputs sort_mwa_inputs(const Options& options) {
  MwaInputs sorted{options.metafits, {}};
  for (const std::string& path : options.inputs) {
    if (is_mwa_correlator_file(path)) {
      sorted.files.push_back(path);
    } else if (!is_mwa_metafits(path)) {
      throw UsageError(
          "{}: neither a metafits nor a file of the MWA's correlators (..._gpuboxNN_MM.fits, "
          "..._chNNN_MMM.fits): they are not joined with others",
          path);
    } else if (!sorted.metafits.empty()) {
      throw UsageError("{}: a second metafits, besides {}: give one observation", path, sorted.metafits);
    } else {
      sorted.metafits = path;
    }
  }
  if (sorted.metafits.empty())
    throw UsageError("{}: a file of the MWA's correlators: give the observation's metafits, too",
                     options.inputs[0]);
  if (sorted.files.empty())
    throw UsageError("{}: the metafits alone: give the files of the correlator, too", sorted.metafits);
  return sorted;
}

void check_mwa_options(const Options& options) {
  if (options.mwa == MwaFitsOptions{}) return;
  throw UsageError(
      "{}: --pointing-centre, --no-*-delay, --no-digital-gains, --passband and --flag-* go with files of the "
      "MWA's "
      "correlators",
      options.inputs[0]);
}

std::unique_ptr<RowSource> file_source(const std::string& path, std::unique_ptr<VisibilityFile> file,
                                       const Options& options) {
  for (const std::string& line : file->warnings()) log_warning("{}", line);
  return make_file_source(path, std::move(file), options);
}

/// The source of one input; none for a stream.
std::unique_ptr<RowSource> open_source(const std::string& path, const Options& options) {
  std::error_code error;
  // What is no file, a pipe for example, would lose its beginning.
  if (path != "-" && std::filesystem::is_regular_file(path, error)) {
    if (is_hdf5_file(path)) return file_source(path, std::make_unique<Uvh5Reader>(path), options);
    if (is_fits_file(path))
      return file_source(path, std::make_unique<UvfitsReader>(path, UvfitsOptions{}), options);
  }
  const InputKind kind = detect_input(path);
  if (kind == InputKind::measurement_set) return make_set_source(path, options);
  if (kind != InputKind::visibility)
    throw UsageError("{}: {}: give Measurement Sets, UVH5, UVFITS or FITS-IDI files, or a visibility stream",
                     path, input_kind_name(kind));
  if (options.inputs.size() > 1)
    throw UsageError("{}: a stream: streams are not joined: give it alone", path);
  return nullptr;
}

}  // namespace

std::vector<std::unique_ptr<RowSource>> open_sources(const Options& options) {
  std::vector<std::unique_ptr<RowSource>> sources;
  if (are_mwa(options)) {
    const MwaInputs inputs = sort_mwa_inputs(options);
    MwaFitsOptions wanted = options.mwa;
    wanted.phase_centre = options.centre;
    sources.push_back(file_source(
        inputs.metafits, std::make_unique<MwaFitsReader>(inputs.metafits, inputs.files, wanted), options));
    return sources;
  }
  check_mwa_options(options);
  for (const std::string& path : options.inputs)
    if (std::unique_ptr<RowSource> source = open_source(path, options)) sources.push_back(std::move(source));
  return sources;
}

}  // namespace apsyn::transform
