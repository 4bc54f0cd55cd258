// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "libcore/visibility/stokes.h"

namespace apsyn::calibrate {
namespace {

/// A table for a term; tec+delay gives two tables, each of the values from `first_value` on.
struct TableKind {
  SolutionType type;
  std::string name;
  std::size_t first_value, n_values;
};

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

SolutionTable make_table(const TermResult& term, const TableKind& kind, std::size_t n_antennas) {
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
  for (std::size_t slot = 0; slot < term.slots.size(); ++slot)
    for (std::size_t chan = 0; chan < places.size(); ++chan) {
      const SlotSolutions& found = term.solutions[places[chan].window][slot];
      const std::size_t block = places[chan].block;
      for (std::size_t ant = 0; ant < n_antennas; ++ant)
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
  return table;
}

double sum(const Buffer<double, 2>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// The sum of one count over all windows and slots of a term.
template <class Of>
double sum_of(const TermResult& term, Of of) {
  double all = 0;
  for (const auto& of_window : term.solutions)
    for (const SlotSolutions& slot : of_window) all += sum(slot.*of);
  return all;
}

/// The report is put together as text: there may be millions of solutions. Names come from files of any
/// encoding.
std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.8g}", value) : "null";
}

const char* unit_of(SolutionType type) {
  return type == SolutionType::delay_s ? "s" : type == SolutionType::tec_tecu ? "TECU" : "";
}

}  // namespace

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

Solutions make_solutions(const ChainResult& result, const InputInfo& info,
                         const std::vector<std::string>& history) {
  Solutions solutions;
  solutions.antennas = info.antennas;
  solutions.basis = are_circular(info.products) ? ReceptorBasis::circular : ReceptorBasis::linear;
  if (!info.fields_with_rows.empty())
    solutions.field_centre = info.fields[static_cast<std::size_t>(info.fields_with_rows[0])].phase_centre;
  solutions.history = history;
  for (const std::size_t t : result.order) {
    const TermResult& term = result.terms[t];
    const std::size_t n_values = term.solutions[0][0].n_values;
    for (const TableKind& kind : tables_of(term.options, n_values))
      solutions.tables.push_back(make_table(term, kind, info.antennas.size()));
  }
  return solutions;
}

Solutions make_solutions(const std::vector<ChainResult>& results, const std::vector<SkyPatch>& patches,
                         const InputInfo& info, const std::vector<std::string>& history) {
  Solutions solutions = make_solutions(results[0], info, history);
  for (const SkyPatch& patch : patches) solutions.directions.push_back({patch.name, patch.direction});
  std::vector<SolutionTable> of_one = std::move(solutions.tables);
  solutions.tables.clear();
  for (SolutionTable& table : of_one) {
    const std::size_t n_time = table.n_time(), n_pol = table.n_pol(), n_antennas = info.antennas.size();
    for (std::size_t d = 0; d < results.size(); ++d) table.direction.push_back(static_cast<std::uint32_t>(d));
    table.resize(n_antennas, n_pol);
    table.flag.resize(table.values.shape());
    const std::size_t index = solutions.tables.size();
    for (std::size_t d = 0; d < results.size(); ++d) {
      const Solutions own = make_solutions(results[d], info, {});
      const SolutionTable& from = own.tables[index];
      const std::size_t n = n_antennas * table.n_chan() * n_pol;
      for (std::size_t time = 0; time < n_time; ++time) {
        const std::size_t to = (time * results.size() + d) * n;
        std::copy_n(from.values.data() + time * n, n, table.values.data() + to);
        std::copy_n(from.weight.data() + time * n, n, table.weight.data() + to);
        std::copy_n(from.flag.data() + time * n, n, table.flag.data() + to);
      }
    }
    solutions.tables.push_back(std::move(table));
  }
  return solutions;
}

void normalise(Solutions& solutions) {
  for (SolutionTable& table : solutions.tables) {
    if (table.type != SolutionType::gain && table.type != SolutionType::amplitude) continue;
    const std::size_t n_pol = table.n_pol();
    double sum_log = 0, n = 0;
    for (std::size_t i = 0; i < table.values.size(); ++i) {
      const bool diagonal = n_pol < 4 || i % 4 == 0 || i % 4 == 3;
      const double size = std::abs(table.values.data()[i]);
      if (!diagonal || !(table.weight.data()[i] > 0) || !(size > 0)) continue;
      sum_log += std::log(size);
      ++n;
    }
    if (n == 0) continue;
    const double factor = std::exp(-sum_log / n);
    for (std::complex<double>& value : table.values) value *= factor;
    for (float& weight : table.weight) weight = static_cast<float>(weight / (factor * factor));
  }
}

std::vector<std::string> summarise(const ChainResult& result) {
  std::vector<std::string> lines;
  for (const TermResult& term : result.terms) {
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
    const double samples = sum_of(term, &SlotSolutions::n_samples);
    if (samples > 0)
      line += fmt::format(", chi^2 per sample {:.4g} before, {:.4g} after",
                          sum_of(term, &SlotSolutions::chi2_before) / samples,
                          sum_of(term, &SlotSolutions::chi2_after) / samples);
    if (n_lanes > 0) line += fmt::format(", {:.1f} iterations", iterations / static_cast<double>(n_lanes));
    if (n_unfinished > 0) line += fmt::format(", {} of {} not converged", n_unfinished, n_lanes);
    lines.push_back(line);
  }
  return lines;
}

std::string report_text(const ChainResult& result, const InputInfo& info) {
  std::string text = "{\n";
  text += "  \"input\": " + json_string(info.path) + ",\n";
  text += "  \"telescope\": " + json_string(info.telescope) + ",\n";
  text += "  \"reference_antenna\": " + json_string(info.antennas[result.reference].name) + ",\n";
  text += fmt::format("  \"conjugated_uvw\": {},\n", info.conjugated ? "true" : "false");
  const TermResult &first = result.terms.front(), &last = result.terms.back();
  text += "  \"chi2_before\": " + json_number(sum_of(first, &SlotSolutions::chi2_before)) + ",\n";
  text += "  \"chi2_after\": " + json_number(sum_of(last, &SlotSolutions::chi2_after)) + ",\n";
  text += "  \"samples\": " + json_number(sum_of(last, &SlotSolutions::n_samples)) + ",\n";
  text += "  \"terms\": [";
  for (std::size_t t = 0; t < result.terms.size(); ++t) {
    const TermResult& term = result.terms[t];
    text += t > 0 ? ",\n" : "\n";
    text += "    {\"term\": " + json_string(term.options.name) + ", \"slots\": [";
    bool first_slot = true;
    for (std::size_t window = 0; window < term.solutions.size(); ++window)
      for (std::size_t slot = 0; slot < term.slots.size(); ++slot) {
        const SlotSolutions& found = term.solutions[window][slot];
        for (std::size_t lane = 0; lane < found.chi2_after.extent(0); ++lane)
          for (std::size_t hand = 0; hand < found.chi2_after.extent(1); ++hand) {
            text += first_slot ? "\n" : ",\n";
            first_slot = false;
            text += fmt::format(
                "      {{\"time_mjd_s\": {:.3f}, \"frequency_hz\": {}, \"hand\": {}, \"chi2_before\": {}, "
                "\"chi2_after\": {}, \"samples\": {}, \"noise\": {}, \"iterations\": {}, \"converged\": {}}}",
                term.slots[slot].centre_mjd_s,
                json_number(lane < term.blocks[window].size() ? term.blocks[window].freq_hz[lane] : NAN),
                hand, json_number(found.chi2_before(lane, hand)), json_number(found.chi2_after(lane, hand)),
                json_number(found.n_samples(lane, hand)), json_number(found.noise(lane, hand)),
                found.n_iterations(lane, hand), found.converged(lane, hand) ? "true" : "false");
          }
      }
    text += "\n    ], \"solutions\": [";
    bool first_solution = true;
    for (const TableKind& kind : tables_of(term.options, term.solutions[0][0].n_values))
      for (std::size_t window = 0; window < term.solutions.size(); ++window)
        for (std::size_t slot = 0; slot < term.slots.size(); ++slot) {
          const SlotSolutions& found = term.solutions[window][slot];
          for (std::size_t block = 0; block < found.weight.extent(0); ++block)
            for (std::size_t ant = 0; ant < found.weight.extent(1); ++ant)
              for (std::size_t p = 0; p < kind.n_values; ++p) {
                const std::size_t value = kind.first_value + p;
                const std::complex<double> v = found.value(block, ant, value);
                text += first_solution ? "\n" : ",\n";
                first_solution = false;
                text += fmt::format("      {{\"antenna\": {}, \"polarisation\": {}, \"time_mjd_s\": {:.3f}",
                                    json_string(info.antennas[ant].name), p, term.slots[slot].centre_mjd_s);
                text += ", \"frequency_hz\": " + json_number(term.blocks[window].freq_hz[block]);
                if (is_dispersive(kind.type))
                  text +=
                      fmt::format(", \"{}_{}\": {}", kind.name, unit_of(kind.type), json_number(v.real()));
                else
                  text += ", \"amplitude\": " + json_number(std::abs(v)) +
                          ", \"phase_rad\": " + json_number(std::arg(v));
                text += ", \"snr\": " + json_number(static_cast<double>(found.snr(block, ant, value))) +
                        ", \"sigma\": " + json_number(found.sigma(block, ant, value));
                if (!(found.weight(block, ant, value) > 0))
                  text += ", \"flagged\": " +
                          json_string(std::string(to_string(found.reason(block, ant, value))));
                text += "}";
              }
        }
    text += "\n    ]}";
  }
  return text + "\n  ]\n}\n";
}

std::string report_text(const std::vector<ChainResult>& results, const std::vector<SkyPatch>& patches,
                        const InputInfo& info) {
  std::string text = "{\n\"directions\": [";
  for (std::size_t d = 0; d < results.size(); ++d)
    text += fmt::format("{}\n{{\"patch\": {}, \"ra_rad\": {:.9f}, \"dec_rad\": {:.9f}, \"found\": {}}}",
                        d > 0 ? "," : "", json_string(patches[d].name), patches[d].direction.ra_rad,
                        patches[d].direction.dec_rad, report_text(results[d], info));
  return text + "\n]\n}\n";
}

}  // namespace apsyn::calibrate
