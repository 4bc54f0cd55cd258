// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/calibration/terms.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/system/parallel.h"

namespace apsyn::calibrate {
namespace {

struct TermName {
  const char* name;
  CalibrationTerm term;
  bool per_channel;  ///< a solution for each channel unless told otherwise
};
constexpr TermName kTerms[] = {{"gain", CalibrationTerm::gain, true},
                               {"phase", CalibrationTerm::phase, false},
                               {"amplitude", CalibrationTerm::amplitude, false},
                               {"scalar-gain", CalibrationTerm::scalar_gain, false},
                               {"scalar-phase", CalibrationTerm::scalar_phase, false},
                               {"bandpass", CalibrationTerm::gain, true},
                               {"jones", CalibrationTerm::jones, true},
                               {"leakage", CalibrationTerm::leakage, false},
                               {"delay", CalibrationTerm::delay, false},
                               {"tec", CalibrationTerm::tec, false},
                               {"tec+delay", CalibrationTerm::tec_delay, false}};

const TermName& find_term(const std::string& name, const std::string& option) {
  std::string known;
  for (const TermName& term : kTerms) {
    if (name == term.name) return term;
    known += (known.empty() ? "" : ", ") + std::string(term.name);
  }
  throw UsageError("{} {}: no such term: give one of {}", option, name, known);
}

/// A block of a window, in the order of its frequency.
struct Place {
  std::size_t window = 0, block = 0;
};

std::vector<Place> places_of(const TermResult& term) {
  std::vector<Place> places;
  for (std::size_t window = 0; window < term.blocks.size(); ++window)
    for (std::size_t block = 0; block < term.blocks[window].size(); ++block)
      places.push_back({window, block});
  std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
    return term.blocks[a.window].freq_hz[a.block] < term.blocks[b.window].freq_hz[b.block];
  });
  return places;
}

}  // namespace

TermOptions term_named(const std::string& name, const std::string& option) {
  const TermName& known = find_term(name, option);
  TermOptions term;
  term.name = name;
  term.term = known.term;
  term.channels = known.per_channel ? 1 : 0;
  return term;
}

double parse_interval(const std::string& option, const std::string& text) {
  if (text == "all") return 0;
  double seconds = 0;
  try {
    seconds = parse_duration(text);
  } catch (const UsageError& error) {
    throw UsageError("{}: {}, or all", option, error.what());
  }
  if (!(seconds > 0)) throw UsageError("{} {}: a time above 0, or all", option, text);
  return seconds;
}

std::vector<TableKind> tables_of(const TermOptions& options, std::size_t n_values) {
  const auto one = [&](SolutionType type) {
    return std::vector<TableKind>{{type, options.name, 0, n_values}};
  };
  switch (options.term) {
    case CalibrationTerm::phase:
    case CalibrationTerm::scalar_phase:
      return one(SolutionType::phase);
    case CalibrationTerm::amplitude:
      return one(SolutionType::amplitude);
    case CalibrationTerm::leakage:
      return one(SolutionType::leakage);
    case CalibrationTerm::delay:
      return one(SolutionType::delay_s);
    case CalibrationTerm::tec:
      return one(SolutionType::tec_tecu);
    case CalibrationTerm::tec_delay:
      return {{SolutionType::tec_tecu, "tec", 0, 1}, {SolutionType::delay_s, "delay", 1, 1}};
    case CalibrationTerm::gain:
    case CalibrationTerm::scalar_gain:
    case CalibrationTerm::jones:
      break;
  }
  return one(SolutionType::gain);
}

SolutionTable make_table(const TermResult& term, const TableKind& kind, std::size_t n_antennas,
                         unsigned n_threads) {
  SolutionTable table;
  table.type = kind.type;
  table.term = kind.name;
  const bool whole_time = term.slots.size() == 1 && term.options.interval_s <= 0;
  for (const TimeSlot& slot : term.slots) {
    table.time_mjd_s.push_back(slot.centre_mjd_s);
    table.interval_s.push_back(whole_time ? 0 : slot.length_s);
  }
  const std::vector<Place> places = places_of(term);
  const bool whole_band = places.size() == 1 && term.options.channels == 0;
  for (const Place& place : places) {
    table.freq_hz.push_back(term.blocks[place.window].freq_hz[place.block]);
    table.width_hz.push_back(whole_band ? 0 : term.blocks[place.window].width_hz[place.block]);
  }
  table.resize(n_antennas, kind.n_values);
  table.flag.resize(table.values.shape());
  // A solver's channels lie apart where a table's antennas do: few of both at a time.
  constexpr std::size_t kChannels = 16;
  const std::size_t n_pieces = (places.size() + kChannels - 1) / kChannels;
  parallel_for(n_threads, term.slots.size() * n_pieces, [&](std::size_t item, unsigned) {
    const std::size_t slot = item / n_pieces, first = item % n_pieces * kChannels;
    for (std::size_t ant = 0; ant < n_antennas; ++ant)
      for (std::size_t chan = first; chan < std::min(places.size(), first + kChannels); ++chan) {
        const SlotSolutions& found = term.solutions[places[chan].window][slot];
        const std::size_t block = places[chan].block;
        for (std::size_t p = 0; p < kind.n_values; ++p) {
          const std::size_t value = kind.first_value + p;
          const bool good = found.weight(block, ant, value) > 0;
          table.weight(slot, 0, ant, chan, p) = good ? found.weight(block, ant, value) : 0.0f;
          table.values(slot, 0, ant, chan, p) =
              good ? found.value(block, ant, value) : std::complex<double>(NAN, NAN);
          table.flag(slot, 0, ant, chan, p) =
              good ? SolutionFlag::good : flag_of(found.reason(block, ant, value));
        }
      }
  });
  return table;
}

