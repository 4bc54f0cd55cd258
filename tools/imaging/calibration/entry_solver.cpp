// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/calibration/entry_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/base/log.h"
#include "libcore/system/parallel.h"

namespace apsyn::calibrate {
namespace {

SumLayout layout_of(const CalibratedSet& set, std::size_t n_channels) {
  SumLayout layout;
  layout.n_antennas = set.antennas.size();
  layout.n_products = set.products.size();
  layout.block.assign(n_channels, 0);
  layout.n_blocks = 1;
  layout.monitor_cross_hands = false;
  return layout;
}

/// Real numbers that a term finds, of each antenna and hand, and those that no data tell; and what a baseline
/// tells of them.
struct Unknowns {
  double of_antenna = 1, hidden = 0, of_baseline = 1;
};

Unknowns unknowns_of(CalibrationTerm term) {
  switch (term) {
    case CalibrationTerm::phase:
    case CalibrationTerm::scalar_phase:
      return {1, 1, 1};
    case CalibrationTerm::amplitude:
      return {1, 0, 1};
    default:
      return {2, 1, 2};
  }
}

std::complex<float> value_of(const KnownGains& gains, std::size_t antenna, std::size_t hand) {
  return gains.value(0, antenna, std::min(hand, gains.value.extent(2) - 1));
}

bool is_good(std::complex<float> gain) {
  return std::isfinite(gain.real()) && std::isfinite(gain.imag());
}

}  // namespace

std::uint64_t slot_bytes(const CalibratedSet& set, std::size_t n_channels, std::size_t n_cells,
                         std::size_t n_rows) {
  constexpr std::uint64_t kPromoted = 3;  // float64 sums beside those in float32
  return n_cells * layout_of(set, n_channels).bytes() * (n_rows > kPromoteRows ? kPromoted : 1);
}

EntrySolver::EntrySolver(ImagingSource& products, const CalibratedSet& set,
                         const SelfCalibrationSettings& settings, const ModelMix& mix, const GainChain& chain,
                         std::optional<std::size_t>& reference)
    : products_(products),
      set_(set),
      settings_(settings),
      mix_(mix),
      chain_(chain),
      reference_(reference),
      kept_(chain) {}

EntrySolver::Outcome EntrySolver::solve(std::size_t entry, const std::vector<TimeSlot>& slots,
                                        PredictionStore& predictions, std::uint64_t max_bytes) {
  predictions_ = &predictions;
  max_bytes_ = max_bytes;
  result_.options = settings_.entries[entry];
  result_.slots = slots;
  kept_ = chain_.before(result_.options);
  std::vector<WindowSlot> all;
  for (const WindowPart& part : chain_.parts()) {
    result_.blocks.push_back(ChannelBlocks{{}, {part.centre_hz}, {part.width_hz}});
    for (std::size_t slot = 0; slot < slots.size(); ++slot) all.push_back({layout_.size(), slot});
    layout_.push_back(layout_of(set_, part.n_channels));
  }
  const std::size_t n_parts = layout_.size();
  result_.solutions.resize(n_parts);
  for (auto& of_part : result_.solutions) of_part.resize(slots.size());
  former_fit_.assign(n_parts, std::vector<ModelFit>(slots.size()));
  found_fit_ = former_fit_;
  products_.rewind(chain_.group());
  Outcome outcome;
  if (products_.next(max_bytes_) == nullptr) return outcome;
  plan_cells();

  solve_slots(all, {});
  std::vector<std::vector<Buffer<FlagReason, 3>>> outliers;
  std::vector<WindowSlot> again;
  for (std::size_t part = 0; part < n_parts; ++part) {
    outliers.push_back(find_outliers(result_.solutions[part], settings_.n_threads));
    for (std::size_t slot = 0; slot < outliers[part].size(); ++slot)
      if (outliers[part][slot].size() > 0) again.push_back({part, slot});
  }
  if (!again.empty()) solve_slots(again, outliers);

  const TableKind kind = tables_of(result_.options, result_.solutions[0][0].n_values)[0];
  outcome.link = {entry, result_.options, slots,
                  make_table(result_, kind, set_.antennas.size(), settings_.n_threads)};
  // Each window keeps its flux scale, so that gains do not take the model's spectrum.
  const std::vector<double> factor = normalise_channels(outcome.link.table);
  for (const WindowSlot& at : all) {
    const ModelFit &former = former_fit_[at.part][at.slot], &found = found_fit_[at.part][at.slot];
    outcome.chi2_former += former.chi2();
    outcome.chi2_found += found.chi2(factor[at.part] * factor[at.part]);
    outcome.n_samples += found.n_samples;
    constexpr double kRounding = 1e-6;  // of sums in float32
    outcome.rounding += kRounding * found.data_power;
    for (const float weight : result_.solutions[at.part][at.slot].weight) outcome.solved |= weight > 0;
  }
  outcome.found = std::move(result_);
  return outcome;
}

void EntrySolver::plan_cells() {
  // Neither a slot of this term nor one of the gains so far ends within a cell.
  std::vector<std::vector<TimeSlot>> all{result_.slots};
  for (const auto& link : chain_.links()) all.push_back(link->slots);
  const std::size_t n = set_.integrations.size();
  cell_of_ = make_cells(all, n);
  std::size_t max_rows = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 0 || cell_of_[i] != cell_of_[i - 1]) first_of_.push_back(i);
    max_rows = std::max(max_rows, i + 1 - first_of_.back());
  }
  slot_of_.resize(first_of_.size());
  std::size_t max_cells = 1;
  for (std::size_t slot = 0; slot < result_.slots.size(); ++slot) {
    const TimeSlot& own = result_.slots[slot];
    first_cell_.push_back(cell_of_[own.first]);
    const std::size_t end = cell_of_[own.first + own.n - 1] + 1u;
    for (std::size_t cell = first_cell_.back(); cell < end; ++cell)
      slot_of_[cell] = static_cast<std::uint32_t>(slot);
    max_cells = std::max(max_cells, end - first_cell_.back());
  }
  first_cell_.push_back(first_of_.size());
  sums_.resize(layout_.size());
  for (auto& of_part : sums_) of_part.resize(first_of_.size());
  std::size_t max_channels = 0;
  for (const SumLayout& layout : layout_) max_channels = std::max(max_channels, layout.block.size());
  const std::uint64_t bytes = slot_bytes(set_, max_channels, max_cells, max_rows);
  slots_at_once_ = std::max<std::uint64_t>(1, settings_.sums_bytes / std::max<std::uint64_t>(1, bytes));
}

