// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/rank_share.h"
#include "libcore/base/log.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

bool add_on_machine(Gridder& gridder, const Ranks& ranks) {
  if (ranks.local_size == 1) return false;
  const std::vector<std::vector<std::byte>> handles = gather_on_machine(gridder.images_handle());
  std::vector<std::uint8_t> added(static_cast<std::size_t>(ranks.local_size), 0);
  for (std::size_t i = 1; i < handles.size(); ++i)
    added[i] = !handles[i].empty() && gridder.add_images(handles[i]) ? 1 : 0;
  broadcast_on_machine(std::as_writable_bytes(std::span(added)));
  if (ranks.root())
    log_verbose("images of {} of {} other processes on this machine are added up on the GPU",
                std::count(added.begin(), added.end(), 1), added.size() - 1);
  return added[static_cast<std::size_t>(ranks.local_rank)] != 0;
}

Buffer<double, 3> take_summed_images(Gridder& gridder, const Ranks& ranks) {
  if (ranks.size == 1) return gridder.take_images();
  Buffer<double, 3> images;
  if (!add_on_machine(gridder, ranks)) images = gridder.take_images();
  add_to_root({images.data(), images.size()});
  return images;
}

}  // namespace apsyn::imaging
