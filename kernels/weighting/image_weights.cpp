// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/weighting/image_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

std::size_t padded(std::size_t n) {
  return (static_cast<std::size_t>(std::ceil(static_cast<double>(n) * 1.2)) + 3) / 4 * 4;
}

/// Half a cosine from 0 at x = 0 to 1 at x = width.
double rise(double x, double width) {
  if (x >= width) return 1;
  if (x <= 0) return 0;
  const double root =
      std::sin(std::numbers::pi / 2 * x / width);  // keeps its digits where 1 - cos loses them
  return root * root;
}

std::vector<double> wavelengths_m(const ImagingBlock& block) {
  std::vector<double> result;
  for (std::size_t c = 0; c < block.channel_hz.size(); ++c)
    result.push_back(kSpeedOfLight_m_s / block.channel_hz(c));
  return result;
}

constexpr std::size_t kBandRows = 128;

/// Sums over the cells x - half .. x + half - 1 of rows, and how many of these are not 0.
struct RowSums {
  Buffer<double, 2> sum;
  Buffer<std::uint32_t, 2> n_filled;

  void resize(std::size_t n_rows, std::size_t n_u) {
    sum.resize_for_overwrite({n_rows, n_u});
    n_filled.resize_for_overwrite({n_rows, n_u});
  }
  void set(std::size_t row, View<const double, 1> cells, std::size_t half) {
    const std::size_t n_u = cells.size();
    for (std::size_t x = 0; x < n_u; ++x) {
      double own = 0;
      std::uint32_t n = 0;
      for (std::size_t xi = x - std::min(x, half); xi < std::min(n_u, x + half); ++xi) {
        own += cells(xi);
        n += cells(xi) != 0 ? 1 : 0;
      }
      sum(row, x) = own;
      n_filled(row, x) = n;
    }
  }
  void copy(std::size_t row, const RowSums& from, std::size_t from_row) {
    for (std::size_t x = 0; x < sum.extent(1); ++x) {
      sum(row, x) = from.sum(from_row, x);
      n_filled(row, x) = from.n_filled(from_row, x);
    }
  }
};

}  // namespace

ImageWeights::ImageWeights(const WeightSettings& settings, std::size_t n_x, std::size_t n_y, double cell_rad)
    : settings_(settings), n_u_(padded(n_x)), n_v_(padded(n_y)), cell_rad_(cell_rad) {}

void ImageWeights::make_grid(unsigned n_threads) {
  if (grid_.size() == 0) resize_by_threads<double, 2>(n_threads, {n_rows(), n_columns()}, grid_);
}

double ImageWeights::bytes_for(std::size_t n_x, std::size_t n_y) {
  return static_cast<double>(padded(n_x)) * static_cast<double>(padded(n_y)) * sizeof(double);
}

bool ImageWeights::cell(double u, double v, std::size_t& x, std::size_t& y) const {
  if (v < 0) {
    u = -u;
    v = -v;
  }
  // Integers say the same of a number as of its floor() when they bound it, and both are not negative then.
  const double column = u * static_cast<double>(n_u_) * cell_rad_ + static_cast<double>(n_u_ / 2);
  const double row = v * static_cast<double>(n_v_) * cell_rad_;
  if (!(column >= 0 && column < static_cast<double>(n_u_) && row < static_cast<double>(n_v_ / 2)))
    return false;
  x = static_cast<std::size_t>(column);
  y = static_cast<std::size_t>(row);
  return true;
}

void ImageWeights::count_beyond(double u, double v, BeyondGrid& beyond) {
  ++beyond.n_beyond;
  for (const double length : {std::abs(u), std::abs(v)})
    if (std::isfinite(length)) beyond.max_lambda = std::max(beyond.max_lambda, length);
}

ImageWeights::Sums ImageWeights::sums() {
  const bool none = settings_.mode == WeightMode::natural;
  if (!none) make_grid(1);
  return {none ? View<double, 2>() : View<double, 2>(grid_), sum_, beyond_};
}

void ImageWeights::add(double u, double v, double weight) {
  std::size_t x, y;
  const bool wanted = !(u * u + v * v > settings_.max_uv_lambda * settings_.max_uv_lambda);
  if (wanted) ++beyond_.n_visibilities;
  if (!cell(u, v, x, y)) {
    if (wanted) count_beyond(u, v, beyond_);
    return;
  }
  if (settings_.mode == WeightMode::natural) return;  // they do not depend on the sums
  make_grid(1);
  grid_(y, x) += weight;
  sum_ += weight;
}

