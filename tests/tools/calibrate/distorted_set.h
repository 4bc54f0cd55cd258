// SPDX-License-Identifier: GPL-3.0-or-later
// Sets whose antennas have known gains, written from the equations in float64: V_pq = J_p B J_q^H with
// B = sum of S exp(+2 pi i (u l + v m + w (n - 1)) nu / c).
#pragma once

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/measures/coordinates.h"
#include "tests/reference/scratch.h"

namespace apsyn::test {

using Complex = std::complex<double>;
/// Row by row.
using Matrix2 = std::array<Complex, 4>;

inline Matrix2 product(const Matrix2& a, const Matrix2& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}
inline Matrix2 adjoint(const Matrix2& a) {
  return {std::conj(a[0]), std::conj(a[2]), std::conj(a[1]), std::conj(a[3])};
}

struct DistortedSet {
  std::size_t n_antennas = 10, n_channels = 6, n_times = 4;
  double first_hz = 150e6, step_hz = 2e5, interval_s = 8;
  std::size_t n_windows = 1;  ///< each 20 MHz below the one before
  std::vector<Product> products{Product::XX, Product::XY, Product::YX, Product::YY};
  /// The Jones matrix of an antenna at a time (from 0) and a frequency.
  std::function<Matrix2(std::size_t ant, std::size_t time, double freq_hz)> jones = [](std::size_t,
                                                                                       std::size_t, double) {
    return Matrix2{1, 0, 0, 1};
  };
  /// What an antenna does to a source besides, both receptors alike; each is a patch.
  std::function<Complex(std::size_t ant, std::size_t source, double freq_hz)> direction_gain =
      [](std::size_t, std::size_t, double) { return Complex(1); };
  double noise_jy = 0;          ///< RMS of each part
  double flagged_fraction = 0;  ///< of the samples, which then hold garbage
  bool reversed_rows = false;   ///< every third row has ANTENNA1 > ANTENNA2
  bool conjugated = false;      ///< UVW is r_2 - r_1, and the data are conjugated
  bool with_autos = false;      ///< of garbage
  double gap_s = 0;             ///< in the middle of the times
  std::function<bool(std::size_t ant1, std::size_t ant2, std::size_t time)> has_data =
      [](std::size_t, std::size_t, std::size_t) { return true; };
  std::uint64_t seed = 1;

  static constexpr double kStart_s = 60300 * 86400.0 + 40000;
  static SkyDirection centre() { return {1.2, -0.5}; }

  /// Offsets from the centre (l, m) and fluxes.
  struct Source {
    double l, m, jy;
  };
  std::vector<Source> sources{{0, 0, 10}, {0.01, -0.02, 4}, {-0.03, 0.005, 2}};

  double channel_hz(std::size_t chan, std::size_t window = 0) const {
    return first_hz - 20e6 * static_cast<double>(window) + step_hz * static_cast<double>(chan);
  }
  double time_s(std::size_t t) const {
    return kStart_s + (static_cast<double>(t) + 0.5) * interval_s + (2 * t >= n_times ? gap_s : 0);
  }

  std::vector<Vec3> antennas() const {
    std::mt19937_64 random(77);
    std::uniform_real_distribution<double> uniform(-1500, 1500);
    std::vector<Vec3> enu;
    for (std::size_t i = 0; i < n_antennas; ++i) {
      const double east = uniform(random), north = uniform(random);
      enu.push_back({east, north, uniform(random) / 100});
    }
    return enu;
  }

  std::string sky_text() const {
    std::string text = "Format = Name, Type, Patch, Ra, Dec, I\n";
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const auto [l, m, jy] = sources[i];
      const double n = std::sqrt(1 - l * l - m * m), dec0 = centre().dec_rad;
      const double dec = std::asin(n * std::sin(dec0) + m * std::cos(dec0)),
                   ra = centre().ra_rad + std::atan2(l, n * std::cos(dec0) - m * std::sin(dec0));
      char buffer[200];
      std::snprintf(buffer, sizeof buffer, "s%zu, POINT, p%zu, %.12fdeg, %.12fdeg, %g\n", i, i,
                    ra / kRadPerDeg, dec / kRadPerDeg, jy);
      text += buffer;
    }
    return text;
  }