SolutionFlag flag_of(FlagReason reason) {
  switch (reason) {
    case FlagReason::none:
      return SolutionFlag::good;
    case FlagReason::no_data:
      return SolutionFlag::no_data;
    case FlagReason::few_baselines:
      return SolutionFlag::few_baselines;
    case FlagReason::low_snr:
      return SolutionFlag::low_snr;
    case FlagReason::outlier:
      return SolutionFlag::outlier;
    case FlagReason::swapped:
      return SolutionFlag::swapped_receptors;
    case FlagReason::diverged:
      return SolutionFlag::not_converged;
    case FlagReason::excluded:
      break;
  }
  return SolutionFlag::unknown;
}

namespace {

/// Of the channels [first, end).
double normalise_some(SolutionTable& table, std::size_t first, std::size_t end) {
  if (table.type != SolutionType::gain && table.type != SolutionType::amplitude) return 1;
  const std::size_t n_pol = table.n_pol();
  double sum_log = 0, n = 0;
  const auto for_each = [&](const auto& visit) {
    for (std::size_t i = 0; i < table.values.size(); ++i) {
      const std::size_t chan = i / n_pol % table.freq_hz.size();
      if (chan >= first && chan < end) visit(i);
    }
  };
  for_each([&](std::size_t i) {
    const bool diagonal = n_pol < 4 || i % 4 == 0 || i % 4 == 3;
    const double size = std::abs(table.values.data()[i]);
    if (!diagonal || !(table.weight.data()[i] > 0) || !(size > 0)) return;
    sum_log += std::log(size);
    ++n;
  });
  if (n == 0) return 1;
  const double factor = std::exp(-sum_log / n);
  for_each([&](std::size_t i) {
    table.values.data()[i] *= factor;
    table.weight.data()[i] = static_cast<float>(table.weight.data()[i] / (factor * factor));
  });
  return factor;
}

}  // namespace

double normalise(SolutionTable& table) {
  return normalise_some(table, 0, table.freq_hz.size());
}

std::vector<double> normalise_channels(SolutionTable& table) {
  std::vector<double> factors;
  for (std::size_t chan = 0; chan < table.freq_hz.size(); ++chan)
    factors.push_back(normalise_some(table, chan, chan + 1));
  return factors;
}

double total(const TermResult& term, Buffer<double, 2> SlotSolutions::*of) {
  double all = 0;
  for (const auto& of_window : term.solutions)
    for (const SlotSolutions& slot : of_window)
      all += std::accumulate((slot.*of).begin(), (slot.*of).end(), 0.0);
  return all;
}

std::string summarise(const TermResult& term) {
  std::size_t n = 0, n_flagged = 0, n_unfinished = 0, n_lanes = 0;
  double iterations = 0;
  std::map<FlagReason, std::size_t> reasons;
  for (const auto& of_window : term.solutions)
    for (const SlotSolutions& slot : of_window) {
      for (std::size_t i = 0; i < slot.weight.size(); ++i) {
        ++n;
        if (slot.weight.data()[i] > 0) continue;
        ++n_flagged;
        ++reasons[slot.reason.data()[i]];
      }
      for (std::size_t i = 0; i < slot.converged.size(); ++i) {
        ++n_lanes;
        n_unfinished += slot.converged.data()[i] ? 0 : 1;
        iterations += slot.n_iterations.data()[i];
      }
    }
  std::string line = fmt::format("{}: {} solutions", term.options.name, n);
  if (n_flagged > 0) {
    line += fmt::format(", {} flagged (", n_flagged);
    bool first = true;
    for (const auto& [reason, count] : reasons) {
      line += fmt::format("{}{} {}", first ? "" : ", ", count, to_string(reason));
      first = false;
    }
    line += ")";
  }
  const double samples = total(term, &SlotSolutions::n_samples);
  if (samples > 0)
    line += fmt::format(", chi^2 per sample {:.4g} before, {:.4g} after",
                        total(term, &SlotSolutions::chi2_before) / samples,
                        total(term, &SlotSolutions::chi2_after) / samples);
  if (n_lanes > 0) line += fmt::format(", {:.1f} iterations", iterations / static_cast<double>(n_lanes));
  if (n_unfinished > 0) line += fmt::format(", {} of {} not converged", n_unfinished, n_lanes);
  return line;
}

}  // namespace apsyn::calibrate
