// SPDX-License-Identifier: GPL-3.0-or-later
// A set's planes of the caller's images while they are cleaned.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/clean/set_cleaner.h"

namespace apsyn {

/// Views of the planes, their blank pixels zero until this goes.
class OwnPlanes {
 public:
  OwnPlanes(const SetPlanes& planes, View<float, 4> residual, View<float, 4> model,
            Buffer<std::uint8_t, 2>& blank) {
    for (const std::size_t g : planes.groups)
      for (std::size_t p = 0; p < planes.n_pol; ++p) {
        this->residual.push_back(residual[g][planes.first_pol + p]);
        this->model.push_back(model[g][planes.first_pol + p]);
      }
    blank.resize(this->residual[0].shape());
    for (const View<float, 2>& plane : this->residual)
      for (std::size_t i = 0; i < plane.size(); ++i)
        if (float& value = plane.data()[i]; !std::isfinite(value)) {
          blanks_.push_back(&value);
          blank.data()[i] = 1;
          value = 0;
        }
  }
  OwnPlanes(const OwnPlanes&) = delete;
  OwnPlanes& operator=(const OwnPlanes&) = delete;
  ~OwnPlanes() {
    for (float* value : blanks_) *value = NAN;
  }
  std::vector<View<float, 2>> residual, model;  ///< [own group * n_pol + pol]

 private:
  std::vector<float*> blanks_;
};

}  // namespace apsyn
