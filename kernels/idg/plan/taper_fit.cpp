// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/plan/taper_fit.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "kernels/common/math/least_squares.h"
#include "kernels/idg/plan/taper_misfit.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;
constexpr double pi = std::numbers::pi;

/// Where visibilities stand, from the edge of the square to its middle; both halves are alike. Close together
/// at the edge, where least is free on one side, and in all parts of a cell.
std::vector<VisibilityPlace> places_of(double square, double first_step, double growth) {
  std::vector<VisibilityPlace> places;
  double step = first_step;
  for (double from_edge = 0; from_edge < square / 2; from_edge += step, step *= growth)
    places.push_back({from_edge, 0});
  places.push_back({square / 2, 0});
  // The trapezoid rule over the square, and a little more for the edge, where few visibilities may be all.
  constexpr double for_each = 0.15;
  const std::size_t n = places.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double spacing =
        (places[std::min(i + 1, n - 1)].from_edge - places[i == 0 ? 0 : i - 1].from_edge) / 2;
    places[i].weight = (spacing / (square / 2) + for_each / static_cast<double>(n)) / (1 + for_each);
  }
  return places;
}

std::vector<VisibilityPlace> places_for_fit(double square) {
  return places_of(square, 0.12, 1.3);
}

/// Different places from those of the fit, and more of them.
std::vector<VisibilityPlace> places_for_error(double square) {
  return places_of(square, 0.1, 1.2);
}

constexpr int n_steps = 10;

/// P_0, P_2, P_4 .. of degree 2 (n - 1), normalised over [-1, 1].
void even_legendre(double x, std::size_t n, double* out) {
  double previous = 1, current = x;
  out[0] = 1;
  for (std::size_t j = 1; j < n; ++j)
    for (const double k : {2.0 * static_cast<double>(j) - 1, 2.0 * static_cast<double>(j)}) {
      if (k > 1) {
        const double next = ((2 * k - 1) * x * current - (k - 1) * previous) / k;
        previous = current;
        current = next;
      }
      out[j] = current;
    }
}

double mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return sum / static_cast<double>(values.size());
}

double mean_inverse_square(const GaussLegendre& nodes, const std::vector<double>& t) {
  double sum = 0;
  for (std::size_t r = 0; r < t.size(); ++r) sum += nodes.weight[r] / (t[r] * t[r]);
  return sum;
}

/// The misfit of the worst phase, over both axes, with rounding added.
double total_error(const Misfit& misfit, const std::vector<Complex>& e, const std::vector<double>& at_nodes,
                   const std::vector<double>& at_pixels, double rounding) {
  const std::size_t n_nodes = at_nodes.size();
  double worst = 0;
  for (std::size_t phase = 0; phase < misfit.n_phases(); ++phase) {
    double sum = 0;
    for (std::size_t place = 0; place < misfit.n_places(); ++place)
      for (std::size_t r = 0; r < n_nodes; ++r)
        sum += misfit.places()[place].weight * misfit.nodes().weight[r] *
               std::norm(e[(phase * misfit.n_places() + place) * n_nodes + r] / at_nodes[r]);
    worst = std::max(worst, 2 * sum);
  }
  const double round = rounding * mean_square(at_pixels) * mean_inverse_square(misfit.nodes(), at_nodes);
  return std::sqrt(worst + round * round);
}

/// Cells to either side that the phases take up at the field's edge.
double cells_of_phase(const TaperCase& wanted) {
  double most = 0;
  for (const ResidualPhase& phase : wanted.phases) {
    const double m2 = phase.other_axis_max * phase.other_axis_max;
    const double l2 = std::min(phase.half_width_l * phase.half_width_l, 0.99 * (1 - m2));
    most = std::max(most, 2 * std::abs(phase.half_w) * l2 / std::sqrt(1 - l2 - m2));
  }
  return most;
}

/// Cells from the first to the last that visibilities lie between.
double square_of(const TaperCase& wanted) {
  return std::max(1.0, static_cast<double>(wanted.subgrid) - 1 - 2 * std::floor(wanted.support / 2));
}

double error_of(const Taper& taper, const Misfit& misfit, double rounding) {
  const std::vector<double> at_nodes = taper.at(misfit.nodes().x), at_pixels = taper.at(misfit.pixels());
  return total_error(misfit, misfit.of(at_nodes, at_pixels, 1), at_nodes, at_pixels, rounding);
}

/// Even polynomials times a prolate function, 1 at eta = 0: base, and base (P_2j - P_2j(0)) normalised.
class Family {
 public:
  Family(const Taper& base, const Misfit& misfit, std::size_t n) : base_(base), n_(n), at_zero_(n) {
    even_legendre(0, n, at_zero_.data());
    nodes = at(misfit.nodes().x);
    pixels = at(misfit.pixels());
  }
  std::size_t size() const { return n_; }
  /// sum_j factor[j] f_j at the points of `values`, [point][function].
  std::vector<double> combine(const std::vector<double>& values, const std::vector<double>& factor) const {
    std::vector<double> sums(values.size() / n_);
    for (std::size_t r = 0; r < sums.size(); ++r)
      for (std::size_t j = 0; j < n_; ++j) sums[r] += factor[j] * values[r * n_ + j];
    return sums;
  }
  Taper taper(const std::vector<double>& factor) const {
    std::vector<double> series(n_, 0.0);
    series[0] = 1;
    for (std::size_t j = 1; j < n_; ++j) {
      series[j] = factor[j] * norm(j);
      series[0] -= series[j] * at_zero_[j];
    }
    return base_.times(std::move(series));
  }

  std::vector<double> nodes, pixels;  ///< [point][function]

