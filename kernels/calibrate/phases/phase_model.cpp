// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/phases/phase_model.h"

#include <algorithm>
#include <cmath>

#include "kernels/calibrate/phases/step.h"

namespace apsyn {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;
constexpr double kDefaultMaxTec_tecu = 0.5;

}  // namespace

PhaseModel::PhaseModel(CalibrationTerm term, std::span<const double> freq_hz, const SolveSettings& settings)
    : term_(term), freq_hz_(freq_hz.begin(), freq_hz.end()) {
  n_numbers_ = term == CalibrationTerm::tec ? 1 : 2;
  const auto [low, high] = std::minmax_element(freq_hz_.begin(), freq_hz_.end());
  low_hz_ = *low;
  span_hz_ = *high - *low;
  for (const double f : freq_hz_) mean_hz_ += f / static_cast<double>(freq_hz_.size());
  std::vector<double> sorted = freq_hz_;
  std::sort(sorted.begin(), sorted.end());
  spacing_hz_ = span_hz_;
  for (std::size_t c = 1; c < sorted.size(); ++c)
    if (sorted[c] > sorted[c - 1]) spacing_hz_ = std::min(spacing_hz_, sorted[c] - sorted[c - 1]);
  for (const double f : freq_hz_) {
    Numbers b{};
    if (term == CalibrationTerm::delay) b = {kTwoPi * (f - mean_hz_), 1};
    if (term == CalibrationTerm::tec) b = {-kTecPhase / f, 0};
    if (term == CalibrationTerm::tec_delay) b = {-kTecPhase / f, kTwoPi * f};
    slope_.push_back(b);
  }
  max_tec_ = settings.max_tec_tecu > 0 ? settings.max_tec_tecu : kDefaultMaxTec_tecu;
  // Steps of 0.3 rad at the lowest frequency.
  tec_step_ = 0.3 * low_hz_ / kTecPhase;
  if (term == CalibrationTerm::tec) {
    n_tec_ = static_cast<long>(std::ceil(max_tec_ / tec_step_));
    const std::size_t n = freq_hz_.size();
    tec_first_.resize(2 * n);
    tec_turn_.resize(2 * n);
    const auto keep = [n](Complex value, std::size_t c, std::vector<double>& to) {
      to[c] = value.real();
      to[n + c] = value.imag();
    };
    for (std::size_t c = 0; c < n; ++c) {
      keep(std::polar(1.0, slope_[c][0] * static_cast<double>(n_tec_) * tec_step_), c, tec_first_);
      keep(std::polar(1.0, -slope_[c][0] * tec_step_), c, tec_turn_);
    }
  }
  max_delay_s_ = spacing_hz_ > 0 ? 0.5 / spacing_hz_ : 0;
  if (settings.max_delay_s > 0) max_delay_s_ = std::min(max_delay_s_, settings.max_delay_s);
  if (term != CalibrationTerm::tec && span_hz_ > 0) {
    // The transform over frequency has a bin for each spacing; frequencies that are no multiples of it get
    // finer bins.
    double off = 0;
    for (const double f : freq_hz_) {
      const double k = (f - low_hz_) / spacing_hz_;
      off = std::max(off, std::abs(k - std::round(k)));
    }
    bin_hz_ = off < 0.05 ? spacing_hz_ : spacing_hz_ / 8;
    const double wanted = 4 * (span_hz_ / bin_hz_ + 1);
    n_bins_ = fast_fft_length(static_cast<std::size_t>(std::min(wanted, 4e6)));
    if (wanted > 4e6) bin_hz_ = 4 * span_hz_ / 4e6;
    fft_ = std::make_unique<ComplexFft<double>>(n_bins_, 1, FftSign::minus);
  }
}

double PhaseModel::n_trials() const {
  const double of_tec =
      term_ == CalibrationTerm::delay ? 1 : std::max(1.0, 2 * max_tec_ * kTecPhase / low_hz_ / 3);
  const double of_delay = term_ == CalibrationTerm::tec ? 1 : std::max(1.0, 2 * max_delay_s_ * span_hz_);
  return of_tec * of_delay;
}

double PhaseModel::objective(const std::vector<Complex>& u, Numbers& x) const {
  Complex sum = 0;
  if (term_ == CalibrationTerm::delay) x[1] = 0;
  for (std::size_t c = 0; c < u.size(); ++c) sum += times(u[c], std::polar(1.0, -phase(c, x)));
  if (term_ != CalibrationTerm::delay) return sum.real();
  x[1] = std::arg(sum);
  return std::abs(sum);
}

Numbers PhaseModel::search(const std::vector<Complex>& u) const {
  return term_ == CalibrationTerm::tec_delay ? search_both(u) : refine(u, search_grid(u));
}

Numbers PhaseModel::search_beyond(const std::vector<Complex>& u, const Numbers& x) const {
  if (term_ != CalibrationTerm::tec_delay) {
    const Numbers found = search_grid(u);
    return std::abs(found[0] - x[0]) <= grid_step() ? x : refine(u, found);
  }
  Numbers best = x, from = x;
  double greatest = objective(u, from);
  for (int turns = -3; turns <= 3; ++turns) {
    if (turns == 0) continue;
    Numbers trial = refine(u, {x[0], x[1] + turns / mean_hz_});
    if (const double value = objective(u, trial); value > greatest) {
      greatest = value;
      best = trial;
    }
  }
  return best;
}

double PhaseModel::grid_step() const {
  return term_ == CalibrationTerm::tec
             ? tec_step_
             : 1 / (static_cast<double>(std::max<std::size_t>(1, n_bins_)) * bin_hz_);
}

Numbers PhaseModel::search_grid(const std::vector<Complex>& u) const {
  return term_ == CalibrationTerm::tec ? search_tec(u) : search_delay(u);
}

