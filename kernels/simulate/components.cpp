// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/simulate/component_path.h"
#include "kernels/simulate/components.h"
#include "libcore/sky/rephase.h"
#include "libcore/system/parallel.h"

namespace apsyn::simulate {
namespace {

using Complex = std::complex<double>;

/// Longer runs would let rounding errors of the carried phase grow beyond 1e-14.
constexpr std::size_t kLongestRun = 32;
/// Deviations from steady steps, relative to the frequency, that are rounding: 1e-14 of a turn per
/// wavelength.
constexpr double kSteady = 1e-14;

/// Components whose matrices at one channel and station, which lie side by side, are gone through at once.
constexpr std::size_t kTogether = 32;

/// Adds to [XX XY YX YY] a b^H times the response, of n components: a and b [component][4], responses
/// `stride` apart. The products are written out, because operators of complex numbers look for infinities.
void add_products(const std::complex<float>* a_of, const std::complex<float>* b_of, const Complex* response,
                  std::size_t stride, std::size_t n, Complex* to) {
  const auto *a = reinterpret_cast<const float*>(a_of), *b = reinterpret_cast<const float*>(b_of);
  double sum[8] = {};
  for (std::size_t s = 0; s < n; ++s, a += 8, b += 8, response += stride) {
    const double re = response->real(), im = response->imag();
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t k = 0; k < 2; ++k) {
        const float *x = a + 4 * i, *y = b + 4 * k;
        const double value_re = x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3],
                     value_im = x[1] * y[0] - x[0] * y[1] + x[3] * y[2] - x[2] * y[3];
        sum[4 * i + 2 * k] += value_re * re - value_im * im;
        sum[4 * i + 2 * k + 1] += value_re * im + value_im * re;
      }
  }
  for (std::size_t i = 0; i < 4; ++i) to[i] += Complex(sum[2 * i], sum[2 * i + 1]);
}

Complex phasor(double turns) {
  return std::polar(1.0, kTwoPi * (turns - std::round(turns)));
}

}  // namespace

std::vector<std::string> stokes_of(const SkyModel& sky) {
  for (const SkyComponent& component : sky.components)
    for (std::size_t s = 1; s < 4; ++s)
      if (component.stokes_jy[s] != 0) return {"I", "Q", "U", "V"};
  return {"I"};
}

struct ComponentPredictor::Sum {
  std::vector<Complex> values;    ///< [chan][plane]
  std::vector<Complex> response;  ///< [chan] of one component
};

ComponentPredictor::ComponentPredictor(const SkyModel& sky, const SkyDirection& centre,
                                       const std::vector<double>& channel_hz)
    : sky_(sky) {
  for (const SkyComponent& component : sky_.components)
    towards_.push_back(make_rephasing(centre, component.direction).rotation);
  for (double hz : channel_hz) per_m_.push_back(hz / kSpeedOfLight_m_s);
  runs_ = channel_runs(per_m_, kLongestRun, kSteady);
  const std::size_t n_planes = stokes_of(sky_).size();
  stokes_jy_.resize({sky_.components.size(), per_m_.size(), n_planes});
  for (std::size_t s = 0; s < sky_.components.size(); ++s)
    for (std::size_t chan = 0; chan < per_m_.size(); ++chan) {
      const std::array<double, 4> stokes = flux_at(sky_.components[s], channel_hz[chan]);
      std::copy_n(stokes.begin(), n_planes, &stokes_jy_(s, chan, 0));
    }
}

void ComponentPredictor::respond(std::size_t index, const Vec3& uvw_m, double path_m,
                                 Complex* response) const {
  const Path path = path_of(sky_.components[index], towards_[index], {0, 0, 1}, uvw_m);
  const double length_m = path.length_m + path_m;
  for (const ChannelRun& run : runs_) {
    Complex value = phasor(length_m * run.first_per_m);
    const Complex step = phasor(length_m * run.step_per_m);
    for (std::size_t i = 0; i < run.n; ++i, value *= step) response[run.first + i] = value;
  }
  if (path.gaussian_m2 > 0)
    for (std::size_t chan = 0; chan < per_m_.size(); ++chan)
      response[chan] *= std::exp(-path.gaussian_m2 * per_m_[chan] * per_m_[chan]);
}

void ComponentPredictor::add(std::size_t index, const Vec3& uvw_m, double path_m, Sum& sum) const {
  respond(index, uvw_m, path_m, sum.response.data());
  const std::size_t n_planes = stokes_jy_.extent(2);
  const double* stokes_jy = per_m_.empty() ? nullptr : &stokes_jy_(index, 0, 0);
  for (std::size_t chan = 0, i = 0; chan < per_m_.size(); ++chan)
    for (std::size_t plane = 0; plane < n_planes; ++plane, ++i)
      sum.values[i] += stokes_jy[i] * sum.response[chan];
}

