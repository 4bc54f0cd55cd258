// SPDX-License-Identifier: GPL-3.0-or-later
// A thread owns a few beams of a few output channels at a time (work_items.h) through all spectra of a block,
// and with them their weights, norms and running sums. Per tile it turns the channel's spectra once, sums
// antennas in registers (tile.h), detects, and adds to the rows of the output channel.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "kernels/beamform/beam_integration.h"
#include "kernels/beamform/beam_weights.h"
#include "kernels/beamform/beamform.h"
#include "kernels/beamform/cpu/tile.h"
#include "kernels/beamform/cpu/work_items.h"
#include "kernels/beamform/norm_rows.h"
#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

constexpr std::size_t kRow = kTileSpectra;

/// Memory of one thread, for the beams of one work item.
struct Scratch {
  std::vector<float> spectra;  // [input][re row | im row]
  std::vector<float> beams;    // [beam][pol][re row | im row]
  NormRows norms;
  std::vector<float> norm;      // [beam][XX, YY, XY][row]: coherent beams use X and Y in the first two
  std::vector<float> products;  // [4][row]
  std::vector<float> sums;      // [beam][value][row]
  std::vector<float> counts;    // [beam][row] channels that are valid
  std::vector<float> segment;   // [beam][value], then [beam]
  std::vector<float> out;       // [beam][time][channel][value] or [beam][time][value][channel]
};

BeamformPlan checked(BeamformPlan plan) {
  check_plan(plan);
  return plan;
}

class CpuBeamformer final : public Beamformer {
 public:
  CpuBeamformer(BeamformPlan plan, BeamDelaySource& delays);
  void set_gains(BeamGains gains) override;
  void start(std::int64_t first, std::size_t n_spectra, BeamBlock& out) override;
  std::int64_t off_tile(std::int64_t first) const override {
    return (plan_.first_spectrum + first) % static_cast<std::int64_t>(kRow);
  }
  void add(const SpectraBlock& block, BeamBlock& out) override;

 private:
  struct Item {
    BeamRange beams;
    std::size_t chan = 0, n_chan = 0;  // output channels
  };

  bool voltages() const { return plan_.product == BeamProduct::voltage; }
  void note_used();
  void work(const Item& item, const SpectraBlock& block, Scratch& scratch, BeamBlock& out);
  void turn(const SpectraBlock& block, std::size_t row, const Tile& tile, Scratch& scratch) const;
  void form(const Item& item, std::size_t channel, Scratch& scratch) const;
  void store_voltages(const Item& item, std::size_t out_chan, const Tile& tile, Scratch& scratch) const;
  void flush(const Item& item, const Tile& tile, const Scratch& scratch, BeamBlock& out) const;

  BeamformPlan plan_;
  WorkItems items_;
  BeamWeights weights_;
  BeamIntegration integration_;
  std::vector<std::uint8_t> used_;  // [ant] in any beam
  std::vector<Scratch> scratch_;    // [thread]
  std::int64_t next_ = 0;           // spectrum that start() must bring
  std::int64_t first_ = 0;          // of the block
  std::size_t n_spectra_ = 0;
  std::vector<std::vector<ValidityRun>> runs_;  // [row of validity]
};

CpuBeamformer::CpuBeamformer(BeamformPlan plan, BeamDelaySource& delays)
    : plan_(checked(std::move(plan))),
      items_(work_items(plan_)),
      weights_(plan_, delays, items_.n_beam_group),
      integration_(plan_) {
  note_used();
  scratch_.resize(plan_.n_threads);
  for (Scratch& scratch : scratch_) {
    scratch.spectra.resize((plan_.n_input() + 3) / 4 * 4 * 2 * kRow);
    scratch.beams.resize(items_.n_beam * plan_.n_pol * 2 * kRow);
    scratch.norm.resize(items_.n_beam * 3 * kRow);
    scratch.products.resize(4 * kRow);
    scratch.sums.resize(items_.n_beam * plan_.n_value() * kRow);
    scratch.segment.resize(items_.n_beam * (plan_.n_value() + 1));
    scratch.counts.resize(items_.n_beam * kRow);
    scratch.out.resize(items_.n_beam * kRow * items_.n_chan * plan_.n_value());
  }
}

void CpuBeamformer::note_used() {
  used_.assign(plan_.n_ant, 0);
  for (std::size_t beam = 0; beam < plan_.n_beam; ++beam)
    for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) used_[ant] |= plan_.member(beam, ant);
}

