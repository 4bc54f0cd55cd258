// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/solutions/evaluator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <unordered_map>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/sky/ionosphere_screen.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;

constexpr double kEdge = 1e-6;           ///< of an interval: rounding of times in files
constexpr double kLargestGap = 0.5;      ///< of the shorter interval, that linear interpolation bridges
constexpr double kCosLargestStep = 0.5;  ///< 60 degrees

enum class Place : std::uint8_t { inside, outside, beyond };

/// Where a time or frequency lies on an axis.
struct Position {
  std::size_t nearest = 0;
  std::size_t other = 0;  ///< the neighbour on the other side; equal to nearest: none counts
  double share = 0;       ///< of the other
  Place place = Place::inside;
  bool after = false;  ///< later than the centre of the nearest
};

Position locate(double at, const std::vector<double>& centres, const std::vector<double>& lengths,
                bool linear) {
  Position position;
  if (lengths[0] == 0) return position;
  const auto above =
      static_cast<std::size_t>(std::upper_bound(centres.begin(), centres.end(), at) - centres.begin());
  const std::size_t left = above == 0 ? 0 : above - 1, right = std::min(above, centres.size() - 1);
  const auto from_edge = [&](std::size_t i) {
    return std::max(0.0, std::abs(at - centres[i]) - (0.5 + kEdge) * lengths[i]);
  };
  const double from_left = from_edge(left), from_right = from_edge(right);
  const bool take_right =
      from_right != from_left ? from_right < from_left : centres[right] - at < at - centres[left];
  position.nearest = position.other = take_right ? right : left;
  position.after = at > centres[position.nearest];
  const double distance = std::min(from_left, from_right);
  if (distance > 0) position.place = distance <= lengths[position.nearest] ? Place::outside : Place::beyond;
  if (!linear || left == right) return position;
  const double step = centres[right] - centres[left];
  const double gap = step - 0.5 * (lengths[left] + lengths[right]);
  if (gap > kLargestGap * std::min(lengths[left], lengths[right])) return position;
  position.place = Place::inside;
  position.other = take_right ? left : right;
  position.share = std::abs(at - centres[position.nearest]) / step;
  return position;
}

/// Amplitude and phase between two gains, or the numbers themselves.
Complex between(Complex near, Complex far, double share, bool polar) {
  if (polar) {
    const Complex turn = far * std::conj(near);
    const double near_size = std::sqrt(std::norm(near)), far_size = std::sqrt(std::norm(far));
    if (turn.real() >= kCosLargestStep * near_size * far_size && near_size > 0 && far_size > 0) {
      const double size = near_size + share * (far_size - near_size);
      return near * (size / near_size) * std::polar(1.0, share * std::arg(turn));
    }
  }
  return near + share * (far - near);
}

/// Values of one antenna and direction in one table, between two times: rows [chan][pol].
struct Rows {
  const Complex *near = nullptr, *far = nullptr;
  const float *near_weight = nullptr, *far_weight = nullptr;
  double share = 0;    ///< of the far one
  bool polar = false;  ///< gains, not delays or TEC
  std::size_t n_pol = 1;

  Rows(const SolutionTable& table, const Position& time, std::size_t direction, std::size_t antenna)
      : share(time.share), polar(!is_dispersive(table.type)), n_pol(table.values.extent(4)) {
    near = &table.values(time.nearest, direction, antenna, 0, 0);
    near_weight = &table.weight(time.nearest, direction, antenna, 0, 0);
    if (time.other == time.nearest) return;
    far = &table.values(time.other, direction, antenna, 0, 0);
    far_weight = &table.weight(time.other, direction, antenna, 0, 0);
  }

  static bool good(Complex value, float weight) {
    return weight > 0 && std::isfinite(value.real()) && std::isfinite(value.imag());
  }
  /// False where there is no solution.
  bool at_channel(std::size_t chan, std::size_t pol, Complex& value) const {
    const std::size_t i = chan * n_pol + pol;
    if (!good(near[i], near_weight[i])) return false;
    value = far != nullptr && good(far[i], far_weight[i]) ? between(near[i], far[i], share, polar) : near[i];
    return true;
  }
  bool value(const Position& freq, std::size_t pol, Complex& value) const {
    if (!at_channel(freq.nearest, pol, value)) return false;
    Complex beside;
    if (freq.other != freq.nearest && at_channel(freq.other, pol, beside))
      value = between(value, beside, freq.share, polar);
    return true;
  }
};

