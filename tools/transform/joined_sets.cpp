// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/transform/joined_sets.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "kernels/average/smearing.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/time.h"
#include "libcore/measures/coordinates.h"
#include "libcore/voltage/array_delays.h"

namespace apsyn::transform {
namespace {

bool same(const MsSpectralWindow& a, const MsSpectralWindow& b) {
  return a.channel_hz == b.channel_hz && a.width_hz == b.width_hz && a.frame == b.frame;
}

/// Positions of sets that say they are of the same antenna agree to a millimetre.
constexpr double kSameAntenna_m = 1e-3;

/// Of the same name, phase centre and pointing, which is the phase centre where nothing else is told.
bool is_same_field(const MsField& a, const MsField& b) {
  const auto at = [](const MsField& field, const std::optional<SkyDirection>& direction) {
    return direction.value_or(field.phase_centre);
  };
  return a.name == b.name && a.phase_centre == b.phase_centre &&
         at(a, a.pointing.delay) == at(b, b.pointing.delay) &&
         at(a, a.pointing.reference) == at(b, b.pointing.reference) &&
         at(a, a.pointing.tile) == at(b, b.pointing.tile);
}

}  // namespace

MsSelection selection_of(const Options& options) {
  const ImagingOptions& wanted = options.selection;
  MsSelection selection;
  selection.column = wanted.column;
  selection.fields = wanted.fields;
  selection.field_names = wanted.field_names;
  selection.spws = wanted.spws;
  selection.first_interval = wanted.first_interval;
  selection.n_intervals = wanted.n_intervals;
  selection.first_channel = wanted.first_channel;
  selection.n_channels = wanted.n_channels;
  selection.min_time_mjd_s = options.min_time_mjd_s;
  selection.max_time_mjd_s = options.max_time_mjd_s;
  selection.autos = !options.no_autos;
  selection.row_details = true;
  selection.keep_flagged = true;
  return selection;
}

MsSpectralWindow averaged_window(const MsSpectralWindow& window, std::size_t n) {
  MsSpectralWindow result;
  result.name = window.name;
  result.frame = window.frame;
  const std::size_t n_chan = window.channel_hz.size();
  for (std::size_t first = 0; first < n_chan; first += n) {
    const std::size_t last = std::min(n_chan, first + n) - 1;
    double width_hz = 0;
    for (std::size_t chan = first; chan <= last; ++chan) width_hz += window.width_hz[chan];
    // The middle between the outer edges, which equals the mean of evenly spaced channels.
    const double sign = window.channel_hz[last] < window.channel_hz[first] ? -1 : 1;
    result.channel_hz.push_back((window.channel_hz[first] - sign * window.width_hz[first] / 2 +
                                 window.channel_hz[last] + sign * window.width_hz[last] / 2) /
                                2);
    result.width_hz.push_back(width_hz);
  }
  return result;
}

JoinedSets::JoinedSets(const Options& options, std::vector<std::unique_ptr<RowSource>> sources) {
  const std::size_t n_given = sources.size();
  for (std::unique_ptr<RowSource>& source : sources) {
    if (source->n_rows() == 0) {
      if (n_given == 1) throw UsageError("{}: the selection fits no row", source->name());
      log_warning("{}: the selection fits no row: left out", source->name());
      continue;
    }
    sets_.emplace_back().source = std::move(source);
  }
  if (sets_.empty()) throw UsageError("{}: the selection fits no row of any set", options.inputs[0]);
  if (sets_.size() > 1)
    std::stable_sort(sets_.begin(), sets_.end(), [](const JoinedSet& a, const JoinedSet& b) {
      return a.source->begin_mjd_s() < b.source->begin_mjd_s();
    });
  layout_ = sets_[0].source->description().layout;
  layout_.antennas.clear();
  for (JoinedSet& set : sets_) join(set);
  MsRows rows;
  constexpr std::size_t kFirstRows = 1 << 14;
  sets_[0].source->begin(RowPass::scalars);
  if (sets_[0].source->next(rows, kFirstRows)) {
    interval_s_ = rows.interval_s[0];
    for (std::size_t row = 0; row < rows.ant1.size(); ++row)
      has_autos_ = has_autos_ || rows.ant1[row] == rows.ant2[row];
  }
  max_freq_hz_ = max_freq_hz();
  if (layout_.site) set_finest_fringe(finest_fringe_rad(layout_, max_freq_hz_));
}

void JoinedSets::join(JoinedSet& set) {
  const SourceDescription &own_description = set.source->description(),
                          &first = sets_[0].source->description();
  const std::string &path = set.source->name(), &first_path = sets_[0].source->name();
  if (own_description.products != products())
    throw UsageError("{}: its correlations are not those of {}: join sets of the same ones", path,
                     first_path);
  if (own_description.flux_unit != first.flux_unit)
    throw UsageError("{}: its unit is {}, that of {} is {}", path, name_of(own_description.flux_unit),
                     first_path, name_of(first.flux_unit));
  for (const MsSpectralWindow& window : own_description.windows) {
    auto at = std::find_if(windows_.begin(), windows_.end(), [&](const auto& w) { return same(w, window); });
    if (at == windows_.end()) {
      if (!windows_.empty() && window.channel_hz.size() != windows_[0].channel_hz.size())
        throw UsageError("{}: a spectral window of {} channels, another of {}: select them with --spw", path,
                         window.channel_hz.size(), windows_[0].channel_hz.size());
      at = windows_.insert(windows_.end(), window);
    }
    set.window_of.push_back(static_cast<int>(at - windows_.begin()));
  }
  set.field_of.assign(own_description.fields.size(), 0);
  for (const int number : own_description.used_fields) {
    const MsField& field = own_description.fields[static_cast<std::size_t>(number)];
    auto at = std::find_if(fields_.begin(), fields_.end(),
                           [&](const MsField& f) { return is_same_field(f, field); });
    if (at == fields_.end()) at = fields_.insert(fields_.end(), field);
    set.field_of[static_cast<std::size_t>(number)] = static_cast<int>(at - fields_.begin());
  }
  const ArrayLayout& own = own_description.layout;
  if (!own.site != !layout_.site)
    throw UsageError("{}: its antennas do not stand where those of {} do", path, first_path);
  for (std::size_t i = 0; i < own.antennas.size(); ++i) {
    Antenna antenna = own.antennas[i];
    if (own.site)
      antenna.enu_m = enu_from_geocentric(*layout_.site, geocentric_from_enu(*own.site, antenna.enu_m));
    auto& all = layout_.antennas;
    // Within the first set names may repeat: its antennas are told apart by their numbers.
    auto at = &set == &sets_[0] ? all.end() : std::find_if(all.begin(), all.end(), [&](const Antenna& a) {
      return a.name == antenna.name;
    });
    if (at == all.end()) {
      at = all.insert(all.end(), antenna);
    } else {
      const Vec3 apart = at->enu_m - antenna.enu_m;
      if (dot(apart, apart) > kSameAntenna_m * kSameAntenna_m)
        throw UsageError("{}: antenna {} stands {:.3g} m from where {} has it", path, antenna.name,
                         std::sqrt(dot(apart, apart)), first_path);
    }
    set.antenna_of.push_back(static_cast<int>(at - all.begin()));
  }
}

std::int64_t JoinedSets::n_rows() const {
  std::int64_t n = 0;
  for (const JoinedSet& set : sets_) n += set.source->n_rows();
  return n;
}

double JoinedSets::max_freq_hz() const {
  double max_hz = 0;
  for (const MsSpectralWindow& window : windows_)
    for (const double hz : window.channel_hz) max_hz = std::max(max_hz, hz);
  return max_hz;
}

std::uint64_t JoinedSets::value_bytes() const {
  return static_cast<std::uint64_t>(n_rows()) * n_channels() * products().size() * 12;
}

std::vector<std::string> JoinedSets::paths_of_sets() const {
  std::vector<std::string> paths;
  for (const JoinedSet& set : sets_)
    if (set.source->is_set()) paths.push_back(set.source->name());
  return paths;
}

UvwCheck JoinedSets::check_uvw() const {
  UvwCheck check;
  if (!layout_.site) return check;
  const JoinedSet& set = sets_[0];
  set.source->begin(RowPass::coordinates);
  MsRows rows;
  constexpr std::size_t kMaxRows = 20000, kMaxTimes = 4;
  if (!set.source->next(rows, kMaxRows)) return check;
  const SkyFrame frame(*layout_.site);
  std::map<std::pair<double, int>, Mat3> rotations;
  double with = 0, against = 0, total = 0;
  for (std::size_t row = 0; row < rows.ant1.size(); ++row) {
    const Vec3 stored{rows.uvw_m(row, 0), rows.uvw_m(row, 1), rows.uvw_m(row, 2)};
    if (rows.ant1[row] == rows.ant2[row] || !std::isfinite(stored[0] + stored[1] + stored[2])) continue;
    const auto key = std::pair(rows.time_mjd_s[row], rows.field[row]);
    auto at = rotations.find(key);
    if (at == rotations.end()) {
      if (rotations.size() == kMaxTimes) break;
      const SkyDirection centre =
          set.source->description().fields[static_cast<std::size_t>(key.second)].phase_centre;
      at = rotations.emplace(key, frame.uvw_rotation(from_mjd_seconds(key.first), centre)).first;
    }
    const auto position = [&](int antenna) {
      return layout_.antennas[static_cast<std::size_t>(set.antenna_of[static_cast<std::size_t>(antenna)])]
          .enu_m;
    };
    const Vec3 expected = multiply(at->second, position(rows.ant1[row]) - position(rows.ant2[row]));
    const Vec3 difference = stored - expected, sum = stored + expected;
    with += dot(difference, difference);
    against += dot(sum, sum);
    total += dot(stored, stored);
  }
  check.conjugated = against < with;
  check.misfit = total > 0 ? std::sqrt(std::min(with, against) / total) : 0;
  return check;
}

MsDescription JoinedSets::describe(const Options& options) const {
  const SourceDescription& first = sets_[0].source->description();
  MsDescription set;
  set.telescope = first.telescope;
  set.observer = first.observer;
  set.layout = layout_;
  set.products = products();
  set.flux_unit = first.flux_unit;
  std::vector<MsField> fields = fields_;
  if (options.centre)
    for (MsField& field : fields) field.phase_centre = *options.centre;
  set.source = fields[0].name;
  set.phase_centre = fields[0].phase_centre;
  set.pointing = fields[0].pointing;
  set.more_fields.assign(fields.begin() + 1, fields.end());
  std::vector<MsSpectralWindow> windows;
  for (const MsSpectralWindow& window : windows_)
    windows.push_back(averaged_window(window, options.average_channels));
  set.channel_hz = windows[0].channel_hz;
  set.channel_widths_hz = windows[0].width_hz;
  set.channel_width_hz = windows[0].width_hz[0];
  set.window_name = windows[0].name;
  set.frame = windows[0].frame;
  set.more_windows.assign(windows.begin() + 1, windows.end());
  for (const JoinedSet& joined : sets_)
    for (const std::string& line : joined.source->description().history)
      if (std::find(set.history.begin(), set.history.end(), line) == set.history.end())
        set.history.push_back(line);
  return set;
}

double JoinedSets::length_m(const MsRows& rows, std::size_t row) {
  const Vec3 uvw{rows.uvw_m(row, 0), rows.uvw_m(row, 1), rows.uvw_m(row, 2)};
  return std::isfinite(uvw[0] + uvw[1] + uvw[2]) ? std::sqrt(dot(uvw, uvw)) : 0;
}

BinRow JoinedSets::bin_row(const JoinedSet& set, const MsRows& rows, std::size_t row,
                           const Options& options) const {
  const auto mapped = [](const std::vector<int>& map, int number) {
    return map[static_cast<std::size_t>(number)];
  };
  BinRow result;
  result.window = mapped(set.window_of, rows.spw);
  result.field = mapped(set.field_of, rows.field[row]);
  result.scan = rows.scan[row];
  result.ant1 = mapped(set.antenna_of, rows.ant1[row]);
  result.ant2 = mapped(set.antenna_of, rows.ant2[row]);
  const double half_s = rows.interval_s[row] > 0 ? rows.interval_s[row] / 2 : 0;
  result.begin_s = rows.time_mjd_s[row] - half_s;
  result.end_s = rows.time_mjd_s[row] + half_s;
  if (options.bda_loss > 0 && length_m(rows, row) > 0) {
    const SkyDirection& centre =
        options.centre ? *options.centre : fields_[static_cast<std::size_t>(result.field)].phase_centre;
    result.fringe_rate_hz =
        average::fringe_rate_hz({rows.uvw_m(row, 0), rows.uvw_m(row, 1), rows.uvw_m(row, 2)}, centre.dec_rad,
                                options.bda_radius_rad, max_freq_hz_);
  }
  return result;
}

}  // namespace apsyn::transform
