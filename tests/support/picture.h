// SPDX-License-Identifier: GPL-3.0-or-later
// The pixels of a drawing, for tests that look at them.
#pragma once

#include "libcore/plot/canvas.h"

namespace apsyn {

class Picture {
 public:
  Picture(const Canvas& canvas) : rgb_(canvas.to_rgb8()) {}
  std::size_t width() const { return rgb_.extent(1); }
  std::size_t height() const { return rgb_.extent(0); }
  Rect bounds() const { return {0, 0, static_cast<double>(width()), static_cast<double>(height())}; }
  Colour pixel(std::size_t x, std::size_t y) const {
    const auto part = [&](std::size_t colour) { return static_cast<float>(rgb_(y, x, colour)) / 255; };
    return {part(0), part(1), part(2)};
  }

 private:
  Buffer<std::uint8_t, 3> rgb_;
};

}  // namespace apsyn