template <class Use>
void ImageWeights::for_cells(const ImagingBlock& block, const std::vector<double>& wavelength_m,
                             std::size_t first, std::size_t end, BeyondGrid& beyond, Use use) const {
  const Span span = span_of(wavelength_m);
  const bool natural = settings_.mode == WeightMode::natural;
  const bool count_alone = natural && std::isinf(settings_.max_uv_lambda);
  const double max_square = settings_.max_uv_lambda * settings_.max_uv_lambda;
  const std::size_t n_chan = wavelength_m.size(), n_planes = block.weight.extent(2);
  // A row's channels together, so that vectors can do it; as cell() does one.
  const double n_u = static_cast<double>(n_u_), n_v = static_cast<double>(n_v_),
               middle = static_cast<double>(n_u_ / 2), n_rows = static_cast<double>(n_v_ / 2);
  std::vector<double> columns(n_chan), rows(n_chan), squares(n_chan);
  for (std::size_t row = first; row < end; ++row) {
    const double u_m = block.uvw_m(row, 0), v_m = block.uvw_m(row, 1);
    const float* weights = &block.weight(row, 0, 0);
    if (count_alone && has_cells(&block.uvw_m(row, 0), span)) {
      for (std::size_t c = 0; c < n_chan; ++c) beyond.n_visibilities += weights[c * n_planes] != 0 ? 1 : 0;
      continue;
    }
    for (std::size_t c = 0; c < n_chan; ++c) {
      const double u = u_m / wavelength_m[c], v = v_m / wavelength_m[c];
      columns[c] = (v < 0 ? -u : u) * n_u * cell_rad_ + middle;
      rows[c] = (v < 0 ? -v : v) * n_v * cell_rad_;
      squares[c] = u * u + v * v;
    }
    for (std::size_t c = 0; c < n_chan; ++c) {
      const float weight = weights[c * n_planes];
      if (weight == 0) continue;
      const bool wanted = !(squares[c] > max_square);
      beyond.n_visibilities += wanted ? 1 : 0;
      if (!(columns[c] >= 0 && columns[c] < n_u && rows[c] < n_rows)) {
        if (wanted) count_beyond(u_m / wavelength_m[c], v_m / wavelength_m[c], beyond);
      } else if (!natural) {
        use(static_cast<std::size_t>(rows[c]), static_cast<std::size_t>(columns[c]), weight);
      }
    }
  }
}

void ImageWeights::add(const ImagingBlock& block, unsigned n_threads) {
  make_grid(n_threads);
  const std::vector<double> wavelength_m = wavelengths_m(block);
  // Threads do half as much again, which few of them do not make up for beside others that read.
  constexpr unsigned kEnough = 4;
  if (n_threads >= kEnough && grid_.size() <= std::numeric_limits<std::uint32_t>::max())
    return add_by_threads(block, wavelength_m, n_threads);
  for_cells(block, wavelength_m, 0, block.uvw_m.extent(0), beyond_,
            [&](std::size_t y, std::size_t x, double weight) {
              grid_(y, x) += weight;
              sum_ += weight;
            });
}

/// Threads find the cells of parts of the block; then each adds up a share of the grid's rows, part after
/// part, so that all sums are those of one thread.
void ImageWeights::add_by_threads(const ImagingBlock& block, const std::vector<double>& wavelength_m,
                                  unsigned n_threads) {
  struct Found {
    std::uint32_t cell;
    float weight;
  };
  struct Part {
    std::vector<std::vector<Found>> of_share;
    std::vector<float> in_order;  ///< for the sum of all, which is that of the weights' order
    BeyondGrid beyond;
  };
  constexpr std::size_t kPartSize = 1 << 13;
  const bool with_sum = settings_.mode == WeightMode::briggs;
  const std::size_t n_rows = block.uvw_m.extent(0), n_shares = n_threads,
                    part_rows =
                        std::max<std::size_t>(1, kPartSize / std::max<std::size_t>(1, wavelength_m.size())),
                    n_parts = (n_rows + part_rows - 1) / part_rows;
  std::vector<Part> parts(std::min<std::size_t>(n_parts, 4 * n_threads));
  for (Part& part : parts) part.of_share.resize(n_shares);
  for (std::size_t begun = 0; begun < n_parts; begun += parts.size()) {
    const std::size_t n = std::min(parts.size(), n_parts - begun);
    parallel_for(n_threads, n, [&](std::size_t i, unsigned) {
      Part& part = parts[i];
      for (std::vector<Found>& found : part.of_share) found.clear();
      part.in_order.clear();
      const std::size_t first = (begun + i) * part_rows;
      for_cells(block, wavelength_m, first, std::min(n_rows, first + part_rows), part.beyond,
                [&](std::size_t y, std::size_t x, float weight) {
                  part.of_share[y % n_shares].push_back({static_cast<std::uint32_t>(y * n_u_ + x), weight});
                  if (with_sum) part.in_order.push_back(weight);
                });
    });
    parallel_for(n_threads, n_shares + (with_sum ? 1 : 0), [&](std::size_t item, unsigned) {
      // The sum first: it takes the longest.
      const bool is_sum = with_sum && item == 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (is_sum) {
          for (const float weight : parts[i].in_order) sum_ += static_cast<double>(weight);
          continue;
        }
        for (const Found& found : parts[i].of_share[item - (with_sum ? 1 : 0)])
          grid_.data()[found.cell] += static_cast<double>(found.weight);
      }
    });
  }
  for (const Part& part : parts) beyond_.add(part.beyond);
}

