// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/jones/jones_gains.h"

#include <algorithm>
#include <cmath>

#include "kernels/calibrate/jones/step.h"

namespace apsyn {

void JonesGains::resize(std::size_t n_blocks, std::size_t n_antennas) {
  gain.resize({n_blocks, n_antennas, 4});
  row_power.resize({n_blocks, n_antennas, 2});
  row_information.resize({n_blocks, n_antennas, 2, 2});
  active.resize({n_blocks, n_antennas, 2});
  active.fill(1);
  n_iterations.assign(n_blocks, 0);
  converged.assign(n_blocks, 0);
}

Matrix2 multiply(const Matrix2& a, const Matrix2& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}

Matrix2 adjoint(const Matrix2& a) {
  return {std::conj(a[0]), std::conj(a[2]), std::conj(a[1]), std::conj(a[3])};
}

Matrix2 polar_unitary(const Matrix2& j) {
  // J = P U and |det J| J^-H have the same U, and for two dimensions their sum is a multiple of it; with s
  // the phase of det J, |det J| J^-H = s adj(J)^H, which needs no inverse.
  const std::complex<double> det = j[0] * j[3] - j[1] * j[2];
  const double size = std::abs(det);
  const std::complex<double> s = size > 0 ? det / size : 1.0;
  // adj(J)^H = [[conj(J_11), -conj(J_10)], [-conj(J_01), conj(J_00)]].
  Matrix2 u = {j[0] + s * std::conj(j[3]), j[1] - s * std::conj(j[2]), j[2] - s * std::conj(j[1]),
               j[3] + s * std::conj(j[0])};
  const double norm = std::sqrt(std::norm(u[0]) + std::norm(u[1]));
  if (!(norm > 0) || !std::isfinite(norm)) return {1, 0, 0, 1};
  for (auto& value : u) value /= norm;
  return u;
}

namespace {

/// Rows from equations, or their mean with the former ones; also, where asked for, what they explain and
/// know.
template <class T>
void update(const T* equations, const T* active, std::size_t n_antennas, bool leakage, bool mean, T* gains,
            T* power, T* information) {
  // Keeps what the data do not determine at 0.
  const T ridge = sizeof(T) == sizeof(float) ? static_cast<T>(1e-7) : static_cast<T>(1e-13);
  for (std::size_t antenna = 0; antenna < n_antennas; ++antenna)
    for (std::size_t row = 0; row < 2; ++row) {
      const T* own = equations + antenna * kJonesEquations + row * 8 * kLanes;
      const T* use = active + (antenna * 2 + row) * kLanes;
      T* g = gains + antenna * kJonesValues + row * 4 * kLanes;
      for (std::size_t i = 0; i < kLanes; ++i) {
        const T n0_re = own[i], n0_im = own[kLanes + i], n1_re = own[2 * kLanes + i],
                n1_im = own[3 * kLanes + i];
        const T extra = ridge * (own[4 * kLanes + i] + own[5 * kLanes + i]);
        const T d00 = own[4 * kLanes + i] + extra, d11 = own[5 * kLanes + i] + extra;
        const T d_re = own[6 * kLanes + i], d_im = own[7 * kLanes + i];  // D_01, D_10 its conjugate
        T r0_re, r0_im, r1_re, r1_im;
        const T det = d00 * d11 - (d_re * d_re + d_im * d_im);
        const T inverse = det > 0 ? 1 / det : 0;
        if (leakage) {
          // Of row 0: (N_1 - D_01) / D_11; of row 1: (N_0 - D_10) / D_00.
          const T d = row == 0 ? d11 : d00, over = d > 0 ? 1 / d : 0;
          const T re = (row == 0 ? n1_re - d_re : n0_re - d_re) * over;
          const T im = (row == 0 ? n1_im - d_im : n0_im + d_im) * over;
          r0_re = row == 0 ? 1 : re;
          r0_im = row == 0 ? 0 : im;
          r1_re = row == 0 ? re : 1;
          r1_im = row == 0 ? im : 0;
        } else {
          r0_re = (n0_re * d11 - (n1_re * d_re + n1_im * d_im)) * inverse;
          r0_im = (n0_im * d11 - (n1_im * d_re - n1_re * d_im)) * inverse;
          r1_re = (n1_re * d00 - (n0_re * d_re - n0_im * d_im)) * inverse;
          r1_im = (n1_im * d00 - (n0_re * d_im + n0_im * d_re)) * inverse;
        }
        if (power != nullptr) {
          power[(antenna * 2 + row) * kLanes + i] =
              (r0_re * r0_re + r0_im * r0_im) * d00 + (r1_re * r1_re + r1_im * r1_im) * d11 +
              2 * ((r0_re * r1_re + r0_im * r1_im) * d_re + (r0_re * r1_im - r0_im * r1_re) * d_im);
          // A leakage has its row for itself.
          information[((antenna * 2 + row) * 2) * kLanes + i] = leakage ? d00 : d11 > 0 ? det / d11 : 0;
          information[((antenna * 2 + row) * 2 + 1) * kLanes + i] = leakage ? d11 : d00 > 0 ? det / d00 : 0;
        }
        const T old = mean ? static_cast<T>(0.5) : 0, fresh = 1 - old;
        g[i] = use[i] * (fresh * r0_re + old * g[i]);
        g[kLanes + i] = use[i] * (fresh * r0_im + old * g[kLanes + i]);
        g[2 * kLanes + i] = use[i] * (fresh * r1_re + old * g[2 * kLanes + i]);
        g[3 * kLanes + i] = use[i] * (fresh * r1_im + old * g[3 * kLanes + i]);
      }
    }
}

template <class T>
Matrix2 load(const T* gains, std::size_t i) {
  Matrix2 j;
  for (std::size_t k = 0; k < 4; ++k) j[k] = {gains[2 * k * kLanes + i], gains[(2 * k + 1) * kLanes + i]};
  return j;
}

template <class T>
void store(const Matrix2& j, T* gains, std::size_t i) {
  for (std::size_t k = 0; k < 4; ++k) {
    gains[2 * k * kLanes + i] = static_cast<T>(j[k].real());
    gains[(2 * k + 1) * kLanes + i] = static_cast<T>(j[k].imag());
  }
}

/// Leakages such that the reference's are Hermitian: an unpolarised model leaves J U for J, which to first
/// order adds e to all J_01 and takes conj(e) from all J_10.
template <class T>
void fix_leakages(std::size_t n_antennas, std::size_t reference, T* gains) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    const Matrix2 u = adjoint(polar_unitary(load(gains + reference * kJonesValues, i)));
    for (std::size_t antenna = 0; antenna < n_antennas; ++antenna) {
      T* own = gains + antenna * kJonesValues;
      Matrix2 j = multiply(load(own, i), u);
      for (std::size_t row = 0; row < 2; ++row)
        if (const std::complex<double> d = j[3 * row]; std::abs(d) > 0) {
          j[2 * row] /= d;
          j[2 * row + 1] /= d;
        }
      store(j, own, i);
    }
  }
}