void CpuBeamformer::set_gains(BeamGains gains) {
  plan_.calibration = std::move(gains.calibration);
  plan_.member = std::move(gains.member);
  check_plan(plan_);
  weights_.forget();
  note_used();
}

void CpuBeamformer::start(std::int64_t first, std::size_t n_spectra, BeamBlock& out) {
  if (first != next_ || n_spectra == 0 || (first != 0 && off_tile(first) != 0))
    throw std::logic_error("Beamformer: spectra that do not follow the last ones");
  first_ = first;
  n_spectra_ = n_spectra;
  next_ = first + static_cast<std::int64_t>(n_spectra);
  out.first = integration_.time_of(first);
  out.n_time = static_cast<std::size_t>(integration_.time_of(next_) - out.first);
  const std::array<std::size_t, 3> shape{plan_.n_beam, out.n_time, plan_.n_out_channel() * plan_.n_value()};
  if (out.values.shape() != shape) out.values.resize(shape);
  weights_.prepare(first_, next_);
}

void CpuBeamformer::form(const Item& item, std::size_t channel, Scratch& scratch) const {
  for (std::size_t pol = 0; pol < plan_.n_pol; ++pol) {
    TileSum sum;
    sum.spectra = scratch.spectra.data() + pol * 2 * kRow;
    sum.spectra_stride = plan_.n_pol * 2 * kRow;
    sum.weights = weights_.of(channel, item.beams.first) + 2 * pol;
    sum.weight_stride = 2 * plan_.n_pol;
    sum.beam_weight_stride = 2 * plan_.n_input();
    sum.norm = scratch.norm.data() + pol * kRow;
    sum.norm_stride = 3 * kRow;
    sum.n_ant = plan_.n_ant;
    sum.n_beam = item.beams.n;
    sum.beams = scratch.beams.data() + pol * 2 * kRow;
    sum.beam_stride = plan_.n_pol * 2 * kRow;
    sum_tile(sum);
  }
}

void CpuBeamformer::store_voltages(const Item& item, std::size_t out_chan, const Tile& tile,
                                   Scratch& scratch) const {
  for (std::size_t b = 0; b < item.beams.n; ++b)
    for (std::size_t pol = 0; pol < plan_.n_pol; ++pol) {
      const float* from = &scratch.beams[(b * plan_.n_pol + pol) * 2 * kRow];
      for (std::size_t t = 0; t < tile.n; ++t) {
        float* to = &scratch.out[((b * kRow + t) * item.n_chan + out_chan) * plan_.n_value() + 2 * pol];
        to[0] = from[t];
        to[1] = from[kRow + t];
      }
    }
}

void CpuBeamformer::flush(const Item& item, const Tile& tile, const Scratch& scratch, BeamBlock& out) const {
  const std::size_t n_value = plan_.n_value();
  const std::int64_t first = integration_.time_of(tile.first);
  const auto n_time =
      static_cast<std::size_t>(integration_.time_of(tile.first + static_cast<std::int64_t>(tile.n)) - first);
  const auto at = static_cast<std::size_t>(first - out.first);
  for (std::size_t b = 0; b < item.beams.n; ++b)
    for (std::size_t t = 0; t < n_time; ++t) {
      const float* from = &scratch.out[(b * kRow + t) * n_value * item.n_chan];
      float* to = &out.values(item.beams.first + b, at + t, 0);
      if (voltages())
        std::copy_n(from, item.n_chan * n_value, to + item.chan * n_value);
      else
        for (std::size_t value = 0; value < n_value; ++value)
          std::copy_n(from + value * item.n_chan, item.n_chan,
                      to + value * plan_.n_out_channel() + item.chan);
    }
}

void CpuBeamformer::turn(const SpectraBlock& block, std::size_t row, const Tile& tile,
                         Scratch& scratch) const {
  if (block.coded) {
    CodedTileSource source;
    source.panel_stride = block.codes.extent(2) * kCodeBytes;
    source.first = block.codes.data() + row * block.codes.extent(1) * source.panel_stride;
    source.begin = tile.begin;
    source.n_input = plan_.n_input();
    source.n_spectra = tile.n;
    return turn_coded_tile(source, scratch.spectra.data());
  }
  TileSource source;
  source.panel_stride = block.planes.extent(2) * 2 * kPanelInputs;
  source.first = block.planes.data() + row * block.planes.extent(1) * source.panel_stride +
                 tile.begin * 2 * kPanelInputs;
  source.n_input = plan_.n_input();
  source.n_spectra = tile.n;
  turn_tile(source, scratch.spectra.data());
}

