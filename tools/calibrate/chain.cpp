// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/chain.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/system/stages.h"
#include "tools/calibrate/input.h"

namespace apsyn::calibrate {
namespace {

class ChainSolver {
 public:
  ChainSolver(Tool& tool, const Options& options, const ChainPlan& plan, VisibilityInput& input,
              ModelSource& model, const ChainResult* former, ChainMemory* reused)
      : tool_(tool),
        options_(options),
        plan_(plan),
        input_(input),
        model_(model),
        former_(former),
        info_(input.info()),
        n_threads_(tool.common().threads),
        memory_(reused != nullptr ? *reused : own_memory_),
        sums_(info_.windows.size()),
        known_(info_.windows.size()) {
    for (auto& known : known_) known.resize(plan.n_known);
    for (std::size_t t = 0; t < plan.terms.size(); ++t) {
      TermResult& term = result_.terms.emplace_back();
      term.options = plan.options[t];
      term.slots = plan.terms[t].slots;
      term.blocks = plan.terms[t].blocks;
      term.solutions.resize(info_.windows.size());
      for (auto& solutions : term.solutions) solutions.resize(term.slots.size());
    }
    reference_ = named_reference(options.reference_antenna, info_);
    if (!reference_ && former_ != nullptr) reference_ = former_->reference;
  }

  ChainResult solve() {
    if (plan_.keeps_cells) read([](std::size_t) { return true; }, 0, {});
    for (std::size_t t = 0; t < plan_.terms.size(); ++t) {
      solve_term(t);
      if (t + 1 < plan_.terms.size()) apply_to_known(t);
      place_in_product(t);
    }
    for (std::size_t slot = 0; plan_.keeps_cells && slot < plan_.terms[0].slots.size(); ++slot)
      release(0, slot);
    check();
    return std::move(result_);
  }

 private:
  using Wanted = std::function<bool(std::size_t slot)>;
  using Complete = std::function<void(std::size_t slot)>;

  // ---- reading ----

  /// Index of the integration; times come from the same rows as those of the integrations.
  std::size_t integration_of(double time_mjd_s) {
    const auto& all = info_.integrations;
    if (last_integration_ < all.size() && all[last_integration_].time_mjd_s == time_mjd_s)
      return last_integration_;
    return last_integration_ = integration_at(all, time_mjd_s);
  }

  /// Rows on their way.
  struct Block {
    InputBlock input;
    Buffer<std::complex<float>, 3> predicted;
    Buffer<std::uint32_t, 2> station;
    Buffer<std::uint32_t, 1> cell;     ///< [row] index into `touched`, or kNoCell
    std::vector<std::size_t> touched;  ///< cells that its rows go to
  };

