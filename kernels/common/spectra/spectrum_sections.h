// SPDX-License-Identifier: GPL-3.0-or-later
// How a batch of spectra is cut into sections.
#pragma once

#include "kernels/common/host_device.h"

namespace apsyn {

struct Sections {
  int n_spectra = 0;     ///< of the batch
  int first_length = 0;  ///< spectra of section 0
  int length = 1;        ///< of all others; the last may be shorter
  int stride = 0;        ///< room of each
  APSYN_HOST_DEVICE int count() const {
    return n_spectra <= first_length ? 1 : 1 + (n_spectra - first_length + length - 1) / length;
  }
  APSYN_HOST_DEVICE int of(int spectrum) const {
    return spectrum < first_length ? 0 : 1 + (spectrum - first_length) / length;
  }
  APSYN_HOST_DEVICE int begin(int section) const {
    return section == 0 ? 0 : first_length + (section - 1) * length;
  }
  APSYN_HOST_DEVICE int size(int section) const {
    const int from = begin(section), whole = section == 0 ? first_length : length;
    return n_spectra - from < whole ? n_spectra - from : whole;
  }
};

}  // namespace apsyn
