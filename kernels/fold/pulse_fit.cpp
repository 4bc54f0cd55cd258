// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/fold/pulse_fit.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "kernels/common/math/fft.h"
#include "libcore/base/constants.h"

namespace apsyn {

namespace {

constexpr std::size_t kFiner = 8;  // phases between bins that are tried
constexpr double kWidthStep = 1.05, kWidest_turns = 0.4;

/// [harmonic] of a Gaussian template; 0 for the mean.
std::vector<double> template_harmonics(std::size_t n_bin, double width_turns) {
  std::vector<double> g(n_bin / 2, 0);
  for (std::size_t k = 1; k < g.size(); ++k) {
    const double of_width = kPi * static_cast<double>(k) * width_turns;
    const double of_bin = kPi * static_cast<double>(k) / static_cast<double>(n_bin);
    g[k] = std::exp(-of_width * of_width / (4 * std::log(2.0))) * std::sin(of_bin) / of_bin;
  }
  return g;
}

std::vector<std::complex<double>> harmonics_of(const std::vector<double>& profile) {
  Buffer<double, 1> in({profile.size()});
  std::copy(profile.begin(), profile.end(), in.data());
  Buffer<std::complex<double>, 1> out({profile.size() / 2 + 1});
  RealFft<double>(profile.size(), 1).execute(in.data(), out.data());
  std::vector<std::complex<double>> harmonics(out.data(), out.data() + profile.size() / 2);
  // counted from phase 0, while bin 0 is centred on half a bin
  for (std::size_t k = 0; k < harmonics.size(); ++k)
    harmonics[k] *= std::polar(1.0, -kPi * static_cast<double>(k) / static_cast<double>(profile.size()));
  return harmonics;
}

struct Peak {
  double response = 0, phase_turns = 0;  ///< profile units times sqrt(bins)
};

/// The best phase of one template.
Peak best_phase(const std::vector<std::complex<double>>& f, const std::vector<double>& g, std::size_t n_bin,
                const ComplexFft<double>& fft, Buffer<std::complex<double>, 1>& work) {
  double norm = 0;
  work.fill(0);
  for (std::size_t k = 1; k < g.size(); ++k) {
    work(k) = f[k] * g[k];
    norm += 2 * g[k] * g[k];
  }
  fft.execute(work.data());
  std::size_t at = 0;
  for (std::size_t i = 1; i < work.size(); ++i)
    if (work(i).real() > work(at).real()) at = i;
  const std::size_t n = work.size();
  const double left = work((at + n - 1) % n).real(), middle = work(at).real(),
               right = work((at + 1) % n).real();
  const double curvature = left - 2 * middle + right;
  const double shift = curvature < 0 ? 0.5 * (left - right) / curvature : 0;
  Peak peak;
  peak.phase_turns = (static_cast<double>(at) + shift) / static_cast<double>(n);
  peak.phase_turns -= std::floor(peak.phase_turns);
  const double top = middle - 0.25 * (left - right) * shift;
  peak.response = 2 * top / std::sqrt(norm * static_cast<double>(n_bin));
  return peak;
}

/// Scatter of the profile outside of the pulse.
double scatter_off_pulse(const FoldedPulses& folded) {
  double n = 0, sum = 0, square = 0;
  const double reach = std::min(1.5 * folded.pulse.width_turns, 0.35);
  for (std::size_t bin = 0; bin < folded.n_bin(); ++bin) {
    const double phase = (static_cast<double>(bin) + 0.5) / static_cast<double>(folded.n_bin());
    const double away = phase - folded.pulse.phase_turns;
    if (std::abs(away - std::round(away)) < reach) continue;
    n += 1, sum += folded.profile[bin], square += folded.profile[bin] * folded.profile[bin];
  }
  return n > 2 ? std::sqrt(std::max(0.0, (square - sum * sum / n) / (n - 1))) : 0;
}

/// The profile of sub-integrations that were moved, and the scatter about it.
void remake_profile(FoldedPulses& folded) {
  double explained = 0, n = 0;
  for (std::size_t bin = 0; bin < folded.n_bin(); ++bin) {
    double sum = 0;
    for (std::size_t subint = 0; subint < folded.sum.extent(0); ++subint)
      for (std::size_t band = 0; band < folded.sum.extent(1); ++band) sum += folded.sum(subint, band, bin);
    const double count = folded.samples(bin);
    const double mean = count > 0 ? sum / count : 0;
    explained += count * mean * mean;
    n += count;
    folded.profile[bin] = mean;
  }
  if (n > 0) folded.variance = std::max(folded.variance + (folded.explained - explained) / n, 1e-30);
  folded.explained = explained;
}

/// Moves a sub-integration towards earlier phases.
void rotate(Buffer<double, 3>& values, std::size_t subint, double turns) {
  const auto n = static_cast<double>(values.extent(2));
  const double bins = std::round((turns - std::floor(turns)) * n);
  for (std::size_t band = 0; band < values.extent(1); ++band) {
    double* first = &values(subint, band, 0);
    std::rotate(first, first + static_cast<std::size_t>(bins) % values.extent(2), first + values.extent(2));
  }
}

}  // namespace

void fit_pulse(FoldedPulses& folded) {
  const std::size_t n_bin = folded.n_bin();
  folded.pulse = {};
  if (n_bin < 8) return;
  double samples = 0;
  for (std::size_t bin = 0; bin < n_bin; ++bin) samples += folded.samples(bin);
  const auto f = harmonics_of(folded.profile);
  const std::size_t n = kFiner * n_bin;
  const ComplexFft<double> fft(n, 1, FftSign::plus);
  Buffer<std::complex<double>, 1> work({n});
  Peak best;
  for (double width = 1 / static_cast<double>(n_bin); width < kWidest_turns; width *= kWidthStep) {
    const Peak peak = best_phase(f, template_harmonics(n_bin, width), n_bin, fft, work);
    if (!(peak.response > best.response)) continue;
    best = peak;
    folded.pulse.width_turns = width;
  }
  const double sigma = std::sqrt(folded.variance * static_cast<double>(n_bin) / std::max(1.0, samples));
  folded.pulse.phase_turns = best.phase_turns;
  folded.pulse.snr = sigma > 0 ? best.response / sigma : 0;
  if (folded.pulse.width_turns == 0) return;
  const auto g = template_harmonics(n_bin, folded.pulse.width_turns);
  // a template of unit height has harmonics area n_bin G_k
  const double area = folded.pulse.width_turns * std::sqrt(kPi / (4 * std::log(2.0)));
  double norm = 0;
  for (double value : g) norm += 2 * value * value;
  folded.pulse.height = folded.unit * best.response / (area * std::sqrt(norm * static_cast<double>(n_bin)));
  if (sigma > 0) folded.pulse.excess_noise = scatter_off_pulse(folded) / sigma;
}

void search_period(FoldedPulses& folded) {
  const std::size_t n_subint = folded.sum.extent(0), n_bin = folded.n_bin();
  if (n_subint < 2 || n_bin < 8) return;
  // sums of each sub-integration about its own mean: a change of level is no pulse
  std::vector<std::vector<std::complex<double>>> f;
  std::vector<double> profile(n_bin);
  for (std::size_t subint = 0; subint < n_subint; ++subint) {
    for (std::size_t bin = 0; bin < n_bin; ++bin) {
      profile[bin] = 0;
      for (std::size_t band = 0; band < folded.sum.extent(1); ++band)
        profile[bin] += folded.sum(subint, band, bin);
    }
    f.push_back(harmonics_of(profile));
  }
  const auto middle_s = [&](std::size_t subint) {
    const double begin_s = static_cast<double>(subint) * folded.subint_s;
    return (begin_s + std::min(begin_s + folded.subint_s, folded.length_s)) / 2;
  };
  // sum over harmonics of |sum over sub-integrations|^2, each moved back by its drift
  const auto strength = [&](double drift_turns) {
    double total = 0;
    std::vector<std::complex<double>> step(n_subint), turn(n_subint, 1.0);
    for (std::size_t i = 0; i < n_subint; ++i)
      step[i] = std::polar(1.0, kTwoPi * drift_turns * middle_s(i) / folded.length_s);
    for (std::size_t k = 1; k < n_bin / 4; ++k) {
      std::complex<double> sum = 0;
      for (std::size_t i = 0; i < n_subint; ++i) sum += f[i][k] * (turn[i] *= step[i]);
      total += std::norm(sum);
    }
    return total;
  };
  const double max_turns = std::min(1.0, static_cast<double>(n_subint) / 4);
  const double step_turns = 0.5 / static_cast<double>(n_bin);
  const auto n_step = static_cast<long>(max_turns / step_turns);
  double best_turns = 0, best = strength(0);
  for (long i = -n_step; i <= n_step; ++i) {
    const double turns = static_cast<double>(i) * step_turns, found = strength(turns);
    if (found > best) best = found, best_turns = turns;
  }
  // the middle of a parabola through the best and its neighbours
  const double left = strength(best_turns - step_turns), right = strength(best_turns + step_turns);
  const double curvature = left - 2 * best + right;
  if (curvature < 0) best_turns += std::clamp(0.5 * (left - right) / curvature, -0.5, 0.5) * step_turns;
  for (std::size_t subint = 0; subint < n_subint; ++subint)
    for (Buffer<double, 3>* values : {&folded.sum, &folded.count})
      rotate(*values, subint, best_turns * middle_s(subint) / folded.length_s);
  folded.period_s += best_turns * folded.period_s * folded.period_s / folded.length_s;
  remake_profile(folded);
}

}  // namespace apsyn