void ComponentPredictor::predict(View<const double, 2> uvw_m, View<const double, 1> path_m,
                                 unsigned n_threads, View<std::complex<float>, 3> data) const {
  const std::size_t n_row = uvw_m.extent(0), n_values = per_m_.size() * stokes_jy_.extent(2);
  if (uvw_m.extent(1) != 3 || (path_m.size() != 0 && path_m.size() != n_row) ||
      data.shape() != std::array<std::size_t, 3>{n_row, per_m_.size(), stokes_jy_.extent(2)})
    throw std::invalid_argument("ComponentPredictor: shapes disagree");
  std::vector<Sum> sums(n_threads);
  for (Sum& sum : sums) sum.response.resize(per_m_.size());
  parallel_for(n_threads, n_row, [&](std::size_t row, unsigned thread) {
    Sum& sum = sums[thread];
    sum.values.assign(n_values, 0);
    const Vec3 uvw{uvw_m(row, 0), uvw_m(row, 1), uvw_m(row, 2)};
    for (std::size_t s = 0; s < sky_.components.size(); ++s)
      add(s, uvw, path_m.size() == 0 ? 0 : path_m[row], sum);
    std::copy(sum.values.begin(), sum.values.end(), data[row].data());
  });
}

void ComponentPredictor::add_through(View<const double, 2> uvw_m, View<const double, 1> path_m,
                                     View<const std::uint32_t, 2> station, const Beams& beams,
                                     unsigned n_threads, View<Complex, 3> data) const {
  const std::size_t n_row = uvw_m.extent(0), n_chan = per_m_.size();
  const std::size_t n_stations = beams.jones.extent(1), n_sources = beams.jones.extent(2);
  if (uvw_m.extent(1) != 3 || (path_m.size() != 0 && path_m.size() != n_row) ||
      station.shape() != std::array<std::size_t, 2>{n_row, 2} ||
      data.shape() != std::array<std::size_t, 3>{n_row, n_chan, 4} || beams.jones.extent(0) != n_chan ||
      beams.jones.extent(3) != 4 || beams.first + n_sources > sky_.components.size())
    throw std::invalid_argument("ComponentPredictor: shapes disagree");
  // J_p B of each station, once for all of its baselines: [chan][station][component][4].
  const bool is_polarised = stokes_jy_.extent(2) == 4;
  Buffer<std::complex<float>, 4> seen(beams.jones.shape());
  parallel_for(n_threads, n_chan * n_stations, [&](std::size_t item, unsigned) {
    const std::size_t chan = item / n_stations;
    const std::complex<float>* j = beams.jones.data() + 4 * item * n_sources;
    std::complex<float>* to = seen.data() + 4 * item * n_sources;
    for (std::size_t s = 0; s < n_sources; ++s, j += 4, to += 4) {
      const double* stokes = &stokes_jy_(beams.first + s, chan, 0);
      const double q = is_polarised ? stokes[1] : 0;
      const Complex uv = is_polarised ? Complex(stokes[2], stokes[3]) : 0;
      const Complex b[4] = {stokes[0] + q, uv, std::conj(uv), stokes[0] - q};
      for (std::size_t row = 0; row < 2; ++row)
        for (std::size_t column = 0; column < 2; ++column)
          to[2 * row + column] = static_cast<std::complex<float>>(Complex(j[2 * row]) * b[column] +
                                                                  Complex(j[2 * row + 1]) * b[2 + column]);
    }
  });
  std::vector<std::vector<Complex>> responses(n_threads, std::vector<Complex>(kTogether * n_chan));
  parallel_for(n_threads, n_row, [&](std::size_t row, unsigned thread) {
    Complex* const response = responses[thread].data();
    const Vec3 uvw{uvw_m(row, 0), uvw_m(row, 1), uvw_m(row, 2)};
    const std::size_t p = station(row, 0), q = station(row, 1);
    for (std::size_t first = 0; first < n_sources; first += kTogether) {
      const std::size_t n = std::min(kTogether, n_sources - first);
      for (std::size_t s = 0; s < n; ++s)
        respond(beams.first + first + s, uvw, path_m.size() == 0 ? 0 : path_m[row], response + s * n_chan);
      for (std::size_t chan = 0; chan < n_chan; ++chan)
        add_products(&seen(chan, p, first, 0), &beams.jones(chan, q, first, 0), response + chan, n_chan, n,
                     &data(row, chan, 0));
    }
  });
}

}  // namespace apsyn::simulate
