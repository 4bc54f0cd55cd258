// SPDX-License-Identifier: GPL-3.0-or-later
// What one thread of the GPU sums, in functions that the host runs through in the same order: the terms of
// all components for one row and one run of channels,
//   V(nu) = sum over s of S_s(nu) G_s exp(2 pi i nu length_s / c)                  (points and Gaussians)
//   V(nu) = sum over s of A_p,s(nu) J_q,s(nu)^H G_s exp(2 pi i nu length_s / c)    (through A-terms, A = J B)
// The length is found and reduced to a fraction of a turn in float64, for the middle of the run and for the
// step from channel to channel. Phasors are single precision: those of the other channels follow from the
// middle's by multiplication, to both sides, so that what the step's error grows to is halved.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/common/host_device.h"

#ifdef __CUDACC__
#define APSYN_UNROLL _Pragma("unroll")
#else
#define APSYN_UNROLL
#endif

namespace apsyn::simulate {

/// What does not depend on the row.
struct TermComponent {
  double path[3];                      ///< (l, m, n - 1): times uvw the length
  float major_axis[3], minor_axis[3];  ///< times uvw: what the exponent has the squares of
  std::uint32_t is_extended;           ///< a Gaussian
};

/// A run of up to kRun channels of a table; `middle` is channel kRun / 2, whether or not the run has it.
struct TermRun {
  double middle_per_m, step_per_m;  ///< 1 / wavelength
  std::uint32_t first, n;           ///< channels
};

struct TermRow {
  double u_m, v_m, w_m, path_m;
  std::uint32_t station_p, station_q;
  std::uint32_t at;  ///< row of the sums that it goes to
  std::uint32_t unused;
};

/// A complex number in single precision.
struct TermPhasor {
  float re, im;
};
/// A matrix [XX XY YX YY].
struct alignas(16) TermMatrix {
  TermPhasor of[4];
};

/// Fluxes that are loaded at once: of four channels, or I Q U V of one.
struct alignas(16) TermFluxes {
  float of[4];
};

/// All that a kernel reads, on the device that runs it.
struct TermTable {
  const TermComponent* components;
  const TermRun* runs;
  const float* exponent;     ///< [run][kRun] log2(e) / wavelength^2
  const TermFluxes* stokes;  ///< [run][component][kRun][plane] Jy; 0 beyond a run's channels
  std::uint32_t n_components, n_runs, n_chan;
};

/// Components of a table as stations see them: those from `first_component` on, in the runs from `first_run`
/// on, which begin with channel `first_chan`.
struct TermMatrices {
  const TermMatrix* seen;   ///< J B, [component][chan][station]
  const TermMatrix* jones;  ///< J, likewise
  std::uint32_t first_component, n_components, first_run, n_runs, first_chan, n_chan, n_stations;
};

/// length per_m in turns less the nearest whole number, in units of 2^-32 turns. Adding 1.5 2^52 rounds to a
/// whole number; after adding 1.5 2^20 the last bit counts 2^-32.
APSYN_HOST_DEVICE std::uint32_t fraction_of_turn(double length_m, double per_m) {
  constexpr double kWhole = 6755399441055744.0, kFraction = 1572864.0;
  const double whole = (length_m * per_m + kWhole) - kWhole;
  const double sum = fma(length_m, per_m, -whole) + kFraction;
  std::uint64_t bits;
  memcpy(&bits, &sum, sizeof(bits));
  return static_cast<std::uint32_t>(bits);
}

/// exp(2 pi i fraction / 2^32), within 1e-7: a quarter of a turn from polynomials that agree with sine and
/// cosine to 1e-8 (interpolated at Chebyshev nodes), the rest by exchanging them.
APSYN_HOST_DEVICE TermPhasor phasor_of(std::uint32_t fraction) {
  const std::uint32_t quadrant = (fraction + 0x20000000u) >> 30;
  const float x = static_cast<float>(static_cast<std::int32_t>(fraction - (quadrant << 30))) *
                  1.4629180792671596e-9f;  // 2 pi / 2^32
  const float y = x * x;
  const float sine = x + x * y * (-0.16666664f + y * (0.008332748f + y * -0.00019587890f));
  const float cosine = 1 + y * (-0.5f + y * (0.041666664f + y * (-0.0013888302f + y * 2.4547942e-5f)));
  const float re = quadrant & 1 ? sine : cosine, im = quadrant & 1 ? cosine : sine;
  return {(quadrant + 1) & 2 ? -re : re, quadrant & 2 ? -im : im};
}

APSYN_HOST_DEVICE TermPhasor times(const TermPhasor& a, const TermPhasor& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// The factor exp(-squared_m2 / wavelength^2) of a Gaussian.
APSYN_HOST_DEVICE float gaussian_factor(float squared_m2, float exponent) {
  return exp2f(-squared_m2 * exponent);
}

/// What a component's phase and width are in a row.
struct TermPath {
  TermPhasor middle, step;
  float squared_m2;
};
APSYN_HOST_DEVICE TermPath path_of(const TermComponent& component, const TermRun& run, const TermRow& row) {
  TermPath path;
  const double length_m = fma(row.u_m, component.path[0],
                              fma(row.v_m, component.path[1], fma(row.w_m, component.path[2], row.path_m)));
  path.middle = phasor_of(fraction_of_turn(length_m, run.middle_per_m));
  path.step = phasor_of(fraction_of_turn(length_m, run.step_per_m));
  path.squared_m2 = 0;
  if (component.is_extended) {
    const auto u = static_cast<float>(row.u_m), v = static_cast<float>(row.v_m),
               w = static_cast<float>(row.w_m);
    const float major =
                    u * component.major_axis[0] + v * component.major_axis[1] + w * component.major_axis[2],
                minor =
                    u * component.minor_axis[0] + v * component.minor_axis[1] + w * component.minor_axis[2];
    path.squared_m2 = major * major + minor * minor;
  }
  return path;
}

/// Calls add(i, phasor) for channel i of kRun, from the middle outwards.
template <int kRun, class Add>
APSYN_HOST_DEVICE void for_each_channel(const TermPath& path, Add add) {
  TermPhasor phasor = path.middle;
  APSYN_UNROLL
  for (int i = kRun / 2; i < kRun; ++i) {
    add(i, phasor);
    if (i + 1 < kRun) phasor = times(phasor, path.step);
  }
  const TermPhasor back{path.step.re, -path.step.im};
  phasor = path.middle;
  APSYN_UNROLL
  for (int i = kRun / 2 - 1; i >= 0; --i) {
    phasor = times(phasor, back);
    add(i, phasor);
  }
}

/// 0, or NaN for a row whose coordinates are not finite: bits of a phase would hide it.
APSYN_HOST_DEVICE float start_of(const TermRow& row) {
  return static_cast<float>((row.u_m - row.u_m) + (row.v_m - row.v_m) + (row.w_m - row.w_m) +
                            (row.path_m - row.path_m));
}

/// sums [row][chan][plane] of a row and a run.
template <int kRun, int kPlanes>
APSYN_HOST_DEVICE void sum_terms(const TermTable& table, const TermRow& row, std::uint32_t run_index,
                                 TermPhasor* sums) {
  const TermRun run = table.runs[run_index];
  const float* const exponent = table.exponent + run_index * kRun;
  TermPhasor sum[kRun][kPlanes];
  const float start = start_of(row);
  APSYN_UNROLL
  for (int i = 0; i < kRun; ++i) {
    APSYN_UNROLL
    for (int plane = 0; plane < kPlanes; ++plane) sum[i][plane] = {start, start};
  }
  static_assert(kPlanes == 1 || kPlanes == 4);
  constexpr int kFluxes = kPlanes * kRun / 4;
  const TermFluxes* stokes = table.stokes + std::size_t(run_index) * table.n_components * kFluxes;
  for (std::uint32_t c = 0; c < table.n_components; ++c, stokes += kFluxes) {
    const TermComponent& component = table.components[c];
    const TermPath path = path_of(component, run, row);
    const bool is_extended = component.is_extended != 0;
    TermFluxes fluxes[kPlanes == 1 ? kFluxes : 1];
    if (kPlanes == 1) {
      APSYN_UNROLL
      for (int i = 0; i < kFluxes; ++i) fluxes[kPlanes == 1 ? i : 0] = stokes[i];
    }
    for_each_channel<kRun>(path, [&](int i, TermPhasor phasor) {
      if (is_extended) {
        const float factor = gaussian_factor(path.squared_m2, exponent[i]);
        phasor = {phasor.re * factor, phasor.im * factor};
      }
      if (kPlanes == 4) fluxes[0] = stokes[i];
      APSYN_UNROLL
      for (int plane = 0; plane < kPlanes; ++plane) {
        const float jy = kPlanes == 4 ? fluxes[0].of[plane] : fluxes[i / 4].of[i % 4];
        sum[i][plane].re += jy * phasor.re;
        sum[i][plane].im += jy * phasor.im;
      }
    });
  }
  TermPhasor* to = sums + (std::size_t(row.at) * table.n_chan + run.first) * kPlanes;
  APSYN_UNROLL
  for (int i = 0; i < kRun; ++i)
    if (static_cast<std::uint32_t>(i) < run.n) {
      APSYN_UNROLL
      for (int plane = 0; plane < kPlanes; ++plane) to[i * kPlanes + plane] = sum[i][plane];
    }
}

/// A matrix by two loads of 16 bytes.
APSYN_HOST_DEVICE TermMatrix loaded(const TermMatrix& from) {
#ifdef __CUDA_ARCH__
  const auto* halves = reinterpret_cast<const float4*>(&from);
  const float4 first = halves[0], second = halves[1];
  return {{{first.x, first.y}, {first.z, first.w}, {second.x, second.y}, {second.z, second.w}}};
#else
  return from;
#endif
}

/// What component s adds: a b^H times the phasor.
APSYN_HOST_DEVICE void add_product(const TermMatrix& a, const TermMatrix& b, const TermPhasor& phasor,
                                   TermPhasor (&sum)[4]) {
  APSYN_UNROLL
  for (int i = 0; i < 2; ++i) {
    APSYN_UNROLL
    for (int k = 0; k < 2; ++k) {
      const TermPhasor &a0 = a.of[2 * i], &a1 = a.of[2 * i + 1], &b0 = b.of[2 * k], &b1 = b.of[2 * k + 1];
      const float re = a0.re * b0.re + a0.im * b0.im + a1.re * b1.re + a1.im * b1.im,
                  im = a0.im * b0.re - a0.re * b0.im + a1.im * b1.re - a1.re * b1.im;
      sum[2 * i + k].re += re * phasor.re - im * phasor.im;
      sum[2 * i + k].im += re * phasor.im + im * phasor.re;
    }
  }
}

/// sums [row][chan][XX XY YX YY] of a row and a run of these matrices; with `add` to what is there.
template <int kRun>
APSYN_HOST_DEVICE void sum_terms_through(const TermTable& table, const TermMatrices& matrices,
                                         const TermRow& row, std::uint32_t run_of_these, bool add,
                                         TermPhasor* sums) {
  const std::uint32_t run_index = matrices.first_run + run_of_these;
  const TermRun run = table.runs[run_index];
  const float* const exponent = table.exponent + run_index * kRun;
  TermPhasor* const to = sums + (std::size_t(row.at) * table.n_chan + run.first) * 4;
  TermPhasor sum[kRun][4];
  const float start = start_of(row);
  APSYN_UNROLL
  for (int i = 0; i < kRun; ++i) {
    APSYN_UNROLL
    for (int p = 0; p < 4; ++p) sum[i][p] = {start, start};
  }
  const std::size_t first = std::size_t(run.first - matrices.first_chan) * matrices.n_stations;
  const std::size_t stride = std::size_t(matrices.n_chan) * matrices.n_stations;
  const TermMatrix *seen = matrices.seen + first + row.station_p,
                   *jones = matrices.jones + first + row.station_q;
  for (std::uint32_t c = 0; c < matrices.n_components; ++c, seen += stride, jones += stride) {
    const TermComponent& component = table.components[matrices.first_component + c];
    const TermPath path = path_of(component, run, row);
    const bool is_extended = component.is_extended != 0;
    for_each_channel<kRun>(path, [&](int i, TermPhasor phasor) {
      if (static_cast<std::uint32_t>(i) >= run.n) return;
      if (is_extended) {
        const float factor = gaussian_factor(path.squared_m2, exponent[i]);
        phasor = {phasor.re * factor, phasor.im * factor};
      }
      const std::size_t chan = std::size_t(i) * matrices.n_stations;
      const TermMatrix a = loaded(seen[chan]), b = loaded(jones[chan]);
      add_product(a, b, phasor, sum[i]);
    });
  }
  APSYN_UNROLL
  for (int i = 0; i < kRun; ++i)
    if (static_cast<std::uint32_t>(i) < run.n) {
      APSYN_UNROLL
      for (int p = 0; p < 4; ++p) {
        TermPhasor& value = to[4 * i + p];
        value = add ? TermPhasor{value.re + sum[i][p].re, value.im + sum[i][p].im} : sum[i][p];
      }
    }
}

/// J B of one component, station and channel; stokes I Q U V.
APSYN_HOST_DEVICE TermMatrix brightened(const TermMatrix& jones, const float (&stokes)[4]) {
  const float xx = stokes[0] + stokes[1], yy = stokes[0] - stokes[1], re = stokes[2], im = stokes[3];
  TermMatrix seen;
  APSYN_UNROLL
  for (int row = 0; row < 2; ++row) {
    const TermPhasor &x = jones.of[2 * row], &y = jones.of[2 * row + 1];
    // B = [I + Q, U + iV; U - iV, I - Q]
    seen.of[2 * row] = {x.re * xx + y.re * re + y.im * im, x.im * xx + y.im * re - y.re * im};
    seen.of[2 * row + 1] = {x.re * re - x.im * im + y.re * yy, x.im * re + x.re * im + y.im * yy};
  }
  return seen;
}

}  // namespace apsyn::simulate
