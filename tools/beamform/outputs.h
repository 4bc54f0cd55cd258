// SPDX-License-Identifier: GPL-3.0-or-later
// One file of each beam.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "tools/beamform/setup.h"

namespace apsyn {

/// The names of all outputs from a pattern with one %d or %0Nd, which becomes the beam's number; a name
/// without serves a single beam. UsageError, which names `option`.
std::vector<std::string> output_names(const std::string& option, const std::string& pattern,
                                      std::size_t n_beam);

/// Takes a beam's values as they come and writes its file. With 8 bits the first values are held back until
/// they tell the scale.
class BeamSink {
 public:
  virtual ~BeamSink() = default;
  /// [time][value] as BeamBlock has them.
  virtual void write(const float* values, std::size_t n_time) = 0;
  virtual void commit() = 0;
  /// Whether anything was there that is not missing.
  bool any_data() const { return any_data_; }

 protected:
  bool any_data_ = false;
};

std::unique_ptr<BeamSink> make_beam_sink(const Tool& tool, const BeamformSetup& setup, std::size_t beam,
                                         const std::string& path);

}  // namespace apsyn