void EntrySolver::solve_slots(const std::vector<WindowSlot>& wanted,
                              const std::vector<std::vector<Buffer<FlagReason, 3>>>& excluded) {
  for (std::size_t first = 0; first < wanted.size(); first += slots_at_once_) {
    const std::span<const WindowSlot> now(wanted.data() + first,
                                          std::min<std::size_t>(slots_at_once_, wanted.size() - first));
    accumulate(now);
    for (const WindowSlot& at : now)
      solve_slot_of(at, excluded.empty() ? ExcludedSolutions() : excluded[at.part][at.slot].view());
    for (auto& of_part : sums_)
      for (auto& sums : of_part) spare_.keep(std::move(sums));
  }
}

void EntrySolver::accumulate(std::span<const WindowSlot> wanted) {
  std::vector<std::vector<char>> is_wanted(layout_.size(), std::vector<char>(result_.slots.size(), 0));
  for (const WindowSlot& at : wanted) is_wanted[at.part][at.slot] = 1;
  products_.rewind(chain_.group());
  predictions_->rewind();
  while (const ImagingBlock* block = products_.next(max_bytes_)) {
    const std::size_t n_row = block->time_mjd_s.size(), part = chain_.part_of(*block);
    predicted_.resize_for_overwrite({n_row, block->channel_hz.size(), mix_.planes.size()});
    cell_.resize_for_overwrite({n_row});
    std::vector<std::size_t> touched;
    std::size_t last_cell = SIZE_MAX;
    double last_s = NAN;
    for (std::size_t row = 0; row < n_row; ++row) {
      if (block->time_mjd_s[row] != last_s) {
        last_s = block->time_mjd_s[row];
        last_cell = cell_of_[std::min(integration_at(set_.integrations, last_s), cell_of_.size() - 1)];
        if (!is_wanted[part][slot_of_[last_cell]])
          last_cell = SIZE_MAX;
        else if (std::find(touched.begin(), touched.end(), last_cell) == touched.end())
          touched.push_back(last_cell);
      }
      const auto at = std::find(touched.begin(), touched.end(), last_cell);
      cell_(row) = at == touched.end() ? kNoCell : static_cast<std::uint32_t>(at - touched.begin());
    }
    if (touched.empty())
      predictions_->skip(predicted_);
    else
      add(*block, part, touched);
  }
}