/// The gain that a value is at a frequency.
Complex gain_of(SolutionType type, Complex value, double freq_hz) {
  if (type == SolutionType::delay_s) return std::polar(1.0, kTwoPi * freq_hz * value.real());
  if (type == SolutionType::tec_tecu) return std::polar(1.0, ionosphere_phase_rad(value.real(), freq_hz));
  return value;
}

bool usable(const std::array<Complex, 2>& gain) {
  const double x = std::norm(gain[0]), y = std::norm(gain[1]);
  return x > 0 && y > 0 && std::isfinite(x) && std::isfinite(y);
}

bool usable(const std::array<Complex, 4>& jones) {
  const double determinant = std::norm(jones[0] * jones[3] - jones[1] * jones[2]);
  double size = 0;
  for (const Complex& element : jones) size += std::norm(element);
  constexpr double kSingular = 1e-12;
  return std::isfinite(size) && size > 0 && determinant > kSingular * kSingular * size * size;
}

void multiply_right(std::array<Complex, 2>& gain, const std::array<Complex, 4>& term) {
  gain[0] *= term[0];
  gain[1] *= term[3];
}

void multiply_right(std::array<Complex, 4>& jones, const std::array<Complex, 4>& term) {
  for (std::size_t row = 0; row < 4; row += 2) {
    const Complex x = jones[row], y = jones[row + 1];
    jones[row] = x * term[0] + y * term[2];
    jones[row + 1] = x * term[1] + y * term[3];
  }
}

template <std::size_t kElements>
constexpr std::array<Complex, kElements> unity() {
  std::array<Complex, kElements> one{};
  one.front() = one.back() = 1;
  return one;
}

}  // namespace

Interpolation parse_interpolation(std::string_view text) {
  if (text == "nearest") return Interpolation::nearest;
  if (text == "linear") return Interpolation::linear;
  throw UsageError("--interpolation {}: nearest or linear is needed", text);
}

SolutionEvaluator::SolutionEvaluator(const Solutions& solutions,
                                     const std::vector<std::string>& antenna_names,
                                     Interpolation interpolation)
    : solutions_(solutions), interpolation_(interpolation), diagonal_(solutions.is_diagonal()) {
  check_solutions(solutions);
  const std::string source = solutions.source.empty() ? "solutions" : solutions.source;
  const std::size_t n_known = solutions.antennas.size();
  if (solutions.antennas.front().name.empty()) {
    if (n_known != antenna_names.size())
      throw DataError(
          "{}: solutions of {} antennas without names, and {} antennas of the data: they must be as many",
          source, n_known, antenna_names.size());
    for (std::size_t i = 0; i < n_known; ++i) antenna_.emplace_back(i);
    return;
  }
  std::unordered_map<std::string_view, std::size_t> index_of_name;
  for (std::size_t i = 0; i < n_known; ++i) index_of_name.emplace(solutions.antennas[i].name, i);
  for (std::size_t i = 0; i < antenna_names.size(); ++i) {
    const auto found = index_of_name.find(antenna_names[i]);
    if (found == index_of_name.end()) {
      antenna_.emplace_back(std::nullopt);
      missing_.push_back(i);
    } else {
      antenna_.emplace_back(found->second);
    }
  }
  if (missing_.size() == antenna_names.size())
    throw DataError("{}: no antenna of the data has solutions: the first is '{}' there and '{}' here", source,
                    antenna_names.empty() ? "" : antenna_names.front(), solutions.antennas.front().name);
}

