// SPDX-License-Identifier: GPL-3.0-or-later
// A source of visibilities that has none, for what looks at its description alone.
#pragma once

#include <cstdint>

#include "libcore/visibility/imaging.h"

namespace apsyn {

class NoSource final : public ImagingSource {
 public:
  const ImagingInfo& info() const override { return info_; }
  void rewind(const ChannelGroup&) override {}
  bool read(ImagingBlock&, std::uint64_t) override { return false; }

  ImagingInfo info_;
};

}  // namespace apsyn