bool ImageWeights::has_cells(const double* uvw_m, const Span& wavelength_m) const {
  std::size_t x, y;
  return cell(uvw_m[0] / wavelength_m.least, uvw_m[1] / wavelength_m.least, x, y) &&
         cell(uvw_m[0] / wavelength_m.greatest, uvw_m[1] / wavelength_m.greatest, x, y);
}

void ImageWeights::take(Buffer<double, 2> sums, const BeyondGrid& beyond) {
  beyond_ = beyond;
  if (settings_.mode == WeightMode::natural && sums.size() == 0) return;
  if (sums.extent(0) != n_rows() || sums.extent(1) != n_columns())
    throw std::invalid_argument("ImageWeights: sums of another grid");
  grid_ = std::move(sums);
  sum_ = std::accumulate(grid_.begin(), grid_.end(), 0.0);
}

void ImageWeights::finish(unsigned n_threads) {
  make_grid(n_threads);
  const auto for_rows = [&](auto&& use) {
    parallel_for(n_threads, n_v_ / 2, [&](std::size_t y, unsigned) { use(y, grid_.view()[y]); });
  };
  switch (settings_.mode) {
    case WeightMode::natural:
      for_rows([](std::size_t, View<double, 1> row) { std::fill(row.begin(), row.end(), 1.0); });
      break;
    case WeightMode::uniform:
      for_rows([](std::size_t, View<double, 1> row) {
        for (double& value : row)
          if (value != 0) value = 1 / value;
      });
      break;
    case WeightMode::briggs: {
      std::vector<double> of_row(n_v_ / 2);
      for_rows([&](std::size_t y, View<double, 1> row) {
        for (const double value : row) of_row[y] += value * value;
      });
      const double square_sum = std::accumulate(of_row.begin(), of_row.end(), 0.0);
      const double factor = 5 * std::exp(-std::numbers::ln10 * settings_.robustness);
      const double s2 = sum_ > 0 ? factor * factor / (square_sum / sum_) : 0;
      // Empty cells become 1 and so take part in the means of the rank filter, as in WSClean.
      for_rows([&](std::size_t, View<double, 1> row) {
        for (double& value : row) value = 1 / (1 + value * s2);
      });
      break;
    }
  }
  const double level = settings_.rank_filter_level;  // from 1 on it leaves equal weights as they are
  ones_ = settings_.mode == WeightMode::natural && (level == 0 || level >= 1) && !tapers();
  if (level > 0 && !ones_) rank_filter(n_threads);
  if (tapers()) taper_and_limit(n_threads);
}

ImageWeights::Span ImageWeights::span_of(const std::vector<double>& wavelength_m) {
  if (wavelength_m.empty()) return {};
  const auto [least, greatest] = std::minmax_element(wavelength_m.begin(), wavelength_m.end());
  return {*least, *greatest};
}

bool ImageWeights::tapers() const {
  return settings_.taper_gaussian_rad != 0 || settings_.min_uv_lambda != 0 ||
         !std::isinf(settings_.max_uv_lambda) || settings_.inner_tukey_lambda != 0 ||
         settings_.outer_tukey_lambda != 0;
}

