// SPDX-License-Identifier: GPL-3.0-or-later
// What was found for a chain as tables and as a report: order, frequencies, flags and figures.
#include "tools/calibrate/tables.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libcore/base/error.h"

using namespace apsyn;
using namespace apsyn::calibrate;

BOOST_AUTO_TEST_SUITE(solution_tables)

namespace {

constexpr std::size_t kAntennas = 3;

std::complex<double> value_of(std::size_t term, std::size_t window, std::size_t slot, std::size_t block,
                              std::size_t ant, std::size_t p) {
  return std::polar(1.0 + static_cast<double>(term) + 0.1 * static_cast<double>(ant),
                    0.01 * static_cast<double>(((window * 5 + slot) * 5 + block) * 5 + p));
}

/// Two slots; two windows of two blocks, the first one of the higher frequencies and falling.
TermResult term_of(std::size_t number, const std::string& name, std::size_t n_values) {
  TermResult term;
  term.options = term_named(name, "--solve");
  term.options.interval_s = 8;
  term.slots = {{0, 4, 1004, 8}, {4, 4, 1012, 8}};
  term.blocks.resize(2);
  term.blocks[0].freq_hz = {163e6, 161e6};
  term.blocks[0].width_hz = {2e6, 2e6};
  term.blocks[1].freq_hz = {150e6, 151e6};
  term.blocks[1].width_hz = {1e6, 1e6};
  term.solutions.resize(2);
  for (std::size_t window = 0; window < 2; ++window)
    for (std::size_t slot = 0; slot < 2; ++slot) {
      SlotSolutions found;
      found.n_blocks = 2, found.n_antennas = kAntennas, found.n_values = n_values;
      found.value.resize({2, kAntennas, n_values});
      found.sigma.resize(found.value.shape());
      found.snr.resize(found.value.shape());
      found.weight.resize(found.value.shape());
      found.reason.resize(found.value.shape());
      for (std::size_t block = 0; block < 2; ++block)
        for (std::size_t ant = 0; ant < kAntennas; ++ant)
          for (std::size_t p = 0; p < n_values; ++p) {
            found.value(block, ant, p) = value_of(number, window, slot, block, ant, p);
            found.sigma(block, ant, p) = 0.5;
            found.snr(block, ant, p) = 20;
            found.weight(block, ant, p) = 4;
          }
      for (auto* sums : {&found.chi2_before, &found.chi2_after, &found.n_samples, &found.noise})
        sums->resize({2, 1});
      for (std::size_t block = 0; block < 2; ++block) {
        found.chi2_before(block, 0) = 30;
        found.chi2_after(block, 0) = 10;
        found.n_samples(block, 0) = 20;
        found.noise(block, 0) = 1.25;
      }
      found.n_iterations.resize({2, 1});
      found.converged.resize({2, 1});
      found.n_iterations(0, 0) = 4, found.n_iterations(1, 0) = 7;
      found.converged(0, 0) = 1;
      term.solutions[window].push_back(std::move(found));
    }
  return term;
}

InputInfo info_of() {
  InputInfo info;
  info.path = "obs.ms";
  info.telescope = "TEST";
  info.antennas = {{"a", {}}, {"b", {}}, {"c", {}}};
  info.products = {Product::XX, Product::XY, Product::YX, Product::YY};
  info.fields = {{"f", {1, 2}}, {"g", {3, -0.4}}};
  info.fields_with_rows = {1};
  return info;
}

/// A gain that was solved first but stands behind the matrices of Jones: nearer to the sky.
ChainResult chain() {
  ChainResult result;
  result.terms.push_back(term_of(0, "bandpass", 2));
  result.terms.push_back(term_of(1, "jones", 4));
  result.order = {1, 0};
  result.reference = 2;
  return result;
}

void flag(TermResult& term, std::size_t window, std::size_t slot, std::size_t block, std::size_t ant,
          FlagReason reason) {
  SlotSolutions& found = term.solutions[window][slot];
  found.weight(block, ant, 0) = 0;
  found.reason(block, ant, 0) = reason;
}

}  // namespace

