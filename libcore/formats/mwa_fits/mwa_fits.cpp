// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/mwa_fits/mwa_fits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/formats/fits/walk.h"
#include "libcore/formats/mwa_fits/arrangement.h"
#include "libcore/formats/mwa_fits/passband.h"
#include "libcore/measures/coordinates.h"
#include "libcore/system/parallel.h"

namespace apsyn {

using namespace mwa_fits;

namespace {

constexpr std::size_t kProducts = 4;
constexpr std::size_t kBaselinesAtOnce = 64, kChannelsAtOnce = 16;
constexpr std::int64_t kMjdOfUnix0 = 40587, kMsPerDay = 86400000;

UtcTime utc_of(std::int64_t unix_ms) {
  return {kMjdOfUnix0 + unix_ms / kMsPerDay, unix_ms % kMsPerDay * 1000000000};
}

/// Where a product of a pair of tiles is in a channel of a legacy file, in complex numbers.
struct StoredProduct {
  std::uint32_t index = 0;
  bool conjugated = false;
};

/// The legacy correlator stores the lower triangle of pairs of "antennas" a1 >= a2, which are two outputs of
/// the filterbanks each, o = 2 a + p, with four products each: < o1 conj(o2) > is at
///   2 a1 (a1 + 1) + 4 a2 + 2 p1 + p2.
StoredProduct stored_product(std::size_t place1, std::size_t place2) {
  const std::size_t high = std::max(place1, place2), low = std::min(place1, place2);
  const std::size_t a1 = high / 2, p1 = high % 2, a2 = low / 2, p2 = low % 2;
  return {static_cast<std::uint32_t>(2 * a1 * (a1 + 1) + 4 * a2 + 2 * p1 + p2), place1 < place2};
}

SkyDirection phase_centre_of(const Observation& observation, const MwaFitsOptions& options) {
  if (options.phase_centre) return *options.phase_centre;
  return options.pointing_centre ? observation.pointing : observation.phase_centre;
}

std::vector<bool> flagged_channels(const Observation& observation, Correlator correlator,
                                   const MwaFitsOptions& options) {
  const std::size_t n = observation.n_fine;
  const double edge = options.flag_edge_hz / observation.fine_hz;
  if (!(edge >= 0 && 2 * std::round(edge) < static_cast<double>(n)))
    throw UsageError("--flag-edge-width {} kHz: nothing is left of coarse channels of 1280 kHz",
                     options.flag_edge_hz * 1e-3);
  const auto n_edge = static_cast<std::size_t>(std::round(edge));
  std::vector<bool> flagged(n, false);
  for (std::size_t i = 0; i < n_edge; ++i) flagged[i] = flagged[n - 1 - i] = true;
  if (options.flag_centre.value_or(correlator == Correlator::legacy)) flagged[n / 2] = true;
  return flagged;
}

std::string window_name(const std::vector<int>& channels, const Arrangement::Window& window) {
  const int first = channels[window.first], last = channels[window.end - 1];
  return first == last ? fmt::format("ch{}", first) : fmt::format("ch{}-{}", first, last);
}

}  // namespace

struct MwaFitsReader::State {
  MwaFitsOptions options;
  Observation observation;
  Arrangement files;
  MsDescription set;
  SkyFrame frame;
  std::vector<Baseline> baselines;
  std::vector<std::array<StoredProduct, kProducts>> stored;  ///< [baseline], of the legacy correlator
  std::vector<std::array<std::vector<double>, 2>> gains;     ///< [tile][pol][coarse channel]; empty: all 1
  std::vector<double> passband;                              ///< [fine channel]
  std::vector<bool> flagged_channel;                         ///< [fine channel]
  bool turns_phases = false;
  /// Baselines of one time and window.
  struct Block {
    std::size_t time = 0, window = 0, first_baseline = 0;
  };
  Block following;  ///< what next() gives next
  Block block;      ///< what it gave last
  std::size_t tile_uvw_time = SIZE_MAX;
  std::vector<Vec3> tile_uvw_m;         ///< at that time
  std::vector<float> numbers, weights;  ///< of one HDU
  std::vector<std::size_t> wanted;      ///< baselines whose cells are read
  Buffer<std::complex<float>, 3> data;  ///< [wanted][chan][XX XY YX YY]
  Buffer<float, 3> weight;              ///< the same