/// Where a lane's steps get smaller by a nearly constant factor, its gains go to where they would end: of the
/// gains before (x0), after one (x1) and two (x2) pairs of steps, r = x1 - x0, v = x2 - 2 x1 + x0, to x0 + 2
/// a r + a^2 v with a = |r| / |v| (SQUAREM, Varadhan & Roland 2008). Polarised models that are almost
/// unpolarised need it: they hardly tell apart what an unpolarised one does not tell apart at all.
void extrapolate(const std::vector<float>& x0, const std::vector<float>& x1, std::size_t lane,
                 std::vector<float>& x2) {
  constexpr double longest = 64;
  double of_r = 0, of_v = 0;
  for (std::size_t k = lane; k < x2.size(); k += kLanes) {
    const double r = double{x1[k]} - x0[k], v = double{x2[k]} - 2 * double{x1[k]} + x0[k];
    of_r += r * r;
    of_v += v * v;
  }
  const double a = of_v > 0 ? std::min(longest, std::sqrt(of_r / of_v)) : 1;
  if (!(a > 1)) return;
  for (std::size_t k = lane; k < x2.size(); k += kLanes) {
    const double r = double{x1[k]} - x0[k], v = double{x2[k]} - 2 * double{x1[k]} + x0[k];
    x2[k] = static_cast<float>(x0[k] + 2 * a * r + a * a * v);
  }
}

/// Least relative change that sums of float32 show.
constexpr double kFloatTolerance = 3e-7;

/// Pairs of steps before the first extrapolation, and from one to the next.
constexpr std::size_t kPairsBefore = 8, kPairsBetween = 4;

}  // namespace

