// SPDX-License-Identifier: GPL-3.0-or-later
// All that a capture gives, for tests of recorders' formats.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/io/capture/capture.h"

namespace apsyn::support {

struct Taken {
  std::vector<std::uint8_t> bytes;
  std::vector<StreamReport> reports;
  VoltageHeader header;
};

inline Taken take(const CaptureRequest& request) {
  const auto capture = open_capture(request);
  Taken taken;
  taken.header = capture->header();
  std::vector<std::uint8_t> samples(77, 0xA5);  // poison
  while (capture->read(samples)) taken.bytes.insert(taken.bytes.end(), samples.begin(), samples.end());
  taken.reports = capture->reports();
  return taken;
}

}  // namespace apsyn::support
