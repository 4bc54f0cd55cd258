// SPDX-License-Identifier: GPL-3.0-or-later
// What one thread of the GPU sums, in functions that the host runs through in the same order: the terms of
// all components for one row and one run of channels,
//   V(nu) = sum over s of S_s(nu) G_s exp(2 pi i nu length_s / c)                  (points and Gaussians)
//   V(nu) = sum over s of A_p,s(nu) J_q,s(nu)^H G_s exp(2 pi i nu length_s / c)    (through A-terms, A = J B)
// The length is found and reduced to a fraction of a turn in float64, for the middle of the run and for the
// step from channel to channel. Phasors are single precision: those of the other channels follow from the
// middle's by multiplication, to both sides, so that what the step's error grows to is halved. Where a
// compiler could choose which of two products to fuse with their sum, fmaf() chooses: the same row has the
// same sum from every kernel.
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
  float min_squared_m2;  ///< what the squares add to: 0, or infinity where an extended one is to add nothing
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

/// Stations of either side of a tile, and the most rows that a block of threads takes of it.
inline constexpr std::uint32_t kTileStations = 16, kTileRows = kTileStations * kTileStations;

/// Rows of neighbouring stations, which one block sums: station_p of each is one of kTileStations from
/// `first_p` on, station_q from `first_q` on. A pair may come several times, or not at all.
struct TermTile {
  std::uint32_t first_row, n_rows;
  std::uint32_t first_p, first_q;
};

/// Half of a matrix: what is moved at once.
struct alignas(16) TermHalf {
  TermPhasor of[2];
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
  return {fmaf(a.re, b.re, -(a.im * b.im)), fmaf(a.re, b.im, a.im * b.re)};
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
    const float *major_axis = component.major_axis, *minor_axis = component.minor_axis;
    const float major = fmaf(w, major_axis[2], fmaf(v, major_axis[1], u * major_axis[0])),
                minor = fmaf(w, minor_axis[2], fmaf(v, minor_axis[1], u * minor_axis[0]));
    path.squared_m2 = fmaf(major, major, fmaf(minor, minor, component.min_squared_m2));
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
      const float re = fmaf(a1.im, b1.im, fmaf(a1.re, b1.re, fmaf(a0.im, b0.im, a0.re * b0.re))),
                  im = fmaf(-a1.re, b1.im, fmaf(a1.im, b1.re, fmaf(-a0.re, b0.im, a0.im * b0.re)));
      TermPhasor& to = sum[2 * i + k];
      to.re = fmaf(-im, phasor.im, fmaf(re, phasor.re, to.re));
      to.im = fmaf(im, phasor.re, fmaf(re, phasor.im, to.im));
    }
  }
}

/// The products of one row in a run of channels.
template <int kRun>
struct TermProducts {
  TermPhasor of[kRun][4];
};

template <int kRun>
APSYN_HOST_DEVICE void start_products(const TermRow& row, TermProducts<kRun>& sum) {
  const float start = start_of(row);
  APSYN_UNROLL
  for (int i = 0; i < kRun; ++i) {
    APSYN_UNROLL
    for (int p = 0; p < 4; ++p) sum.of[i][p] = {start, start};
  }
}

/// Adds one component, whose matrices are load_seen(i) and load_jones(i) in channel i of the run.
template <int kRun, class Seen, class Jones>
APSYN_HOST_DEVICE void add_component(const TermComponent& component, const TermRun& run,
                                     const float* exponent, const TermRow& row, Seen load_seen,
                                     Jones load_jones, TermProducts<kRun>& sum) {
  const TermPath path = path_of(component, run, row);
  const bool is_extended = component.is_extended != 0;
  for_each_channel<kRun>(path, [&](int i, TermPhasor phasor) {
    if (static_cast<std::uint32_t>(i) >= run.n) return;
    if (is_extended) {
      const float factor = gaussian_factor(path.squared_m2, exponent[i]);
      phasor = {phasor.re * factor, phasor.im * factor};
    }
    const TermMatrix a = load_seen(i), b = load_jones(i);
    add_product(a, b, phasor, sum.of[i]);
  });
}

/// sums [row][chan][XX XY YX YY]; with `add` to what is there.
template <int kRun>
APSYN_HOST_DEVICE void store_products(const TermTable& table, const TermRun& run, const TermRow& row,
                                      const TermProducts<kRun>& sum, bool add, TermPhasor* sums) {
  TermPhasor* const to = sums + (std::size_t(row.at) * table.n_chan + run.first) * 4;
  APSYN_UNROLL
  for (int i = 0; i < kRun; ++i)
    if (static_cast<std::uint32_t>(i) < run.n) {
      APSYN_UNROLL
      for (int p = 0; p < 4; ++p) {
        TermPhasor& value = to[4 * i + p];
        const TermPhasor& own = sum.of[i][p];
        value = add ? TermPhasor{value.re + own.re, value.im + own.im} : own;
      }
    }
}

