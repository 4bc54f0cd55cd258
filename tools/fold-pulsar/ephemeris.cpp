// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/fold-pulsar/ephemeris.h"

#include <fmt/ranges.h>

#include <memory>

#include "libcore/array/telescopes.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/par_file/par_file.h"
#include "libcore/measures/coordinates.h"
#include "libcore/measures/pulsar_phase.h"

namespace apsyn {
namespace {

Vec3 telescope_place(const FoldOptions& options, const PowerSource& powers) {
  if (!options.site.empty()) {
    if (const auto known = find_telescope(options.site)) return *known;
    if (options.site.find(',') == std::string::npos)
      throw UsageError("--site {}: no telescope that is known: give LAT,LON,ALT or one of {}", options.site,
                       fmt::join(telescope_names(), " "));
    return geocentric_from_site(parse_site(options.site));
  }
  if (powers.telescope_itrf_m) return *powers.telescope_itrf_m;
  if (const auto known = find_telescope(powers.telescope)) return *known;
  throw UsageError("{}: does not tell where its telescope stands ({}): give --site, for --par", powers.name,
                   powers.telescope.empty() ? "no name" : powers.telescope);
}

}  // namespace

void follow_par(FoldPlan& plan, const FoldOptions& options, const PowerSource& powers) {
  PulsarTiming pulsar = read_par_file(options.par);
  if (options.dm_pc_cm3) pulsar.dm_pc_cm3 = {*options.dm_pc_cm3};
  if (powers.barycentric)
    throw UsageError("{}: its times are barycentric already: fold it with --period", powers.name);
  // An unknown UT1 turns the Earth by this and moves a telescope by this: it matters where bins are short.
  constexpr double kTurn_rad = 6.5e-5, kDelay_s = 1.4e-6;
  set_finest_fringe(kTurn_rad / kDelay_s /
                    static_cast<double>(pulsar.frequency[0] * static_cast<long double>(options.n_bin)));
  const Ephemeris ephemeris = best_ephemeris(powers.start.mjd_days());
  const Vec3 place = telescope_place(options, powers);
  const auto phase = std::make_shared<PulsarPhase>(pulsar, place, powers.start, ephemeris,
                                                   earth_orientation(powers.start.mjd_days()));
  plan.period_s = phase->period_s();
  plan.dm_pc_cm3 = phase->dm_pc_cm3();
  plan.phases = [phase](std::span<const double> at_s, std::span<double> turns, std::span<double> stretch) {
    phase->phases(at_s, turns, stretch);
  };
  const Site site = site_from_geocentric(place);
  log_verbose("{}: {} from {:.4f} deg, {:.4f} deg; the Earth's position is that of {}{}", options.par,
              pulsar.name, site.lat_rad / kRadPerDeg, site.lon_rad / kRadPerDeg,
              ephemeris == Ephemeris::de405 ? "DE405" : "ERFA (within 40 us of DE405)",
              pulsar.ephemeris.empty() ? "" : ", the par file was made with " + pulsar.ephemeris);
  log_verbose("phase 0 is that of {}", phase->has_reference() ? "TZRMJD" : "PEPOCH at the barycentre");
}

}  // namespace apsyn
