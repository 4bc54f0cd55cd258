// SPDX-License-Identifier: GPL-3.0-or-later
// The gridder of each field, and the number of passes over the data that the memory allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/idg/grid_memory.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/planes.h"
#include "libcore/aterms/screens.h"
#include "libcore/system/device.h"
#include "libcore/visibility/imaging.h"
#include "tools/imaging/field.h"

namespace apsyn::imaging {

/// Everything needed to grid one field but the gridder, which is created after all fields are planned.
struct FieldGridder {
  IdgPlan plan;
  std::optional<PlanesPlan> planes;  ///< what is gridded by instead of `plan`; never with A-terms
  std::unique_ptr<AtermScreens> screens;

  /// `own`: null without A-terms.
  FieldGridder(const Field& field, const IdgPlan& planned, std::unique_ptr<AtermScreens> own,
               std::uint64_t aterm_bytes);

  std::unique_ptr<Gridder> make(const Device& device, const IdgSetup& setup) const;
  /// Host memory without what A-terms take.
  IdgMemory memory(Device::Kind device, const IdgSetup& setup) const;
  std::size_t n_layers() const { return planes ? 1 : plan.n_layers; }
  std::vector<std::string> describe() const { return planes ? planes->describe() : plan.describe(); }

  /// Calls use(block) for the whole block, or once for each run of rows that fits one set of prepared
  /// A-terms.
  template <class Use>
  void for_each_part(const ImagingBlock& from, const GridBlock& block, Use&& use) {
    if (!screens) return use(block);
    for (std::size_t first = 0; first < block.uvw_m.extent(0);) {
      const std::size_t n = screens->prepare(from, first);
      GridBlock part = rows_of(block, first, n);
      part.aterms = {screens->row_slot(), screens->chan_slot(), screens->jones(), screens->response()};
      use(part);
      first += n;
    }
  }
};

/// Frequencies of the group's channels, of all inputs.
std::vector<double> channels_of(const Imager& imager, const ChannelGroup& group);

/// Null without A-terms.
std::unique_ptr<AtermScreens> open_screens(const Imager& imager);

/// Where the layers' grids are kept, and how many layers of every field are gridded at a time.
struct Passes {
  std::optional<GridPlace> on_gpu;  ///< of fields with layers
  IdgMemory host;
  std::size_t layers = 0;
  GridMemory where() const { return on_gpu ? on_gpu->where : GridMemory::gpu; }
};
/// Plans passes with as many layers as fit on the device.
Passes place_passes(const Imager& imager, const ChannelGroup& group, const std::vector<FieldGridder>& fields);

}  // namespace apsyn::imaging
