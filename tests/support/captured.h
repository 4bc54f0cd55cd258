// SPDX-License-Identifier: GPL-3.0-or-later
// All that a capture gives, and what may be recorded, for tests of recorders' formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libcore/formats/capture/capture.h"

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

inline CaptureRequest request(const std::string& format, const std::vector<std::string>& inputs) {
  CaptureRequest request;
  request.format = format;
  request.inputs = inputs;
  return request;
}

/// What a recording of channels and seconds has at a place: anything but zero, and known.
inline std::uint8_t value(std::int64_t channel, std::int64_t second, std::size_t at) {
  return static_cast<std::uint8_t>(1 + (static_cast<std::size_t>(channel * 7 + second * 13) + at * 31) % 253);
}

}  // namespace apsyn::support
