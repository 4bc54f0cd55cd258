// SPDX-License-Identifier: GPL-3.0-or-later
// Where the w layers' grids may live, and how many of them at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/idg/idg.h"

namespace apsyn {

/// "gpu", "hybrid", "unified" or "oversubscribed".
const char* to_text(GridMemory where);
/// The inverse of to_text(); UsageError for other words.
GridMemory parse_grid_memory(const std::string& text);

/// A GPU's memory.
struct DeviceRoom {
  std::string device;  ///< its description
  std::uint64_t free_bytes = 0, total_bytes = 0;
  bool can_oversubscribe = false;  ///< whether the driver moves managed memory's pages on demand
};
/// DeviceError in a build without CUDA.
DeviceRoom device_room(const Device& device);

/// Gridders or degridders that will be in use together, for plans of the same size. None of them has been
/// made yet.
struct GridDemand {
  std::size_t n_planes = 1;  ///< of the grids
  std::size_t n_gridders = 1;
  std::optional<GridMemory> wanted{};  ///< absent: gpu when one layer of all planes fits, else hybrid
};

struct GridPlace {
  GridMemory where = GridMemory::gpu;
  IdgMemory device;            ///< estimate of what all of them need on the device
  std::size_t max_layers = 0;  ///< largest number of layers in a pass, where memory limits it
  std::string reason;          ///< why a choice that was left open fell on hybrid, or empty
  std::uint64_t free_bytes = 0, room_bytes = 0;  ///< of the device: DeviceRoom's
};

/// DeviceError when not even one layer fits in the wanted place; the message names the sizes and the cure.
GridPlace place_grids(const DeviceRoom& room, const IdgPlan& plan, const GridDemand& demand);

/// Host memory that a gridder or degridder needs when it uses a GPU. `on_cpu`: what it would need without
/// one; `image_bytes`: size of its images.
IdgMemory host_memory(const IdgMemory& on_cpu, GridMemory where, std::uint64_t image_bytes);
/// Number of layers, up to n_layers, that fit into max_bytes; 0 when not even one does.
std::size_t layers_within(const IdgMemory& needed, std::uint64_t max_bytes, std::size_t n_layers);
/// A line for people: where the layers are, and the device's part.
std::string describe(const GridPlace& place, const Device& device, std::size_t n_layers,
                     const IdgMemory& host);

/// Pinned memory through which blocks are copied to the device, and results back to the host.
inline constexpr std::uint64_t kUploadHostBytes = 128u << 20, kDownloadHostBytes = 64u << 20;
/// Further pinned memory for a degridder's nodes of tracks.
inline constexpr std::uint64_t kNodeHostBytes = 128u << 20;
/// Further pinned memory of a hybrid gridder or degridder.
inline constexpr std::uint64_t kHybridHostBytes = 300'000'000;

/// Cells of one plane of one layer on a GPU, padded to whole tiles.
std::uint64_t padded_cells(const IdgPlan& plan);
/// Scratch for sums, and for subgrids, of one range of tasks.
std::uint64_t range_bytes(std::uint64_t device_bytes);

/// The cure that error messages suggest.
inline constexpr const char* kTooLittleForUnified =
    "use --grid-memory hybrid, or --oversubscribe to let pages move to the host and back";
/// DeviceError when the driver cannot.
void check_oversubscription(const DeviceRoom& room);

}  // namespace apsyn
