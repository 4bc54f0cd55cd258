// SPDX-License-Identifier: GPL-3.0-or-later
// Where to put ticks, and what to write at them.
#pragma once

#include <string>
#include <vector>

namespace apsyn {

struct Tick {
  double value = 0;
  std::string label;  ///< empty for minor ticks; font.h's markup
};

/// Steps of 1, 2 or 5 times a power of ten, about `target` labels in [low, high]; minor ticks between.
/// Throws std::invalid_argument unless low < high, both finite.
std::vector<Tick> linear_ticks(double low, double high, int target);
/// Ticks for an axis whose coordinate is log10 of the value: decades "10^3" (or plain 1, 10, 100 for small
/// exponents), with minor ticks at 2..9; falls back to values 1, 2, 5 when fewer than two decades are seen.
std::vector<Tick> log_ticks(double low_log10, double high_log10, int target);
/// Degrees of phase: multiples of 90 from -180 to 180.
std::vector<Tick> phase_ticks();

/// The step in radians, out of round sexagesimal ones, that puts about `target` ticks into `span_rad`.
/// Right ascension steps are whole fractions of hours, declination steps of degrees.
double right_ascension_step(double span_rad, int target);
double declination_step(double span_rad, int target);
/// "12^{h}30^{m}", with as many parts as multiples of `step_rad` need.
std::string right_ascension_label(double ra_rad, double step_rad);
/// "-30°15′".
std::string declination_label(double dec_rad, double step_rad);

/// `value` with the decimals that multiples of `step` need, a true minus sign, "×10^{n}" when very large or
/// small.
std::string number_label(double value, double step);
/// A value with `digits` significant digits for captions: "1.23", "4.56×10^{-7}".
std::string short_number(double value, int digits = 3);

}  // namespace apsyn