Numbers PhaseModel::search_tec(const std::vector<Complex>& u) const {
  // From one TEC of the grid to the next, each channel's phasor turns by the same angle.
  const std::size_t n = u.size();
  std::vector<double> phasors(2 * n);
  for (std::size_t c = 0; c < n; ++c) {
    const Complex first = times(u[c], {tec_first_[c], tec_first_[n + c]});
    phasors[c] = first.real();
    phasors[n + c] = first.imag();
  }
  return {static_cast<double>(best_turn(n, n_tec_, phasors.data(), tec_turn_.data())) * tec_step_, 0};
}

void PhaseModel::transform(const std::vector<Complex>& u, double tec, Buffer<Complex, 1>& bins) const {
  bins.resize({n_bins_});
  for (std::size_t c = 0; c < u.size(); ++c) {
    const auto bin = static_cast<std::size_t>(std::lround((freq_hz_[c] - low_hz_) / bin_hz_)) % n_bins_;
    bins(bin) += tec == 0 ? u[c] : times(u[c], std::polar(1.0, kTecPhase * tec / freq_hz_[c]));
  }
  fft_->execute(bins.data());
}

double PhaseModel::delay_of(std::size_t bin) const {
  const double k =
      bin <= n_bins_ / 2 ? static_cast<double>(bin) : static_cast<double>(bin) - static_cast<double>(n_bins_);
  return k / (static_cast<double>(n_bins_) * bin_hz_);
}

Numbers PhaseModel::search_delay(const std::vector<Complex>& u) const {
  if (!fft_) return {};
  Buffer<Complex, 1> bins;
  transform(u, 0, bins);
  Numbers best{};
  double greatest = -1;
  for (std::size_t k = 0; k < n_bins_; ++k)
    if (const double tau = delay_of(k), value = std::abs(bins(k));
        std::abs(tau) <= max_delay_s_ && value > greatest) {
      greatest = value;
      best = {tau, 0};
    }
  return best;
}

Numbers PhaseModel::search_both(const std::vector<Complex>& u) const {
  struct Candidate {
    double value, tec, delay;
  };
  std::vector<Candidate> found;
  Buffer<Complex, 1> bins;
  // Without the delay that it resembles, TEC shows by the curvature alone: its steps may be wider.
  const double step = std::max(tec_step_, 0.5 * tec_step_ * low_hz_ / std::max(span_hz_, 1.0));
  const auto n = static_cast<long>(std::ceil(max_tec_ / step));
  for (long k = -n; k <= n; ++k) {
    const double tec = static_cast<double>(k) * step;
    transform(u, tec, bins);
    for (std::size_t bin = 0; bin < n_bins_; ++bin)
      if (const double tau = delay_of(bin); std::abs(tau) <= max_delay_s_)
        found.push_back({std::abs(bins(bin)), tec, tau});
    std::partial_sort(found.begin(),
                      found.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(24, found.size())),
                      found.end(), [](const Candidate& a, const Candidate& b) { return a.value > b.value; });
    if (found.size() > 24) found.resize(24);
  }
  Numbers best{};
  double greatest = -1e300;
  const double width = 1.0 / static_cast<double>(n_bins_) / bin_hz_;
  for (const Candidate& candidate : found) {
    const double fine = 0.08 / mean_hz_;
    const auto n_fine = static_cast<long>(std::ceil(width / fine));
    for (long k = -n_fine; k <= n_fine; ++k) {
      Numbers x = {candidate.tec, candidate.delay + static_cast<double>(k) * fine};
      if (objective(u, x) < 0.5 * candidate.value) continue;
      x = refine(u, x);
      if (const double value = objective(u, x); value > greatest) {
        greatest = value;
        best = x;
      }
    }
  }
  return best;
}

Numbers PhaseModel::refine(const std::vector<Complex>& u, Numbers x) const {
  struct Equations {
    double value = 0, g0 = 0, g1 = 0, h00 = 0, h01 = 0, h11 = 0;
  };
  const auto equations_at = [&](const Numbers& at) {
    Equations e;
    for (std::size_t c = 0; c < u.size(); ++c) {
      const Complex turned = times(u[c], std::polar(1.0, -phase(c, at)));
      const Numbers& b = slope_[c];
      const double weight = std::abs(u[c]);
      e.value += turned.real();
      e.g0 += b[0] * turned.imag();
      e.g1 += b[1] * turned.imag();
      e.h00 += b[0] * b[0] * weight;
      e.h01 += b[0] * b[1] * weight;
      e.h11 += b[1] * b[1] * weight;
    }
    return e;
  };
  objective(u, x);  // a delay's phase
  Equations now = equations_at(x);
  double scale = 1;
  for (int iteration = 0; iteration < 10; ++iteration) {
    Numbers step{};
    if (n_numbers_ == 1) {
      step[0] = now.h00 > 0 ? now.g0 / now.h00 : 0;
    } else {
      const double det = now.h00 * now.h11 - now.h01 * now.h01;
      if (!(det > 1e-14 * now.h00 * now.h11)) break;
      step = {(now.g0 * now.h11 - now.g1 * now.h01) / det, (now.g1 * now.h00 - now.g0 * now.h01) / det};
    }
    const Numbers trial = {x[0] + scale * step[0], x[1] + scale * step[1]};
    const Equations next = equations_at(trial);
    if (next.value > now.value) {
      const bool done = next.value - now.value < 1e-7 * next.value;
      now = next;
      x = trial;
      scale = std::min(1.0, 2 * scale);
      if (done) break;
    } else {
      scale /= 4;
      if (scale < 0.01) break;
    }
  }
  return x;
}

}  // namespace apsyn
