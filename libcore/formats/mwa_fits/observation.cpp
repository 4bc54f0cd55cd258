// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/mwa_fits/observation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/metafits.h"
#include "libcore/formats/fits/table.h"
#include "libcore/formats/fits/walk.h"

namespace apsyn::mwa_fits {
namespace {

constexpr std::size_t kMaxTiles = 4096, kMaxFineChannels = 1 << 20;
constexpr int kMaxCoarseChannel = 255, kLastRisingChannel = 128;
constexpr double kGainUnit = 64;  // the receivers' gains are fixed-point numbers

double needed_number(const FitsUnit& primary, const std::string& path, const char* keyword, double least,
                     double most) {
  const std::optional<double> value = primary.number_of(keyword);
  if (!value)
    throw DataError("{}: {} '{}': a number is needed: give the metafits of the observation", path, keyword,
                    primary.text(keyword).value_or(""));
  if (!(*value >= least && *value <= most))
    throw DataError("{}: {} = {}: {} to {} is needed", path, keyword, *value, least, most);
  return *value;
}

std::vector<int> parse_channels(const FitsUnit& primary, const std::string& path) {
  const std::string list = primary.text("CHANNELS").value_or("");
  std::vector<int> channels;
  for (const std::string_view piece : split(list, ',')) {
    const std::optional<double> number = finite_number(piece);
    if (!number || *number < 0 || *number > kMaxCoarseChannel || *number != std::floor(*number))
      throw DataError("{}: CHANNELS '{}': numbers of coarse channels from 0 to {} are needed", path, list,
                      kMaxCoarseChannel);
    channels.push_back(static_cast<int>(*number));
  }
  std::sort(channels.begin(), channels.end());
  if (std::adjacent_find(channels.begin(), channels.end()) != channels.end())
    throw DataError("{}: CHANNELS '{}': a coarse channel twice", path, list);
  return channels;
}

/// Where a pair of cards points to, in degrees; absent unless both are there.
std::optional<SkyDirection> direction(const FitsUnit& primary, const std::string& path, const char* ra,
                                      const char* dec) {
  if (!primary.number_of(ra) || !primary.number_of(dec)) return std::nullopt;
  double ra_deg = needed_number(primary, path, ra, -360, 360);
  if (ra_deg < 0) ra_deg += 360;
  return SkyDirection{ra_deg * kRadPerDeg, needed_number(primary, path, dec, -90, 90) * kRadPerDeg};
}

void read_channels(const FitsUnit& primary, Observation& observation) {
  const std::string& path = observation.path;
  observation.coarse_channels = parse_channels(primary, path);
  const auto n_coarse = static_cast<double>(observation.coarse_channels.size());
  const double n_chan = needed_number(primary, path, "NCHANS", 1, kMaxFineChannels);
  const double n_fine = n_chan / n_coarse;
  observation.fine_hz = needed_number(primary, path, "FINECHAN", 1e-3, 1280) * 1e3;
  if (n_fine != std::floor(n_fine) || std::abs(n_fine * observation.fine_hz - kCoarse_hz) > 1)
    throw DataError("{}: {} coarse channels of 1.28 MHz, but NCHANS = {} channels of FINECHAN = {} kHz", path,
                    n_coarse, n_chan, observation.fine_hz * 1e-3);
  observation.n_fine = static_cast<std::size_t>(n_fine);
  if (primary.number_of("NAV_FREQ"))
    observation.averaging = needed_number(primary, path, "NAV_FREQ", 1, kMaxFineChannels);
}

void read_delays(const FitsUnit& primary, Observation& observation) {
  if (primary.number_of("CABLEDEL"))
    observation.cables_corrected = needed_number(primary, observation.path, "CABLEDEL", 0, 2) > 0;
  if (primary.number_of("GEODEL"))
    observation.tracked =
        static_cast<TrackedDelays>(std::lround(needed_number(primary, observation.path, "GEODEL", 0, 3)));
}

void read_primary(const FitsUnit& primary, Observation& observation) {
  const std::string& path = observation.path;
  observation.obs_id = std::llround(needed_number(primary, path, "GPSTIME", 0, 1e11));
  observation.name = primary.text("FILENAME").value_or("");
  if (observation.name.empty()) observation.name = std::to_string(observation.obs_id);
  observation.creator = primary.text("CREATOR").value_or("");
  read_channels(primary, observation);
  const double integration_ms = needed_number(primary, path, "INTTIME", 1e-3, 1e5) * 1e3;
  observation.integration_ms = std::llround(integration_ms);
  if (std::abs(integration_ms - static_cast<double>(observation.integration_ms)) > 1e-6)
    throw DataError("{}: INTTIME = {} s: whole milliseconds are needed", path, integration_ms * 1e-3);
  const auto pointing = direction(primary, path, "RA", "DEC");
  const auto centre = direction(primary, path, "RAPHASE", "DECPHASE");
  if (!pointing) throw DataError("{}: no RA and DEC: give the metafits of the observation", path);
  observation.pointing = *pointing;
  observation.phase_centre = centre.value_or(*pointing);
  if (primary.number_of("GOODTIME"))
    observation.good_time_s = needed_number(primary, path, "GOODTIME", 0, 1e11);
  read_delays(primary, observation);
}

}  // namespace

std::optional<int> Observation::channel_of_gpubox(int number) const {
  std::vector<int> order = coarse_channels;
  std::reverse(std::upper_bound(order.begin(), order.end(), kLastRisingChannel), order.end());
  if (number < 1 || static_cast<std::size_t>(number) > order.size()) return std::nullopt;
  return order[static_cast<std::size_t>(number) - 1];
}

std::vector<double> Observation::fine_channels_hz(int coarse_channel, Correlator correlator) const {
  // A legacy channel is the mean of `averaging` ones, the first of which is centred on the lower edge.
  const double first_hz =
      coarse_channel * kCoarse_hz - (correlator == Correlator::mwax
                                         ? static_cast<double>(n_fine / 2) * fine_hz
                                         : kCoarse_hz / 2 - (averaging - 1) / 2 * fine_hz / averaging);
  std::vector<double> channels_hz(n_fine);
  for (std::size_t i = 0; i < n_fine; ++i) channels_hz[i] = first_hz + static_cast<double>(i) * fine_hz;
  return channels_hz;
}

Observation read_observation(const std::string& path) {
  Observation observation;
  observation.path = path;
  walk_fits(path, [&](const FitsUnit& unit) {
    if (unit.number == 1) read_primary(unit, observation);
  });
  observation.layout = read_metafits(path);
  if (observation.n_tiles() > kMaxTiles)
    throw DataError("{}: TILEDATA has {} tiles: no more than {} are read", path, observation.n_tiles(),
                    kMaxTiles);
  return observation;
}

std::vector<std::array<std::size_t, 2>> legacy_places(const Observation& observation) {
  std::vector<std::array<std::size_t, 2>> places(observation.n_tiles());
  for (const MwaInput& input : read_metafits_inputs(observation.path))
    places.at(input.antenna)[input.pol] = input.vcs_order;
  return places;
}

std::vector<std::array<std::vector<double>, 2>> digital_gains(const Observation& observation) {
  const FitsTable table(observation.path, "TILEDATA", 2 * static_cast<long>(kMaxTiles),
                        "an MWA metafits is needed");
  const auto n_coarse = observation.coarse_channels.size();
  const auto antenna = table.integers("Antenna");
  const auto polarisation = table.texts("Pol");
  const auto gains = table.integers("Gains", static_cast<long>(n_coarse));
  std::map<int, std::size_t> tile_of;
  for (const int number : antenna) tile_of.emplace(number, 0);
  std::size_t n_tiles = 0;
  for (auto& [number, tile] : tile_of) tile = n_tiles++;
  std::vector<std::array<std::vector<double>, 2>> result(n_tiles);
  for (std::size_t row = 0; row < antenna.size(); ++row) {
    std::vector<double>& of_signal = result[tile_of[antenna[row]]][polarisation[row] == "Y"];
    of_signal.assign(n_coarse, 0);
    for (std::size_t i = 0; i < n_coarse; ++i) of_signal[i] = gains[row * n_coarse + i] / kGainUnit;
  }
  for (std::size_t tile = 0; tile < n_tiles; ++tile)
    for (const std::vector<double>& of_signal : result[tile])
      if (of_signal.empty())
        throw DataError("{}: TILEDATA: tile '{}' has one polarisation only: X and Y are needed",
                        observation.path, observation.layout.antennas[tile].name);
  return result;
}

}  // namespace apsyn::mwa_fits