  State(const std::string& metafits, const std::vector<std::string>& paths, const MwaFitsOptions& wanted)
      : options(wanted), observation(read_observation(metafits)), frame(*observation.layout.site) {
    if (paths.empty()) throw UsageError("{}: no file of the correlator beside it", metafits);
    std::vector<CorrelatorFile> surveyed;
    for (const std::string& path : paths) surveyed.push_back(survey_file(path, observation));
    files = arrange(std::move(surveyed), observation);
    if (!options.flag_tiles)
      for (Antenna& tile : observation.layout.antennas) tile.flagged = false;
    baselines = all_baselines(observation.n_tiles(), true);
    if (files.correlator == Correlator::legacy) find_products();
    if (options.digital_gains) gains = digital_gains(observation);
    passband.assign(observation.n_fine, 1.0);
    if (!options.passband.empty()) passband = read_passband(options.passband, observation.n_fine);
    flagged_channel = flagged_channels(observation, files.correlator, options);
    for (std::size_t chan = 0; chan < passband.size(); ++chan)
      if (passband[chan] == 0) flagged_channel[chan] = true;
    choose_phases();
    describe();
  }

  void find_products() {
    const auto places = legacy_places(observation);
    stored.resize(baselines.size());
    for (std::size_t i = 0; i < baselines.size(); ++i)
      for (std::size_t product = 0; product < kProducts; ++product)
        stored[i][product] = stored_product(places[static_cast<std::size_t>(baselines[i].ant1)][product / 2],
                                            places[static_cast<std::size_t>(baselines[i].ant2)][product % 2]);
  }

  void choose_phases() {
    turns_phases = options.geometric_delays && observation.tracked == TrackedDelays::none;
    if (!options.geometric_delays || turns_phases) return;
    if (observation.tracked != TrackedDelays::moving)
      throw DataError(
          "{}: GEODEL = {}: the correlator has applied the delays of a direction that does not follow the "
          "sky: "
          "take the phases as they are with --no-geometric-delay",
          observation.path, static_cast<int>(observation.tracked));
    options.phase_centre.reset();
    if (options.pointing_centre)
      throw UsageError(
          "{}: GEODEL = 3: the correlator has tracked RAPHASE and DECPHASE: leave --pointing-centre out, or "
          "give the direction with --phase-centre",
          observation.path);
  }

  void describe() {
    set.telescope = "MWA";
    set.observer = observation.creator.empty() ? "unknown" : observation.creator;
    set.source = observation.name;
    set.layout = observation.layout;
    set.phase_centre = phase_centre_of(observation, options);
    set.channel_width_hz = observation.fine_hz;
    set.products = {Product::XX, Product::XY, Product::YX, Product::YY};
    set.flux_unit = FluxUnit::adu;
    for (std::size_t w = 0; w < files.windows.size(); ++w) {
      MsSpectralWindow described;
      described.name = window_name(files.coarse_channels, files.windows[w]);
      for (std::size_t i = files.windows[w].first; i < files.windows[w].end; ++i)
        for (const double hz : observation.fine_channels_hz(files.coarse_channels[i], files.correlator))
          described.channel_hz.push_back(hz);
      described.width_hz.assign(described.channel_hz.size(), observation.fine_hz);
      if (w == 0) {
        set.window_name = described.name;
        set.channel_hz = described.channel_hz;
      } else {
        set.more_windows.push_back(std::move(described));
      }
    }
  }

  /// Moves on to rows of which there are data; false at the end.
  bool find_data() {
    for (; following.time < files.times_ms.size(); ++following.time, following.window = 0)
      for (; following.window < files.windows.size(); ++following.window)
        if (files.has_data(following.time, files.windows[following.window])) return true;
    return false;
  }

  UtcTime middle() const {
    return add_picoseconds(utc_of(files.times_ms[block.time]),
                           static_cast<__int128>(observation.integration_ms) * 500000000);
  }

  /// Before data are good.
  bool is_early() const {
    const auto begin_s = static_cast<double>(files.times_ms[block.time]) * 1e-3;
    if (options.flag_begin_s >= 0)
      return begin_s < static_cast<double>(files.times_ms[0]) * 1e-3 + options.flag_begin_s;
    return observation.good_time_s && begin_s < *observation.good_time_s;
  }

  void find_coordinates() {
    if (tile_uvw_time == block.time) return;
    tile_uvw_time = block.time;
    const Mat3 rotation = frame.uvw_rotation(middle(), set.phase_centre);
    tile_uvw_m.clear();
    for (const Antenna& tile : observation.layout.antennas)
      tile_uvw_m.push_back(multiply(rotation, tile.enu_m));
  }

