// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/directions.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/system/program_memory.h"
#include "tools/calibrate/input.h"
#include "tools/calibrate/sky_predictor.h"

namespace apsyn::calibrate {
namespace {

constexpr std::uint64_t kDirectionsBlockBytes = 8'000'000;

template <class T, std::size_t Rank>
View<const T, Rank> some_rows(const Buffer<T, Rank>& all, std::size_t first, std::size_t n) {
  auto shape = all.shape();
  const std::size_t row = shape[0] == 0 ? 0 : all.size() / shape[0];
  shape[0] = n;
  return {all.data() + first * row, shape};
}

class PatchSolver {
 public:
  PatchSolver(Tool& tool, const Options& options, const DirectionPlan& plan,
              const imaging::ComponentSumsSetup& setup, VisibilityInput& input,
              const std::vector<SkyPatch>& patches)
      : tool_(tool),
        options_(options),
        plan_(plan),
        input_(input),
        info_(input.info()),
        n_threads_(tool.common().threads),
        sums_(info_.windows.size()),
        found_(info_.windows.size()),
        models_(patches.size()) {
    for (const SkyPatch& patch : patches) predictors_.emplace_back(patch.sky, info_, setup);
    for (auto& sums : sums_) sums.resize(plan.slots.size());
    for (auto& found : found_) found.resize(plan.slots.size());
    reference_ = named_reference(options.reference_antenna, info_);
  }

  std::vector<ChainResult> solve() {
    std::vector<std::int64_t> missing(plan_.slots.size(), 0);
    double n_rows = 0, done = 0;
    for (std::size_t i = 0; i < info_.integrations.size(); ++i) {
      missing[plan_.slot_of[i]] += info_.integrations[i].n_rows;
      n_rows += static_cast<double>(info_.integrations[i].n_rows);
    }
    Progress progress(tool_, "reading", n_rows, "rows");
    input_.rewind();
    tool_.stage("read");
    while (input_.next(block_, plan_.max_rows)) {
      add_block(missing);
      progress.update(done += static_cast<double>(block_.rows.ant1.size()));
    }
    for (std::size_t slot = 0; slot < missing.size(); ++slot)
      if (missing[slot] > 0) solve_slot(slot);
    return results();
  }

 private:
  std::size_t slot_of(double time_mjd_s) const {
    const auto& all = info_.integrations;
    const auto at = std::lower_bound(all.begin(), all.end(), time_mjd_s,
                                     [](const MsIntegration& i, double t) { return i.time_mjd_s < t; });
    return plan_.slot_of[std::min(static_cast<std::size_t>(at - all.begin()), all.size() - 1)];
  }

  void add_block(std::vector<std::int64_t>& missing) {
    MsRows& rows = block_.rows;
    const auto window = static_cast<std::size_t>(rows.spw);
    input_.read_cells(block_, n_threads_);
    drop_short_and_long(options_.selection, info_, rows);
    tool_.stage("predict");
    for (std::size_t d = 0; d < predictors_.size(); ++d) predictors_[d].predict(block_, models_[d]);
    tool_.stage("accumulate");
    const std::size_t n = rows.ant1.size();
    station_.resize_for_overwrite({n, 2});
    for (std::size_t row = 0; row < n; ++row) {
      station_(row, 0) = static_cast<std::uint32_t>(rows.ant1[row]);
      station_(row, 1) = static_cast<std::uint32_t>(rows.ant2[row]);
    }
    n_visibilities_ += static_cast<double>(rows.data.size());
    for (std::size_t first = 0, n_same = 0; first < n; first += n_same) {
      const std::size_t slot = slot_of(rows.time_mjd_s[first]);
      n_same = 1;
      while (first + n_same < n && slot_of(rows.time_mjd_s[first + n_same]) == slot) ++n_same;
      auto& sums = sums_[window][slot];
      if (!sums) sums = std::make_unique<DirectionSums>(plan_.layouts[window]);
      std::vector<View<const std::complex<float>, 3>> model;
      for (const auto& of_patch : models_) model.push_back(some_rows(of_patch, first, n_same));
      add_direction_samples({some_rows(station_, first, n_same), some_rows(rows.data, first, n_same),
                             some_rows(rows.weight, first, n_same), model},
                            *sums, n_threads_);
      missing[slot] -= static_cast<std::int64_t>(n_same);
      if (missing[slot] == 0) solve_slot(slot);
      tool_.stage("accumulate");
    }
    tool_.stage("read");
  }

