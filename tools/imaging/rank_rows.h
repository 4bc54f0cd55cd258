// SPDX-License-Identifier: GPL-3.0-or-later
// Sends predicted rows to the first process. Only rows that are not all zero are sent: few of a block when
// the process has a range of w layers, its own when it has a share of the rows.
#pragma once

#include <complex>
#include <cstddef>

#include "libcore/base/view.h"

namespace apsyn::imaging {

/// Rows of `row_values` values that travel at once.
std::size_t rows_at_once(std::size_t row_values);

/// The rows of data [row][chan][plane] that are not 0 everywhere.
void send_rows_to_root(const Buffer<std::complex<float>, 3>& data);

/// Adds what that rank sends of the same block.
void add_rows_of(int rank, Buffer<std::complex<float>, 3>& data);

}  // namespace apsyn::imaging
