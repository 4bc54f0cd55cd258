// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/beams/phasor_field.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/beams/lanes.h"

namespace apsyn {
namespace {

constexpr double kTolerance = 2e-7;  ///< of a phasor, what the series and the fit may miss
constexpr std::size_t kSmallest = 16;
constexpr std::size_t kCheapTerms = 6, kMaxTerms = 12;

Vec3 normalised(const Vec3& a) {
  return scaled(a, 1 / std::max(1e-300, std::sqrt(dot(a, a))));
}

PhasorBlock block_at(std::size_t x, std::size_t y, std::size_t n_x, std::size_t n_y) {
  PhasorBlock block;
  block.x = x;
  block.y = y;
  block.n_x = n_x;
  block.n_y = n_y;
  return block;
}

/// Terms of exp(i psi) that leave out less than kTolerance.
std::size_t terms_for(double psi) {
  double term = 1;
  std::size_t n = 0;
  while (term > kTolerance && n < 100) term *= psi / static_cast<double>(++n);
  return std::max<std::size_t>(1, n);
}

/// exp(2 pi i turns) for kLanes of them: the whole turns are taken off in double precision.
APSYN_BEAM_INLINE void turn_lanes(const double* turns, float* re, float* im) {
  float quarter[kLanes], octant[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) {
    // A quarter of a turn q and the rest, at most an eighth of a turn.
    const double q = __builtin_rint(4 * turns[i]);
    octant[i] = static_cast<float>((turns[i] - 0.25 * q) * kTwoPi);
    quarter[i] = static_cast<float>(q - 4 * __builtin_rint(0.25 * q));  // -2 .. 2
  }
  const Lanes x = load_lanes(octant), q = load_lanes(quarter), y = x * x;
  // Taylor to 1e-8 at pi / 4.
  const Lanes sine = x * (1 + y * (-1.0f / 6 + y * (1.0f / 120 + y * (-1.0f / 5040 + y * (1.0f / 362880)))));
  const Lanes cosine =
      1 + y * (-0.5f + y * (1.0f / 24 + y * (-1.0f / 720 + y * (1.0f / 40320 - y * (1.0f / 3628800)))));
  // Turned by q quarters: the cosine and sine of q = -2 .. 2 quarters as polynomials, exact there.
  const Lanes cosine_q = 1 - q * q * (7 - q * q) * (1.0f / 6), sine_q = q * (4 - q * q) * (1.0f / 3);
  store_lanes(re, cosine * cosine_q - sine * sine_q);
  store_lanes(im, sine * cosine_q + cosine * sine_q);
}

APSYN_BEAM_INLINE void turn_all_lanes(const double* turns, std::size_t n, float* re, float* im) {
  for (std::size_t i = 0; i < n; i += kLanes) turn_lanes(turns + i, re + i, im + i);
}

/// exp(2 pi i turns), n a multiple of kLanes.
void turn_all(const double* turns, std::size_t n, float* re, float* im) {
  run_on_lanes([&](auto) APSYN_BEAM_BODY { turn_all_lanes(turns, n, re, im); });
}

std::size_t whole_lanes(std::size_t n) {
  return (n + kLanes - 1) / kLanes * kLanes;
}

}  // namespace

PhasorPlan::PhasorPlan(View<const Vec3, 2> directions, double reach) : directions_(directions) {
  const std::size_t n_y = directions.extent(0), n_x = directions.extent(1);
  rest_.resize({3, n_y, n_x});
  const Vec3 middle = directions((n_y - 1) / 2, (n_x - 1) / 2) + directions(n_y / 2, n_x / 2);
  axes_[0] = normalised(middle);
  // Any other axis that is far from this one makes the two across.
  const std::size_t least = std::abs(axes_[0][0]) < 0.6 ? 0 : 1;
  Vec3 other{};
  other[least] = 1;
  axes_[1] = normalised(other - scaled(axes_[0], axes_[0][least]));
  for (std::size_t i = 0; i < 3; ++i)
    axes_[2][i] =
        axes_[0][(i + 1) % 3] * axes_[1][(i + 2) % 3] - axes_[0][(i + 2) % 3] * axes_[1][(i + 1) % 3];
  constexpr std::size_t kLargest = 64;
  for (std::size_t y = 0; y < n_y; y += kLargest)
    for (std::size_t x = 0; x < n_x; x += kLargest)
      add(block_at(x, y, std::min(kLargest, n_x - x), std::min(kLargest, n_y - y)), reach);
}

double PhasorPlan::fit(PhasorBlock& block) {
  const std::size_t last_x = block.x + block.n_x - 1, last_y = block.y + block.n_y - 1;
  const double mid_x = 0.5 * static_cast<double>(block.n_x - 1),
               mid_y = 0.5 * static_cast<double>(block.n_y - 1);
  // Slopes between opposite edges, along the middle row and column.
  const std::size_t row = block.y + block.n_y / 2, column = block.x + block.n_x / 2;
  if (block.n_x > 1)
    block.along_x = scaled(directions_(row, last_x) - directions_(row, block.x), 0.5 / mid_x);
  if (block.n_y > 1)
    block.along_y = scaled(directions_(last_y, column) - directions_(block.y, column), 0.5 / mid_y);
  const Vec3 base = directions_(row, column) -
                    scaled(block.along_x, static_cast<double>(column - block.x) - mid_x) -
                    scaled(block.along_y, static_cast<double>(row - block.y) - mid_y);
  Vec3 low{}, high{};
  for (std::size_t y = block.y; y <= last_y; ++y)
    for (std::size_t x = block.x; x <= last_x; ++x) {
      const Vec3 rest = directions_(y, x) - base -
                        scaled(block.along_x, static_cast<double>(x - block.x) - mid_x) -
                        scaled(block.along_y, static_cast<double>(y - block.y) - mid_y);
      for (std::size_t i = 0; i < 3; ++i) {
        const double along = dot(rest, axes_[i]);
        low[i] = std::min(low[i], along);
        high[i] = std::max(high[i], along);
        rest_(i, y, x) = static_cast<float>(along);
      }
    }
  block.middle = base;
  for (std::size_t i = 0; i < 3; ++i) {
    const double middle = 0.5 * (low[i] + high[i]);
    for (std::size_t y = block.y; y <= last_y; ++y)
      for (std::size_t x = block.x; x <= last_x; ++x) rest_(i, y, x) -= static_cast<float>(middle);
    block.middle = block.middle + scaled(axes_[i], middle);
  }
  block.max_rho = 0.5 * (high[0] - low[0]);
  return 0.5 * std::hypot(high[1] - low[1], high[2] - low[2]);
}

void PhasorPlan::add(PhasorBlock block, double reach) {
  // An element at the edge of its field counts fully here, while the mean over a field sees a fraction of it.
  constexpr double kBeside = 5 * kTolerance;
  const double sigma = fit(block) * reach, psi = block.max_rho * reach;
  std::size_t n_terms = terms_for(psi);
  block.bent = sigma > kBeside;
  if (block.bent) n_terms += 2;
  block.expanded = n_terms <= kMaxTerms && sigma * std::max(sigma, psi) < kBeside;
  const bool can_split = block.n_x > kSmallest || block.n_y > kSmallest;
  if ((block.expanded && n_terms <= kCheapTerms) || !can_split) {
    blocks_.push_back(block);
    return;
  }
  const auto half = [](std::size_t n) {
    return n > kSmallest ? std::max(kSmallest, (n / 2 + 15) / 16 * 16) : n;
  };
  const std::size_t step_x = half(block.n_x), step_y = half(block.n_y);
  for (std::size_t y = 0; y < block.n_y; y += step_y)
    for (std::size_t x = 0; x < block.n_x; x += step_x)
      add(block_at(block.x + x, block.y + y, std::min(step_x, block.n_x - x),
                   std::min(step_y, block.n_y - y)),
          reach);
}

void PhasorSum::evaluate(const PhasorPlan& plan, const PhasorBlock& block, const std::vector<Vec3>& r_m,
                         double freq_hz, const Vec3& looked_hz, ComplexPlanes& sum) {
  sum.resize(block.n_y, whole_lanes(block.n_x));
  if (r_m.empty()) {
    sum.re.fill(0);
    sum.im.fill(0);
  } else if (block.expanded) {
    expand(plan, block, r_m, freq_hz, looked_hz, sum);
  } else {
    sum_pixels(plan, block, r_m, freq_hz, looked_hz, sum);
  }
}

void PhasorSum::expand(const PhasorPlan& plan, const PhasorBlock& block, const std::vector<Vec3>& r_m,
                       double freq_hz, const Vec3& looked_hz, ComplexPlanes& sum) {
  const std::size_t n = r_m.size(), n_x = whole_lanes(block.n_x), n_y = block.n_y, n_rows = whole_lanes(n_y);
  const double mid_x = 0.5 * static_cast<double>(block.n_x - 1), mid_y = 0.5 * static_cast<double>(n_y - 1);
  const double per_m = freq_hz / kSpeedOfLight_m_s;
  const Vec3 d_hz{freq_hz * block.middle[0] - looked_hz[0], freq_hz * block.middle[1] - looked_hz[1],
                  freq_hz * block.middle[2] - looked_hz[2]};
  // Rows as [y][element], so that the product runs along them; they are made as [element][y].
  columns_.resize(n, n_x);
  rows_.resize(n_y, n);
  turns_.resize(std::max(n_x, n_rows));
  along_.resize({3, n});
  g_.resize(1, n_rows);
  double max_depth = 0;
  bool is_first = true;
  for (std::size_t k = 0; k < n; ++k) {
    const double step_x = per_m * dot(r_m[k], block.along_x), step_y = per_m * dot(r_m[k], block.along_y);
    const double first = dot(r_m[k], d_hz) / kSpeedOfLight_m_s;
    for (std::size_t x = 0; x < n_x; ++x) turns_[x] = step_x * (static_cast<double>(x) - mid_x);
    turn_all(turns_.data(), n_x, &columns_.re(k, 0), &columns_.im(k, 0));
    for (std::size_t y = 0; y < n_rows; ++y) turns_[y] = first + step_y * (static_cast<double>(y) - mid_y);
    turn_all(turns_.data(), n_rows, g_.re.data(), g_.im.data());
    for (std::size_t y = 0; y < n_y; ++y) {
      rows_.re(y, k) = g_.re(0, y);
      rows_.im(y, k) = g_.im(0, y);
    }
    for (std::size_t i = 0; i < 3; ++i)
      along_(i, k) = static_cast<float>(kTwoPi * per_m * dot(r_m[k], plan.axes()[i]));
    max_depth = std::max(max_depth, std::abs(double{along_(0, k)}));
  }
  rho_.resize({n_y, n_x});
  const auto load_rest = [&](std::size_t which) {
    for (std::size_t y = 0; y < n_y; ++y)
      std::copy_n(&plan.rest()(which, block.y + y, block.x), block.n_x, &rho_(y, 0));
  };
  load_rest(0);
  term_.resize(n, n_x);
  // Horner's scheme from the highest term: term p has the columns times (i depth)^p / p!.
  for (std::size_t p = terms_for(max_depth * block.max_rho); p-- > 0;) {
    float factorial = 1;
    for (std::size_t j = 2; j <= p; ++j) factorial *= static_cast<float>(j);
    const ComplexPlanes* term = &columns_;
    if (p > 0) {
      for (std::size_t k = 0; k < n; ++k) {
        float power = (p % 4 >= 2 ? -1 : 1) / factorial;
        for (std::size_t j = 0; j < p; ++j) power *= along_(0, k);
        turn_columns(k, power, p % 2 != 0);
      }
      term = &term_;
    }
    const View<const float, 2> rho = rho_;
    multiply_planes(rows_, *term, is_first ? nullptr : &rho, sum);
    is_first = false;
  }
  for (std::size_t i = 1; i < 3 && block.bent; ++i) {
    load_rest(i);
    for (std::size_t k = 0; k < n; ++k) turn_columns(k, along_(i, k), true);
    bent_.resize(n_y, n_x);
    multiply_planes(rows_, term_, nullptr, bent_);
    for (std::size_t at = 0; at < bent_.re.size(); ++at) {
      sum.re.data()[at] += rho_.data()[at] * bent_.re.data()[at];
      sum.im.data()[at] += rho_.data()[at] * bent_.im.data()[at];
    }
  }
}

void PhasorSum::turn_columns(std::size_t k, float factor, bool by_i) {
  const std::size_t n_x = columns_.re.extent(1);
  const float *re = &columns_.re(k, 0), *im = &columns_.im(k, 0);
  float *to_re = &term_.re(k, 0), *to_im = &term_.im(k, 0);
  if (by_i) {
    for (std::size_t x = 0; x < n_x; ++x) {
      to_re[x] = -factor * im[x];
      to_im[x] = factor * re[x];
    }
  } else {
    for (std::size_t x = 0; x < n_x; ++x) {
      to_re[x] = factor * re[x];
      to_im[x] = factor * im[x];
    }
  }
}

void PhasorSum::phasors(View<const Vec3, 1> directions, const std::vector<Vec3>& r_m, double freq_hz,
                        const Vec3& looked_hz, ComplexPlanes& g) {
  const std::size_t n = directions.size();
  g.resize(r_m.size(), n);
  turns_.resize(n);
  // f s - f0 s0 over c by coordinate, then the turns of one element at a time.
  coordinates_.resize(3 * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t axis = 0; axis < 3; ++axis)
      coordinates_[axis * n + i] = (freq_hz * directions[i][axis] - looked_hz[axis]) / kSpeedOfLight_m_s;
  for (std::size_t k = 0; k < r_m.size(); ++k) {
    const double *x = coordinates_.data(), *y = x + n, *z = y + n;
    for (std::size_t i = 0; i < n; ++i) turns_[i] = r_m[k][0] * x[i] + r_m[k][1] * y[i] + r_m[k][2] * z[i];
    turn_all(turns_.data(), n, &g.re(k, 0), &g.im(k, 0));
  }
}

void PhasorSum::sum_pixels(const PhasorPlan& plan, const PhasorBlock& block, const std::vector<Vec3>& r_m,
                           double freq_hz, const Vec3& looked_hz, ComplexPlanes& sum) {
  const std::size_t n_x = whole_lanes(block.n_x);
  pixels_.resize(n_x);
  for (std::size_t y = 0; y < block.n_y; ++y) {
    for (std::size_t x = 0; x < n_x; ++x)
      pixels_[x] = plan.directions()(block.y + y, block.x + std::min(x, block.n_x - 1));
    phasors({pixels_.data(), {n_x}}, r_m, freq_hz, looked_hz, g_);
    float *re = &sum.re(y, 0), *im = &sum.im(y, 0);
    std::fill_n(re, n_x, 0.0f);
    std::fill_n(im, n_x, 0.0f);
    for (std::size_t k = 0; k < r_m.size(); ++k)
      for (std::size_t x = 0; x < n_x; ++x) {
        re[x] += g_.re(k, x);
        im[x] += g_.im(k, x);
      }
  }
}

}  // namespace apsyn