template <std::size_t kElements>
SolutionReach SolutionEvaluator::evaluate_as(double time_mjd_s, std::span<const double> freq_hz,
                                             std::optional<std::size_t> direction, View<Complex, 3> out,
                                             View<std::uint8_t, 2> flagged) const {
  const std::size_t n_ant = antenna_.size(), n_chan = freq_hz.size();
  if (out.shape() != std::array{n_ant, n_chan, kElements} || flagged.shape() != std::array{n_ant, n_chan})
    throw std::invalid_argument("SolutionEvaluator: the shape of the results is wrong");
  if (direction && *direction >= solutions_.directions.size())
    throw std::invalid_argument("SolutionEvaluator: no such direction");

  SolutionReach reach;
  struct Factor {
    const SolutionTable* table;
    std::size_t direction;
    Position time;
    std::vector<Position> freq;
  };
  std::vector<Factor> factors;
  std::vector<Place> chan_place(n_chan, Place::inside);
  bool all_flagged = false;
  const bool linear = interpolation_ == Interpolation::linear;
  for (const SolutionTable& table : solutions_.tables) {
    std::size_t patch = 0;
    if (!table.direction.empty()) {
      if (!direction) continue;
      const auto found = std::find(table.direction.begin(), table.direction.end(), *direction);
      if (found == table.direction.end()) {
        all_flagged = true;
        continue;
      }
      patch = static_cast<std::size_t>(found - table.direction.begin());
    }
    Factor factor{&table, patch, locate(time_mjd_s, table.time_mjd_s, table.interval_s, linear), {}};
    reach.time_outside |= factor.time.place != Place::inside;
    reach.time_beyond |= factor.time.place == Place::beyond;
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      // One delay or TEC tells the gain at every frequency.
      const bool any = is_dispersive(table.type) && table.n_chan() == 1;
      factor.freq.push_back(any ? Position{} : locate(freq_hz[chan], table.freq_hz, table.width_hz, linear));
      chan_place[chan] = std::max(chan_place[chan], factor.freq.back().place);
    }
    factors.push_back(std::move(factor));
  }
  for (const Place place : chan_place) {
    reach.n_chan_outside += place != Place::inside;
    reach.n_chan_beyond += place == Place::beyond;
  }
  all_flagged |= reach.time_beyond;

  std::vector<Rows> rows;
  for (std::size_t ant = 0; ant < n_ant; ++ant) {
    const bool known = antenna_[ant].has_value() && !all_flagged;
    rows.clear();
    for (const Factor& factor : factors)
      if (known) rows.emplace_back(*factor.table, factor.time, factor.direction, *antenna_[ant]);
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      auto product = unity<kElements>();
      bool good = known && chan_place[chan] != Place::beyond;
      for (std::size_t i = 0; good && i < factors.size(); ++i) {
        const std::size_t n_pol = rows[i].n_pol;
        std::array<Complex, 4> term{};
        for (std::size_t pol = 0; good && pol < n_pol; ++pol) {
          Complex value;
          good = rows[i].value(factors[i].freq[chan], pol, value);
          if (good) term[n_pol == 2 ? 3 * pol : pol] = gain_of(factors[i].table->type, value, freq_hz[chan]);
        }
        if (n_pol == 1) term[3] = term[0];
        multiply_right(product, term);
      }
      if (!good || !usable(product)) {
        good = false;
        product = unity<kElements>();
      }
      flagged(ant, chan) = !good;
      std::copy(product.begin(), product.end(), &out(ant, chan, 0));
    }
  }
  return reach;
}

SolutionReach SolutionEvaluator::evaluate(double time_mjd_s, std::span<const double> freq_hz,
                                          std::optional<std::size_t> direction, View<Complex, 3> jones,
                                          View<std::uint8_t, 2> flagged) const {
  return evaluate_as<4>(time_mjd_s, freq_hz, direction, jones, flagged);
}

SolutionReach SolutionEvaluator::evaluate_diagonal(double time_mjd_s, std::span<const double> freq_hz,
                                                   std::optional<std::size_t> direction,
                                                   View<Complex, 3> gains,
                                                   View<std::uint8_t, 2> flagged) const {
  if (!diagonal_)
    throw std::invalid_argument("SolutionEvaluator::evaluate_diagonal: matrices are not diagonal");
  return evaluate_as<2>(time_mjd_s, freq_hz, direction, gains, flagged);
}

std::int64_t SolutionEvaluator::slot_of(double time_mjd_s) const {
  std::int64_t slot = 0;
  for (const SolutionTable& table : solutions_.tables) {
    const Position position = locate(time_mjd_s, table.time_mjd_s, table.interval_s, false);
    const int side = position.place != Place::beyond ? 1 : position.after ? 2 : 0;
    slot += 3 * static_cast<std::int64_t>(position.nearest) + side;
  }
  return slot;
}

}  // namespace apsyn