  void solve_slot(std::size_t slot) {
    tool_.stage("solve");
    if (!reference_) choose_reference(slot);
    for (std::size_t window = 0; window < info_.windows.size(); ++window) {
      auto& sums = sums_[window][slot];
      if (!sums) sums = std::make_unique<DirectionSums>(plan_.layouts[window]);
      SolveSettings settings;
      settings.term = plan_.term.term;
      settings.reference = reference_.value_or(0);
      settings.tolerance = options_.tolerance;
      settings.max_iterations = options_.max_iterations;
      settings.min_snr = options_.min_snr;
      settings.min_baselines = options_.min_baselines;
      settings.n_threads = n_threads_;
      std::span<const SlotSolutions> start;
      if (plan_.term.start_from_former && slot > 0) start = found_[window][slot - 1];
      found_[window][slot] = solve_directions(*sums, plan_.sum_blocks[window].freq_hz, settings, start);
      sums.reset();
    }
  }

  /// The antenna with the most samples in the first slot.
  void choose_reference(std::size_t slot) {
    std::vector<double> n(info_.antennas.size(), 0);
    for (const auto& of_window : sums_) {
      if (!of_window[slot]) continue;
      const View<const float, 4> sums = std::as_const(*of_window[slot]).sums();
      const std::size_t count = sums.extent(2) - 1;
      for (std::size_t group = 0; group < sums.extent(0); ++group)
        for (std::size_t p = 0, b = 0; p < n.size(); ++p)
          for (std::size_t q = p + 1; q < n.size(); ++q, ++b)
            for (std::size_t lane = 0; lane < sums.extent(3); ++lane) {
              n[p] += static_cast<double>(sums(group, b, count, lane));
              n[q] += static_cast<double>(sums(group, b, count, lane));
            }
    }
    const auto most = std::max_element(n.begin(), n.end());
    if (most == n.end() || *most <= 0) return;
    reference_ = static_cast<std::size_t>(most - n.begin());
    log_verbose("reference antenna: {}", info_.antennas[*reference_].name);
  }

  std::vector<ChainResult> results() {
    if (!reference_) throw FailureError("{}: no usable data: all is flagged", info_.path);
    std::vector<ChainResult> all(models_.size());
    bool any = false;
    for (std::size_t d = 0; d < all.size(); ++d) {
      all[d].order = {0};
      all[d].reference = *reference_;
      all[d].n_visibilities = n_visibilities_;
      TermResult& term = all[d].terms.emplace_back();
      term.options = plan_.term;
      term.slots = plan_.slots;
      term.blocks = plan_.blocks;
      for (auto& of_window : found_) {
        auto& solutions = term.solutions.emplace_back();
        for (auto& of_slot : of_window) {
          solutions.push_back(std::move(of_slot[d]));
          for (const float weight : solutions.back().weight) any = any || weight > 0;
        }
      }
    }
    if (!any)
      throw FailureError("{}: no usable data: no antenna has a solution for {}", info_.path, plan_.term.name);
    return all;
  }

