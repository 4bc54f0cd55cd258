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
/// The other way; UsageError for other words.
GridMemory parse_grid_memory(const std::string& text);

/// A GPU's memory.
struct DeviceRoom {
  std::string device;  ///< its description
  std::uint64_t free_bytes = 0, total_bytes = 0;
  bool can_oversubscribe = false;  ///< whether the driver moves managed memory's pages on demand
};
/// DeviceError in a build without CUDA.
DeviceRoom device_room(const Device& device);

/// Gridders or degridders that are in use together, of plans of the same size, none of them made yet.
struct GridDemand {
  std::size_t n_planes = 1;  ///< of the grids
  std::size_t n_gridders = 1;
  std::optional<GridMemory> wanted{};  ///< absent: gpu when one layer of all planes fits, else hybrid
};

struct GridPlace {
  GridMemory where = GridMemory::gpu;
  IdgMemory device;                              ///< about what all of them need of the device
  std::size_t max_layers = 0;                    ///< in a pass, as far as that goes
  std::string reason;                            ///< why a choice that was left open fell on hybrid, or empty
  std::uint64_t free_bytes = 0, room_bytes = 0;  ///< of the device: DeviceRoom's
};

/// DeviceError when not even one layer fits where it is wanted: it names the sizes and the cure.
GridPlace place_grids(const DeviceRoom& room, const IdgPlan& plan, const GridDemand& demand);

/// What a gridder or degridder needs of the host beside a GPU, when it would need `on_cpu` without one and
/// its images take `image_bytes`.
IdgMemory host_memory(const IdgMemory& on_cpu, GridMemory where, std::uint64_t image_bytes);
/// Layers that fit into so much memory; 0 when it is too little for one.
std::size_t layers_within(const IdgMemory& needed, std::uint64_t max_bytes, std::size_t n_layers);
/// A line for people: where the layers are, and the device's part.
std::string describe(const GridPlace& place, const Device& device, std::size_t n_layers,
                     const IdgMemory& host);

/// Pinned memory that blocks travel to the device through, and that what comes back does.
inline constexpr std::uint64_t kUploadHostBytes = 128u << 20, kDownloadHostBytes = 64u << 20;
/// Pinned memory for a degridder's nodes of tracks, besides.
inline constexpr std::uint64_t kNodeHostBytes = 128u << 20;
/// Pinned memory of a hybrid gridder or degridder, besides.
inline constexpr std::uint64_t kHybridHostBytes = 300'000'000;

/// Of a plane of a layer on a GPU, which has whole tiles.
std::uint64_t padded_cells(const IdgPlan& plan);
/// Scratch for sums, and for subgrids, of one range of tasks.
std::uint64_t range_bytes(std::uint64_t device_bytes);

/// The cure, as messages give it.
inline constexpr const char* kTooLittleForUnified =
    "use --grid-memory hybrid, or --oversubscribe to let pages move to the host and back";
/// DeviceError when the driver cannot.
void check_oversubscription(const DeviceRoom& room);

}  // namespace apsyn
