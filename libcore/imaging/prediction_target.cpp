// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/imaging/prediction_target.h"

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/imaging/blocks.h"

namespace apsyn {
namespace {

MsSelection coordinates_alone(MsSelection selection) {
  selection.column.clear();
  selection.autos = true;
  return selection;
}

}  // namespace

struct PredictionTarget::State {
  std::string path;
  MsSelection selection;
  MeasurementSetReader reader;
  std::vector<std::vector<std::size_t>> channels;  ///< [spectral window] wanted
  SkyDirection centre;

  State(const std::string& name, const MsSelection& wanted)
      : path(name), selection(wanted), reader(name, coordinates_alone(wanted)) {
    if (reader.n_rows() == 0) throw UsageError("{}: the selection fits no row: nothing to predict", path);
  }
};

PredictionTarget::PredictionTarget(const std::string& path, const MsSelection& selection)
    : state_(std::make_unique<State>(path, selection)) {}
PredictionTarget::~PredictionTarget() = default;

const std::string& PredictionTarget::path() const {
  return state_->path;
}
const std::vector<Product>& PredictionTarget::products() const {
  return state_->reader.products();
}
std::vector<double> PredictionTarget::channel_hz() const {
  return merge_channels(state_->reader.spectral_windows()).channel_hz;
}
SkyDirection PredictionTarget::phase_centre() const {
  return fields().front().phase_centre;
}
std::vector<MsField> PredictionTarget::fields() const {
  std::vector<MsField> with_rows;
  for (const int field : state_->reader.fields_with_rows())
    with_rows.push_back(state_->reader.fields()[static_cast<std::size_t>(field)]);
  return with_rows;
}
std::int64_t PredictionTarget::n_rows() const {
  return state_->reader.n_rows();
}
const ArrayLayout& PredictionTarget::layout() const {
  return state_->reader.layout();
}
ArrayTables PredictionTarget::tables(const std::string& column) const {
  return {{state_->path}, column, state_->reader.fields_with_rows()};
}
double PredictionTarget::first_time_mjd_s() const {
  return state_->reader.first_time_mjd_s();
}

void PredictionTarget::reopen() {
  const std::string path = state_->path;
  const MsSelection selection = state_->selection;
  state_.reset();
  state_ = std::make_unique<State>(path, selection);
}

void PredictionTarget::take_part(std::size_t part, std::size_t n_parts) {
  state_->reader.take_part(part, n_parts);
}

void PredictionTarget::rewind(const std::function<bool(double)>& wanted, const SkyDirection& centre) {
  state_->centre = centre;
  state_->channels.clear();
  for (const MsSpectralWindow& window : state_->reader.spectral_windows()) {
    std::vector<std::size_t>& channels = state_->channels.emplace_back();
    for (std::size_t i = 0; i < window.channel_hz.size(); ++i)
      if (wanted(window.channel_hz[i])) channels.push_back(i);
  }
  state_->reader.rewind();
}

bool PredictionTarget::read(PredictionBlock& block, std::size_t max_visibilities, unsigned n_threads) {
  State& state = *state_;
  std::size_t max_channels = 1;
  for (const auto& channels : state.channels) max_channels = std::max(max_channels, channels.size());
  // A row's coordinates, in the blocks that are read, predicted and written at once, take as much as four
  // more.
  constexpr std::size_t kRowVisibilities = 4;
  const std::size_t max_rows = std::max<std::size_t>(1, max_visibilities / (max_channels + kRowVisibilities));
  while (state.reader.next(block.rows, max_rows)) {
    state.reader.read_cells(block.rows, n_threads);
    const auto spw = static_cast<std::size_t>(block.rows.spw);
    block.channels = state.channels[spw];
    if (block.channels.empty()) continue;
    const std::vector<double>& channel_hz = state.reader.spectral_windows()[spw].channel_hz;
    ImagingBlock& at = block.at;
    at.channel_hz.resize({block.channels.size()});
    for (std::size_t i = 0; i < block.channels.size(); ++i) at.channel_hz(i) = channel_hz[block.channels[i]];
    block.without_uvw = move_to_centre(block.rows, state.reader.fields(), state.centre, at, n_threads);
    const std::size_t n_row = block.rows.row_number.size();
    at.station.resize({n_row, 2});
    for (std::size_t row = 0; row < n_row; ++row) {
      at.station(row, 0) = static_cast<std::uint32_t>(block.rows.ant1[row]);
      at.station(row, 1) = static_cast<std::uint32_t>(block.rows.ant2[row]);
    }
    at.time_mjd_s = block.rows.time_mjd_s;
    return true;
  }
  return false;
}

}  // namespace apsyn
