// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/rfi/strategy.h"

#include "libcore/base/error.h"

#ifdef APSYN_AOFLAGGER
#include <aoflagger.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <utility>

#include "libcore/base/csv.h"
#endif

namespace apsyn {

#ifdef APSYN_AOFLAGGER

namespace {

struct KnownTelescope {
  const char* name;  ///< of the strategy, as --strategy has it
  const char* word;  ///< in a set's TELESCOPE_NAME, in capitals
  aoflagger::TelescopeId id;
};
/// The more particular words first.
constexpr KnownTelescope kTelescopes[] = {
    {"aartfaac", "AARTFAAC", aoflagger::TelescopeId::AARTFAAC_TELESCOPE},
    {"apertif", "APERTIF", aoflagger::TelescopeId::APERTIF_TELESCOPE},
    {"arecibo", "ARECIBO", aoflagger::TelescopeId::ARECIBO_TELESCOPE},
    {"atca", "ATCA", aoflagger::TelescopeId::ATCA_TELESCOPE},
    {"bighorns", "BIGHORNS", aoflagger::TelescopeId::BIGHORNS_TELESCOPE},
    {"jvla", "VLA", aoflagger::TelescopeId::JVLA_TELESCOPE},
    {"lofar", "LOFAR", aoflagger::TelescopeId::LOFAR_TELESCOPE},
    {"mwa", "MWA", aoflagger::TelescopeId::MWA_TELESCOPE},
    {"nenufar", "NENUFAR", aoflagger::TelescopeId::NENUFAR_TELESCOPE},
    {"parkes", "PARKES", aoflagger::TelescopeId::PARKES_TELESCOPE},
    {"wsrt", "WSRT", aoflagger::TelescopeId::WSRT_TELESCOPE},
    {"generic", "", aoflagger::TelescopeId::GENERIC_TELESCOPE}};

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

}  // namespace

bool built_with_aoflagger() {
  return true;
}

std::string find_strategy(const std::string& name, const std::string& telescope) {
  std::error_code error;
  if (name != "auto" && std::filesystem::is_regular_file(name, error)) return name;
  std::string known;
  for (const KnownTelescope& candidate : kTelescopes) {
    known += (known.empty() ? "" : ", ") + std::string(candidate.name);
    const bool wanted = name == "auto" ? upper(telescope).find(candidate.word) != std::string::npos
                                       : lower(name) == candidate.name;
    if (!wanted) continue;
    std::string file = aoflagger::AOFlagger().FindStrategyFile(candidate.id);
    if (file.empty())
      throw FailureError(
          "--strategy {}: AOFlagger finds no file of its strategy {}: install it whole, or name a file", name,
          candidate.name);
    return file;
  }
  throw UsageError("--strategy {}: no file, and no strategy of this name: give a file, auto or one of {}",
                   name, known);
}

struct RfiStrategy::State {
  aoflagger::AOFlagger flagger;
  aoflagger::Strategy strategy;
  std::string file;

  State(const std::string& path, const RfiContext& context) : file(path) {
    std::vector<aoflagger::Antenna> antennas;
    for (std::size_t i = 0; i < context.layout.antennas.size(); ++i) {
      const Antenna& own = context.layout.antennas[i];
      const Vec3 xyz = context.layout.site ? geocentric_from_enu(*context.layout.site, own.enu_m) : own.enu_m;
      antennas.push_back({i, xyz[0], xyz[1], xyz[2], own.name, own.dish_diameter_m, own.mount, own.name});
    }
    flagger.SetAntennaList(std::move(antennas));
    std::vector<aoflagger::Band> bands;
    for (std::size_t i = 0; i < context.channel_hz.size(); ++i) {
      bands.push_back({i, {}});
      for (std::size_t chan = 0; chan < context.channel_hz[i].size(); ++chan)
        bands.back().channels.push_back({context.channel_hz[i][chan], context.width_hz[i][chan]});
    }
    flagger.SetBandList(std::move(bands));
    std::vector<aoflagger::Interval> intervals;
    for (std::size_t i = 0; i < context.times_mjd_s.size(); ++i)
      intervals.push_back({i, context.times_mjd_s[i]});
    flagger.SetIntervalList(std::move(intervals));
    strategy = flagger.LoadStrategyFile(path);
  }
};

RfiStrategy::RfiStrategy(const std::string& file, const RfiContext& context) {
  try {
    state_ = std::make_unique<State>(file, context);
  } catch (const std::exception& error) {
    throw UsageError("{}: AOFlagger does not take it as a strategy: {}", file, error.what());
  }
}

RfiStrategy::~RfiStrategy() = default;

void RfiStrategy::run(std::span<const RfiTime> times, std::size_t n_product, const RfiBaseline& baseline,
                      View<std::uint8_t, 2> found) {
  State& state = *state_;
  const std::size_t n_time = times.size(), n_chan = found.extent(1);
  try {
    // A strategy may keep what it was given.
    aoflagger::ImageSet images = state.flagger.MakeImageSet(n_time, n_chan, 2 * n_product, 0.0f);
    aoflagger::FlagMask mask = state.flagger.MakeFlagMask(n_time, n_chan, true);
    images.SetAntennas(static_cast<std::size_t>(baseline.ant1), static_cast<std::size_t>(baseline.ant2));
    images.SetBand(baseline.band);
    images.SetInterval(baseline.sequence);
    const std::size_t stride = images.HorizontalStride(), flag_stride = mask.HorizontalStride();
    bool* const bad = mask.Buffer();
    for (std::size_t time = 0; time < n_time; ++time) {
      if (times[time].data == nullptr) continue;
      for (std::size_t chan = 0; chan < n_chan; ++chan) {
        bool any = false;
        for (std::size_t p = 0; p < n_product; ++p) {
          const std::complex<float> value = times[time].data[chan * n_product + p];
          const bool finite = std::isfinite(value.real()) && std::isfinite(value.imag());
          any = any || !finite || times[time].flags[chan * n_product + p] != 0;
          if (!finite) continue;
          images.ImageBuffer(2 * p)[chan * stride + time] = value.real();
          images.ImageBuffer(2 * p + 1)[chan * stride + time] = value.imag();
        }
        bad[chan * flag_stride + time] = any;
      }
    }
    const aoflagger::FlagMask result = state.strategy.Run(images, mask);
    const bool* const bits = result.Buffer();
    for (std::size_t time = 0; time < n_time; ++time)
      for (std::size_t chan = 0; chan < n_chan; ++chan)
        found(time, chan) = bits[chan * result.HorizontalStride() + time] ? 1 : 0;
  } catch (const std::exception& error) {
    throw FailureError("{}: the strategy fails on antennas {} and {}: {}", state.file, baseline.ant1,
                       baseline.ant2, error.what());
  }
}

#else

bool built_with_aoflagger() {
  return false;
}

std::string find_strategy(const std::string& name, const std::string&) {
  throw UsageError(
      "--strategy {}: this build has no AOFlagger: install Debian's aoflagger-dev and build again, or flag "
      "by what "
      "needs no strategy (--antennas, --quack, --edges, ...)",
      name);
}

struct RfiStrategy::State {};

RfiStrategy::RfiStrategy(const std::string& file, const RfiContext&) {
  find_strategy(file, "");
}
RfiStrategy::~RfiStrategy() = default;

void RfiStrategy::run(std::span<const RfiTime>, std::size_t, const RfiBaseline&, View<std::uint8_t, 2>) {}

#endif

}  // namespace apsyn