APSYN_HOST_DEVICE bool has_run(const TermMatrices& matrices, std::uint32_t run_index) {
  return run_index >= matrices.first_run && run_index - matrices.first_run < matrices.n_runs;
}

/// The sums of a row by itself in a run that these matrices have; added to what earlier components left.
template <int kRun>
APSYN_HOST_DEVICE void sum_terms_through(const TermTable& table, const TermMatrices& matrices,
                                         const TermRow& row, std::uint32_t run_index, TermPhasor* sums) {
  const TermRun run = table.runs[run_index];
  const std::uint32_t n_stations = matrices.n_stations;
  const std::size_t first = std::size_t(run.first - matrices.first_chan) * n_stations;
  const std::size_t stride = std::size_t(matrices.n_chan) * n_stations;
  const TermMatrix *seen = matrices.seen + first + row.station_p,
                   *jones = matrices.jones + first + row.station_q;
  TermProducts<kRun> sum;
  start_products(row, sum);
  for (std::uint32_t c = 0; c < matrices.n_components; ++c, seen += stride, jones += stride)
    add_component(
        table.components[matrices.first_component + c], run, table.exponent + run_index * kRun, row,
        [&](int i) { return loaded(seen[std::size_t(i) * n_stations]); },
        [&](int i) { return loaded(jones[std::size_t(i) * n_stations]); }, sum);
  store_products(table, run, row, sum, matrices.first_component > 0, sums);
}

/// Matrices of a tile's stations for so many components in shared memory, [component][chan of the run][half]
/// [station of p, then of q]. The halves lie apart, so that eight threads, as many as load 16 bytes each at
/// once, find theirs in different banks if their stations follow each other.
template <int kRun>
struct TileStage {
  static constexpr std::uint32_t kComponents = 16 / kRun, kSides = 2 * kTileStations;
  static constexpr std::uint32_t kPerComponent = kRun * 2 * kSides, kSize = kComponents * kPerComponent;
  static_assert(16 % kRun == 0);
  TermHalf halves[kSize];

  static APSYN_HOST_DEVICE std::uint32_t at(std::uint32_t component, std::uint32_t chan, std::uint32_t half,
                                            std::uint32_t side) {
    return component * kPerComponent + (chan * 2 + half) * kSides + side;
  }
  APSYN_HOST_DEVICE TermMatrix matrix(std::uint32_t component, std::uint32_t chan, std::uint32_t side) const {
    const TermHalf first = halves[at(component, chan, 0, side)],
                   second = halves[at(component, chan, 1, side)];
    return {{first.of[0], first.of[1], second.of[0], second.of[1]}};
  }
};

/// The i-th of the kSize halves that are moved to a stage, neighbours from neighbouring addresses; from null
/// where there are no such component, channel or station.
struct StagedHalf {
  const TermPhasor* from;
  std::uint32_t to;
};
template <int kRun>
APSYN_HOST_DEVICE StagedHalf staged_half(const TermMatrices& matrices, const TermRun& run,
                                         const TermTile& tile, std::uint32_t first_component,
                                         std::uint32_t i) {
  using Stage = TileStage<kRun>;
  const std::uint32_t half = i % 2, side = i / 2 % Stage::kSides, chan = i / (2 * Stage::kSides) % kRun,
                      component = i / Stage::kPerComponent;
  const bool is_q = side >= kTileStations;
  const std::uint32_t station = is_q ? tile.first_q + (side - kTileStations) : tile.first_p + side;
  const std::uint32_t c = first_component + component;
  StagedHalf staged{nullptr, Stage::at(component, chan, half, side)};
  if (c < matrices.n_components && chan < run.n && station < matrices.n_stations) {
    const std::size_t at =
        (std::size_t(c) * matrices.n_chan + (run.first - matrices.first_chan) + chan) * matrices.n_stations +
        station;
    staged.from = (is_q ? matrices.jones : matrices.seen)[at].of + 2 * half;
  }
  return staged;
}

/// Adds the components of a stage, which begins with `first_component` of these matrices.
template <int kRun>
APSYN_HOST_DEVICE void add_stage(const TermTable& table, const TermMatrices& matrices,
                                 std::uint32_t run_index, const TermRun& run, const TermTile& tile,
                                 const TermRow& row, const TileStage<kRun>& stage,
                                 std::uint32_t first_component, TermProducts<kRun>& sum) {
  const std::uint32_t side_p = row.station_p - tile.first_p,
                      side_q = kTileStations + (row.station_q - tile.first_q);
  const std::uint32_t left = matrices.n_components - first_component;
  const std::uint32_t n = left < TileStage<kRun>::kComponents ? left : TileStage<kRun>::kComponents;
  for (std::uint32_t c = 0; c < n; ++c)
    add_component(
        table.components[matrices.first_component + first_component + c], run,
        table.exponent + run_index * kRun, row,
        [&](int i) { return stage.matrix(c, static_cast<std::uint32_t>(i), side_p); },
        [&](int i) { return stage.matrix(c, static_cast<std::uint32_t>(i), side_q); }, sum);
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
