// SPDX-License-Identifier: GPL-3.0-or-later
// From what a command line says to IdgSettings.
#pragma once

#include <optional>

#include "kernels/idg/grid_memory.h"
#include "kernels/idg/idg.h"
#include "libcore/base/error.h"

namespace apsyn {

/// Cells of a subgrid that the transforms of A-terms may take up: four on either side.
inline constexpr std::size_t kAtermCells = 8;

/// `options` has accuracy, subgrid, kernel_padding and padding (0 = not given), taper ("auto", "lm", "pswf"
/// or "kb") and precision ("single", "double", or empty: as the accuracy needs it), and aterms (empty =
/// none).
template <class Options>
IdgSettings idg_settings(const Options& options) {
  IdgSettings settings{.accuracy = options.accuracy,
                       .subgrid = options.subgrid,
                       .kernel_padding = options.kernel_padding,
                       .padding = options.padding,
                       .taper = parse_taper(options.taper)};
  if (!options.aterms.empty()) settings.aterm_cells = kAtermCells;
  if (options.precision == "double" || (options.precision.empty() && options.accuracy > 0 &&
                                        precision_for(options.accuracy) == Precision::double_))
    settings.precision = Precision::double_;
  return settings;
}

/// Where `options` (grid_memory and oversubscribe) put the layers of --device cuda; absent for auto.
/// UsageError for options that contradict each other.
template <class Options>
std::optional<GridMemory> wanted_grid_memory(const Options& options, const Device& device) {
  if (options.oversubscribe && options.grid_memory != "unified")
    throw UsageError("--oversubscribe: goes with --grid-memory unified, not {}", options.grid_memory);
  if (options.grid_memory == "auto") return {};
  if (device.kind != Device::Kind::cuda)
    throw UsageError(
        "--grid-memory {}: the layers are in the host's memory on {}: leave it out, or choose a "
        "GPU with --device cuda",
        options.grid_memory, device.description);
  return options.oversubscribe ? GridMemory::oversubscribed : parse_grid_memory(options.grid_memory);
}

}  // namespace apsyn