void EntrySolver::add(const ImagingBlock& block, std::size_t part, const std::vector<std::size_t>& touched) {
  predictions_->copy(predicted_);
  make_model();
  weigh(block);
  std::vector<CalibrationSums*> cells;
  for (const std::size_t cell : touched) {
    auto& sums = sums_[part][cell];
    if (!sums) sums = spare_.take(layout_[part], settings_.n_threads);
    cells.push_back(sums.get());
  }
  antenna_.resize_for_overwrite(block.station.shape());
  std::transform(block.station.begin(), block.station.end(), antenna_.begin(), [&](std::uint32_t station) {
    return set_.antenna_of_station.empty() ? station : set_.antenna_of_station[station];
  });
  add_samples({antenna_.view(), block.data.view(), weight_.view(), model_.view(), cell_.view()}, cells,
              settings_.n_threads);
}

void EntrySolver::make_model() {
  const auto [n_row, n_chan, n_plane] = predicted_.shape();
  const std::size_t n_model = mix_.of_hand.extent(0), n_planes = n_plane;
  model_.resize_for_overwrite({n_row, n_chan, n_model});
  constexpr std::size_t kAtOnce = 1 << 14;
  const std::size_t n = n_row * n_chan;
  parallel_for(settings_.n_threads, (n + kAtOnce - 1) / kAtOnce, [&](std::size_t item, unsigned) {
    for (std::size_t i = item * kAtOnce; i < std::min(n, (item + 1) * kAtOnce); ++i) {
      const std::complex<float>* plane = predicted_.data() + i * n_planes;
      for (std::size_t hand = 0; hand < n_model; ++hand) {
        // By hand: the operator of complex numbers looks for infinities. Predictions are times -1.
        float re = 0, im = 0;
        for (std::size_t p = 0; p < n_planes; ++p) {
          const std::complex<float> factor = mix_.of_hand(hand, p);
          re -= factor.real() * plane[p].real() - factor.imag() * plane[p].imag();
          im -= factor.real() * plane[p].imag() + factor.imag() * plane[p].real();
        }
        model_.data()[i * n_model + hand] = {re, im};
      }
    }
  });
}

/// What is not predicted, because it is in no plane, or not wanted at its distance in uv has no weight.
void EntrySolver::weigh(const ImagingBlock& block) {
  const auto [n_row, n_chan, n_product] = block.weight.shape();
  const std::size_t n_channels = n_chan, n_products = n_product, n_rows = n_row;
  weight_.resize_for_overwrite(block.weight.shape());
  const double least = settings_.min_uv_lambda, most = settings_.max_uv_lambda;
  constexpr std::size_t kRows = 256;
  parallel_for(settings_.n_threads, (n_rows + kRows - 1) / kRows, [&](std::size_t item, unsigned) {
    for (std::size_t row = item * kRows; row < std::min(n_rows, (item + 1) * kRows); ++row) {
      const double length_m = std::hypot(block.uvw_m(row, 0), block.uvw_m(row, 1));
      for (std::size_t chan = 0; chan < n_channels; ++chan) {
        const float* weight = &block.weight(row, chan, 0);
        const double lambda = length_m * block.channel_hz(chan) / kSpeedOfLight_m_s;
        bool used = lambda >= least && (most <= 0 || lambda <= most);
        used = used && std::any_of(mix_.planes.begin(), mix_.planes.end(), [&](const PlaneRecipe& plane) {
                 return std::all_of(plane.index.begin(), plane.index.end(),
                                    [&](std::size_t p) { return weight[p] > 0; });
               });
        for (std::size_t p = 0; p < n_products; ++p) weight_(row, chan, p) = used ? weight[p] : 0;
      }
    }
  });
}

