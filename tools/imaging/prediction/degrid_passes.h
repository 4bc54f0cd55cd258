// SPDX-License-Identifier: GPL-3.0-or-later
// Predicting a model within the available memory: where the layers' grids are kept, and how many layers a
// pass has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/idg/grid_memory.h"
#include "kernels/idg/idg.h"
#include "libcore/system/device.h"

namespace apsyn::imaging {

/// Lets a degridder take `planes` and give all four correlations through A-terms. `source`: for messages.
void predict_through_aterms(IdgSetup& setup, const std::vector<std::string>& planes,
                            const std::string& source);

struct DegridPasses {
  IdgSetup setup;
  GridPlace place;         ///< on a GPU
  IdgMemory memory;        ///< on the host
  std::size_t layers = 1;  ///< of a pass
};

/// Memory that a prediction may use, and the size of its task.
struct DegridDemand {
  std::optional<GridMemory> grid_memory;  ///< absent: to be chosen
  std::uint64_t beside_bytes = 0;         ///< memory besides its grids: the model images and A-terms
  std::uint64_t other_bytes = 0;          ///< of everything else in the process
  std::uint64_t max_bytes = 0;
  double n_visibilities = 0;
};

/// Where a prediction's layers are kept, and the memory that it takes, even if it exceeds what is available.
DegridPasses place_degridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup,
                             const DegridDemand& demand);

DegridPasses plan_degrid_passes(const Device& device, const IdgPlan& plan, const IdgSetup& setup,
                                const DegridDemand& demand);

}  // namespace apsyn::imaging
