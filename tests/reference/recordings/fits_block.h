// SPDX-License-Identifier: GPL-3.0-or-later
// FITS files are made of blocks of 2880 bytes.
#pragma once

#include <string>

namespace apsyn::reference {

inline void fill_fits_block(std::string& bytes, char with) {
  while (bytes.size() % 2880 != 0) bytes.push_back(with);
}

}  // namespace apsyn::reference
