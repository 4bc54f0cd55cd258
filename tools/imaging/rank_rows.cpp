// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/rank_rows.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "libcore/system/ranks.h"

namespace apsyn::imaging {

std::size_t rows_at_once(std::size_t row_values) {
  return std::max<std::size_t>(1, (std::size_t{8} << 20) / (sizeof(std::complex<float>) * row_values));
}

void send_rows_to_root(const Buffer<std::complex<float>, 3>& data) {
  const std::size_t row_values = data.extent(1) * data.extent(2), at_once = rows_at_once(row_values);
  std::vector<std::uint64_t> rows;
  for (std::size_t row = 0; row < data.extent(0); ++row) {
    const std::complex<float>* own = data.data() + row * row_values;
    if (std::any_of(own, own + row_values, [](std::complex<float> v) { return v != 0.0f; }))
      rows.push_back(row);
  }
  const std::uint64_t n = rows.size();
  send_to_root<std::uint64_t>({&n, 1});
  send_to_root<std::uint64_t>(rows);
  std::vector<std::complex<float>> values;
  for (std::size_t first = 0; first < n; first += at_once) {
    const std::size_t end = std::min<std::size_t>(n, first + at_once);
    values.clear();
    for (std::size_t i = first; i < end; ++i) {
      const std::complex<float>* own = data.data() + rows[i] * row_values;
      values.insert(values.end(), own, own + row_values);
    }
    send_to_root<std::complex<float>>(values);
  }
}

void add_rows_of(int rank, Buffer<std::complex<float>, 3>& data) {
  const std::size_t row_values = data.extent(1) * data.extent(2), at_once = rows_at_once(row_values);
  std::uint64_t n = 0;
  receive<std::uint64_t>(rank, {&n, 1});
  std::vector<std::uint64_t> rows(n);
  receive<std::uint64_t>(rank, rows);
  std::vector<std::complex<float>> values;
  for (std::size_t first = 0; first < n; first += at_once) {
    const std::size_t end = std::min<std::size_t>(n, first + at_once);
    values.resize((end - first) * row_values);
    receive<std::complex<float>>(rank, values);
    for (std::size_t i = first; i < end; ++i) {
      std::complex<float>* own = data.data() + rows[i] * row_values;
      for (std::size_t k = 0; k < row_values; ++k) own[k] += values[(i - first) * row_values + k];
    }
  }
}

}  // namespace apsyn::imaging