  /// Adds the rows of the wanted slots of a term to their cells, and calls `complete`, if there is one, for
  /// each slot as soon as it has all its rows. Meanwhile the next rows are read, predicted and added.
  void read(const Wanted& wanted, std::size_t term, const Complete& complete) {
    const ChainPlan::Term& plan = plan_.terms[term];
    std::vector<std::int64_t> missing(plan.slots.size(), 0);
    for (std::size_t slot = 0; slot < missing.size(); ++slot)
      for (std::size_t i = 0; i < plan.slots[slot].n; ++i)
        missing[slot] += info_.integrations[plan.slots[slot].first + i].n_rows;
    double n_rows = 0, done = 0;
    for (const MsIntegration& integration : info_.integrations)
      n_rows += static_cast<double>(integration.n_rows);
    Progress progress(tool_, "reading", n_rows, "rows");
    for (auto& sums : sums_)
      if (sums.size() != plan.sums.size()) {
        sums.clear();
        sums.resize(plan.sums.size());
      }
    input_.rewind();
    model_.rewind();
    tool_.stage(complete ? "read and solve" : "read");

    // Each stage has one block or slot at a time, and all go through in order. What follows is shared under
    // the stages' lock.
    blocks_.resize(plan_.n_blocks);
    std::vector<Block*> empty;
    for (Block& block : blocks_) empty.push_back(&block);
    std::deque<Block*> filled, predicted;
    std::deque<std::size_t> ready;  // slots
    Block *reading = nullptr, *predicting = nullptr, *adding = nullptr;
    std::size_t solving = SIZE_MAX;
    bool at_end = false;
    std::uint64_t kept_bytes = 0, solving_bytes = 0;  // of cells

    std::vector<Stage> stages;
    stages.push_back({"solve",
                      [&] {
                        if (ready.empty()) return false;
                        solving = ready.front();
                        ready.pop_front();
                        solving_bytes = bytes_of_slot(plan, solving);
                        return true;
                      },
                      [&] { complete(solving); },
                      [&] {
                        kept_bytes -= solving_bytes;
                        solving = SIZE_MAX;
                      }});
    stages.push_back({"accumulate",
                      [&] {
                        if (predicted.empty()) return false;
                        // New cells wait for those of a slot that is being solved where memory is short.
                        const std::uint64_t more_bytes = bytes_of_new_cells(plan, *predicted.front());
                        const bool waits = solving != SIZE_MAX || !ready.empty();
                        if (waits && more_bytes > 0 && kept_bytes + more_bytes > plan_.max_cell_bytes)
                          return false;
                        kept_bytes += more_bytes;
                        adding = predicted.front();
                        predicted.pop_front();
                        return true;
                      },
                      [&] { add(*adding); },
                      [&] {
                        const Buffer<std::uint32_t, 1>& cell = adding->cell;
                        for (const std::uint32_t index : cell)
                          if (index != kNoCell)
                            if (const std::uint32_t slot = plan.sums.slot[adding->touched[index]];
                                --missing[slot] == 0 && complete)
                              ready.push_back(slot);
                        progress.update(done += static_cast<double>(cell.size()));
                        empty.push_back(adding);
                      }});
    stages.push_back({"predict",
                      [&] {
                        if (filled.empty()) return false;
                        predicting = filled.front();
                        filled.pop_front();
                        return true;
                      },
                      [&] {
                        if (!model_.reads_the_set()) predict(*predicting);
                      },
                      [&] { predicted.push_back(predicting); }});
    stages.push_back({"read",
                      [&] {
                        if (at_end || empty.empty()) return false;
                        reading = empty.back();
                        empty.pop_back();
                        return true;
                      },
                      [&] { at_end = !fill(wanted, plan, *reading); },
                      [&] {
                        if (!at_end) filled.push_back(reading);
                      }});
    run_stages(n_threads_, stages);
    for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage)
      if (stage->busy_s > 0) tool_.part_of_stage(stage->name, stage->busy_s);
    for (std::size_t slot = 0; complete && slot < missing.size(); ++slot)
      if (missing[slot] > 0 && wanted(slot)) complete(slot);
  }

  /// Reads the next rows; false at the end.
  bool fill(const Wanted& wanted, const ChainPlan::Term& plan, Block& block) {
    if (!input_.next(block.input, plan_.max_rows)) return false;
    choose_cells(wanted, plan, block);
    MsRows& rows = block.input.rows;
    if (!block.touched.empty()) {
      input_.read_cells(block.input, n_threads_);
      drop_short_and_long(options_.selection, info_, rows);
      const std::size_t n = rows.ant1.size();
      block.station.resize_for_overwrite({n, 2});
      for (std::size_t row = 0; row < n; ++row) {
        block.station(row, 0) = static_cast<std::uint32_t>(rows.ant1[row]);
        block.station(row, 1) = static_cast<std::uint32_t>(rows.ant2[row]);
      }
    }
    if (model_.reads_the_set()) predict(block);
    return true;
  }

  void predict(Block& block) {
    if (!block.touched.empty()) model_.predict(block.input, n_threads_, block.predicted);
  }

  /// Finds the cells that rows of the block go to.
  void choose_cells(const Wanted& wanted, const ChainPlan::Term& plan, Block& block) {
    const MsRows& rows = block.input.rows;
    const std::size_t n = rows.time_mjd_s.size();
    std::vector<std::size_t>& touched = block.touched;
    touched.clear();
    block.cell.resize_for_overwrite({n});
    std::size_t last_cell = SIZE_MAX;
    std::uint32_t last_index = kNoCell;
    for (std::size_t row = 0; row < n; ++row) {
      const std::size_t integration = integration_of(rows.time_mjd_s[row]);
      const std::vector<std::uint32_t>& cell_of = plan.sums.of_integration;
      const std::size_t cell = integration < cell_of.size() ? cell_of[integration] : SIZE_MAX;
      if (cell != last_cell) {
        last_cell = cell;
        last_index = kNoCell;
        if (cell != SIZE_MAX && wanted(plan.sums.slot[cell])) {
          const auto at = std::find(touched.begin(), touched.end(), cell);
          last_index = static_cast<std::uint32_t>(at - touched.begin());
          if (at == touched.end()) touched.push_back(cell);
        }
      }
      block.cell(row) = last_index;
    }
  }

