// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/kept_on_device.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kernels/idg/grid_memory.h"
#include "kernels/idg/planes.h"
#include "kernels/idg/settings.h"
#include "libcore/base/constants.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/cli/tool.h"
#include "tools/imaging/device_choice.h"

namespace apsyn::imaging {
namespace {

/// Blocks that the host only passes on are as small as lets them stay in its caches, yet worth sharing among
/// threads.
constexpr std::uint64_t kPassedOnBytes = 256'000'000;

/// Tells how much of a stage its lifetime was.
class PartTimer {
 public:
  PartTimer(Tool& tool, std::string part) : tool_(tool), part_(std::move(part)) {}
  ~PartTimer() {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin_;
    tool_.part_of_stage(part_, taken.count());
  }
  PartTimer(const PartTimer&) = delete;
  PartTimer& operator=(const PartTimer&) = delete;

 private:
  Tool& tool_;
  std::string part_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::vector<double> wavelengths_m(View<const double, 1> channel_hz) {
  std::vector<double> wavelength_m;
  for (const double hz : channel_hz) wavelength_m.push_back(kSpeedOfLight_m_s / hz);
  return wavelength_m;
}

/// Planes of one block on their way to the GPU, and how many of each row's are in use.
class KeptBlock final : public PlaneBlock {
 public:
  KeptBlock(KeptVisibilities& kept, KeptRows rows, std::size_t n_rows, std::size_t row_values,
            std::atomic<bool>& alike)
      : kept_(kept), rows_(std::move(rows)), n_used_(n_rows, 0), row_values_(row_values), alike_(alike) {}

  void take(std::size_t first, std::size_t n, const Fill& fill) override {
    const auto count = [&](std::size_t at, std::size_t n_filled, std::complex<float>* data, float* weight) {
      fill(at, n_filled, data, weight);
      for (std::size_t row = 0; row < n_filled; ++row)
        n_used_[at + row] = count_used({weight + row * row_values_, row_values_});
    };
    if (!kept_.take(rows_, first, n, count)) alike_ = false;
  }
  void drop(std::size_t row) override {
    n_used_[row] = 0;
    kept_.drop(rows_, row);
  }
  const KeptRows& rows() const { return rows_; }
  std::span<const std::uint32_t> n_used() const { return n_used_; }

  SurveyedRows surveyed;

 private:
  KeptVisibilities& kept_;
  KeptRows rows_;
  std::vector<std::uint32_t> n_used_;  ///< [row]
  std::size_t row_values_;
  std::atomic<bool>& alike_;
};

/// Adds the rows of a block in runs of one time. False where these are too short for grid_kept(): the rows
/// are not sorted by time.
bool add_runs(const std::vector<double>& time_mjd_s, const KeptRows& rows, std::vector<KeptRun>& runs) {
  constexpr std::size_t kShortestMean = 16;
  const std::size_t before = runs.size();
  for (const KeptRows::Range& range : rows.ranges)
    for (std::size_t i = 0; i < range.n; ++i) {
      const double time = time_mjd_s[range.first + i];
      const bool follows = !runs.empty() && runs.back().time_mjd_s == time &&
                           runs.back().part == range.part &&
                           runs.back().first + runs.back().n == range.place + i;
      if (follows)
        ++runs.back().n;
      else
        runs.push_back({time, range.part, range.place + i, 1});
    }
  return (runs.size() - before) * kShortestMean <= time_mjd_s.size() + kShortestMean * rows.ranges.size();
}

/// Planes of the source's blocks.
std::size_t source_planes(const Imager& imager) {
  return imager.aterms() ? 4 : imager.n_data_planes();
}

/// Notes what A-terms need of a block's rows where these are kept.
void note_rows(const KeptRows& kept, const ImagingBlock& block, std::vector<ImagingBlock>& rows) {
  for (const KeptRows::Range& range : kept.ranges) {
    if (rows.size() <= range.part) rows.resize(range.part + 1);
    ImagingBlock& to = rows[range.part];
    if (to.channel_hz.size() == 0) {
      to.channel_hz.resize(block.channel_hz.shape());
      std::copy(block.channel_hz.begin(), block.channel_hz.end(), to.channel_hz.begin());
    }
    const auto first = block.time_mjd_s.begin() + static_cast<std::ptrdiff_t>(range.first);
    to.time_mjd_s.resize(range.place);
    to.time_mjd_s.insert(to.time_mjd_s.end(), first, first + static_cast<std::ptrdiff_t>(range.n));
    const std::size_t n_rows = range.place + range.n;
    if (to.station.extent(0) < n_rows) {
      Buffer<std::uint32_t, 2> longer({n_rows + n_rows / 2, 2});
      std::copy_n(to.station.data(), 2 * range.place, longer.data());
      to.station = std::move(longer);
    }
    std::copy_n(&block.station(range.first, 0), 2 * range.n, &to.station(range.place, 0));
  }
}

/// Gives blocks to the GPU and surveys them.
class KeptPlanes final : public PlaneReceiver {
 public:
  KeptPlanes(const Imager& imager, const std::vector<Field>& fields, KeptVisibilities& kept, KeptNotes& noted,
             Survey& found)
      : imager_(imager),
        fields_(fields),
        kept_(kept),
        noted_(noted),
        found_(found),
        n_planes_(source_planes(imager)) {}

