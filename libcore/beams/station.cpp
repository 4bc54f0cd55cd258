// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/beams/station.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn {
Jones turned_to_sky(const Jones& e, const ElementDirection& d, const Vec3& local_north) {
  const double along = d.cos_phi * local_north[0] + d.sin_phi * local_north[1];
  const double a = d.cos_theta * along - d.sin_theta * local_north[2];
  const double b = d.cos_phi * local_north[1] - d.sin_phi * local_north[0];
  return product(e, {a, b, b, -a});
}

ElementDirection clamped_to_horizon(StationKind kind, ElementDirection d) {
  if (kind == StationKind::oskar && d.cos_theta < 0) {
    d.cos_theta = 0;
    d.sin_theta = 1;
  }
  return d;
}

namespace {

using Complex = std::complex<double>;

Vec3 difference_hz(const Vec3& looked, double looked_hz, const Vec3& seen, double seen_hz) {
  return {looked_hz * looked[0] - seen_hz * seen[0], looked_hz * looked[1] - seen_hz * seen[1],
          looked_hz * looked[2] - seen_hz * seen[2]};
}

/// g(r, d)
Complex phasor(const Vec3& r_m, const Vec3& d_hz) {
  return std::polar(1.0, -kTwoPi * dot(r_m, d_hz) / kSpeedOfLight_m_s);
}

Complex tile_factor(const StationField& field, const StationPointing& at, const Vec3& direction) {
  if (field.tile_m.empty()) return 1;
  const Vec3 d_hz = difference_hz(at.tile, at.delay_freq_hz, direction, at.freq_hz);
  Complex sum = 0;
  for (const Vec3& dipole : field.tile_m) sum += phasor(dipole, d_hz);
  return sum / static_cast<double>(field.tile_m.size());
}

/// The direction as an element model counts its angles.
ElementDirection model_direction(StationKind kind, ElementDirection d) {
  if (kind != StationKind::lofar) return d;
  const double cosine = d.cos_phi, sine = d.sin_phi;
  d.cos_phi = (cosine + sine) * kHamakerTurn;
  d.sin_phi = (sine - cosine) * kHamakerTurn;
  return d;
}

/// Sum over the elements of g_k times what each receives, per receptor over their number.
Jones embedded_response(const StationField& field, const EmbeddedWaves& embedded, const StationPointing& at,
                        const SkyVector& sky) {
  const auto alpha = embedded.coefficients();
  const std::size_t n_waves = alpha.extent(1);
  const Vec3 d_hz = difference_hz(at.delay, at.delay_freq_hz, sky.direction, at.freq_hz);
  std::vector<Complex> sums(4 * n_waves);  // [wave][TE_X TM_X TE_Y TM_Y]
  std::array<double, 2> n{};
  for (std::size_t k = 0; k < field.elements_m.size(); ++k) {
    const Complex g = phasor(field.elements_m[k], d_hz);
    for (std::size_t row = 0; row < 2; ++row) {
      if (!field.enabled[k][row]) continue;
      ++n[row];
      for (std::size_t wave = 0; wave < n_waves; ++wave)
        for (std::size_t i = 2 * row; i < 2 * row + 2; ++i) sums[4 * wave + i] += g * alpha(k, wave, i);
    }
  }
  const ElementDirection d =
      clamped_to_horizon(StationKind::oskar, element_direction(multiply(field.axes, sky.direction)));
  Buffer<Complex, 2> w({n_waves, 4});
  embedded.waves(d, w);
  Jones e{};
  for (std::size_t row = 0; row < 2; ++row) {
    if (n[row] == 0) continue;
    const double scale = (row == 0 ? 1 : -1) / n[row];
    for (std::size_t wave = 0; wave < n_waves; ++wave) {
      const Complex te = scale * sums[4 * wave + 2 * row], tm = scale * sums[4 * wave + 2 * row + 1];
      e[2 * row] += w(wave, 0) * te + w(wave, 1) * tm;
      e[2 * row + 1] += w(wave, 2) * te + w(wave, 3) * tm;
    }
  }
  return turned_to_sky(e, d, multiply(field.axes, sky.north));
}

}  // namespace

Complex array_factor(const StationField& field, StationKind kind, std::size_t receptor,
                     const StationPointing& at, const Vec3& direction) {
  const Vec3 d_hz = difference_hz(at.delay, at.delay_freq_hz, direction, at.freq_hz);
  const std::size_t flags = kind == StationKind::lofar ? 0 : receptor;
  Complex sum = 0;
  std::size_t n = 0;
  for (std::size_t k = 0; k < field.elements_m.size(); ++k) {
    if (!field.enabled[k][flags]) continue;
    sum += phasor(field.elements_m[k], d_hz);
    ++n;
  }
  return n == 0 ? 0 : sum / static_cast<double>(n) * tile_factor(field, at, direction);
}

Jones element_jones(const StationField& field, StationKind kind, const ElementResponse& element,
                    std::size_t index, const SkyVector& sky) {
  const ElementDirection d = clamped_to_horizon(kind, element_direction(multiply(field.axes, sky.direction)));
  return turned_to_sky(element.at(index, model_direction(kind, d)), d, multiply(field.axes, sky.north));
}

Jones station_response(const Station& station, StationKind kind, BeamPart part,
                       const ElementResponses& elements, const StationPointing& at, const SkyVector& sky) {
  Jones total{};
  for (const StationField& field : station.fields) {
    const bool is_up = dot(field.axes[2], sky.direction) > 0;
    if (kind == StationKind::lofar && part != BeamPart::array_factor && !is_up) continue;
    const ElementResponse& element = *elements[field.element];
    if (part == BeamPart::element) return element_jones(field, kind, element, 0, sky);
    if (part == BeamPart::full && element.embedded() != nullptr) {
      total = sum(total, embedded_response(field, *element.embedded(), at, sky));
      continue;
    }
    const Complex x = array_factor(field, kind, 0, at, sky.direction);
    const Complex y = kind == StationKind::lofar ? x : array_factor(field, kind, 1, at, sky.direction);
    Complex between = 1;
    if (kind == StationKind::lofar)
      between = phasor(field.position_m - station.phase_reference_m,
                       difference_hz(at.delay, at.delay_freq_hz, sky.direction, at.freq_hz));
    const Jones e = part == BeamPart::full ? element_jones(field, kind, element, 0, sky) : kUnitJones;
    total = sum(total, product({between * x, 0.0, 0.0, between * y}, e));
  }
  return scaled(total, 1.0 / static_cast<double>(std::max<std::size_t>(1, station.fields.size())));
}

}  // namespace apsyn
