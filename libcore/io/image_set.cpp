// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/io/image_set.h"

#include <filesystem>

#include "libcore/core/error.h"

namespace apsyn {
namespace {

constexpr std::string_view kDirty = "-dirty.fits";

void reject_measurement_set(const std::string& path) {
  std::string plain = path;
  while (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  std::error_code error;
  if (plain.ends_with(".ms") || plain.ends_with(".MS") ||
      std::filesystem::exists(plain + "/table.dat", error))
    throw UsageError(
        "{}: a Measurement Set: make images with idg-grid first, then give "
        "NAME-dirty.fits NAME-psf.fits",
        path);
}

}  // namespace

ImageSet find_image_set(const std::vector<std::string>& arguments, const std::string& output) {
  for (const std::string& argument : arguments) reject_measurement_set(argument);
  if (arguments.empty() || arguments.size() > 2)
    throw UsageError("{} inputs: give NAME-dirty.fits NAME-psf.fits, or NAME alone", arguments.size());
  if (output == "-") throw UsageError("-o -: three images do not fit on standard output: give a name");
  ImageSet set;
  std::string name;
  if (arguments[0].ends_with(kDirty)) name = arguments[0].substr(0, arguments[0].size() - kDirty.size());
  if (arguments.size() == 2) {
    set.dirty = arguments[0];
    set.psf = arguments[1];
    if (set.dirty == "-" && set.psf == "-")
      throw UsageError("-: only one of the two images can come from standard input");
  } else {
    if (name.empty()) name = arguments[0];
    if (name == "-") throw UsageError("-: give the dirty image and the PSF; only one can come from a pipe");
    set.dirty = name + std::string(kDirty);
    set.psf = name + "-psf.fits";
    for (const std::string& file : {set.dirty, set.psf})
      if (!std::filesystem::exists(file))
        throw FailureError("{}: there is no {}: give NAME-dirty.fits NAME-psf.fits", arguments[0], file);
  }
  if (!output.empty()) name = output;
  if (name.empty())
    throw UsageError(
        "{}: give the name of the outputs with -o, because the input is not called "
        "NAME-dirty.fits",
        set.dirty);
  set.model = name + "-model.fits";
  set.residual = name + "-residual.fits";
  set.image = name + "-image.fits";
  return set;
}

}  // namespace apsyn
