// SPDX-License-Identifier: GPL-3.0-or-later
// The sum of the images that processes have gridded their shares into. GPUs of one machine add them up among
// themselves, where their processes can reach each other's memory, and but one travels to the host; what is
// elsewhere is sent to the first process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/idg/idg.h"
#include "libcore/base/log.h"
#include "libcore/system/ranks.h"

namespace apsyn::imaging {

/// Adds the images of a machine's processes to those of its first, one after the other, on its GPU. Whether
/// this process's are in another's now.
inline bool add_on_machine(Gridder& gridder, const Ranks& ranks) {
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

/// Once all passes have ended: the images of the first process; those of the others are of no use.
inline Buffer<double, 3> take_summed_images(Gridder& gridder, const Ranks& ranks) {
  Buffer<double, 3> images;
  if (!add_on_machine(gridder, ranks)) images = gridder.take_images();
  add_to_root({images.data(), images.size()});
  return images;
}

}  // namespace apsyn::imaging
