// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/visibility/visibility.h"

#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr std::string_view kNames[] = {"I", "Q", "U", "V", "RR", "RL", "LR", "LL", "XX", "XY", "YX", "YY"};

}  // namespace

std::string product_name(Product product) {
  return std::string(kNames[static_cast<std::size_t>(product) - 1]);
}

Product parse_product(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<Product>(i + 1);
  throw DataError("correlation product '{}' is unknown: one of I Q U V RR RL LR LL XX XY YX YY is needed",
                  name);
}

std::vector<Baseline> all_baselines(std::size_t n_ant, bool with_autos) {
  std::vector<Baseline> baselines;
  for (int ant1 = 0; ant1 < static_cast<int>(n_ant); ++ant1)
    for (int ant2 = ant1 + (with_autos ? 0 : 1); ant2 < static_cast<int>(n_ant); ++ant2)
      baselines.push_back({ant1, ant2});
  return baselines;
}

}  // namespace apsyn
