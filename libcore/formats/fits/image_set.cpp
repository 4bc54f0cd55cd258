// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/image_set.h"

#include <algorithm>
#include <filesystem>

#include "libcore/base/error.h"

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

ChannelSets find_channel_sets(const std::vector<std::string>& arguments, const std::string& output) {
  if (arguments.size() != 1 || arguments[0] == "-" || arguments[0].ends_with(kDirty) ||
      std::filesystem::exists(arguments[0] + std::string(kDirty)))
    return {{find_image_set(arguments, output)}, {}};
  const std::filesystem::path name(arguments[0]);
  const std::filesystem::path folder = name.has_parent_path() ? name.parent_path() : ".";
  const std::string start = name.filename().string() + "-";
  std::vector<std::string> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (file.size() < start.size() + 4 + kDirty.size() || !file.starts_with(start) || !file.ends_with(kDirty))
      continue;
    const std::string number = file.substr(start.size(), file.size() - start.size() - kDirty.size());
    if (number.find_first_not_of("0123456789") == std::string::npos) numbers.push_back(number);
  }
  if (numbers.empty()) return {{find_image_set(arguments, output)}, {}};
  std::sort(numbers.begin(), numbers.end());
  const std::string target = output.empty() ? arguments[0] : output;
  ChannelSets sets;
  for (const std::string& number : numbers)
    sets.parts.push_back(find_image_set({arguments[0] + "-" + number}, target + "-" + number));
  sets.mean = {"", "", target + "-MFS-model.fits", target + "-MFS-residual.fits", target + "-MFS-image.fits"};
  return sets;
}

}  // namespace apsyn
