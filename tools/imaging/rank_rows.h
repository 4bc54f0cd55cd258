// SPDX-License-Identifier: GPL-3.0-or-later
// Sends predicted rows to the first process. Only rows that are not all zero are sent: a few of a block if
// the process has a range of w layers, or its own if it has a share of the rows.
#pragma once

#include <complex>
#include <cstddef>

#include "libcore/base/view.h"

namespace apsyn::imaging {

/// Number of rows, of `row_values` values each, that are sent in one message.
std::size_t rows_at_once(std::size_t row_values);

/// The rows of data [row][chan][plane] that are not 0 everywhere.
void send_rows_to_root(const Buffer<std::complex<float>, 3>& data);

/// Adds the rows of the same block that `rank` sends.
void add_rows_of(int rank, Buffer<std::complex<float>, 3>& data);

}  // namespace apsyn::imaging