  /// Memory of the cells that adding the block's rows takes.
  std::uint64_t bytes_of_new_cells(const ChainPlan::Term& plan, const Block& block) const {
    const auto window = static_cast<std::size_t>(block.input.rows.spw);
    std::uint64_t bytes = 0;
    for (const std::size_t cell : block.touched)
      if (!sums_[window][cell]) bytes += plan.cell_bytes[window];
    return bytes;
  }

  std::uint64_t bytes_of_slot(const ChainPlan::Term& plan, std::size_t slot) const {
    std::uint64_t bytes = 0;
    for (std::size_t window = 0; window < sums_.size(); ++window)
      for (std::size_t cell = plan.sums.first[slot]; cell < plan.sums.first[slot + 1]; ++cell)
        if (sums_[window][cell]) bytes += plan.cell_bytes[window];
    return bytes;
  }

  void add(const Block& block) {
    if (block.touched.empty()) return;
    const MsRows& rows = block.input.rows;
    const auto window = static_cast<std::size_t>(rows.spw);
    std::vector<CalibrationSums*> cells;
    for (const std::size_t cell : block.touched) {
      auto& sums = sums_[window][cell];
      if (!sums) sums = memory_.cells.take(plan_.layouts[window], n_threads_);
      cells.push_back(sums.get());
    }
    add_samples({block.station.view(), rows.data.view(), rows.weight.view(), block.predicted.view(),
                 block.cell.view()},
                cells, n_threads_);
    result_.n_visibilities += static_cast<double>(rows.data.size());
  }

  // ---- solving ----

  void solve_term(std::size_t t) {
    const std::size_t n_slots = plan_.terms[t].slots.size();
    const auto solve_all = [&](std::vector<std::size_t> slots, const auto& excluded) {
      if (plan_.keeps_cells) {
        tool_.stage("solve");
        for (const std::size_t slot : slots) solve_slots(t, slot, excluded);
        return;
      }
      const std::size_t at_once = plan_.slots_at_once[t];
      for (std::size_t first = 0; first < slots.size(); first += at_once) {
        std::vector<char> in_group(n_slots, 0);
        for (std::size_t i = first; i < std::min(slots.size(), first + at_once); ++i) in_group[slots[i]] = 1;
        read([&](std::size_t slot) { return in_group[slot] != 0; }, t,
             [&](std::size_t slot) {
               solve_slots(t, slot, excluded);
               release(t, slot);
             });
      }
    };
    std::vector<std::size_t> all(n_slots);
    for (std::size_t slot = 0; slot < n_slots; ++slot) all[slot] = slot;
    using Excluded = std::vector<std::vector<Buffer<FlagReason, 3>>>;  // [window][slot]
    solve_all(all, Excluded());

    // Solve again without amplitudes that are far from the antenna's others.
    Excluded outliers;
    std::vector<std::size_t> again;
    for (std::size_t window = 0; window < info_.windows.size(); ++window)
      outliers.push_back(find_outliers(result_.terms[t].solutions[window], n_threads_));
    for (std::size_t slot = 0; slot < n_slots; ++slot)
      for (const auto& of_window : outliers)
        if (slot < of_window.size() && of_window[slot].size() > 0) {
          again.push_back(slot);
          break;
        }
    if (again.empty()) return;
    log_verbose("{}: {} of {} intervals solved again without outliers", result_.terms[t].options.name,
                again.size(), n_slots);
    solve_all(again, outliers);
  }

  /// All windows of a slot.
  template <class Excluded>
  void solve_slots(std::size_t t, std::size_t slot, const Excluded& excluded) {
    TermResult& term = result_.terms[t];
    if (!reference_) choose_reference(t, slot);
    for (std::size_t window = 0; window < info_.windows.size(); ++window) {
      const ExcludedSolutions left_out =
          window < excluded.size() && slot < excluded[window].size() && excluded[window][slot].size() > 0
              ? ExcludedSolutions(excluded[window][slot].view())
              : ExcludedSolutions();
      if (window < excluded.size() && left_out.size() == 0) continue;
      const SlotSolutions* const start =
          term.options.start_from_former ? solution_before(t, slot, window) : nullptr;
      term.solutions[window][slot] = solve_window(t, slot, window, left_out, start);
    }
  }

  /// Null where there is none.
  const SlotSolutions* solution_before(std::size_t t, std::size_t slot, std::size_t window) const {
    const SlotSolutions* before = nullptr;
    if (slot > 0)
      before = &result_.terms[t].solutions[window][slot - 1];
    else if (former_ != nullptr && !former_->terms[t].solutions[window].empty())
      before = &former_->terms[t].solutions[window].back();
    return before != nullptr && before->n_antennas > 0 ? before : nullptr;
  }

