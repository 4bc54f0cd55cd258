// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/files/output.h"
#include "libcore/formats/h5parm/h5parm.h"
#include "libcore/formats/h5parm/soltabs.h"
#include "libcore/solutions/evaluator.h"
#include "libcore/solutions/fill.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMaxHistoryBytes = 60000;  ///< an attribute holds 64 kB with all that belongs to it

class Converter {
 public:
  Converter(const Solutions& solutions, const H5ParmOptions& options)
      : solutions_(solutions), fill_(options.fill), n_threads_(options.n_threads) {}

  H5Solset convert() {
    set_.name = "sol000";
    set_.antennas = solutions_.antennas;
    const bool has_field = std::any_of(solutions_.tables.begin(), solutions_.tables.end(),
                                       [](const SolutionTable& table) { return table.direction.empty(); });
    if (has_field || solutions_.directions.empty())
      set_.sources.push_back({"POINTING", solutions_.field_centre.value_or(SkyDirection{})});
    for (const SolutionDirection& direction : solutions_.directions)
      set_.sources.push_back({"[" + direction.name + "]", direction.direction});
    const bool with_product =
        std::any_of(solutions_.tables.begin(), solutions_.tables.end(),
                    [](const SolutionTable& table) { return table.type == SolutionType::leakage; });
    if (with_product) add(product(), "product", -1);
    for (std::size_t i = 0; i < solutions_.tables.size(); ++i)
      add(solutions_.tables[i], solutions_.tables[i].term, static_cast<int>(i));
    return std::move(set_);
  }

 private:
  /// What others, who know no leakages, apply: the whole chain as one table of matrices, on its finest steps.
  SolutionTable product() const {
    const auto finest = [&](const auto& length) -> const SolutionTable& {
      return *std::max_element(
          solutions_.tables.begin(), solutions_.tables.end(),
          [&](const SolutionTable& a, const SolutionTable& b) { return length(a) < length(b); });
    };
    const SolutionTable& times = finest([](const SolutionTable& table) { return table.n_time(); });
    const SolutionTable& channels = finest([](const SolutionTable& table) { return table.n_chan(); });
    SolutionTable result;
    result.time_mjd_s = times.time_mjd_s;
    result.interval_s = times.interval_s;
    result.freq_hz = channels.freq_hz;
    result.width_hz = channels.width_hz;
    result.direction.resize(solutions_.directions.size());
    std::iota(result.direction.begin(), result.direction.end(), 0u);
    std::vector<std::string> names;
    for (const SolutionAntenna& antenna : solutions_.antennas) names.push_back(antenna.name);
    result.resize(names.size(), 4);
    result.flag = {};
    const SolutionEvaluator evaluator(solutions_, names, Interpolation::nearest);
    Buffer<Complex, 3> jones({names.size(), result.n_chan(), 4});
    Buffer<std::uint8_t, 2> flagged({names.size(), result.n_chan()});
    for (std::size_t time = 0; time < result.n_time(); ++time)
      for (std::size_t dir = 0; dir < result.n_direction(); ++dir) {
        const std::optional<std::size_t> patch = result.direction.empty() ? std::nullopt : std::optional(dir);
        evaluator.evaluate(result.time_mjd_s[time], result.freq_hz, patch, jones, flagged);
        for (std::size_t ant = 0; ant < names.size(); ++ant)
          for (std::size_t chan = 0; chan < result.n_chan(); ++chan)
            for (std::size_t pol = 0; pol < 4; ++pol) {
              result.values(time, dir, ant, chan, pol) = jones(ant, chan, pol);
              result.weight(time, dir, ant, chan, pol) = flagged(ant, chan) != 0 ? 0 : 1;
            }
      }
    return result;
  }

  /// The soltabs of a table; `place` in the chain, or -1.
  void add(const SolutionTable& given, const std::string& term, int place) {
    const SolutionTable repaired = fill_ ? fill_flagged(given) : SolutionTable{};
    const SolutionTable& table = fill_ ? repaired : given;
    const auto part = [&](const char* title, std::size_t number, const auto& value) {
      set_.soltabs.push_back(soltab(table, title, number, value));
      set_.soltabs.back().term = term;
      if (place >= 0) set_.soltabs.back().order = std::to_string(place);
    };
    const auto size = [](Complex value) { return std::abs(value); };
    const auto angle = [](Complex value) { return std::arg(value); };
    const auto real = [](Complex value) { return value.real(); };
    const auto imaginary = [](Complex value) { return value.imag(); };
    switch (table.type) {
      case SolutionType::gain:
      case SolutionType::phase:
      case SolutionType::amplitude: {
        const std::size_t number = n_gains_++;
        if (table.type != SolutionType::phase) part("amplitude", number, size);
        if (table.type != SolutionType::amplitude) part("phase", number, angle);
        break;
      }
      case SolutionType::leakage: {
        const std::size_t number = n_leakages_++;
        part("leakage-re", number, real);
        part("leakage-im", number, imaginary);
        break;
      }
      case SolutionType::delay_s:
        part("clock", n_clocks_++, real);
        break;
      case SolutionType::tec_tecu:
        part("tec", n_tecs_++, real);
        break;
    }
  }

