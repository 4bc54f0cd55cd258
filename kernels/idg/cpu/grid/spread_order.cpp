// SPDX-License-Identifier: GPL-3.0-or-later
#include <bit>
#include <numeric>

#include "kernels/idg/cpu/grid/spread.h"

namespace apsyn {

template <class T>
SpreadBatch<T>::SpreadBatch(std::size_t most) {
  for (Buffer<double, 1>* coordinate : {&u, &v, &w}) coordinate->resize({most});
  for (Buffer<T, 1>* each : {&turn_cos, &turn_sin, &q_u, &q_v}) each->resize({most});
  cell.resize({most});
}
template struct SpreadBatch<float>;
template struct SpreadBatch<double>;

template <class T>
SpreadScratch<T>::SpreadScratch() {
  constexpr std::size_t max_taps = 16, max_values = 8, vector = 64 / sizeof(T);
  taps_u.resize({spread_chunk + 2, max_taps});
  row.resize({spread_chunk * (max_taps * max_values + vector)});
}
template struct SpreadScratch<float>;
template struct SpreadScratch<double>;

/// By two digits of the cell.
template <class T>
void order_by_cell(std::size_t n_cells, const SpreadBatch<T>& batch, SpreadScratch<T>& scratch) {
  const std::uint32_t* cell = batch.cell.data();
  const std::size_t n = batch.n;
  scratch.order.resize(n);
  scratch.half_sorted.resize(n);
  std::iota(scratch.order.begin(), scratch.order.end(), std::uint16_t{0});
  std::size_t changes = 0;
  for (std::size_t i = 1; i < n; ++i) changes += cell[i] != cell[i - 1];
  if (changes < n / 16) return;
  const int low_bits = (std::bit_width(n_cells) + 1) / 2;
  std::vector<std::uint16_t>& begin = scratch.digit_begin;
  auto by_digit = [&](int shift, const std::uint16_t* from, std::uint16_t* to) {
    const std::uint32_t mask = (1u << low_bits) - 1;
    begin.assign(mask + 2, 0);
    for (std::size_t i = 0; i < n; ++i) ++begin[(cell[from[i]] >> shift & mask) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (std::size_t i = 0; i < n; ++i) to[begin[cell[from[i]] >> shift & mask]++] = from[i];
  };
  by_digit(0, scratch.order.data(), scratch.half_sorted.data());
  by_digit(low_bits, scratch.half_sorted.data(), scratch.order.data());
}
template void order_by_cell(std::size_t, const SpreadBatch<float>&, SpreadScratch<float>&);
template void order_by_cell(std::size_t, const SpreadBatch<double>&, SpreadScratch<double>&);

}  // namespace apsyn
