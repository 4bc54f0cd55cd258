// SPDX-License-Identifier: GPL-3.0-or-later
// Cairo's objects as C++ owns them. Included by .cpp files of this folder only.
#pragma once

#include <cairo.h>

#include <memory>
#include <new>

#include "libcore/base/error.h"
#include "libcore/plot/canvas.h"

namespace apsyn {

struct CairoDeleter {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* cairo) const { cairo_destroy(cairo); }
};
using CairoSurface = std::unique_ptr<cairo_surface_t, CairoDeleter>;
using CairoContext = std::unique_ptr<cairo_t, CairoDeleter>;

/// Throws what a status tells: std::bad_alloc, or FailureError with Cairo's own words.
inline void check_cairo(cairo_status_t status) {
  if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  if (status != CAIRO_STATUS_SUCCESS)
    throw FailureError("cannot draw the picture: {}", cairo_status_to_string(status));
}

/// The whole drawing as 24-bit pixels.
CairoSurface draw_pixels(const Canvas& canvas);

}  // namespace apsyn