BOOST_AUTO_TEST_CASE(tables_stand_in_the_order_of_the_product_whatever_was_solved_first) {
  const Solutions solutions = make_solutions(chain(), info_of(), {"line"});
  BOOST_TEST_REQUIRE(solutions.tables.size() == 2u);
  BOOST_TEST(solutions.tables[0].term == "jones");
  BOOST_TEST(solutions.tables[0].n_pol() == 4u);
  BOOST_TEST(solutions.tables[1].term == "bandpass");
  BOOST_TEST(solutions.antennas.size() == 3u);
  BOOST_TEST(solutions.field_centre->dec_rad == -0.4);
  BOOST_TEST((solutions.basis == ReceptorBasis::linear));
  BOOST_TEST(solutions.history[0] == "line");
  InputInfo circular = info_of();
  circular.products = {Product::RR, Product::LL};
  BOOST_TEST((make_solutions(chain(), circular, {}).basis == ReceptorBasis::circular));
}

// Frequencies rise through all windows; every value is that of its window and block.
BOOST_AUTO_TEST_CASE(windows_follow_each_other_by_rising_frequency) {
  ChainResult result = chain();
  flag(result.terms[0], 0, 1, 1, 2, FlagReason::low_snr);
  const Solutions solutions = make_solutions(result, info_of(), {});
  const SolutionTable& table = solutions.tables[1];
  const std::vector<double> hz{150e6, 151e6, 161e6, 163e6}, width_hz{1e6, 1e6, 2e6, 2e6};
  BOOST_TEST(table.freq_hz == hz, boost::test_tools::per_element());
  BOOST_TEST(table.width_hz == width_hz, boost::test_tools::per_element());
  BOOST_TEST(table.time_mjd_s == std::vector<double>({1004, 1012}), boost::test_tools::per_element());
  BOOST_TEST(table.interval_s == std::vector<double>({8, 8}), boost::test_tools::per_element());
  const std::size_t window[] = {1, 1, 0, 0}, block[] = {0, 1, 1, 0};
  for (std::size_t slot = 0; slot < 2; ++slot)
    for (std::size_t chan = 0; chan < 4; ++chan)
      for (std::size_t ant = 0; ant < kAntennas; ++ant)
        for (std::size_t p = 0; p < 2; ++p) {
          if (slot == 1 && chan == 2 && ant == 2 && p == 0) {
            BOOST_TEST(table.weight(slot, 0, ant, chan, p) == 0);
            BOOST_TEST((table.flag(slot, 0, ant, chan, p) == SolutionFlag::low_snr));
            BOOST_TEST(std::isnan(table.values(slot, 0, ant, chan, p).real()));
            continue;
          }
          BOOST_TEST(std::abs(table.values(slot, 0, ant, chan, p) -
                              value_of(0, window[chan], slot, block[chan], ant, p)) < 1e-15);
          BOOST_TEST(table.weight(slot, 0, ant, chan, p) == 4);
          BOOST_TEST((table.flag(slot, 0, ant, chan, p) == SolutionFlag::good));
        }
}

// One solution for the whole time or band holds at all times and frequencies.
BOOST_AUTO_TEST_CASE(a_single_solution_of_all_holds_everywhere) {
  TermResult term = term_of(0, "phase", 2);
  term.slots.resize(1);
  term.blocks.resize(1);
  term.blocks[0].freq_hz.resize(1), term.blocks[0].width_hz.resize(1);
  term.solutions.resize(1);
  const TableKind kind{SolutionType::phase, "phase", 0, 2};
  BOOST_TEST(make_table(term, kind, kAntennas).interval_s[0] == 8);  // an interval that was asked for
  BOOST_TEST(make_table(term, kind, kAntennas).width_hz[0] == 0);
  term.options.interval_s = 0;
  term.options.channels = 1;
  BOOST_TEST(make_table(term, kind, kAntennas).interval_s[0] == 0);
  BOOST_TEST(make_table(term, kind, kAntennas).width_hz[0] == 2e6);
}

