// SPDX-License-Identifier: GPL-3.0-or-later
// How a model is predicted within the memory: where the layers' grids go, and how many at a time.
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

/// What a prediction may take, and what it is for.
struct DegridDemand {
  std::optional<GridMemory> grid_memory;  ///< absent: to be chosen
  std::uint64_t beside_bytes = 0;         ///< of the degridder: the model as it is read, its A-terms
  std::uint64_t other_bytes = 0;          ///< of everything else
  std::uint64_t max_bytes = 0;
  double n_visibilities = 0;
};

/// Where a prediction's layers go, and the memory that it takes, whether there is so much or not.
DegridPasses place_degridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup,
                             const DegridDemand& demand);

DegridPasses plan_degrid_passes(const Device& device, const IdgPlan& plan, const IdgSetup& setup,
                                const DegridDemand& demand);

}  // namespace apsyn::imaging
