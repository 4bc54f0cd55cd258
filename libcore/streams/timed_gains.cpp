// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/timed_gains.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "libcore/array/gains.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/formats/h5parm/h5parm.h"
#include "libcore/formats/solution_files/solution_files.h"

namespace apsyn {
namespace {

std::vector<std::string> names_of_antennas(const ArrayLayout& layout) {
  std::vector<std::string> names;
  for (const Antenna& antenna : layout.antennas) names.push_back(antenna.name);
  return names;
}

}  // namespace

bool holds_solutions(const std::string& path) {
  std::array<char, 8> first{};
  std::ifstream file(path, std::ios::binary);
  file.read(first.data(), first.size());
  const std::string_view begin(first.data(), static_cast<std::size_t>(file.gcount()));
  if (!begin.empty()) return is_hdf5(begin) || begin.starts_with("MWAOCAL") || begin.starts_with("SIMPLE");
  return path.ends_with(".h5") || path.ends_with(".h5parm") || path.ends_with(".bin");
}

TimedGains::TimedGains(std::string path, const ArrayLayout& layout, std::size_t n_pol,
                       std::vector<double> freq_hz, const UtcTime& start, bool follow)
    : file_(std::move(path)),
      follow_(follow),
      layout_(layout),
      n_pol_(n_pol),
      freq_hz_(std::move(freq_hz)),
      start_(start) {
  if (follow && !file_.is_there())
    log_warning("{}: not there yet: voltages are taken as they are until it is", file_.path());
  else
    chain_ = read();
  gains_ = evaluate(0);
}

std::unique_ptr<TimedGains::Chain> TimedGains::read() const {
  auto chain = std::make_unique<Chain>();
  SolutionReadOptions options;
  options.context.emplace();
  options.context->antenna_names = names_of_antennas(layout_);
  options.context->freq_hz = freq_hz_;
  std::sort(options.context->freq_hz.begin(), options.context->freq_hz.end());
  chain->solutions = read_solutions(file_.path(), options);
  const Solutions& solutions = chain->solutions;
  if (std::all_of(solutions.tables.begin(), solutions.tables.end(),
                  [](const SolutionTable& table) { return !table.direction.empty(); }))
    throw UsageError(
        "--gains {}: solutions of patches of the sky: voltages can be divided by those of the whole field "
        "only: solve without --directions",
        file_.path());
  if (!solutions.is_diagonal())
    throw UsageError(
        "--gains {}: solutions with leakages: each voltage is divided by a gain of its own: solve for gains, "
        "or apply these to visibilities (calibrate --apply)",
        file_.path());
  chain->evaluator.emplace(solutions, names_of_antennas(layout_), Interpolation::linear);
  for (const SolutionTable& table : solutions.tables) {
    if (!table.direction.empty() || table.interval_s[0] == 0) continue;
    chain->begin_mjd_s =
        std::max(chain->begin_mjd_s, table.time_mjd_s.front() - table.interval_s.front() / 2);
    chain->end_mjd_s = std::min(chain->end_mjd_s, table.time_mjd_s.back() + table.interval_s.back() / 2);
    constexpr double kSteps = 64;
    chain->step_s =
        std::min(chain->step_s, *std::min_element(table.interval_s.begin(), table.interval_s.end()) / kSteps);
  }
  return chain;
}

void TimedGains::set_channels(std::vector<double> freq_hz) {
  freq_hz_ = std::move(freq_hz);
  gains_ = evaluate(looked_s_.value_or(0));
}

Buffer<std::complex<double>, 3> TimedGains::evaluate(double t_s) {
  const std::size_t n_ant = layout_.antennas.size(), n_chan = freq_hz_.size();
  Buffer<std::complex<double>, 3> gains({n_ant, n_pol_, n_chan});
  gains.fill(1.0);
  if (!chain_) return gains;
  looked_s_ = t_s;
  warn_of_distance(t_s);
  // Outside the solutions those at their edge are held.
  double mjd_s = start_.mjd_seconds() + t_s;
  if (chain_->begin_mjd_s <= chain_->end_mjd_s)
    mjd_s = std::clamp(mjd_s, chain_->begin_mjd_s, chain_->end_mjd_s);
  Buffer<std::complex<double>, 3> of_pols({n_ant, n_chan, 2});
  Buffer<std::uint8_t, 2> flagged({n_ant, n_chan});
  chain_->evaluator->evaluate_diagonal(mjd_s, freq_hz_, std::nullopt, of_pols, flagged);
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t ant = 0; ant < n_ant; ++ant)
    for (std::size_t pol = 0; pol < n_pol_; ++pol)
      for (std::size_t chan = 0; chan < n_chan; ++chan)
        gains(ant, pol, chan) =
            flagged(ant, chan) != 0 ? std::complex<double>(kNone, kNone) : of_pols(ant, chan, pol);
  return gains;
}

void TimedGains::warn_of_distance(double t_s) {
  const double mjd_s = start_.mjd_seconds() + t_s;
  const double distance_s = std::max(chain_->begin_mjd_s - mjd_s, mjd_s - chain_->end_mjd_s);
  if (warned_of_distance_ || !(distance_s > 0) || !std::isfinite(distance_s)) return;
  warned_of_distance_ = true;
  log_warning("{}: {:.3f} s of the data are {} {} the solutions: the nearest are held", file_.path(), t_s,
              format_duration(distance_s), mjd_s < chain_->begin_mjd_s ? "before" : "after");
}

bool TimedGains::look(double t_s) {
  bool replaced = false;
  if (follow_ && file_.look()) try {
      chain_ = read();
      file_.read_well();
      warned_of_distance_ = false;
      replaced = true;
      log_info("{}: new gains from {:.3f} s of the data on", file_.path(), t_s);
    } catch (const Error& error) {
      file_.warn_once(error.what());
    }
  if (!chain_) return false;
  if (!replaced && looked_s_ && !(std::abs(t_s - *looked_s_) >= chain_->step_s)) return false;
  Buffer<std::complex<double>, 3> now = evaluate(t_s);
  if (std::memcmp(now.data(), gains_.data(), now.size() * sizeof(*now.data())) == 0) return false;
  const std::vector<std::uint8_t> left_out = antennas_without_gains(now);
  if (left_out != antennas_without_gains(gains_)) {
    const std::string names = names_of(layout_, left_out);
    log_warning(
        "{}: from {:.3f} s of the data on {}", file_.path(), t_s,
        names.empty() ? "all antennas have gains" : "antennas without gains in some channel: " + names);
  }
  gains_ = std::move(now);
  return true;
}

}  // namespace apsyn
