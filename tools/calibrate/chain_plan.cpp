// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "libcore/base/error.h"
#include "libcore/system/program_memory.h"
#include "tools/calibrate/chain.h"

namespace apsyn::calibrate {
namespace {

/// Upper limit on the time steps of a slot that have their own robust weights.
constexpr std::size_t kRobustSteps = 64;
/// Size of a block of rows: cells, model and coordinates. It does not depend on the number of threads,
/// because float32 sums depend on it.
constexpr std::uint64_t kChainBlockBytes = 6'000'000;
/// Blocks on their way where there are several threads: one for each stage, and one between two stages.
constexpr std::size_t kChainBlocks = 5;

bool is_robust(const TermOptions& term) {
  return term.robust_nu > 0;
}

/// The parts into which slots are divided for robust weights.
std::vector<TimeSlot> robust_steps(const std::vector<TimeSlot>& slots) {
  std::vector<TimeSlot> steps;
  for (const TimeSlot& slot : slots) {
    const std::size_t n = std::min(slot.n, kRobustSteps);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t begin = slot.n * i / n, end = slot.n * (i + 1) / n;
      steps.push_back({slot.first + begin, end - begin, 0, 0});
    }
  }
  return steps;
}

ChainPlan::Cells cells_of(const std::vector<TimeSlot>& slots,
                          const std::vector<std::uint32_t>& of_integration) {
  ChainPlan::Cells cells;
  cells.of_integration = of_integration;
  cells.slot.resize(of_integration.empty() ? 0 : of_integration.back() + 1);
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    cells.first.push_back(of_integration[slots[slot].first]);
    for (std::size_t i = slots[slot].first; i < slots[slot].first + slots[slot].n; ++i)
      cells.slot[of_integration[i]] = static_cast<std::uint32_t>(slot);
  }
  cells.first.push_back(static_cast<std::uint32_t>(cells.size()));
  return cells;
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

/// [coarse cell] the first fine one in it.
std::vector<std::uint32_t> map_cells(const ChainPlan::Cells& coarse, const ChainPlan::Cells& fine) {
  std::vector<std::uint32_t> map(coarse.size());
  for (std::size_t i = coarse.of_integration.size(); i-- > 0;)
    map[coarse.of_integration[i]] = fine.of_integration[i];
  return map;
}

std::size_t min_blocks(CalibrationTerm term) {
  return !spans_channels(term) ? 1 : term == CalibrationTerm::tec ? 2 : 3;
}

}  // namespace

ChainPlan::ChainPlan(const Tool& tool, const Options& all, const InputInfo& info, const ModelSource& model)
    : options(all.terms), path_(info.path) {
  for (const TermOptions& term : options)
    if (needs_jones_sums(term.term) && info.products.size() != 4)
      throw UsageError("--solve {}: needs four products, and {} has {}: solve gain", term.name, info.path,
                       info.products.size());
  plan_times(info);
  plan_channels(info, model);
  plan_memory(tool, info, model);
}

void ChainPlan::plan_times(const InputInfo& info) {
  const std::size_t n = info.integrations.size();
  std::vector<std::vector<TimeSlot>> before, all;  // without robust weights' steps, and with them
  for (const TermOptions& term : options) {
    Term& to = terms.emplace_back();
    to.slots = make_slots(info.integrations, term.interval_s);
    before.push_back(to.slots);
    all.push_back(to.slots);
    std::vector<std::vector<TimeSlot>> own = before;
    if (is_robust(term)) {
      own.push_back(robust_steps(to.slots));
      all.push_back(own.back());
    }
    to.sums = cells_of(to.slots, make_cells(own, n));
  }
  const std::vector<std::uint32_t> finest = make_cells(all, n);
  n_known = n == 0 ? 0 : finest.back() + 1;
  for (Term& term : terms) {
    term.known = cells_of(term.slots, finest);
    term.known_of = map_cells(term.sums, term.known);
  }
}