BOOST_AUTO_TEST_CASE(terms_have_names_types_and_usual_channels) {
  BOOST_TEST(term_named("gain", "").channels == 1u);
  BOOST_TEST(term_named("bandpass", "").channels == 1u);
  BOOST_TEST(term_named("jones", "").channels == 1u);
  for (const char* name : {"phase", "amplitude", "scalar-gain", "scalar-phase", "leakage", "delay", "tec"})
    BOOST_TEST(term_named(name, "").channels == 0u, name);
  BOOST_CHECK_THROW(term_named("gains", "--solve"), UsageError);
  BOOST_TEST(parse_interval("", "all") == 0);
  BOOST_TEST(parse_interval("", "2min") == 120);
  for (const char* bad : {"0s", "-1s", "2", "some"}) BOOST_CHECK_THROW(parse_interval("", bad), UsageError);
  const auto types = [](const char* name, std::size_t n) {
    std::vector<SolutionType> all;
    for (const TableKind& kind : tables_of(term_named(name, ""), n)) all.push_back(kind.type);
    return all;
  };
  using Types = std::vector<SolutionType>;
  BOOST_TEST((types("bandpass", 2) == Types{SolutionType::gain}));
  BOOST_TEST((types("scalar-phase", 1) == Types{SolutionType::phase}));
  BOOST_TEST((types("amplitude", 2) == Types{SolutionType::amplitude}));
  BOOST_TEST((types("leakage", 4) == Types{SolutionType::leakage}));
  BOOST_TEST((types("delay", 2) == Types{SolutionType::delay_s}));
  BOOST_TEST((types("tec+delay", 2) == Types{SolutionType::tec_tecu, SolutionType::delay_s}));
  BOOST_TEST(tables_of(term_named("tec+delay", ""), 2)[1].first_value == 1u);
}

BOOST_AUTO_TEST_CASE(a_flag_keeps_its_reason) {
  using F = SolutionFlag;
  const std::pair<FlagReason, F> pairs[] = {{FlagReason::none, F::good},
                                            {FlagReason::no_data, F::no_data},
                                            {FlagReason::few_baselines, F::few_baselines},
                                            {FlagReason::low_snr, F::low_snr},
                                            {FlagReason::outlier, F::outlier},
                                            {FlagReason::swapped, F::swapped_receptors},
                                            {FlagReason::diverged, F::not_converged},
                                            {FlagReason::excluded, F::unknown}};
  for (const auto& [reason, expected] : pairs) BOOST_TEST((flag_of(reason) == expected));
}

// exp of the mean log|g| of what is good on the diagonal becomes 1, and weights go as 1 / g^2.
BOOST_AUTO_TEST_CASE(normalised_gains_have_a_geometric_mean_of_one) {
  SolutionTable table;
  table.time_mjd_s = {0}, table.interval_s = {0}, table.freq_hz = {1e8}, table.width_hz = {0};
  for (const std::size_t n_pol : {2, 4}) {
    table.resize(2, n_pol);
    const double sizes[] = {2, 8, 4, 1000};
    std::size_t next = 0;
    for (std::size_t ant = 0; ant < 2; ++ant)
      for (std::size_t p = 0; p < n_pol; ++p) {
        const bool diagonal = n_pol == 2 || p == 0 || p == 3;
        table.values(0, 0, ant, 0, p) = std::polar(diagonal ? sizes[next++] : 50.0, 0.7);
        table.weight(0, 0, ant, 0, p) = 1;
      }
    table.weight(0, 0, 1, 0, n_pol - 1) = 0;  // the last one is flagged
    BOOST_TEST(std::abs(normalise(table) - 0.25) < 1e-12);
    BOOST_TEST(std::abs(table.values(0, 0, 0, 0, 0) - std::polar(0.5, 0.7)) < 1e-12);
    BOOST_TEST(std::abs(table.weight(0, 0, 0, 0, 0) - 16) < 1e-4);
  }
  table.type = SolutionType::phase;
  BOOST_TEST(normalise(table) == 1);
}

BOOST_AUTO_TEST_CASE(a_line_tells_how_many_solutions_are_flagged_and_why) {
  TermResult term = term_of(0, "bandpass", 2);
  BOOST_TEST(
      summarise(term) ==
      "bandpass: 48 solutions, chi^2 per sample 1.5 before, 0.5 after, 5.5 iterations, 4 of 8 not converged");
  flag(term, 0, 0, 0, 0, FlagReason::low_snr);
  flag(term, 0, 1, 0, 0, FlagReason::low_snr);
  flag(term, 1, 1, 1, 2, FlagReason::no_data);
  BOOST_TEST(summarise(term).starts_with("bandpass: 48 solutions, 3 flagged (1 " +
                                         std::string(to_string(FlagReason::no_data)) + ", 2 " +
                                         std::string(to_string(FlagReason::low_snr)) + ")"));
  BOOST_TEST(total(term, &SlotSolutions::chi2_before) == 240);
}

