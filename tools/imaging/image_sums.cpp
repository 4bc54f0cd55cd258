// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/image_sums.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libcore/base/log.h"

namespace apsyn::imaging {

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
  Buffer<double, 3> images;
  if (!add_on_machine(gridder, ranks)) images = gridder.take_images();
  add_to_root({images.data(), images.size()});
  return images;
}

}  // namespace apsyn::imaging