  Complex brightness(const Vec3& uvw_m, double freq_hz) const {
    return brightness(uvw_m, freq_hz, [](std::size_t) { return Complex(1); });
  }
  Complex brightness(const Vec3& uvw_m, double freq_hz,
                     const std::function<Complex(std::size_t source)>& gain) const {
    Complex sum = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const auto& [l, m, jy] = sources[i];
      const double n = std::sqrt(1 - l * l - m * m);
      const double turns = (uvw_m[0] * l + uvw_m[1] * m + uvw_m[2] * (n - 1)) * freq_hz / kSpeedOfLight_m_s;
      sum += gain(i) * std::polar(jy, kTwoPi * (turns - std::round(turns)));
    }
    return sum;
  }

  void write(const std::string& path) const {
    MsDescription d;
    d.telescope = "TEST";
    d.source = "field";
    d.layout.site = Site{-26.7 * kRadPerDeg, 116.67 * kRadPerDeg, 377};
    const std::vector<Vec3> enu = antennas();
    for (std::size_t i = 0; i < n_antennas; ++i)
      d.layout.antennas.push_back({"A" + std::to_string(i), enu[i], 0, false});
    d.phase_centre = centre();
    for (std::size_t chan = 0; chan < n_channels; ++chan) d.channel_hz.push_back(channel_hz(chan));
    d.channel_width_hz = step_hz;
    d.products = products;
    for (std::size_t window = 1; window < n_windows; ++window) {
      MsSpectralWindow& more = d.more_windows.emplace_back();
      for (std::size_t chan = 0; chan < n_channels; ++chan) {
        more.channel_hz.push_back(channel_hz(chan, window));
        more.width_hz.push_back(step_hz);
      }
    }
    std::vector<Baseline> baselines;
    for (std::size_t p = 0; p < n_antennas; ++p)
      for (std::size_t q = p; q < n_antennas; ++q) {
        if (p == q && !with_autos) continue;
        const bool reversed = reversed_rows && baselines.size() % 3 == 1;
        baselines.push_back({static_cast<int>(reversed ? q : p), static_cast<int>(reversed ? p : q)});
      }
    const SkyFrame frame(*d.layout.site);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    MeasurementSetWriter writer(path, d, true);
    Buffer<std::complex<float>, 3> data({baselines.size(), n_channels, products.size()});
    Buffer<float, 3> weight(data.shape());
    Buffer<double, 2> uvw_m({baselines.size(), 3});
    for (std::size_t item = 0; item < n_times * n_windows; ++item) {
      const std::size_t t = item / n_windows, window = item % n_windows;
      const Mat3 rotation = frame.uvw_rotation(from_mjd_seconds(time_s(t)), centre());
      for (std::size_t b = 0; b < baselines.size(); ++b) {
        const auto p = static_cast<std::size_t>(baselines[b].ant1),
                   q = static_cast<std::size_t>(baselines[b].ant2);
        const Vec3 uvw = multiply(rotation, enu[p] - enu[q]);
        for (std::size_t i = 0; i < 3; ++i) uvw_m(b, i) = conjugated ? -uvw[i] : uvw[i];
        for (std::size_t chan = 0; chan < n_channels; ++chan) {
          const double hz = channel_hz(chan, window);
          const Complex sky = brightness(uvw, hz, [&](std::size_t source) {
            return direction_gain(p, source, hz) * std::conj(direction_gain(q, source, hz));
          });
          const Matrix2 v =
              product(product(jones(p, t, hz), Matrix2{sky, 0, 0, sky}), adjoint(jones(q, t, hz)));
          for (std::size_t i = 0; i < products.size(); ++i) {
            const int which = (static_cast<int>(products[i]) - 5) % 4;
            Complex value =
                v[static_cast<std::size_t>(which)] + noise_jy * Complex(normal(random), normal(random));
            if (p == q) value = 1e6;
            const bool flagged = uniform(random) < flagged_fraction || !has_data(p, q, t);
            if (flagged) value = 1e5 * Complex(normal(random), normal(random));
            data(b, chan, i) = std::complex<float>(conjugated ? std::conj(value) : value);
            weight(b, chan, i) = flagged ? 0.0f : static_cast<float>(0.5 + uniform(random));
          }
        }
      }
      writer.write(
          {time_s(t), interval_s, interval_s, uvw_m, &baselines, data, weight, static_cast<int>(window)});
    }
    writer.commit();
  }
};

/// The exit status of calibrate with these arguments; its messages go to `log`.
inline int run_calibrate(const std::string& arguments, const std::string& log) {
  const auto bin =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/calibrate";
  const std::string command = "'" + bin.string() + "' " + arguments + " >'" + log + "' 2>&1 </dev/null";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace apsyn::test