  SlotSolutions solve_window(std::size_t t, std::size_t slot, std::size_t window, ExcludedSolutions excluded,
                             const SlotSolutions* start) {
    const ChainPlan::Term& plan = plan_.terms[t];
    const TermResult& term = result_.terms[t];
    std::vector<const CalibrationSums*> cells;
    std::vector<const KnownGains*> known;
    bool any_known = false;
    for (std::size_t cell = plan.sums.first[slot]; cell < plan.sums.first[slot + 1]; ++cell)
      if (sums_[window][cell]) {
        cells.push_back(sums_[window][cell].get());
        const KnownGains& gains = known_[window][plan.known_of[cell]];
        known.push_back(gains.value.size() > 0 ? &gains : nullptr);
        any_known = any_known || known.back() != nullptr;
      }
    const CalibrationSums nothing =
        cells.empty() ? CalibrationSums(plan_.layouts[window]) : CalibrationSums();
    if (cells.empty()) cells.push_back(&nothing);
    if (!any_known) known.clear();
    SlotCells slot_cells;
    slot_cells.cells = cells;
    slot_cells.known = known;
    SolveSettings settings;
    settings.term = term.options.term;
    settings.reference = reference_.value_or(0);
    settings.tolerance = options_.tolerance;
    settings.max_iterations = options_.max_iterations;
    settings.min_snr = options_.min_snr;
    settings.min_baselines = options_.min_baselines;
    settings.robust_nu = term.options.robust_nu;
    settings.n_threads = n_threads_;
    const ChannelBlocks& fine = plan_.cell_blocks[window];
    if (spans_channels(settings.term)) {
      slot_cells.n_blocks = fine.size();
      for (std::size_t block = 0; block < fine.size(); ++block)
        slot_cells.block.push_back(static_cast<std::uint32_t>(block));
      return solve_slot(slot_cells, fine.freq_hz, settings, excluded, start, &memory_.slot);
    }
    slot_cells.block = block_map(fine, plan.blocks[window]);
    slot_cells.n_blocks = plan.blocks[window].size();
    return solve_slot(slot_cells, plan.blocks[window].freq_hz, settings, excluded, start, &memory_.slot);
  }

  /// The best connected antenna of the first slot that has data.
  void choose_reference(std::size_t t, std::size_t slot) {
    const ChainPlan::Term& plan = plan_.terms[t];
    for (std::size_t window = 0; window < info_.windows.size(); ++window) {
      std::vector<const CalibrationSums*> cells;
      for (std::size_t cell = plan.sums.first[slot]; cell < plan.sums.first[slot + 1]; ++cell)
        if (sums_[window][cell] && sums_[window][cell]->n_samples(n_threads_) > 0)
          cells.push_back(sums_[window][cell].get());
      if (cells.empty()) continue;
      // Combine the cells into one sum, so that the choice does not depend on how many cells there are.
      SlotCells all;
      all.cells = cells;
      all.n_blocks = plan_.layouts[window].n_blocks;
      for (std::size_t block = 0; block < all.n_blocks; ++block)
        all.block.push_back(static_cast<std::uint32_t>(block));
      const CalibrationSums* const of_slot[] = {
          &slot_sums(all, plan_.layouts[window].kind, n_threads_, memory_.slot.combined)};
      reference_ = best_connected(of_slot, n_threads_);
      log_verbose("reference antenna: {}", info_.antennas[*reference_].name);
      return;
    }
  }

  void release(std::size_t t, std::size_t slot) {
    const ChainPlan::Term& plan = plan_.terms[t];
    for (auto& of_window : sums_)
      for (std::size_t cell = plan.sums.first[slot]; cell < plan.sums.first[slot + 1]; ++cell)
        memory_.cells.keep(std::move(of_window[cell]));
  }

  // ---- the product of the chain ----

  bool known_is_matrix() const {
    for (std::size_t t : result_.order)
      if (needs_jones_sums(result_.terms[t].options.term)) return true;
    return false;
  }

  /// While all terms so far are diagonal, each new one goes to the sky side of the product; once there is a
  /// matrix, each new term goes to the receiver side.
  void place_in_product(std::size_t t) {
    if (known_is_matrix())
      result_.order.insert(result_.order.begin(), t);
    else
      result_.order.push_back(t);
  }