void ChainPlan::plan_channels(const InputInfo& info, const ModelSource& model) {
  const bool jones = std::any_of(options.begin(), options.end(),
                                 [](const TermOptions& term) { return needs_jones_sums(term.term); });
  for (const MsSpectralWindow& window : info.windows) {
    std::vector<ChannelBlocks> of_terms;
    std::size_t max_channels = std::max<std::size_t>(1, window.channel_hz.size());
    for (std::size_t t = 0; t < options.size(); ++t) {
      const CalibrationTerm term = options[t].term;
      if (window.channel_hz.size() < min_blocks(term))
        throw UsageError("--solve {}: needs {} channels in a window, and {} has {}", options[t].name,
                         min_blocks(term), info.path, window.channel_hz.size());
      terms[t].blocks.push_back(make_blocks(window, options[t].channels));
      of_terms.push_back(terms[t].blocks.back());
      if (spans_channels(term))
        max_channels =
            std::min(max_channels, (window.channel_hz.size() + kBlocksOfSlope - 1) / kBlocksOfSlope);
    }
    cell_blocks.push_back(common_blocks(window, of_terms, max_channels));
    SumLayout& layout = layouts.emplace_back();
    layout.kind = jones ? model.jones_kind() : SumKind::diagonal;
    layout.n_antennas = info.antennas.size();
    layout.n_products = info.products.size();
    layout.block = cell_blocks.back().of_channel;
    layout.n_blocks = cell_blocks.back().size();
  }
}

std::vector<std::uint64_t> ChainPlan::cell_bytes(const InputInfo& info, const Cells& cells) const {
  const std::vector<std::uint32_t>& cell_of = cells.of_integration;
  std::size_t longest = 0, n = 0;
  for (std::size_t i = 0; i < cell_of.size(); ++i) {
    n = i > 0 && cell_of[i] == cell_of[i - 1] ? n + 1 : 1;
    longest = std::max(longest, n);
  }
  const std::uint64_t factor = longest * std::max<std::size_t>(1, info.fields_with_rows.size()) > kPromoteRows
                                   ? 3
                                   : 1;  // sums in float64 in addition to those in float32
  std::vector<std::uint64_t> bytes;
  for (const SumLayout& layout : layouts) bytes.push_back(factor * layout.bytes());
  return bytes;
}