  std::unique_ptr<PlaneBlock> begin(std::size_t n_rows, View<const double, 1> channel_hz,
                                    bool with_path) override {
    if (!alike_ || !sorted_) return nullptr;
    const std::size_t n_chan = channel_hz.size();
    Buffer<double, 1> wavenumber({n_chan});
    for (std::size_t c = 0; c < n_chan; ++c) wavenumber(c) = channel_hz(c) / kSpeedOfLight_m_s;
    KeptRows rows = kept_.reserve(n_rows, wavenumber, wavelengths_m(channel_hz), with_path);
    has_room_ = !rows.ranges.empty();
    if (!has_room_) return nullptr;
    return std::make_unique<KeptBlock>(kept_, std::move(rows), n_rows, n_chan * n_planes_, alike_);
  }

  std::vector<Step> then() override {
    const auto own = [](PlaneBlock& planes) -> KeptBlock& { return static_cast<KeptBlock&>(planes); };
    return {{true,
             [this, own](PlaneBlock& planes, const ImagingBlock& block) {
               if (imager_.options.imaging.intervals_out > 1 &&
                   !add_runs(block.time_mjd_s, own(planes).rows(), noted_.runs))
                 sorted_ = false;
               found_.follow(block, own(planes).n_used(), own(planes).surveyed);
             }},
            {false,
             [this, own](PlaneBlock& planes, const ImagingBlock& block) {
               found_.measure(block, own(planes).n_used(), n_planes_, fields_, imager_.threads(),
                              own(planes).surveyed);
             }},
            {true, [this, own](PlaneBlock& planes, const ImagingBlock& block) {
               kept_.place(own(planes).rows(), move_(block, {}, fields_[0]));
               if (imager_.aterms()) note_rows(own(planes).rows(), block, noted_.rows);
               found_.add(block, n_planes_, own(planes).surveyed);
             }}};
  }

  bool has_room() const { return has_room_; }
  /// Whether the weights so far are the same in all planes, or are kept of each.
  bool alike() const { return alike_; }
  /// Whether rows follow each other in runs of one time, where there are intervals of time.
  bool sorted() const { return sorted_; }

