// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/grid_memory.h"

#include <algorithm>
#include <complex>

#include "kernels/idg/residual_imager.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"

namespace apsyn {
namespace {

constexpr std::uint64_t kMaxRangeBytes = 1'500'000'000;

std::string bytes_text(std::uint64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

GridPlace place_on_device(const DeviceRoom& room, const IdgPlan& plan, const GridDemand& demand,
                          GridMemory where) {
  GridPlace place;
  place.where = where;
  place.free_bytes = room.free_bytes;
  place.room_bytes = room.total_bytes;
  // Blocks of visibilities need room too.
  const std::uint64_t ranges = range_bytes(room.total_bytes), blocks = room.total_bytes / 8;
  if (where == GridMemory::hybrid) {
    // Sums and their factors, subgrids and their transform, and twice what travels.
    place.device.fixed_bytes = demand.n_gridders * 6 * ranges + blocks;
  } else {
    // The layers' transform works in float64 with scratch of its own, for one gridder after the other; a
    // degridder, which is alone, keeps it.
    const std::uint64_t images = sizeof(double) * plan.image.n_x * plan.image.n_y * demand.n_planes,
                        transform = 3 * sizeof(std::complex<double>) * plan.n_u * plan.n_v;
    place.device = {demand.n_gridders * (4 * ranges + images) + transform + blocks,
                    demand.n_gridders * demand.n_planes * padded_cells(plan) *
                        (plan.settings.precision == Precision::single ? 8 : 16)};
  }
  const bool all_on_device = where == GridMemory::gpu || where == GridMemory::unified;
  place.max_layers = layers_within({place.device.fixed_bytes, all_on_device ? place.device.layer_bytes : 0},
                                   room.free_bytes, plan.n_layers);
  return place;
}

std::string shortage(const DeviceRoom& room, const GridPlace& place, const GridDemand& demand) {
  return fmt::format(
      "{}: {} are free and {} {}, {} of it for one w layer", room.device, bytes_text(room.free_bytes),
      demand.n_gridders == 1 ? "this image needs" : fmt::format("these {} images need", demand.n_gridders),
      bytes_text(place.device.bytes(1)), bytes_text(place.device.layer_bytes));
}

}  // namespace

const char* to_text(GridMemory where) {
  switch (where) {
    case GridMemory::gpu:
      return "gpu";
    case GridMemory::hybrid:
      return "hybrid";
    case GridMemory::unified:
      return "unified";
    case GridMemory::oversubscribed:
      break;
  }
  return "oversubscribed";
}

GridMemory parse_grid_memory(const std::string& text) {
  for (GridMemory where :
       {GridMemory::gpu, GridMemory::hybrid, GridMemory::unified, GridMemory::oversubscribed})
    if (text == to_text(where)) return where;
  throw UsageError("--grid-memory {}: use auto, gpu, hybrid or unified", text);
}

std::uint64_t padded_cells(const IdgPlan& plan) {
  constexpr std::uint64_t tile = 32;  // grid_tiles.cuh
  return (plan.n_u + tile - 1) / tile * ((plan.n_v + tile - 1) / tile) * tile * tile;
}

std::uint64_t range_bytes(std::uint64_t device_bytes) {
  return std::min(kMaxRangeBytes, device_bytes / 24);
}

IdgMemory host_memory(const IdgMemory& on_cpu, GridMemory where, std::uint64_t image_bytes) {
  constexpr std::uint64_t rings = kUploadHostBytes + kDownloadHostBytes;
  switch (where) {
    case GridMemory::hybrid:
      return {on_cpu.fixed_bytes + kHybridHostBytes + rings, on_cpu.layer_bytes};
    case GridMemory::oversubscribed:  // all pages may be there at one time or another
      return {image_bytes + rings, on_cpu.layer_bytes};
    default:
      return {image_bytes + rings, 0};
  }
}

std::size_t layers_within(const IdgMemory& needed, std::uint64_t max_bytes, std::size_t n_layers) {
  if (max_bytes < needed.bytes(1)) return 0;
  if (needed.layer_bytes == 0) return n_layers;
  return std::min<std::uint64_t>(n_layers, (max_bytes - needed.fixed_bytes) / needed.layer_bytes);
}

std::string describe(const GridPlace& place, const Device& device, std::size_t n_layers,
                     const IdgMemory& host) {
  const bool hybrid = place.where == GridMemory::hybrid;
  return fmt::format(
      "{} of {}; w layers in {} memory (--grid-memory {}), {} in a pass",
      bytes_text(place.device.bytes(n_layers)), device.description,
      place.where == GridMemory::gpu ? "GPU"
      : hybrid                       ? "host"
                                     : "managed",
      place.where == GridMemory::oversubscribed ? "unified --oversubscribe" : to_text(place.where),
      bytes_text(n_layers * (hybrid ? host.layer_bytes : place.device.layer_bytes)));
}

void check_oversubscription(const DeviceRoom& room) {
  if (!room.can_oversubscribe)
    throw DeviceError("{}: --oversubscribe: its driver cannot move pages on demand: use --grid-memory hybrid",
                      room.device);
}

GridPlace place_grids(const DeviceRoom& room, const IdgPlan& plan, const GridDemand& demand) {
  const GridMemory first = demand.wanted.value_or(GridMemory::gpu);
  if (first == GridMemory::oversubscribed) check_oversubscription(room);
  const GridPlace place = place_on_device(room, plan, demand, first);
  if (place.max_layers > 0) return place;
  const std::string what = shortage(room, place, demand);
  if (demand.wanted)
    throw DeviceError("{}: {}", what,
                      first == GridMemory::unified  ? kTooLittleForUnified
                      : first == GridMemory::hybrid ? "use --device cpu"
                                                    : "use --grid-memory hybrid or --device cpu");
  GridPlace hybrid = place_on_device(room, plan, demand, GridMemory::hybrid);
  if (hybrid.max_layers == 0) throw DeviceError("{}: {}", shortage(room, hybrid, demand), "use --device cpu");
  hybrid.reason = what;
  return hybrid;
}

std::uint64_t residual_imager_bytes(const IdgPlan& plan, std::size_t n_planes, const ResidualLoad& load,
                                    std::uint64_t device_bytes) {
  const double real = plan.settings.precision == Precision::single ? 4 : 8,
               planes = static_cast<double>(n_planes),
               pixels = static_cast<double>(plan.image.n_x) * static_cast<double>(plan.image.n_y),
               cells = static_cast<double>(padded_cells(plan));
  // Sums and subgrids of a range, and what predicting has of the same kind.
  const double ranges = 3 * static_cast<double>(range_bytes(device_bytes));
  // The sums of images and the model in float64, what travels in float32, the taper.
  const double images = pixels * (planes * (2 * sizeof(double) + sizeof(float)) + sizeof(double));
  // Grids of both directions, and a layer at work with its transform's scratch.
  const double layers = 2 * planes * cells * 2 * real * static_cast<double>(plan.n_layers) +
                        4 * sizeof(std::complex<double>) * cells;
  // Coordinates, stations and how rows are divided, for either direction; data and weights.
  constexpr double kRowBytes = 450, kListBytes = 8,
                   kReserve = 1.25;  // arrays take a quarter more than they need
  const double kept =
      load.n_rows * kRowBytes +
      kReserve * load.n_visibilities * (kListBytes + planes * (sizeof(std::complex<float>) + sizeof(float)));
  // Working memory for one block at a time: predictions by task and by row, slots, and values at nodes.
  const double at_work = kReserve * load.n_block_visibilities * (16 + 12 * real + 8 * real * planes) +
                         load.n_block_rows * kRowBytes;
  return static_cast<std::uint64_t>(ranges + images + layers + kept + at_work);
}

std::uint64_t residual_host_bytes() {
  return kUploadHostBytes + kDownloadHostBytes;
}

}  // namespace apsyn
