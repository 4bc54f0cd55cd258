// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of ingest: what the formats share, and what each of them asks for.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "libcore/formats/capture/capture.h"

namespace apsyn {

/// Options that go with some formats only.
struct FormatOptions {
  std::vector<std::string> formats;
  std::vector<CLI::Option*> options;
};

struct IngestOptions {
  CaptureRequest request;
  std::string start, input_order, endian;
  double sample_rate_hz = NAN;
  bool real = false, absolute_weights = false;
  std::vector<FormatOptions> groups;
};

void declare(Tool& tool, IngestOptions& o);

/// What the parser of the command line leaves to do.
void complete(IngestOptions& o);

}  // namespace apsyn
