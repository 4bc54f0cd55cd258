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

Solutions make_solutions(const ChainResult& result, const InputInfo& info,
                         const std::vector<std::string>& history, unsigned n_threads) {
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
      solutions.tables.push_back(make_table(term, kind, info.antennas.size(), n_threads));
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
  for (SolutionTable& table : solutions.tables) normalise(table);
}

std::vector<std::string> summarise(const ChainResult& result) {
  std::vector<std::string> lines;
  for (const TermResult& term : result.terms) lines.push_back(summarise(term));
  return lines;
}

std::string report_text(const ChainResult& result, const InputInfo& info) {
  std::string text = "{\n";
  text += "  \"input\": " + json_string(info.path) + ",\n";
  text += "  \"telescope\": " + json_string(info.telescope) + ",\n";
  text += "  \"reference_antenna\": " + json_string(info.antennas[result.reference].name) + ",\n";
  text += fmt::format("  \"conjugated_uvw\": {},\n", info.conjugated ? "true" : "false");
  const TermResult &first = result.terms.front(), &last = result.terms.back();
  text += "  \"chi2_before\": " + json_number(total(first, &SlotSolutions::chi2_before)) + ",\n";
  text += "  \"chi2_after\": " + json_number(total(last, &SlotSolutions::chi2_after)) + ",\n";
  text += "  \"samples\": " + json_number(total(last, &SlotSolutions::n_samples)) + ",\n";
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
