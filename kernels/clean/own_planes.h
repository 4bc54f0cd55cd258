// SPDX-License-Identifier: GPL-3.0-or-later
// A set's planes of the caller's images while they are cleaned.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/clean/set_cleaner.h"
#include "libcore/system/parallel.h"

namespace apsyn {

/// Views of the planes. Blank (NaN) pixels are set to 0 during the lifetime of this object and restored by
/// its destructor.
class OwnPlanes {
 public:
  OwnPlanes(const SetPlanes& planes, View<float, 4> residual, View<float, 4> model,
            Buffer<std::uint8_t, 2>& blank, unsigned n_threads) {
    for (const std::size_t g : planes.groups)
      for (std::size_t p = 0; p < planes.n_pol; ++p) {
        this->residual.push_back(residual[g][planes.first_pol + p]);
        this->model.push_back(model[g][planes.first_pol + p]);
      }
    const std::size_t ny = this->residual[0].extent(0), nx = this->residual[0].extent(1);
    blank.resize_for_overwrite({ny, nx});
    blanks_.resize(ny);
    parallel_for(n_threads, ny, [&](std::size_t y, unsigned) {
      std::fill_n(&blank(y, 0), nx, std::uint8_t{0});
      for (const View<float, 2>& plane : this->residual)
        for (std::size_t x = 0; x < nx; ++x)
          if (float& value = plane(y, x); !std::isfinite(value)) {
            blanks_[y].push_back(&value);
            blank(y, x) = 1;
            value = 0;
          }
    });
  }
  OwnPlanes(const OwnPlanes&) = delete;
  OwnPlanes& operator=(const OwnPlanes&) = delete;
  ~OwnPlanes() {
    for (const auto& row : blanks_)
      for (float* value : row) *value = NAN;
  }
  std::vector<View<float, 2>> residual, model;  ///< [own group * n_pol + pol]

 private:
  std::vector<std::vector<float*>> blanks_;  ///< [row]
};

}  // namespace apsyn