void ChainPlan::plan_memory(const Tool& tool, const InputInfo& info, const ModelSource& model) {
  std::size_t n_chan = 1;
  for (const MsSpectralWindow& window : info.windows) n_chan = std::max(n_chan, window.channel_hz.size());
  const std::uint64_t row_bytes =
      n_chan * (info.products.size() * (sizeof(std::complex<float>) + sizeof(float)) +
                model.n_planes() * sizeof(std::complex<float>)) +
      150;
  max_rows = std::clamp<std::size_t>(kChainBlockBytes / row_bytes, 1, 1u << 16);
  std::int64_t n_rows = 0;
  for (const MsIntegration& integration : info.integrations) n_rows += integration.n_rows;
  const std::uint64_t block_bytes =
      row_bytes * std::min(max_rows, static_cast<std::size_t>(std::max<std::int64_t>(1, n_rows)));
  // A solver's memory in addition to the cells: the sums of its slot, before and after applying known gains.
  std::uint64_t solving = 0, known = 0;
  for (const SumLayout& layout : layouts) {
    solving = std::max(solving, 2 * layout.bytes());
    if (options.size() > 1)
      known += n_known * layout.n_blocks * layout.n_antennas * 4 * sizeof(std::complex<float>);
  }
  std::uint64_t solutions = 0;
  for (const Term& term : terms)
    for (const ChannelBlocks& blocks : term.blocks)
      solutions += term.slots.size() * blocks.size() * info.antennas.size() * 2 * 40;
  const std::uint64_t others =
      program_bytes(1) + model.bytes() + block_bytes + solving + known + 2 * solutions;
  const std::uint64_t most = tool.common().max_memory_bytes;
  const std::uint64_t left = most - std::min(most, others);

  // For each term the largest memory of slots that are open at the same time, when rows come in the order of
  // the set.
  std::uint64_t needed = 0, least = 0;
  for (Term& term : terms) {
    term.cell_bytes = cell_bytes(info, term.sums);
    const std::uint64_t cell = sum_of(term.cell_bytes);
    const auto bytes_of = [&](std::size_t slot) {
      return cell * (term.sums.first[slot + 1] - term.sums.first[slot]);
    };
    std::map<std::int64_t, std::int64_t> change;  // of the bytes of open slots, by row
    std::uint64_t largest = 0;
    for (std::size_t slot = 0; slot < term.slots.size(); ++slot) {
      std::int64_t first = INT64_MAX, last = 0;
      for (std::size_t i = 0; i < term.slots[slot].n; ++i) {
        const MsIntegration& integration = info.integrations[term.slots[slot].first + i];
        first = std::min(first, integration.first_row);
        last = std::max(last, integration.last_row);
      }
      largest = std::max(largest, bytes_of(slot));
      change[first] += static_cast<std::int64_t>(bytes_of(slot));
      change[last + static_cast<std::int64_t>(max_rows)] -= static_cast<std::int64_t>(bytes_of(slot));
    }
    std::int64_t open = 0, peak = 0;
    for (const auto& [row, by] : change) peak = std::max(peak, open += by);
    least = std::max(least, largest);
    if (static_cast<std::uint64_t>(peak) <= left) {
      needed = std::max(needed, static_cast<std::uint64_t>(peak));
      slots_at_once.push_back(term.slots.size());
    } else {
      const std::uint64_t n = std::max<std::uint64_t>(1, left / std::max<std::uint64_t>(1, largest));
      needed = std::max(needed, n * largest);
      slots_at_once.push_back(static_cast<std::size_t>(n));
    }
  }
  const std::vector<std::uint64_t> known_cell = cell_bytes(info, terms[0].known);
  const std::uint64_t all = options.size() > 1 ? n_known * sum_of(known_cell) : 0;
  if (options.size() > 1 && all <= left) {
    keeps_cells = true;
    needed = all;
    for (Term& term : terms) {
      term.sums = term.known;
      term.cell_bytes = known_cell;
      term.known_of = map_cells(term.sums, term.known);
    }
  }
  max_cell_bytes = needed;
  bytes_ = others + needed;
  if (least > left)
    throw UsageError("{}", memory_shortage(most, static_cast<double>(others + least), "this needs",
                                           "allow more, or ask for shorter intervals or more channels per "
                                           "solution"));
  const std::size_t max_blocks = (static_cast<std::size_t>(n_rows) + max_rows - 1) / max_rows;
  const std::size_t wanted = std::clamp<std::size_t>(max_blocks, 1, kChainBlocks);
  if (tool.common().threads == 1 || bytes_ + (wanted - 1) * block_bytes > most) return;
  n_blocks = wanted;
  bytes_ += (wanted - 1) * block_bytes;
}

std::vector<std::string> ChainPlan::describe() const {
  std::vector<std::string> lines;
  for (std::size_t t = 0; t < options.size(); ++t) {
    std::size_t n_blocks = 0;
    for (const ChannelBlocks& blocks : terms[t].blocks) n_blocks += blocks.size();
    double longest_s = 0;
    for (const TimeSlot& slot : terms[t].slots) longest_s = std::max(longest_s, slot.length_s);
    lines.push_back(fmt::format("{}: {} interval{} of up to {}, {} block{} of channels", options[t].name,
                                terms[t].slots.size(), terms[t].slots.size() == 1 ? "" : "s",
                                format_duration(longest_s), n_blocks, n_blocks == 1 ? "" : "s"));
  }
  std::size_t n_passes = keeps_cells ? 1 : 0;
  for (std::size_t t = 0; !keeps_cells && t < terms.size(); ++t)
    n_passes += (terms[t].slots.size() + slots_at_once[t] - 1) / slots_at_once[t];
  lines.push_back(fmt::format("{} cell{} of time, the data are read {}", n_known, n_known == 1 ? "" : "s",
                              n_passes == 1 ? "once" : fmt::format("{} times", n_passes)));
  return lines;
}

}  // namespace apsyn::calibrate