  void apply_to_known(std::size_t t) {
    const ChainPlan::Term& plan = plan_.terms[t];
    const bool at_receiver = known_is_matrix();
    for (std::size_t window = 0; window < info_.windows.size(); ++window) {
      const ChannelBlocks& fine = plan_.cell_blocks[window];
      const std::vector<std::uint32_t> map = spans_channels(plan_.options[t].term)
                                                 ? std::vector<std::uint32_t>(fine.size(), 0)
                                                 : block_map(fine, plan.blocks[window]);
      for (std::size_t slot = 0; slot < plan.slots.size(); ++slot) {
        const KnownGains gains = gains_of(result_.terms[t].solutions[window][slot], map, fine.freq_hz);
        for (std::size_t cell = plan.known.first[slot]; cell < plan.known.first[slot + 1]; ++cell) {
          KnownGains& known = known_[window][cell];
          if (at_receiver) {
            multiply_gains(gains, known);
          } else {
            KnownGains farther;
            multiply_gains(gains, farther);  // a copy
            if (known.value.size() > 0) multiply_gains(known, farther);
            known = std::move(farther);
          }
        }
      }
    }
  }

  // ---- the outcome ----

  void check() {
    if (!reference_) throw FailureError("{}: no usable data: all is flagged, or the model is 0", info_.path);
    result_.reference = *reference_;
    for (const TermResult& term : result_.terms) {
      bool any = false;
      std::vector<char> solved(info_.antennas.size(), 0), swapped(info_.antennas.size(), 0);
      for (const auto& of_window : term.solutions)
        for (const SlotSolutions& slot : of_window) {
          for (const double n : slot.n_samples) result_.n_samples += n;
          for (std::size_t block = 0; block < slot.weight.extent(0); ++block)
            for (std::size_t ant = 0; ant < slot.weight.extent(1); ++ant)
              for (std::size_t value = 0; value < slot.weight.extent(2); ++value) {
                if (slot.weight(block, ant, value) > 0) solved[ant] = 1, any = true;
                if (slot.reason(block, ant, value) == FlagReason::swapped) swapped[ant] = 1;
              }
        }
      if (!any)
        throw FailureError("{}: no usable data: no antenna has a solution for {}{}", info_.path,
                           term.options.name, reasons_of(term));
      name_antennas(term, swapped, "the receptors look swapped: solve jones, or swap them back");
      for (std::size_t ant = 0; ant < solved.size(); ++ant) solved[ant] = !solved[ant] && !swapped[ant];
      name_antennas(term, solved, "no solution: their data are flagged when it is applied");
    }
  }

  /// " (3 no data, 5 low S/N)".
  static std::string reasons_of(const TermResult& term) {
    std::map<FlagReason, std::size_t> count;
    for (const auto& of_window : term.solutions)
      for (const SlotSolutions& slot : of_window)
        for (const FlagReason reason : slot.reason) ++count[reason];
    std::string text;
    for (const auto& [reason, n] : count)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, to_string(reason));
    return text.empty() ? text : " (" + text + ")";
  }

  void name_antennas(const TermResult& term, const std::vector<char>& which, const char* what) const {
    std::string names;
    std::size_t n = 0;
    constexpr std::size_t kMaxNames = 12;
    for (std::size_t ant = 0; ant < which.size(); ++ant)
      if (which[ant] && ++n <= kMaxNames) names += (n > 1 ? ", " : "") + info_.antennas[ant].name;
    if (n == 0) return;
    log_warning("{}: antenna{} {}{}: {}", term.options.name, n == 1 ? "" : "s", names,
                n > kMaxNames ? fmt::format(" and {} more", n - kMaxNames) : "", what);
  }

  Tool& tool_;
  const Options& options_;
  const ChainPlan& plan_;
  VisibilityInput& input_;
  ModelSource& model_;
  const ChainResult* former_;
  const InputInfo& info_;
  unsigned n_threads_;
  ChainMemory own_memory_;
  ChainMemory& memory_;
  std::vector<std::vector<std::unique_ptr<CalibrationSums>>> sums_;  ///< [window][cell]
  std::vector<std::vector<KnownGains>> known_;                       ///< [window][cell]
  std::optional<std::size_t> reference_;
  ChainResult result_;
  std::vector<Block> blocks_;
  std::size_t last_integration_ = SIZE_MAX;
};

}  // namespace

ChainResult solve_chain(Tool& tool, const Options& options, const ChainPlan& plan, VisibilityInput& input,
                        ModelSource& model, const ChainResult* former, ChainMemory* reused) {
  return ChainSolver(tool, options, plan, input, model, former, reused).solve();
}

}  // namespace apsyn::calibrate
