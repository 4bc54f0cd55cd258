// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/calibration/self_calibration.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/system/ranks.h"

namespace apsyn::calibrate {
namespace {

ModelMix mix_of(const CalibratedSet& set, const SelfCalibrationSettings& settings,
                const std::vector<PlaneRecipe>& planes) {
  ModelMix mix;
  mix.planes = planes;
  std::vector<std::string> names;
  for (const PlaneRecipe& plane : planes) names.push_back(plane.name);
  Buffer<std::complex<double>, 2> of_product;
  if (settings.through_aterms) {
    of_product = products_of_correlations(set.products);
  } else {
    if (names.size() == 1 && names[0].size() == 1 && names[0] != "I")
      throw UsageError("{}: an image of Stokes {} is no model of the sky: image I too (--pol)",
                       kCalibrateOption, names[0]);
    try {
      of_product = products_of_planes(names, set.products, set.path);
    } catch (const DataError& error) {
      throw UsageError("{}: {}: or select both parallel hands (--pol XX,YY)", kCalibrateOption, error.what());
    }
  }
  const std::vector<ProductHands> hands = hands_of(set.products, set.path);
  const bool same = !settings.through_aterms && names == std::vector<std::string>{"I"};
  mix.of_hand.resize({same ? 1 : set.n_hands(), names.size()});
  for (std::size_t product = 0, hand = 0; product < hands.size(); ++product) {
    if (!is_parallel_hand(hands[product]) || hand == mix.of_hand.extent(0)) continue;
    for (std::size_t plane = 0; plane < names.size(); ++plane)
      mix.of_hand(hand, plane) = std::complex<float>(of_product(product, plane));
    ++hand;
  }
  return mix;
}

}  // namespace

namespace {

struct Counts {
  std::size_t n = 0, n_flagged = 0;
};

/// Solutions for windows and slots that have any data: of joined sets not all windows need have all times.
Counts count_with_data(const EntrySolver::Outcome& outcome) {
  Counts counts;
  for (const auto& of_part : outcome.found.solutions)
    for (const SlotSolutions& slot : of_part) {
      if (std::none_of(slot.n_samples.begin(), slot.n_samples.end(), [](double n) { return n > 0; }))
        continue;
      counts.n += slot.weight.size();
      counts.n_flagged += static_cast<std::size_t>(std::count(slot.weight.begin(), slot.weight.end(), 0.0f));
    }
  return counts;
}

}  // namespace

std::vector<TermOptions> parse_entries(const std::string& text) {
  std::vector<TermOptions> entries;
  for (const std::string_view part : split(std::string_view(text), ',')) {
    const std::size_t colon = part.find(':');
    TermOptions entry = term_named(std::string(part.substr(0, colon)), kCalibrateOption);
    switch (entry.term) {
      case CalibrationTerm::gain:
      case CalibrationTerm::phase:
      case CalibrationTerm::amplitude:
      case CalibrationTerm::scalar_gain:
      case CalibrationTerm::scalar_phase:
        break;
      default:
        throw UsageError(
            "{} {}: only gain, phase, amplitude, scalar-gain and scalar-phase are found while cleaning: "
            "solve "
            "{} with calibrate before",
            kCalibrateOption, part, entry.name);
    }
    if (entry.name == "bandpass")
      throw UsageError(
          "{} {}: solutions hold for all channels of a group: solve bandpass with calibrate before",
          kCalibrateOption, part);
    entry.channels = 0;
    if (colon != std::string_view::npos)
      entry.interval_s = parse_interval(std::string(kCalibrateOption) + " " + entry.name,
                                        std::string(part.substr(colon + 1)));
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string label_of(const TermOptions& entry) {
  std::string interval = entry.interval_s > 0 ? format_duration(entry.interval_s) : "all";
  std::erase(interval, ' ');
  return entry.name + ":" + interval;
}

SelfCalibration::SelfCalibration(ImagingSource& products, CalibratedSet set, SelfCalibrationSettings settings,
                                 const std::vector<PlaneRecipe>& planes,
                                 const std::vector<ChannelGroup>& groups)
    : products_(products),
      set_(std::move(set)),
      settings_(std::move(settings)),
      mix_(mix_of(set_, settings_, planes)),
      corrected_(products, planes, hands_of(set_.products, set_.path), set_.integrations,
                 set_.antenna_of_station, &chains_, settings_.n_threads),
      uncorrected_(products, planes, hands_of(set_.products, set_.path), set_.integrations,
                   set_.antenna_of_station, nullptr, settings_.n_threads) {
  for (const TermOptions& entry : settings_.entries)
    slots_.push_back(make_slots(set_.integrations, entry.interval_s));
  for (const ChannelGroup& group : groups)
    chains_.emplace_back(group, parts_of(set_.windows, group), set_.antennas.size(), set_.n_hands());
}

std::size_t SelfCalibration::find(const ChannelGroup& group) const {
  const auto at = std::find_if(chains_.begin(), chains_.end(),
                               [&](const GainChain& chain) { return chain.group().takes_same(group); });
  if (at == chains_.end()) throw std::invalid_argument("SelfCalibration: not one of its channel groups");
  return static_cast<std::size_t>(at - chains_.begin());
}

void SelfCalibration::solve(const ChannelGroup& group, PredictionStore& predictions,
                            std::uint64_t max_bytes) {
  const std::size_t g = find(group), number = std::min(next_, settings_.entries.size() - 1);
  std::optional<ChainLink> link;
  if (settings_.ranks.root()) link = find_link(g, number, predictions, max_bytes);
  if (settings_.ranks.size > 1) share_link(g, number, link);
  if (link) chains_[g].add(std::move(*link));
}

void SelfCalibration::share_link(std::size_t g, std::size_t number, std::optional<ChainLink>& link) const {
  std::uint64_t n_pol = link ? link->table.n_pol() : 0;
  broadcast(n_pol);
  if (n_pol == 0) return;
  if (!settings_.ranks.root()) {
    link = ChainLink{number, settings_.entries[number], slots_[number], {}};
    link->table.time_mjd_s.resize(slots_[number].size());
    link->table.freq_hz.resize(chains_[g].parts().size());
    link->table.resize(set_.antennas.size(), n_pol);
  }
  SolutionTable& table = link->table;
  broadcast(std::span(table.values.data(), table.values.size()));
  broadcast(std::span(table.weight.data(), table.weight.size()));
}

std::optional<ChainLink> SelfCalibration::find_link(std::size_t g, std::size_t number,
                                                    PredictionStore& predictions, std::uint64_t max_bytes) {
  const TermOptions& entry = settings_.entries[number];
  const std::string which =
      label_of(entry) + (chains_.size() > 1 ? fmt::format(", channel group {}", g) : std::string());
  // What was said at its first use is not said again.
  const auto warn = [&](const std::string& text) {
    has_entry() ? log_warning("{}: {}", which, text) : log_verbose("{}: {}", which, text);
    return std::nullopt;
  };
  EntrySolver solver(products_, set_, settings_, mix_, chains_[g], reference_);
  EntrySolver::Outcome outcome = solver.solve(number, slots_[number], predictions, max_bytes);
  if (!outcome.solved)
    return warn("no solution at all: the former gains stay: a longer interval has more signal");
  outcome.found.options.name = which;
  log_info("{}", summarise(outcome.found));
  const double n = std::max(1.0, outcome.n_samples), former = outcome.chi2_former / n,
               found = outcome.chi2_found / n;
  if (outcome.is_worse())
    return warn(
        fmt::format("chi^2 per sample grows from {:.6g} to {:.6g}: the former gains return", former, found));
  log_verbose("{}: chi^2 per sample {:.6g} with the former gains, {:.6g} now", which, former, found);
  const auto [n_all, n_flagged] = count_with_data(outcome);
  constexpr double kMany = 0.1;
  if (static_cast<double>(n_flagged) > kMany * static_cast<double>(n_all))
    warn(
        fmt::format("{} of {} solutions are flagged, and what they hold for is not imaged: a longer interval "
                    "has more signal",
                    n_flagged, n_all));
  // Gains that are off by their errors cost as much chi^2 as they have real numbers, times the noise squared.
  constexpr double kThird = 0.1;  // squared
  const double n_numbers =
      static_cast<double>(n_all - n_flagged) *
      (entry.term == CalibrationTerm::gain || entry.term == CalibrationTerm::scalar_gain ? 2 : 1);
  moved_ = moved_ || outcome.chi2_former - outcome.chi2_found > kThird * n_numbers * found + outcome.rounding;
  return std::move(outcome.link);
}

bool SelfCalibration::end_entry() {
  next_ = std::min(next_ + 1, settings_.entries.size());
  return std::exchange(moved_, false);
}

std::vector<SelfCalibration::GroupPart> SelfCalibration::places_by_frequency() const {
  std::vector<GroupPart> places;
  for (std::size_t g = 0; g < chains_.size(); ++g)
    for (std::size_t part = 0; part < chains_[g].parts().size(); ++part) places.push_back({g, part});
  const auto centre_hz = [&](const GroupPart& place) {
    return chains_[place.group].parts()[place.part].centre_hz;
  };
  std::sort(places.begin(), places.end(),
            [&](const GroupPart& a, const GroupPart& b) { return centre_hz(a) < centre_hz(b); });
  return places;
}

SolutionTable SelfCalibration::table_of(std::size_t entry) const {
  std::vector<const SolutionTable*> of_group(chains_.size(), nullptr);
  const SolutionTable* any = nullptr;
  for (std::size_t g = 0; g < chains_.size(); ++g)
    for (const auto& link : chains_[g].links())
      if (link->entry == entry) any = of_group[g] = &link->table;
  SolutionTable table;
  table.type = any->type;
  table.term = any->term;
  table.time_mjd_s = any->time_mjd_s;
  table.interval_s = any->interval_s;
  const std::vector<GroupPart> places = places_by_frequency();
  for (const auto& [g, part] : places) {
    const WindowPart& own = chains_[g].parts()[part];
    table.freq_hz.push_back(own.centre_hz);
    table.width_hz.push_back(places.size() > 1 ? own.width_hz : 0);
  }
  const std::size_t n_antennas = set_.antennas.size(), n_pol = any->n_pol();
  table.resize(n_antennas, n_pol);
  table.flag.resize(table.values.shape());
  for (std::size_t time = 0; time < table.n_time(); ++time)
    for (std::size_t antenna = 0; antenna < n_antennas; ++antenna)
      for (std::size_t place = 0; place < places.size(); ++place) {
        const auto [g, part] = places[place];
        for (std::size_t pol = 0; of_group[g] != nullptr && pol < n_pol; ++pol) {
          table.values(time, 0, antenna, place, pol) = of_group[g]->values(time, 0, antenna, part, pol);
          table.weight(time, 0, antenna, place, pol) = of_group[g]->weight(time, 0, antenna, part, pol);
          table.flag(time, 0, antenna, place, pol) = of_group[g]->flag(time, 0, antenna, part, pol);
        }
      }
  return table;
}

Solutions SelfCalibration::solutions(const std::vector<std::string>& history) const {
  Solutions solutions;
  solutions.antennas = set_.antennas;
  solutions.basis = are_circular(set_.products) ? ReceptorBasis::circular : ReceptorBasis::linear;
  solutions.field_centre = set_.field_centre;
  solutions.history = history;
  std::set<std::size_t> entries;
  for (const GainChain& chain : chains_)
    for (const auto& link : chain.links()) entries.insert(link->entry);
  for (const std::size_t entry : entries) solutions.tables.push_back(table_of(entry));
  if (!solutions.tables.empty()) return solutions;
  const TimeSlot whole = make_slots(set_.integrations, 0)[0];
  SolutionTable& unity = solutions.tables.emplace_back();
  unity.type = SolutionType::phase;
  unity.term = "phase";
  unity.time_mjd_s = {whole.centre_mjd_s};
  unity.interval_s = {0};
  unity.freq_hz = {chains_[0].parts()[0].centre_hz};
  unity.width_hz = {0};
  unity.resize(set_.antennas.size(), set_.n_hands());
  return solutions;
}

std::uint64_t SelfCalibration::bytes(const CalibratedSet& set, const SelfCalibrationSettings& settings,
                                     std::size_t n_groups, std::size_t n_planes, std::uint64_t block_bytes) {
  const std::size_t n = set.integrations.size(), n_windows = set.windows.size(),
                    n_channels = set.max_channels();
  std::vector<std::vector<TimeSlot>> all;
  std::uint64_t sums = 0, tables = 0;
  for (const TermOptions& entry : settings.entries) {
    all.push_back(make_slots(set.integrations, entry.interval_s));
    // Cells as if no former entry had been replaced.
    const std::vector<std::uint32_t> cells = make_cells(all, n);
    const std::size_t n_cells = cells.back() + 1u, max_rows = n / n_cells + 1;
    std::size_t most = 0;
    for (const TimeSlot& slot : all.back())
      most = std::max<std::size_t>(most, cells[slot.first + slot.n - 1] - cells[slot.first] + 1u);
    const std::uint64_t one = slot_bytes(set, n_channels, most, max_rows),
                        at_once = std::max<std::uint64_t>(1, settings.sums_bytes / one);
    // A solver's copy of a slot, before and after known gains are applied.
    sums =
        std::max(sums, std::min(at_once * one, n_windows * slot_bytes(set, n_channels, n_cells, max_rows)) +
                           2 * slot_bytes(set, n_channels, 1, 1));
    constexpr std::uint64_t kSolutionBytes = 100;
    tables += n_groups * n_windows * all.back().size() * set.antennas.size() * set.n_hands() * kSolutionBytes;
  }
  std::uint64_t n_rows = 0;
  for (const MsIntegration& integration : set.integrations)
    n_rows += static_cast<std::uint64_t>(integration.n_rows);
  const std::size_t n_products = set.products.size();
  const std::uint64_t product_bytes = ImagingBlock::kValueBytes * n_products,
                      n_cells = std::min(n_rows * n_channels, block_bytes / product_bytes);
  // Of a block: planes, and while a term is solved weights, predictions and the model.
  return sums + tables +
         n_cells * (n_planes * (ImagingBlock::kValueBytes + sizeof(std::complex<float>)) +
                    n_products * sizeof(float) + set.n_hands() * sizeof(std::complex<float>));
}

}  // namespace apsyn::calibrate