void ImageWeights::rank_filter(unsigned n_threads) {
  const std::size_t half = settings_.rank_filter_size / 2, n_rows = n_v_ / 2;
  if (half == 0) return;
  // Box sums as sums of row sums: with Briggs weights every cell is filled. Bands of rows are filtered in
  // place: what they need of rows of their neighbours is summed up before.
  const std::size_t n_bands = (n_rows + kBandRows - 1) / kBandRows;
  const auto band = [&](std::size_t i) {
    const std::size_t begin = i * kBandRows, end = std::min(n_rows, begin + kBandRows);
    return std::array<std::size_t, 4>{begin - std::min(begin, half), begin, end,
                                      std::min(n_rows, end + half - 1)};
  };
  std::vector<RowSums> borders(n_bands);
  parallel_for(n_threads, n_bands, [&](std::size_t i, unsigned) {
    const auto [first, begin, end, last] = band(i);
    borders[i].resize(begin - first + last - end, n_u_);
    for (std::size_t y = first; y < begin; ++y) borders[i].set(y - first, grid_.view()[y], half);
    for (std::size_t y = end; y < last; ++y) borders[i].set(begin - first + y - end, grid_.view()[y], half);
  });
  parallel_for(n_threads, n_bands, [&](std::size_t i, unsigned) {
    const auto [first, begin, end, last] = band(i);
    RowSums ring;
    ring.resize(2 * half, n_u_);
    std::vector<double> sum(n_u_), n_filled(n_u_);
    std::size_t next = first;
    for (std::size_t y = begin; y < end; ++y) {
      for (; next < std::min(n_rows, y + half); ++next) {
        if (next >= begin && next < end)
          ring.set(next % (2 * half), grid_.view()[next], half);
        else
          ring.copy(next % (2 * half), borders[i], next < begin ? next - first : begin - first + next - end);
      }
      std::fill(sum.begin(), sum.end(), 0.0);
      std::fill(n_filled.begin(), n_filled.end(), 0.0);
      for (std::size_t yi = y - std::min(y, half); yi < next; ++yi) {
        const double* row_sum = &ring.sum(yi % (2 * half), 0);
        const std::uint32_t* row_filled = &ring.n_filled(yi % (2 * half), 0);
        for (std::size_t x = 0; x < n_u_; ++x) {
          sum[x] += row_sum[x];
          n_filled[x] += row_filled[x];
        }
      }
      for (std::size_t x = 0; x < n_u_; ++x) {
        double& value = grid_(y, x);
        const double limit = sum[x] / n_filled[x] * settings_.rank_filter_level;
        if (value != 0 && value > limit) value = limit;
      }
    }
  });
}

void ImageWeights::taper_and_limit(unsigned n_threads) {
  const double inverse_sigma =
      2 * std::numbers::pi * settings_.taper_gaussian_rad / std::sqrt(8 * std::numbers::ln2);
  parallel_for(n_threads, n_v_ / 2, [&](std::size_t y, unsigned) {
    for (std::size_t x = 0; x < n_u_; ++x) {
      const double u =
          (static_cast<double>(x) - static_cast<double>(n_u_ / 2)) / (static_cast<double>(n_u_) * cell_rad_);
      const double v = static_cast<double>(y) / (static_cast<double>(n_v_) * cell_rad_);
      const double distance2 = u * u + v * v;
      double& value = grid_(y, x);
      if (inverse_sigma > 0) value *= std::exp(-distance2 * inverse_sigma * inverse_sigma / 2);
      const double distance = std::sqrt(distance2);
      value *= rise(distance - settings_.min_uv_lambda, settings_.inner_tukey_lambda) *
               rise(settings_.max_uv_lambda - distance, settings_.outer_tukey_lambda);
      if (distance2 < settings_.min_uv_lambda * settings_.min_uv_lambda ||
          distance2 > settings_.max_uv_lambda * settings_.max_uv_lambda)
        value = 0;
    }
  });
}

double ImageWeights::at(double u, double v) const {
  std::size_t x, y;
  return cell(u, v, x, y) ? grid_(y, x) : 0.0;
}

void ImageWeights::apply(const ImagingBlock& block, unsigned n_threads, Buffer<float, 3>& weight) const {
  constexpr std::size_t rows_at_once = 1024;
  const std::size_t n_row = block.uvw_m.extent(0), n_planes = block.weight.extent(2);
  const std::vector<double> wavelength_m = wavelengths_m(block);
  const Span span = span_of(wavelength_m);
  resize_for_threads(n_threads, block.weight.shape(), weight);
  parallel_for(n_threads, (n_row + rows_at_once - 1) / rows_at_once, [&](std::size_t item, unsigned) {
    for (std::size_t row = item * rows_at_once; row < std::min(n_row, (item + 1) * rows_at_once); ++row) {
      if (ones_ && has_cells(&block.uvw_m(row, 0), span)) {
        const std::size_t n_values = wavelength_m.size() * n_planes;
        std::copy_n(&block.weight(row, 0, 0), n_values, &weight(row, 0, 0));
        continue;
      }
      for (std::size_t c = 0; c < wavelength_m.size(); ++c) {
        const auto factor = static_cast<float>(
            at(block.uvw_m(row, 0) / wavelength_m[c], block.uvw_m(row, 1) / wavelength_m[c]));
        for (std::size_t p = 0; p < n_planes; ++p) weight(row, c, p) = block.weight(row, c, p) * factor;
      }
    }
  });
}

}  // namespace apsyn