  template <class Value>
  H5Soltab soltab(const SolutionTable& table, const char* title, std::size_t number,
                  const Value& value) const {
    H5Soltab result;
    result.name = fmt::format("{}{:03d}", title, number);
    result.title = title;
    for (const std::string& line : kept_history()) result.history += line + "\n";
    result.time_mjd_s = table.time_mjd_s;
    result.interval_s = table.interval_s;
    result.freq_hz = table.freq_hz;
    result.width_hz = table.width_hz;
    for (const SolutionAntenna& antenna : solutions_.antennas) result.ant.push_back(antenna.name);
    for (const std::uint32_t direction : table.direction)
      result.dir.push_back("[" + solutions_.directions[direction].name + "]");
    const bool circular = solutions_.basis == ReceptorBasis::circular;
    const std::size_t n_pol = table.values.extent(4);
    if (n_pol == 2)
      result.pol = circular ? std::vector<std::string>{"RR", "LL"} : std::vector<std::string>{"XX", "YY"};
    if (n_pol == 4)
      result.pol = circular ? std::vector<std::string>{"RR", "RL", "LR", "LL"}
                            : std::vector<std::string>{"XX", "XY", "YX", "YY"};
    result.axes = {"time", "freq", "ant"};
    result.extents = {table.n_time(), table.n_chan(), result.ant.size()};
    if (!table.direction.empty()) {
      result.axes.push_back("dir");
      result.extents.push_back(table.n_direction());
    }
    if (n_pol > 1) {
      result.axes.push_back("pol");
      result.extents.push_back(n_pol);
    }
    const bool with_flags =
        table.flag.size() > 0 && std::any_of(table.flag.begin(), table.flag.end(),
                                             [](SolutionFlag flag) { return flag != SolutionFlag::good; });
    const std::size_t n_ant = result.ant.size(), n_dir = table.n_direction(), n_chan = table.n_chan();
    result.values.resize(table.values.size());
    result.weights.resize(table.values.size());
    if (with_flags) result.flags.resize(table.values.size());
    // Channels lie together in the table and antennas in the file: few of both at a time.
    constexpr std::size_t kChannels = 16;
    const std::size_t n_pieces = (n_chan + kChannels - 1) / kChannels;
    parallel_for(n_threads_, table.n_time() * n_pieces, [&](std::size_t item, unsigned) {
      const std::size_t time = item / n_pieces, first = item % n_pieces * kChannels;
      for (std::size_t ant = 0; ant < n_ant; ++ant)
        for (std::size_t chan = first; chan < std::min(n_chan, first + kChannels); ++chan) {
          std::size_t to = ((time * n_chan + chan) * n_ant + ant) * n_dir * n_pol;
          for (std::size_t dir = 0; dir < n_dir; ++dir)
            for (std::size_t pol = 0; pol < n_pol; ++pol, ++to) {
              const Complex gain = table.values(time, dir, ant, chan, pol);
              const float weight = table.weight(time, dir, ant, chan, pol);
              const bool good = weight > 0 && std::isfinite(gain.real()) && std::isfinite(gain.imag());
              result.values[to] = good ? value(gain) : kNan;
              result.weights[to] = good ? weight : 0;
              if (with_flags && !good)
                result.flags[to] = static_cast<std::uint8_t>(table.flag(time, dir, ant, chan, pol));
            }
        }
    });
    return result;
  }

  /// The newest lines that an attribute can hold.
  std::vector<std::string> kept_history() const {
    std::size_t bytes = 0, first = solutions_.history.size();
    while (first > 0 && bytes + solutions_.history[first - 1].size() + 1 <= kMaxHistoryBytes)
      bytes += solutions_.history[--first].size() + 1;
    return {solutions_.history.begin() + static_cast<std::ptrdiff_t>(first), solutions_.history.end()};
  }

  const Solutions& solutions_;
  bool fill_;
  unsigned n_threads_;
  H5Solset set_;
  std::size_t n_gains_ = 0, n_leakages_ = 0, n_clocks_ = 0, n_tecs_ = 0;
};

}  // namespace

void write_h5parm(const std::string& path, const Solutions& solutions, const H5ParmOptions& options) {
  check_solutions(solutions);
  if (solutions.antennas.front().name.empty())
    throw UsageError("{}: an H5Parm names its antennas, and these solutions only count them: give their data",
                     path);
  const std::string bytes = write_solset(Converter(solutions, options).convert(), path);
  OutputFile file(path, options.overwrite);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace apsyn
