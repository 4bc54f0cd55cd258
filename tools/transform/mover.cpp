// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/transform/mover.h"

#include "libcore/base/time.h"

namespace apsyn::transform {

Mover::Mover(const Options& options, const JoinedSets& sets, const UvwCheck& uvw)
    : sets_(sets), conjugated_(uvw.conjugated), fields_(sets.fields().size()) {
  if (!options.centre) return;
  centre_ = *options.centre;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const SkyDirection& from = sets.fields()[i].phase_centre;
    if (from == centre_) continue;
    fields_[i] = {true, make_rephasing(from, centre_)};
    moves_ = true;
  }
  if (moves_ && sets.layout().site && uvw.of_antennas())
    frame_ = std::make_unique<SkyFrame>(*sets.layout().site);
}

/// R_to - M R_from.
Mat3 Mover::correction(double time_mjd_s, const SkyDirection& from, const Mat3& rotation) const {
  const UtcTime time = from_mjd_seconds(time_mjd_s);
  const Mat3 to = frame_->uvw_rotation(time, centre_), old = frame_->uvw_rotation(time, from);
  Mat3 result{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      result[i][j] =
          to[i][j] - (rotation[i][0] * old[0][j] + rotation[i][1] * old[1][j] + rotation[i][2] * old[2][j]);
  return result;
}

void Mover::prepare(const JoinedSet& set, const MsRows& rows) {
  if (!frame_) return;
  const std::size_t n = rows.ant1.size();
  constexpr std::size_t kMaxTimes = 100000;
  if (corrections_.size() > kMaxTimes) corrections_.clear();
  of_row_.assign(n, nullptr);
  std::pair<double, int> last{-1, -1};
  const Mat3* found = nullptr;
  for (std::size_t row = 0; row < n; ++row) {
    const int field = set.field_of[static_cast<std::size_t>(rows.field[row])];
    if (!fields_[static_cast<std::size_t>(field)].moves) continue;
    const std::pair<double, int> key{rows.time_mjd_s[row], field};
    if (key != last) {
      auto at = corrections_.find(key);
      if (at == corrections_.end())
        at = corrections_
                 .emplace(key,
                          correction(key.first, sets_.fields()[static_cast<std::size_t>(field)].phase_centre,
                                     fields_[static_cast<std::size_t>(field)].rephasing.rotation))
                 .first;
      found = &at->second;
      last = key;
    }
    of_row_[row] = found;
  }
}

double Mover::move(const JoinedSet& set, MsRows& rows, std::size_t row) const {
  const Field& field =
      fields_[static_cast<std::size_t>(set.field_of[static_cast<std::size_t>(rows.field[row])])];
  if (!field.moves) return 0;
  const Vec3 uvw{rows.uvw_m(row, 0), rows.uvw_m(row, 1), rows.uvw_m(row, 2)};
  Vec3 moved = multiply(field.rephasing.rotation, uvw);
  double path_m = dot(field.rephasing.path, uvw);
  if (frame_ && of_row_[row] != nullptr) {
    const auto position = [&](int antenna) {
      const int number = set.antenna_of[static_cast<std::size_t>(antenna)];
      return sets_.layout().antennas[static_cast<std::size_t>(number)].enu_m;
    };
    const Vec3 first = position(rows.ant1[row]), second = position(rows.ant2[row]);
    const Vec3 added = multiply(*of_row_[row], conjugated_ ? second - first : first - second);
    moved = moved + added;
    path_m += added[2];
  }
  for (std::size_t axis = 0; axis < 3; ++axis) rows.uvw_m(row, axis) = moved[axis];
  return path_m;
}

}  // namespace apsyn::transform