 private:
  const Imager& imager_;
  const std::vector<Field>& fields_;
  KeptVisibilities& kept_;
  KeptNotes& noted_;
  Survey& found_;
  std::size_t n_planes_;
  BlockMover move_;
  bool has_room_ = true;
  std::atomic<bool> alike_{true}, sorted_{true};
};

/// Surveys a group whose source gives its planes to the GPU. False: there is no room for all, or runs of
/// intervals of time would be too short.
bool survey_giving(Imager& imager, const ChannelGroup& group, const std::vector<Field>& fields,
                   KeptVisibilities& kept, KeptNotes& noted, Survey& found) {
  KeptPlanes planes(imager, fields, kept, noted, found);
  imager.source.rewind(group);
  imager.plane_source->give_all(imager.block_bytes, planes);
  if (planes.alike()) return planes.has_room() && planes.sorted();
  // Rare: products are flagged each by itself. What was read up to here is read again.
  kept.keep_own_weights();
  noted = {};
  found = Survey(fields.size());
  return survey_giving(imager, group, fields, kept, noted, found);
}

/// Whether a GPU's gridder need not take visibilities from the host.
bool may_keep(const Imager& imager, const std::vector<Field>& fields) {
  constexpr std::size_t kMaxPlanes = 4;
  return imager.device.kind == Device::Kind::cuda && (imager.ranks.size == 1 || imager.own_rows) &&
         (!imager.aterms() || imager.plane_source != nullptr) && !imager.cleans &&
         !imager.tool.common().dry_run && fields.size() == 1 && imager.n_data_planes() > 0 &&
         source_planes(imager) <= kMaxPlanes &&
         imager.grid_memory.value_or(GridMemory::gpu) == GridMemory::gpu;
}

/// The same for a source of blocks, without A-terms.
bool survey_blocks(Imager& imager, const ChannelGroup& group, const std::vector<Field>& fields,
                   KeptVisibilities& kept, Survey& found) {
  BlockMover move;
  imager.source.rewind(group);
  while (const ImagingBlock* block = imager.source.next(imager.block_bytes)) {
    const std::vector<double> wavelength_m = wavelengths_m(block->channel_hz);
    std::future<bool> taken = std::async(
        std::launch::async, [&] { return kept.add(move(*block, block->weight, fields[0]), wavelength_m); });
    found.add(*block, fields, imager.threads());
    if (!taken.get()) return false;
  }
  return true;
}

}  // namespace

bool keeps_intervals(const Imager& imager, const std::vector<Field>& fields) {
  // Longer ones would be gridded with subgrids, and read again for nothing: five million visibilities of four
  // products (planes_instead()).
  constexpr double kLongestBytes = 2e8;
  const double bytes =
      input_bytes(imager.options.inputs) / static_cast<double>(imager.options.imaging.intervals_out);
  if (std::isfinite(bytes) && bytes > kLongestBytes) return false;
  return imager.keeps_intervals && may_keep(imager, fields) && !imager.aterms() &&
         imager.options.imaging.channels_out == 1 && imager.ranks.size == 1 &&
         imager.plane_source != nullptr && !imager.grid_memory &&
         leaves_planes(idg_settings(imager.options.imaging));
}

std::unique_ptr<KeptVisibilities> keep_while_surveying(Imager& imager, const std::vector<Field>& fields) {
  const bool of_intervals = imager.options.imaging.intervals_out > 1;
  if (!(of_intervals ? keeps_intervals(imager, fields) : may_keep(imager, fields))) return nullptr;
  // Intervals may come to be read again. Until then nothing is, but by whoever keeps the planes.
  if (!of_intervals) imager.source.keep_none();
  imager.block_bytes = std::min(imager.block_bytes, kPassedOnBytes);
  const PartTimer start(imager.tool, "start of the GPU");
  return keep_visibilities(imager.device, source_planes(imager), device_room(imager.device).free_bytes / 2,
                           imager.threads());
}

std::optional<Survey> survey_keeping(Imager& imager, const ChannelGroup& group,
                                     const std::vector<Field>& fields, ImageWeights* weights,
                                     KeptVisibilities& kept, KeptNotes& noted) {
  Survey found(fields.size());
  {
    const PartTimer reading(imager.tool, "reading");
    const bool all = imager.plane_source == nullptr
                         ? survey_blocks(imager, group, fields, kept, found)
                         : survey_giving(imager, group, fields, kept, noted, found);
    if (!all) return std::nullopt;
  }
  if (weights == nullptr) return found;
  CellSums cells = kept.sum_cells({weights->n_rows(), weights->n_columns(), imager.options.imaging.cell_rad,
                                   weights->max_uv_lambda(), weights->mode() == WeightMode::natural});
  weights->take(std::move(cells.sum), {cells.n_visibilities, cells.n_beyond, cells.max_lambda});
  return found;
}

void keep_if_layers_fit(Imager& imager, PreparedGroup& own) {
  if (!own.kept || own.fields[0].planes) return;
  const IdgPlan& plan = own.fields[0].plan;
  const GridPlace place = place_grids(device_room(imager.device), plan, {imager.setup().n_planes(), 1, {}});
  if (place.where == GridMemory::gpu && place.max_layers >= plan.n_layers) return;
  log_verbose("{}: the w layers need the room of the visibilities, which are read again",
              imager.device.description);
  own.kept.reset();
  own.noted = {};
}

std::uint64_t kept_row_bytes(const std::vector<ImagingBlock>& rows) {
  std::uint64_t bytes = 0;
  for (const ImagingBlock& part : rows)
    bytes += part.time_mjd_s.capacity() * sizeof(double) + part.station.size() * sizeof(std::uint32_t);
  return bytes;
}

namespace {

/// Grids a part of what is kept in pieces for which A-terms are prepared together, of one input each, whose
/// beam is averaged by itself.
void grid_through_aterms(const Imager& imager, PreparedGroup& own, std::size_t part, Gridder& gridder,
                         AverageBeam& beam) {
  AtermScreens& screens = *own.fields[0].screens;
  const ImagingBlock& rows = own.noted.rows[part];
  const auto& stations = imager.source.info().stations;
  const auto input_of = [&](std::size_t row) { return stations[rows.station(row, 0)].input; };
  Buffer<double, 2> weights;
  for (std::size_t first = 0; first < own.kept->n_rows(part);) {
    const std::size_t n_prepared = screens.prepare(rows, first), input = input_of(first);
    std::size_t n = 1;
    while (n < n_prepared && input_of(first + n) == input) ++n;
    const AtermBlock aterms{
        {screens.row_slot().data(), {n}}, screens.chan_slot(), screens.jones(), screens.response()};
    if (weights.size() == 0) weights = own.kept->sum_slots(part, aterms.chan_slot, aterms.jones.extent(1));
    auto averaged = std::async(imager.threads() > 1 ? std::launch::async : std::launch::deferred, [&] {
      beam.add(
          SlotWeights{
              {&weights(first, 0), {n, weights.extent(1)}}, {&rows.station(first, 0), {n, 2}}, aterms},
          input);
    });
    gridder.grid_kept(*own.kept, {part, first, n, aterms});
    averaged.get();
    first += n;
  }
}

}  // namespace

void grid_kept(Imager& imager, PreparedGroup& own, Gridder& gridder, GroupImages& images, AverageBeam* beam) {
  const CellFactors factors{own.weights->grid(), imager.options.imaging.cell_rad};
  const std::vector<double> of_plane = own.kept->weigh(factors);
  // The PSF's is that of plane 0, as are those of all planes with A-terms, which are made of all
  // correlations.
  for (std::size_t p = 0; p < images.weight_sum.size(); ++p)
    images.weight_sum[p] = of_plane[beam == nullptr && p < imager.n_data_planes() ? p : 0];
  Progress progress(imager.tool, "gridding", own.found.n_visibilities, "vis");
  gridder.begin_pass({0, own.fields[0].plan.n_layers});
  double done = 0;
  for (std::size_t part = 0; part < own.kept->n_parts(); ++part) {
    if (beam != nullptr)
      grid_through_aterms(imager, own, part, gridder, *beam);
    else
      gridder.grid_kept(*own.kept, {part, 0, own.kept->n_rows(part)});
    progress.update(done += imager.rows_for_each() * static_cast<double>(own.kept->n_visibilities(part)));
  }
  imager.tool.stage("layers");
  gridder.end_pass();
}

}  // namespace apsyn::imaging