void solve_jones_group(const CalibrationSums& sums, std::size_t group, const JonesSettings& settings,
                       JonesGains& gains) {
  const SumLayout& layout = sums.layout();
  const std::size_t n = layout.n_antennas, n_lanes = std::min(kLanes, layout.n_blocks - group * kLanes);
  const float* baselines = sums.recent()[group].data();
  std::vector<float> g(n * kJonesValues), before, one_before, two_before, equations(n * kJonesEquations),
      active(n * 2 * kLanes);
  for (std::size_t i = 0; i < n_lanes; ++i)
    for (std::size_t p = 0; p < n; ++p) {
      Matrix2 j;
      for (std::size_t k = 0; k < 4; ++k) j[k] = gains.gain(group * kLanes + i, p, k);
      store(j, g.data() + p * kJonesValues, i);
      for (std::size_t row = 0; row < 2; ++row)
        active[(p * 2 + row) * kLanes + i] = gains.active(group * kLanes + i, p, row);
    }
  const bool fix = settings.leakage && layout.kind == SumKind::jones_unpolarised;
  std::vector<std::uint32_t> n_iterations(kLanes, 0);
  const double tolerance = std::max(settings.tolerance, kFloatTolerance), limit = tolerance * tolerance;
  std::size_t n_open = n_lanes;
  for (std::size_t iteration = 1; iteration <= settings.max_iterations && n_open > 0; ++iteration) {
    before = g;
    jones_equations(layout.kind, baselines, n, g.data(), equations.data());
    const bool mean = iteration % 2 == 0;
    update<float>(equations.data(), active.data(), n, settings.leakage, mean, g.data(), nullptr, nullptr);
    if (fix) fix_leakages(n, settings.reference, g.data());
    float change[kLanes] = {}, size[kLanes] = {};
    for (std::size_t k = 0; k < g.size(); k += kLanes)
      for (std::size_t i = 0; i < kLanes; ++i) {
        const float d = g[k + i] - before[k + i];
        change[i] += d * d;
        size[i] += g[k + i] * g[k + i];
      }
    n_open = 0;
    for (std::size_t i = 0; i < n_lanes; ++i) {
      if (n_iterations[i] == 0 && (mean ? 4 : 1) * change[i] <= limit * size[i])
        n_iterations[i] = static_cast<std::uint32_t>(iteration);
      n_open += n_iterations[i] == 0;
    }
    if (!mean) continue;
    const std::size_t pair = iteration / 2;
    if (pair > kPairsBefore && pair % kPairsBetween == 0)
      for (std::size_t i = 0; i < n_lanes; ++i)
        if (n_iterations[i] == 0) extrapolate(two_before, one_before, i, g);
    two_before.swap(one_before);
    one_before = g;
  }
  // The last step, in float64, takes the mean: it makes the common amplitude right. Tolerances that float32
  // does not reach take more of them.
  std::vector<double> exact(g.begin(), g.end()), exact_before, exact_equations(n * kJonesEquations),
      power(n * 2 * kLanes), information(n * 4 * kLanes);
  const std::vector<double> exact_active(active.begin(), active.end());
  const std::size_t n_exact = settings.tolerance < kFloatTolerance ? settings.max_iterations : 1;
  std::size_t n_steps = 0;
  for (bool open = true; open && n_steps < n_exact; ++n_steps) {
    exact_before = exact;
    jones_equations(layout.kind, baselines, n, exact.data(), exact_equations.data());
    update<double>(exact_equations.data(), exact_active.data(), n, settings.leakage, n_steps % 2 == 0,
                   exact.data(), power.data(), information.data());
    if (fix) fix_leakages(n, settings.reference, exact.data());
    open = n_steps % 2 == 1;  // ends with a mean
    double change = 0, size = 0;
    for (std::size_t k = 0; k < exact.size(); ++k) {
      change += (exact[k] - exact_before[k]) * (exact[k] - exact_before[k]);
      size += exact[k] * exact[k];
    }
    open |= n_exact > 1 && 4 * change > settings.tolerance * settings.tolerance * size;
  }
  for (std::size_t i = 0; i < n_lanes; ++i) {
    const std::size_t block = group * kLanes + i;
    gains.converged[block] = n_iterations[i] > 0;
    gains.n_iterations[block] = static_cast<std::uint32_t>(
        (n_iterations[i] > 0 ? n_iterations[i] : settings.max_iterations) + n_steps);
    for (std::size_t p = 0; p < n; ++p) {
      const Matrix2 j = load(exact.data() + p * kJonesValues, i);
      for (std::size_t k = 0; k < 4; ++k) gains.gain(block, p, k) = j[k];
      for (std::size_t row = 0; row < 2; ++row) {
        gains.row_power(block, p, row) = power[(p * 2 + row) * kLanes + i];
        for (std::size_t c = 0; c < 2; ++c)
          gains.row_information(block, p, row, c) = information[((p * 2 + row) * 2 + c) * kLanes + i];
      }
    }
  }
}

}  // namespace apsyn
