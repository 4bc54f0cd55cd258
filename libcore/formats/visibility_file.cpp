// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/visibility_file.h"

#include <algorithm>
#include <numeric>

namespace apsyn {

Product with_swapped_receptors(Product product) {
  switch (product) {
    case Product::XY:
      return Product::YX;
    case Product::YX:
      return Product::XY;
    case Product::RL:
      return Product::LR;
    case Product::LR:
      return Product::RL;
    default:
      return product;
  }
}

bool VisibilityFile::read(FileRows& rows, FileVisibilities& cells, std::size_t max_rows, unsigned n_threads) {
  if (!next(rows, max_rows)) return false;
  const std::size_t n_chan = description().channel_hz.size(), n_product = description().products.size(),
                    n_cells = n_chan * n_product;
  std::vector<std::size_t> all(rows.n_rows());
  std::iota(all.begin(), all.end(), std::size_t{0});
  cells.data.resize(rows.n_windows);
  cells.weight.resize(rows.n_windows);
  for (std::size_t i = 0; i < rows.n_windows; ++i) {
    Buffer<std::complex<float>, 3>& data = cells.data[i];
    Buffer<float, 3>& weight = cells.weight[i];
    data.resize_for_overwrite({all.size(), n_chan, n_product});
    weight.resize_for_overwrite(data.shape());
    read_cells(
        {rows.first_window + i, 0, n_chan, all}, n_threads,
        [&](std::size_t first, View<const std::complex<float>, 3> values, View<const float, 3> weights) {
          std::copy(values.begin(), values.end(), data.data() + first * n_cells);
          std::copy(weights.begin(), weights.end(), weight.data() + first * n_cells);
        });
  }
  return true;
}

}  // namespace apsyn
