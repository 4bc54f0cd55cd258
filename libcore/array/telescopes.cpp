// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/array/telescopes.h"

#include <algorithm>

#include "libcore/base/csv.h"

namespace apsyn {
namespace {

struct Telescope {
  std::string_view name, other_name, letter, pair;
  int sigproc_id;  ///< 0: none that programs agree on
  Vec3 itrf_m;
};

constexpr Telescope kTelescopes[] = {
    {"arecibo", "arecibo305m", "3", "AO", 1, {2390487.080, -5564731.357, 1994720.633}},
    {"ata", "hcro", "", "", 9, {-2524263.18, -4123529.78, 4147966.36}},
    {"chime", "", "y", "CH", 20, {-2059166.313, -3621302.972, 4814304.113}},
    {"effelsberg", "eff", "g", "EF", 8, {4033947.146, 486990.898, 4900431.067}},
    {"fast", "", "k", "FA", 21, {-1668557.0, 5506838.0, 2744934.0}},
    {"gbt", "greenbank", "1", "GB", 6, {882589.289, -4924872.368, 3943729.418}},
    {"gmrt", "", "r", "GM", 7, {1657059.36, 5797913.14, 2073026.71}},
    {"jodrell", "lovell", "8", "JB", 5, {3822625.769, -154105.255, 5086486.256}},
    {"kat7", "k7", "", "", 65, {5109943.105, 2003650.7359, -3239908.3195}},
    {"lofar", "", "t", "LF", 11, {3826577.462, 461022.624, 5064892.526}},
    {"lwa1", "", "x", "LW", 0, {-1602196.60, -5042313.47, 3553971.51}},
    {"lwasv", "", "", "LS", 0, {-1531155.54418, -5045324.30517, 3579583.8945}},
    {"medicina", "northerncross", "d", "BO", 0, {4461242.882, 919559.835, 4449633.220}},
    {"meerkat", "mkt", "m", "MK", 64, {5109360.133, 2006852.586, -3238948.127}},
    {"most", "molonglo", "e", "MO", 0, {-4483311.64, 2648815.92, -3671909.31}},
    {"mwa", "", "u", "MW", 0, {-2559454.08, 5095372.14, -2849057.18}},
    {"nancay", "ncy", "f", "NC", 3, {4324165.81, 165927.11, 4670132.83}},
    {"nenufar", "", "", "", 0, {4323980.285, 165608.799, 4670302.65}},
    {"ooty", "ort", "", "", 2, {1442712.95, 6087044.73, 1251052.35}},
    {"parkes", "pks", "7", "PK", 4, {-4554231.5, 2816759.1, -3454036.3}},
    {"srt", "sardinia", "z", "SR", 0, {4865182.766, 791922.689, 4035137.174}},
    {"vla", "jvla", "6", "VL", 12, {-1601192.0, -5041981.4, 3554871.4}},
    {"wsrt", "westerbork", "i", "WS", 0, {3828445.659, 445223.6, 5064921.5677}},
};

}  // namespace

std::optional<Vec3> find_telescope(std::string_view name) {
  name = trim(name);
  if (name.empty()) return std::nullopt;
  std::string plain = lower(name);
  std::erase_if(plain, [](char c) { return c == ' ' || c == '-' || c == '_'; });
  for (const Telescope& telescope : kTelescopes)
    if (plain == telescope.name || (!telescope.other_name.empty() && plain == telescope.other_name) ||
        (!telescope.letter.empty() && name == telescope.letter) ||
        (!telescope.pair.empty() && name == telescope.pair))
      return telescope.itrf_m;
  return std::nullopt;
}

std::vector<std::string> telescope_names() {
  std::vector<std::string> names;
  for (const Telescope& telescope : kTelescopes) names.emplace_back(telescope.name);
  return names;
}

std::string telescope_of_sigproc(int id) {
  if (id <= 0) return "";
  const auto* found = std::find_if(std::begin(kTelescopes), std::end(kTelescopes),
                                   [&](const Telescope& telescope) { return telescope.sigproc_id == id; });
  return found == std::end(kTelescopes) ? "" : std::string(found->name);
}

}  // namespace apsyn