 private:
  static double norm(std::size_t j) { return std::sqrt(4 * static_cast<double>(j) + 1); }
  std::vector<double> at(const std::vector<double>& points) const {
    const std::vector<double> window = base_.at(points);
    std::vector<double> values(points.size() * n_);
    for (std::size_t r = 0; r < points.size(); ++r) {
      double* row = &values[r * n_];
      even_legendre(points[r], n_, row);
      row[0] = window[r];
      for (std::size_t j = 1; j < n_; ++j) row[j] = window[r] * norm(j) * (row[j] - at_zero_[j]);
    }
    return values;
  }

  const Taper& base_;
  std::size_t n_;
  std::vector<double> at_zero_;
};

/// One Gauss-Newton step about t: the factors that make |e / t|^2 and rounding least. Rounding is epsilon A B
/// with A = <t^2>, B = <1 / t^2>; about t its square has the slope of 2 epsilon^2 A B (B <t'^2> + A <(2 / t -
/// t' / t^2)^2>). `system` has room for all equations, and serves again.
std::vector<double> step(const Misfit& misfit, const Family& family, const std::vector<Complex>& e,
                         const std::vector<double>& t, const std::vector<double>& t_pixels, double epsilon,
                         LeastSquares& system) {
  const std::size_t n = family.size(), n_nodes = t.size(), n_misfits = e.size() / n;
  const double square = mean_square(t_pixels), inverse = mean_inverse_square(misfit.nodes(), t);
  for (std::size_t i = 0; i < n_misfits; ++i) {
    const std::size_t r = i % n_nodes;
    const double share = misfit.places()[i / n_nodes % misfit.n_places()].weight;
    const double weight = std::sqrt(2 * share * misfit.nodes().weight[r]) / t[r];  // both axes
    for (std::size_t j = 1; j < n; ++j) {
      system.matrix(2 * i, j - 1) = weight * e[i * n + j].real();
      system.matrix(2 * i + 1, j - 1) = weight * e[i * n + j].imag();
    }
    system.right(2 * i) = -weight * e[i * n].real();
    system.right(2 * i + 1) = -weight * e[i * n].imag();
  }
  for (std::size_t r = 0; r < n_nodes; ++r) {
    const double weight = epsilon * square * std::sqrt(2 * inverse * misfit.nodes().weight[r]) / t[r];
    for (std::size_t j = 1; j < n; ++j)
      system.matrix(2 * n_misfits + r, j - 1) = weight / t[r] * family.nodes[r * n + j];
    system.right(2 * n_misfits + r) = weight * (2 - family.nodes[r * n] / t[r]);
  }
  const double weight = epsilon * inverse * std::sqrt(2 * square / static_cast<double>(t_pixels.size()));
  for (std::size_t i = 0; i < t_pixels.size(); ++i) {
    for (std::size_t j = 1; j < n; ++j)
      system.matrix(2 * n_misfits + n_nodes + i, j - 1) = weight * family.pixels[i * n + j];
    system.right(2 * n_misfits + n_nodes + i) = -weight * family.pixels[i * n];
  }
  std::vector<double> factor = system.solve();
  factor.insert(factor.begin(), 1.0);
  return factor;
}

}  // namespace

double taper_error(const Taper& taper, const TaperCase& of) {
  return error_of(taper, Misfit(of, MisfitTables(of), places_for_error(square_of(of))), of.rounding);
}

FittedTaper fit_taper(const TaperCase& wanted, double enough) {
  const MisfitTables tables(wanted);
  const Misfit everywhere(wanted, tables, places_for_error(square_of(wanted)));
  const double room = std::max(3.0, wanted.support - 1.6 * cells_of_phase(wanted));
  // The start must not be steeper than rounding allows: from a taper that is, the steps return only slowly.
  const double steepest = -0.8 * std::log(std::max(wanted.rounding, 1e-16));
  const Taper base(TaperKind::pswf, std::min(0.8 * pi / 2 * room, steepest));
  FittedTaper best{base, error_of(base, everywhere, wanted.rounding)};
  if (best.error <= enough) return best;
  /// Keeps the taper if it is the best so far; returns whether the best is good enough.
  auto offer = [&](const Taper& taper) {
    const double error = error_of(taper, everywhere, wanted.rounding);
    if (error < best.error) best = {taper, error};
    return best.error <= enough;
  };

  const Misfit misfit(wanted, tables, places_for_fit(square_of(wanted)));
  const auto n = static_cast<std::size_t>(std::clamp(2 + wanted.support, 4.0, 16.0));
  const Family family(base, misfit, n);
  const std::vector<Complex> e = misfit.of(family.nodes, family.pixels, n);
  std::vector<double> factor(n, 0.0);
  factor[0] = 1;
  std::vector<double> t = family.combine(family.nodes, factor);
  LeastSquares system(2 * e.size() / n + family.nodes.size() / n + family.pixels.size() / n, n - 1);
  for (int i = 0; i < n_steps; ++i) {
    factor = step(misfit, family, e, t, family.combine(family.pixels, factor), wanted.rounding, system);
    const std::vector<double> next = family.combine(family.nodes, factor);
    if (i > 2 && *std::min_element(next.begin(), next.end()) > 0 && offer(family.taper(factor))) return best;
    for (std::size_t r = 0; r < t.size(); ++r) t[r] *= std::sqrt(std::clamp(next[r] / t[r], 0.3, 3.0));
  }
  // Without w prolate functions of the right bandwidth are good as well.
  if (misfit.n_phases() == 1)
    for (double share = 0.75; share < 1.2; share += 0.025)
      if (offer(Taper(TaperKind::pswf, share * pi / 2 * wanted.support))) return best;
  return best;
}

}  // namespace apsyn