void EntrySolver::solve_slot_of(const WindowSlot& at, ExcludedSolutions excluded) {
  const auto [part, slot] = at;
  std::vector<const CalibrationSums*> cells;
  std::vector<std::size_t> numbers;
  std::vector<KnownGains> kept;
  for (std::size_t cell = first_cell_[slot]; cell < first_cell_[slot + 1]; ++cell)
    if (const auto& sums = sums_[part][cell]) {
      cells.push_back(sums.get());
      numbers.push_back(cell);
      if (!kept_.empty()) kept.push_back(kept_.gains(part, first_of_[cell]));
    }
  const CalibrationSums nothing = cells.empty() ? CalibrationSums(layout_[part]) : CalibrationSums();
  const bool any = !cells.empty();
  if (!any) cells.push_back(&nothing);
  std::vector<const KnownGains*> known;
  for (const KnownGains& gains : kept) known.push_back(&gains);
  SlotCells own;
  own.cells = cells;
  own.known = known;
  own.block = {0};
  own.n_blocks = 1;
  if (!reference_ && any) choose_reference(own);
  SolveSettings settings;
  settings.term = result_.options.term;
  settings.reference = reference_.value_or(0);
  settings.n_threads = settings_.n_threads;
  std::vector<SlotSolutions>& solutions = result_.solutions[part];
  const SlotSolutions* start =
      slot > 0 && solutions[slot - 1].n_antennas > 0 ? &solutions[slot - 1] : nullptr;
  solutions[slot] = solve_slot(own, result_.blocks[part].freq_hz, settings, excluded, start, &memory_);
  if (any) compare(at, own, numbers);
}

void EntrySolver::choose_reference(const SlotCells& cells) {
  const CalibrationSums& sums = slot_sums(cells, SumKind::diagonal, settings_.n_threads, memory_.combined);
  if (!(sums.n_samples(settings_.n_threads) > 0)) return;
  const CalibrationSums* const of_slot[] = {&sums};
  reference_ = best_connected(of_slot, settings_.n_threads);
  log_verbose("reference antenna: {}", set_.antennas[*reference_].name);
}

bool EntrySolver::refuse_underdetermined(SlotSolutions& solution, const ModelFit& fit) const {
  double n_active = 0;
  for (const float weight : solution.weight) n_active += weight > 0 ? 1 : 0;
  const Unknowns unknowns = unknowns_of(solution.term);
  const auto n_hands = static_cast<double>(solution.n_values);
  if (static_cast<double>(fit.n_baselines) * unknowns.of_baseline >=
      unknowns.of_antenna * n_active - unknowns.hidden * n_hands)
    return false;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  solution.value.fill({nan, nan});
  solution.weight.fill(0);
  solution.reason.fill(FlagReason::few_baselines);
  return true;
}

void EntrySolver::compare(const WindowSlot& at, SlotCells cells, const std::vector<std::size_t>& numbers) {
  const auto [part, slot] = at;
  SlotSolutions& solution = result_.solutions[part][slot];
  const std::uint32_t block[] = {0};
  std::vector<KnownGains> former, found;
  const KnownGains own = gains_of(solution, block, result_.blocks[part].freq_hz);
  for (const std::size_t cell : numbers) {
    KnownGains before = chain_.gains(part, first_of_[cell]), with = kept_.gains(part, first_of_[cell]);
    for (std::size_t antenna = 0; antenna < set_.antennas.size(); ++antenna)
      for (std::size_t hand = 0; hand < before.value.extent(2); ++hand) {
        std::complex<float>&a = before.value(0, antenna, hand), &b = with.value(0, antenna, hand);
        b *= value_of(own, antenna, hand);
        // Both are compared over the same samples.
        if (!is_good(a) || !is_good(b)) a = b = {NAN, NAN};
      }
    former.push_back(std::move(before));
    found.push_back(std::move(with));
  }
  const auto fit_of = [&](const std::vector<KnownGains>& gains) {
    std::vector<const KnownGains*> known;
    for (const KnownGains& own : gains) known.push_back(&own);
    cells.known = known;
    return fit_model(cells, settings_.n_threads);
  };
  const ModelFit fit = fit_of(found);
  const bool refused = refuse_underdetermined(solution, fit);
  found_fit_[part][slot] = refused ? ModelFit() : fit;
  former_fit_[part][slot] = refused ? ModelFit() : fit_of(former);
}

}  // namespace apsyn::calibrate
