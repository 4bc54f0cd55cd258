// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/rank_share.h"

#include <algorithm>

namespace apsyn::imaging {

RankShare::Rows RankShare::rows_of_part(std::size_t first, std::size_t n, std::size_t n_block) const {
  const std::size_t own_first = first_row(n_block), own_end = own_first + n_rows(n_block);
  const std::size_t begin = std::clamp(own_first, first, first + n),
                    end = std::clamp(own_end, begin, first + n);
  return {begin - first, end - begin};
}

RankShare share_rows(const Ranks& ranks, std::size_t n_layers) {
  return {{0, n_layers}, static_cast<std::size_t>(ranks.rank), static_cast<std::size_t>(ranks.size)};
}

RankShare share_of(const Ranks& ranks, const IdgPlan& plan, const PlanCost& cost,
                   const WHistogram& visibilities) {
  const auto size = static_cast<std::size_t>(ranks.size), rank = static_cast<std::size_t>(ranks.rank);
  std::size_t n_ranges = std::min(size, plan.n_layers);
  while (size % n_ranges != 0) --n_ranges;
  const std::size_t n_parts = size / n_ranges;
  return {cut_w(plan, cost, visibilities, n_ranges)[rank / n_parts], rank % n_parts, n_parts};
}

}  // namespace apsyn::imaging