  /// The delay that is taken out of a baseline's phases: exp(-2 pi i f delay).
  double delay_s(const Baseline& pair) const {
    const auto i = static_cast<std::size_t>(pair.ant1), j = static_cast<std::size_t>(pair.ant2);
    const std::vector<Antenna>& tiles = observation.layout.antennas;
    double delay = turns_phases ? (tile_uvw_m[i][2] - tile_uvw_m[j][2]) / kSpeedOfLight_m_s : 0;
    if (options.cable_delays && !observation.cables_corrected)
      delay += tiles[j].cable_delay_s - tiles[i].cable_delay_s;
    return delay;
  }

  /// 1 / (g_i g_j) of the products; 0 where a gain is none.
  std::array<double, kProducts> amplitudes(const Baseline& pair, std::size_t coarse) const {
    std::array<double, kProducts> factors;
    factors.fill(1);
    for (std::size_t product = 0; product < kProducts && !gains.empty(); ++product) {
      const double gain = gains[static_cast<std::size_t>(pair.ant1)][product / 2][coarse] *
                          gains[static_cast<std::size_t>(pair.ant2)][product % 2][coarse];
      factors[product] = gain > 0 ? 1 / gain : 0;
    }
    return factors;
  }

  /// The channels of a window that are wanted.
  struct Channels {
    std::size_t first = 0, end = 0;
  };
  void read_coarse(std::size_t coarse, const Channels& channels, unsigned n_threads);
  void fill(std::size_t row, std::size_t end, std::size_t coarse, const Channels& channels);
};

/// Cells of the wanted baselines `row` to `end` - 1 in one coarse channel, out of `numbers` and `weights`.
void MwaFitsReader::State::fill(std::size_t row, std::size_t end, std::size_t coarse,
                                const Channels& channels) {
  const bool legacy = files.correlator == Correlator::legacy, early = is_early();
  const int channel = files.coarse_channels[coarse];
  const std::size_t n_fine = observation.n_fine,
                    first_of_coarse = (coarse - files.windows[block.window].first) * n_fine,
                    begin_chan = std::max(channels.first, first_of_coarse) - first_of_coarse,
                    end_chan = std::min(channels.end, first_of_coarse + n_fine) - first_of_coarse,
                    gain_index = static_cast<std::size_t>(
                        std::lower_bound(observation.coarse_channels.begin(),
                                         observation.coarse_channels.end(), channel) -
                        observation.coarse_channels.begin());
  const double first_hz = observation.fine_channels_hz(channel, files.correlator)[0];
  // A channel of a legacy file has all baselines: a few channels of a few baselines at a time stay in caches.
  for (std::size_t tile = begin_chan / kChannelsAtOnce * kChannelsAtOnce; tile < end_chan;
       tile += kChannelsAtOnce)
    for (std::size_t r = row; r < end; ++r) {
      const Baseline& pair = baselines[wanted[r]];
      const std::vector<Antenna>& antennas = observation.layout.antennas;
      const bool flagged = early || antennas[static_cast<std::size_t>(pair.ant1)].flagged ||
                           antennas[static_cast<std::size_t>(pair.ant2)].flagged;
      const std::array<double, kProducts> amplitude = amplitudes(pair, gain_index);
      const double turn = -kTwoPi * delay_s(pair);
      std::complex<double> phasor =
          std::polar(1.0, turn * (first_hz + static_cast<double>(tile) * observation.fine_hz));
      const std::complex<double> step = std::polar(1.0, turn * observation.fine_hz);
      for (std::size_t chan = tile; chan < std::min(end_chan, tile + kChannelsAtOnce); ++chan) {
        const double gain = passband[chan] == 0 ? 1 : passband[chan];
        const std::complex<double> rotation = phasor / gain;
        const auto of_weight = static_cast<float>(gain * gain);
        phasor *= step;
        if (chan < begin_chan) continue;
        for (std::size_t product = 0; product < kProducts; ++product) {
          std::size_t at = ((wanted[r] - wanted.front()) * n_fine + chan) * kProducts + product;
          bool conjugated = false;
          if (legacy) {
            const StoredProduct& place = stored[wanted[r]][product];
            at = chan * baselines.size() * kProducts + place.index;
            conjugated = place.conjugated;
          }
          const float re = numbers[2 * at], im = conjugated ? -numbers[2 * at + 1] : numbers[2 * at + 1];
          float valid =
              of_weight * (legacy ? 1.0f : weights[(wanted[r] - wanted.front()) * kProducts + product]);
          const bool finite = std::isfinite(re) && std::isfinite(im);
          if (!(valid > 0) || !std::isfinite(valid) || !finite || flagged || flagged_channel[chan] ||
              amplitude[product] == 0)
            valid = 0;
          const double scale = amplitude[product] == 0 ? 1 : amplitude[product];
          const std::size_t to = first_of_coarse + chan - channels.first;
          data(r, to, product) = finite
                                     ? std::complex<float>(std::complex<double>(re, im) * (scale * rotation))
                                     : std::complex<float>();
          weight(r, to, product) = valid;
        }
      }
    }
}

void MwaFitsReader::State::read_coarse(std::size_t coarse, const Channels& channels, unsigned n_threads) {
  const std::size_t n_fine = observation.n_fine, n_rows = wanted.size(),
                    first = (coarse - files.windows[block.window].first) * n_fine;
  if (first >= channels.end || first + n_fine <= channels.first) return;
  const auto& place = files.places[block.time][coarse];
  if (!place) {
    for (std::size_t row = 0; row < n_rows; ++row)
      for (std::size_t chan = std::max(first, channels.first); chan < std::min(first + n_fine, channels.end);
           ++chan)
        for (std::size_t product = 0; product < kProducts; ++product) {
          data(row, chan - channels.first, product) = {};
          weight(row, chan - channels.first, product) = 0;
        }
    return;
  }
  const CorrelatorFile& file = files.files[place->file];
  const Integration& integration = file.integrations[place->integration];
  if (files.correlator == Correlator::legacy) {
    read_rows(file, integration.visibilities, 0, n_fine, numbers);
  } else {
    const std::size_t n_read = wanted.back() - wanted.front() + 1;
    read_rows(file, integration.visibilities, wanted.front(), n_read, numbers);
    read_rows(file, *integration.weights, wanted.front(), n_read, weights);
  }
  parallel_for(n_threads, (n_rows + kBaselinesAtOnce - 1) / kBaselinesAtOnce,
               [&](std::size_t item, unsigned) {
                 const std::size_t row = item * kBaselinesAtOnce;
                 fill(row, std::min(n_rows, row + kBaselinesAtOnce), coarse, channels);
               });
}

MwaFitsReader::MwaFitsReader(const std::string& metafits, const std::vector<std::string>& files,
                             const MwaFitsOptions& options)
    : state_(std::make_unique<State>(metafits, files, options)) {}
MwaFitsReader::~MwaFitsReader() = default;

const MsDescription& MwaFitsReader::description() const {
  return state_->set;
}
std::size_t MwaFitsReader::n_baselines() const {
  return state_->baselines.size();
}
std::size_t MwaFitsReader::n_coarse_channels() const {
  return state_->files.coarse_channels.size();
}
std::int64_t MwaFitsReader::n_times() const {
  return static_cast<std::int64_t>(state_->files.times_ms.size());
}
bool MwaFitsReader::is_mwax() const {
  return state_->files.correlator == Correlator::mwax;
}

std::int64_t MwaFitsReader::n_rows() const {
  const Arrangement& files = state_->files;
  std::int64_t n = 0;
  for (std::size_t time = 0; time < files.times_ms.size(); ++time)
    for (const Arrangement::Window& window : files.windows) n += files.has_data(time, window);
  return n * static_cast<std::int64_t>(n_baselines());
}

std::int64_t MwaFitsReader::n_missing() const {
  std::int64_t n = 0;
  for (const auto& of_time : state_->files.places)
    n += std::count_if(of_time.begin(), of_time.end(), [](const auto& place) { return !place; });
  return n;
}

std::string MwaFitsReader::summary() const {
  const MsDescription& set = description();
  return fmt::format(
      "MWA correlator ({}): {} integrations of {} tiles, {} coarse channels in windows of {} channels: {}",
      is_mwax() ? "MWAX" : "legacy", n_times(), set.layout.antennas.size(), n_coarse_channels(),
      set.channel_hz.size(), 1 + set.more_windows.size());
}

std::vector<std::string> MwaFitsReader::warnings() const {
  if (n_missing() == 0) return {};
  return {fmt::format(
      "{}: no data of {} of {} integrations of coarse channels: they are flagged, or left out",
      state_->observation.path, n_missing(), n_times() * static_cast<std::int64_t>(n_coarse_channels()))};
}

std::uint64_t MwaFitsReader::memory_bytes(std::size_t block_rows, unsigned) const {
  const State& s = *state_;
  const std::size_t max_rows = std::min(block_rows, n_baselines());
  const std::uint64_t cells = s.observation.n_fine * kProducts,
                      hdu_rows = is_mwax() ? max_rows : n_baselines(),
                      n_coarse = s.files.windows[0].end - s.files.windows[0].first;
  const auto is_compressed = [](const CorrelatorFile& file) {
    return file.integrations[0].visibilities.compressed;
  };
  // What is unpacked in another process lies in both, and passes through a pipe.
  const bool compressed = std::any_of(s.files.files.begin(), s.files.files.end(), is_compressed);
  return hdu_rows * cells * 8 * (compressed ? 5 : 1) + max_rows * (n_coarse * cells * 12 + 100) +
         n_baselines() * (kProducts * sizeof(StoredProduct) + sizeof(Baseline)) + (4u << 20);
}

std::size_t MwaFitsReader::block_rows() const {
  // Legacy files are read once for each block of baselines, which are unpacked each time.
  const std::uint64_t largest = std::uint64_t{is_mwax() ? 1u : 16u} << 28,
                      row_bytes = description().channel_hz.size() * kProducts * 12;
  std::size_t rows = n_baselines();
  while (rows > 1 && rows * row_bytes > largest) rows = (rows + 1) / 2;
  return rows;
}

void MwaFitsReader::rewind() {
  state_->following = {};
}

bool MwaFitsReader::next(FileRows& rows, std::size_t max_rows) {
  State& s = *state_;
  if (!s.find_data()) return false;
  s.block = s.following;
  s.find_coordinates();
  const std::size_t first = s.block.first_baseline, n = std::min(max_rows, s.baselines.size() - first);
  rows.first_window = s.block.window;
  rows.n_windows = 1;
  rows.time_mjd_s.assign(n, s.middle().mjd_seconds());
  rows.interval_s.assign(n, s.observation.integration_s());
  rows.field.assign(n, 0);
  const auto begin = s.baselines.begin() + static_cast<std::ptrdiff_t>(first);
  rows.baselines.assign(begin, begin + static_cast<std::ptrdiff_t>(n));
  rows.uvw_m.resize_for_overwrite({n, 3});
  for (std::size_t row = 0; row < n; ++row) {
    const Vec3 uvw = s.tile_uvw_m[static_cast<std::size_t>(rows.baselines[row].ant1)] -
                     s.tile_uvw_m[static_cast<std::size_t>(rows.baselines[row].ant2)];
    for (std::size_t axis = 0; axis < 3; ++axis) rows.uvw_m(row, axis) = uvw[axis];
  }
  s.following.first_baseline = first + n;
  if (s.following.first_baseline == s.baselines.size()) {
    s.following.first_baseline = 0;
    ++s.following.window;
  }
  return true;
}

void MwaFitsReader::read_cells(const FileCells& wanted, unsigned n_threads, const UseMsCells& use) {
  State& s = *state_;
  const std::size_t n = wanted.rows.size();
  if (n == 0) return;
  s.wanted.clear();
  for (const std::size_t row : wanted.rows) s.wanted.push_back(s.block.first_baseline + row);
  const std::array shape{n, wanted.n_channels, kProducts};
  resize_for_threads(n_threads, shape, s.data);
  resize_for_threads(n_threads, shape, s.weight);
  const Arrangement::Window& window = s.files.windows[s.block.window];
  const State::Channels channels{wanted.first_channel, wanted.first_channel + wanted.n_channels};
  for (std::size_t coarse = window.first; coarse < window.end; ++coarse)
    s.read_coarse(coarse, channels, n_threads);
  constexpr std::size_t kPieceBytes = std::size_t{1} << 19;
  const std::size_t n_cells = wanted.n_channels * kProducts,
                    at_once = std::max<std::size_t>(1, kPieceBytes / (n_cells * 12));
  parallel_for(n_threads, (n + at_once - 1) / at_once, [&](std::size_t item, unsigned) {
    const std::size_t first = item * at_once;
    const std::array piece{std::min(at_once, n - first), wanted.n_channels, kProducts};
    use(first, View<const std::complex<float>, 3>(s.data.data() + first * n_cells, piece),
        View<const float, 3>(s.weight.data() + first * n_cells, piece));
  });
}

bool is_mwa_metafits(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // a pipe would lose its beginning
  try {
    const ByteSource source(path);
    std::string cards(16 * 2880, '\0');
    cards.resize(source.read_at(0, cards.data(), cards.size()));
    for (std::size_t at = 0; at + 80 <= cards.size(); at += 80) {
      const std::string_view card = std::string_view(cards).substr(at, 80);
      if (card.starts_with("GPSTIME =")) return true;
      if (card.starts_with("END     ")) return false;
    }
  } catch (const Error&) {
  }
  return false;
}

bool is_mwa_correlator_file(const std::string& path) {
  return is_correlator_name(path);
}

}  // namespace apsyn