void CpuBeamformer::work(const Item& item, const SpectraBlock& block, Scratch& scratch, BeamBlock& out) {
  scratch.norms.prepare(plan_, weights_, item.beams, item.chan * plan_.n_average,
                        item.n_chan * plan_.n_average, block, runs_);
  const auto length =
      static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(kRow), plan_.update_spectra));
  const auto before = static_cast<std::size_t>(off_tile(first_)) % length;
  for (Tile tile{0, 0, first_}; tile.begin < block.n_spectra;
       tile.begin += tile.n, tile.first += static_cast<std::int64_t>(tile.n)) {
    tile.n = std::min(length - (tile.begin == 0 ? before : 0), block.n_spectra - tile.begin);
    for (std::size_t oc = 0; oc < item.n_chan; ++oc) {
      std::fill(scratch.sums.begin(), scratch.sums.end(), 0.0f);
      std::fill(scratch.counts.begin(), scratch.counts.end(), 0.0f);
      for (std::size_t m = 0; m < plan_.n_average; ++m) {
        const std::size_t channel = (item.chan + oc) * plan_.n_average + m;
        const std::size_t in_block = channel - block.first_chan * plan_.n_fine;
        weights_.steer(item.beams, channel, tile.first);
        turn(block, in_block, tile, scratch);
        scratch.norms.fill(channel, tile, scratch.norm.data(), scratch.counts.data());
        if (plan_.incoherent) {
          for (std::size_t b = 0; b < item.beams.n; ++b) {
            sum_tile_incoherent({scratch.spectra.data(), weights_.of(channel, item.beams.first + b),
                                 &scratch.norm[b * 3 * kRow], plan_.n_ant, plan_.n_pol,
                                 scratch.products.data()});
            add_products(scratch.products.data(), plan_.product, plan_.n_pol, plan_.circular,
                         &scratch.sums[b * plan_.n_value() * kRow]);
          }
          continue;
        }
        form(item, channel, scratch);
        if (!voltages())
          detect_tile({scratch.beams.data(), item.beams.n, plan_.n_pol, plan_.product, plan_.circular,
                       scratch.sums.data()});
      }
      if (voltages())
        store_voltages(item, oc, tile, scratch);
      else
        integration_.add({item.beams, item.chan + oc, scratch.sums.data(), scratch.counts.data(),
                          scratch.segment.data(), scratch.out.data() + oc, item.n_chan},
                         tile);
    }
    flush(item, tile, scratch, out);
  }
}

void CpuBeamformer::add(const SpectraBlock& block, BeamBlock& out) {
  const auto holds = [&](const auto& array, std::size_t n) {
    return array.extent(1) == panel_count(plan_.n_input()) &&
           array.extent(0) >= block.n_chan * block.n_fine && array.extent(2) >= n;
  };
  if (block.n_fine != plan_.n_fine || block.first_chan + block.n_chan > plan_.n_chan ||
      block.n_spectra != n_spectra_ ||
      !(block.coded ? holds(block.codes, (block.n_spectra + 1) / 2) : holds(block.planes, block.n_spectra)) ||
      block.valid.extent(1) != plan_.n_ant || block.valid.extent(2) != block.n_spectra ||
      block.n_chan * block.n_fine % plan_.n_average != 0 ||
      block.first_chan * block.n_fine % plan_.n_average != 0)
    throw std::logic_error("Beamformer: spectra of another shape than planned");
  runs_.clear();
  for (std::size_t row = 0; row < block.valid.extent(0); ++row)
    runs_.push_back(validity_runs(block, row, used_));
  const std::size_t first = block.first_chan * plan_.n_fine / plan_.n_average;
  const std::size_t n_chan = block.n_chan * plan_.n_fine / plan_.n_average;
  const std::size_t n_chunk = (n_chan + items_.n_chan - 1) / items_.n_chan;
  parallel_for(plan_.n_threads, n_chunk * items_.n_beam_group, [&](std::size_t index, unsigned thread) {
    Item item;
    item.beams.group = index % items_.n_beam_group;
    item.beams.first = item.beams.group * items_.n_beam;
    item.beams.n = std::min(items_.n_beam, plan_.n_beam - item.beams.first);
    const std::size_t chunk = index / items_.n_beam_group * items_.n_chan;
    item.chan = first + chunk;
    item.n_chan = std::min(items_.n_chan, n_chan - chunk);
    work(item, block, scratch_[thread], out);
  });
}

}  // namespace

std::unique_ptr<Beamformer> make_cpu_beamformer(BeamformPlan plan, BeamDelaySource& delays) {
  return std::make_unique<CpuBeamformer>(std::move(plan), delays);
}

}  // namespace apsyn
