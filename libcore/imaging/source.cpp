// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/imaging/source.h"

#include <filesystem>

#include "libcore/base/error.h"

namespace apsyn {

std::unique_ptr<ImagingSource> open_imaging_source(const std::vector<std::string>& inputs,
                                                   const ImagingSelection& selection) {
  std::size_t n_sets = 0;
  for (const std::string& input : inputs) {
    std::error_code error;
    const auto status = std::filesystem::status(input, error);
    if (input != "-" && !std::filesystem::exists(status))
      throw FailureError("{}: does not exist: give a Measurement Set or a visibility stream", input);
    if (input != "-" && std::filesystem::is_directory(status)) ++n_sets;
  }
  if (n_sets == inputs.size()) return open_ms_source(inputs, selection);
  if (inputs.size() > 1)
    throw UsageError("{}: several inputs must all be Measurement Sets: give one visibility stream alone",
                     inputs[0]);
  return open_stream_source(inputs[0], selection);
}

}  // namespace apsyn