BOOST_AUTO_TEST_CASE(the_report_has_the_figures_of_every_solution) {
  ChainResult result = chain();
  flag(result.terms[0], 1, 0, 1, 1, FlagReason::outlier);
  const auto json = nlohmann::json::parse(report_text(result, info_of()));
  BOOST_TEST(json["input"] == "obs.ms");
  BOOST_TEST(json["telescope"] == "TEST");
  BOOST_TEST(json["reference_antenna"] == "c");
  BOOST_TEST(json["conjugated_uvw"] == false);
  BOOST_TEST(json["chi2_before"] == 240);  // of the first term, and of the last one after it
  BOOST_TEST(json["chi2_after"] == 80);
  BOOST_TEST(json["samples"] == 160);
  BOOST_TEST_REQUIRE(json["terms"].size() == 2u);
  const auto& term = json["terms"][0];
  BOOST_TEST(term["term"] == "bandpass");
  BOOST_TEST_REQUIRE(term["slots"].size() == 8u);
  const auto& slot = term["slots"][3];  // window 0, slot 1, block 1
  BOOST_TEST(slot["time_mjd_s"] == 1012);
  BOOST_TEST(slot["frequency_hz"] == 161e6);
  BOOST_TEST(slot["noise"] == 1.25);
  BOOST_TEST(slot["iterations"] == 7);
  BOOST_TEST(slot["converged"] == false);
  BOOST_TEST_REQUIRE(term["solutions"].size() == 48u);
  const auto& solution =
      term["solutions"][((2 + 1) * 2 + 1) * 6 + 5];  // window 1, slot 1, block 1, antenna c, Y
  BOOST_TEST(solution["antenna"] == "c");
  BOOST_TEST(solution["polarisation"] == 1);
  BOOST_TEST(solution["frequency_hz"] == 151e6);
  BOOST_TEST(std::abs(solution["amplitude"].get<double>() - 1.2) < 1e-7);
  BOOST_TEST(std::abs(solution["phase_rad"].get<double>() - std::arg(value_of(0, 1, 1, 1, 2, 1))) < 1e-7);
  BOOST_TEST(solution["snr"] == 20);
  BOOST_TEST(solution["sigma"] == 0.5);
  BOOST_TEST(!solution.contains("flagged"));
  BOOST_TEST(term["solutions"][(2 * 2 + 1) * 6 + 2]["flagged"] == to_string(FlagReason::outlier));
}

// [time][direction][antenna][chan][pol], patch by patch.
BOOST_AUTO_TEST_CASE(solutions_of_patches_are_one_table_with_a_direction_each) {
  std::vector<ChainResult> results(2);
  for (std::size_t d = 0; d < 2; ++d) {
    results[d].terms.push_back(term_of(3 * d, "phase", 2));
    results[d].order = {0};
  }
  const std::vector<SkyPatch> patches{{"p", {0.1, 0.2}, {}}, {"q", {0.3, 0.4}, {}}};
  const Solutions solutions = make_solutions(results, patches, info_of(), {});
  BOOST_TEST_REQUIRE(solutions.tables.size() == 1u);
  BOOST_TEST(solutions.directions[1].name == "q");
  BOOST_TEST(solutions.directions[1].direction.dec_rad == 0.4);
  const SolutionTable& table = solutions.tables[0];
  BOOST_TEST(table.direction == std::vector<std::uint32_t>({0, 1}), boost::test_tools::per_element());
  for (std::size_t time = 0; time < 2; ++time)
    for (std::size_t d = 0; d < 2; ++d)
      for (std::size_t ant = 0; ant < kAntennas; ++ant)
        BOOST_TEST(std::abs(table.values(time, d, ant, 3, 1) - value_of(3 * d, 0, time, 0, ant, 1)) < 1e-15);
  const auto json = nlohmann::json::parse(report_text(results, patches, info_of()));
  BOOST_TEST(json["directions"][1]["patch"] == "q");
  BOOST_TEST(json["directions"][1]["ra_rad"] == 0.3);
  BOOST_TEST(json["directions"][1]["found"]["terms"][0]["term"] == "phase");
}

BOOST_AUTO_TEST_SUITE_END()