  Tool& tool_;
  const Options& options_;
  const DirectionPlan& plan_;
  VisibilityInput& input_;
  const InputInfo& info_;
  unsigned n_threads_;
  std::vector<SkyPredictor> predictors_;
  std::vector<std::vector<std::unique_ptr<DirectionSums>>> sums_;  ///< [window][slot]
  std::vector<std::vector<std::vector<SlotSolutions>>> found_;     ///< [window][slot][direction]
  std::vector<Buffer<std::complex<float>, 3>> models_;             ///< [direction]
  std::optional<std::size_t> reference_;
  InputBlock block_;
  Buffer<std::uint32_t, 2> station_;
  double n_visibilities_ = 0;
};

}  // namespace

std::vector<SkyPatch> choose_patches(const Options& options) {
  std::vector<SkyPatch> patches = read_sky_patches(options.sky);
  if (options.directions == "patches") return patches;
  std::vector<SkyPatch> chosen;
  for (const std::string_view name : split(options.directions, ',')) {
    const auto at = std::find_if(patches.begin(), patches.end(),
                                 [&](const SkyPatch& patch) { return patch.name == name; });
    if (at == patches.end())
      throw UsageError("--directions {}: {} has no patch '{}'", options.directions, options.sky, name);
    chosen.push_back(std::move(*at));
    patches.erase(at);
  }
  if (patches.empty()) return chosen;
  SkyPatch others{"others", patches.front().direction, {}};
  for (SkyPatch& patch : patches)
    for (SkyComponent& component : patch.sky.components)
      others.sky.components.push_back(std::move(component));
  chosen.push_back(std::move(others));
  return chosen;
}

DirectionPlan::DirectionPlan(const Tool& tool, const Options& options, const InputInfo& info,
                             std::size_t n_directions) {
  term = options.terms[0];
  slots = make_slots(info.integrations, term.interval_s);
  slot_of.resize(info.integrations.size());
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    for (std::size_t i = 0; i < slots[slot].n; ++i)
      slot_of[slots[slot].first + i] = static_cast<std::uint32_t>(slot);
  std::uint64_t of_slot = 0, of_solver = 0;
  std::size_t n_chan = 1;
  for (const MsSpectralWindow& window : info.windows) {
    n_chan = std::max(n_chan, window.channel_hz.size());
    const std::size_t least = !spans_channels(term.term) ? 1 : term.term == CalibrationTerm::tec ? 2 : 3;
    if (window.channel_hz.size() < least)
      throw UsageError("--solve {}: needs {} channels in a window, and {} has {}", term.name, least,
                       info.path, window.channel_hz.size());
    blocks.push_back(make_blocks(window, term.channels));
    sum_blocks.push_back(
        spans_channels(term.term)
            ? make_blocks(window, (window.channel_hz.size() + kBlocksOfSlope - 1) / kBlocksOfSlope)
            : blocks.back());
    DirectionLayout& layout = layouts.emplace_back();
    layout.n_antennas = info.antennas.size();
    layout.n_directions = n_directions;
    layout.n_products = info.products.size();
    layout.block = sum_blocks.back().of_channel;
    layout.n_blocks = sum_blocks.back().size();
    of_slot += layout.bytes();
    of_solver = std::max(of_solver, direction_solver_bytes(layout, term.term));
  }
  const std::uint64_t row_bytes =
      n_chan * (info.products.size() * 12 + n_directions * sizeof(std::complex<float>)) + 150;
  max_rows = std::clamp<std::size_t>(kDirectionsBlockBytes / row_bytes, 1, 1u << 16);
  // In a set sorted by time at most two slots are open at the same time; otherwise all of them may be.
  std::int64_t last_row = -1;
  bool sorted = true;
  for (const MsIntegration& integration : info.integrations) {
    sorted = sorted && integration.first_row > last_row;
    last_row = integration.last_row;
  }
  const std::uint64_t n_open = sorted ? std::min<std::uint64_t>(2, slots.size()) : slots.size();
  const std::uint64_t n_solutions = slots.size() * info.antennas.size() * n_directions * info.windows.size();
  bytes_ = program_bytes(1) + kDirectionsBlockBytes + n_open * of_slot + of_solver + n_solutions * 200;
  if (bytes_ > tool.common().max_memory_bytes)
    throw UsageError("{}", memory_shortage(tool.common().max_memory_bytes, static_cast<double>(bytes_),
                                           "this needs", "allow more, or ask for fewer directions"));
}

std::vector<std::string> DirectionPlan::describe() const {
  return {fmt::format("{}: {} interval{} in {} directions", term.name, slots.size(),
                      slots.size() == 1 ? "" : "s", layouts.empty() ? 0 : layouts[0].n_directions)};
}

std::vector<ChainResult> solve_patches(Tool& tool, const Options& options, const DirectionPlan& plan,
                                       const imaging::ComponentSumsSetup& setup, VisibilityInput& input,
                                       const std::vector<SkyPatch>& patches) {
  return PatchSolver(tool, options, plan, setup, input, patches).solve();
}

}  // namespace apsyn::calibrate
