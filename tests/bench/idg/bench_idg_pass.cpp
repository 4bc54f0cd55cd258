// SPDX-License-Identifier: GPL-3.0-or-later
// Whole passes of the gridder over an observation of earth-rotation synthesis: cutting into subgrids,
// transfers, sums, transforms, adding, layers. Streamed: every block comes from host memory, pageable or
// pinned. Resident: the device has kept the blocks of a pass before, and how they are cut. One JSON line
// each; the error is that of random pixels of plane 0 against a float64 sum. Under mpirun processes share the
// w layers, or the rows of every block, and the times are from the moment when all begin to the one when all
// are done. "each": passes of some layers alone, resident, with what they hold, for the constants of
// kernels/idg/plan/cost.cpp.
//   [mpirun -n N] bench_idg_pass [cpu|cuda] [STEPS] [gpu|hybrid|unified] [lofar|ska] [layers|rows|each]
#include <fmt/core.h>

#include <array>
#include <chrono>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "kernels/idg/grid_memory.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/partition/pass_rows.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"
#include "libcore/system/parallel.h"
#include "libcore/system/ranks.h"
#include "tests/bench/idg/nvml_energy.h"
#include "tools/imaging/rank_share.h"

using namespace apsyn;

namespace {

constexpr std::size_t kChannels = 16, kPlanes = 4;
/// Of data and weights: the largest that idg-grid takes.
constexpr std::size_t kBlockBytes = 512'000'000;

struct Observation {
  const char* name;
  std::vector<Vec3> enu_m;
  double lat_rad, dec_rad, first_hz, step_hz, seconds;
  std::size_t n_steps, grid;
  std::size_t n_baselines() const { return enu_m.size() * (enu_m.size() - 1) / 2; }
};

Observation lofar(std::size_t n_steps) {
  // Half of the stations within 2 km, the others out to 30 km.
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> flat(0, 1);
  Observation o{"52 stations, LOFAR-like", {}, 0.9235, 0.9, 150e6, 195312.5, 1, n_steps, 4096};
  for (int i = 0; i < 52; ++i) {
    const double r = i < 26 ? 2000 * std::sqrt(flat(random)) : 2000 * std::pow(15, flat(random));
    const double angle = 2 * std::numbers::pi * flat(random);
    o.enu_m.push_back({r * std::sin(angle), r * std::cos(angle), 5 * flat(random)});
  }
  return o;
}

Observation ska(std::size_t n_steps) {
  Observation o{"120 stations, SKA1-Low's core stretched to 40 km",
                {},
                -0.4681,
                -0.4,
                140e6,
                195312.5,
                1,
                n_steps,
                8192};
  const ArrayLayout layout = builtin_array("ska1-low-core");
  for (std::size_t i = 0; i < layout.antennas.size() && o.enu_m.size() < 120; ++i)
    o.enu_m.push_back(layout.antennas[i * 37 % layout.antennas.size()].enu_m);
  double most = 0;
  for (const Vec3& e : o.enu_m) most = std::max(most, std::hypot(e[0], e[1]));
  for (Vec3& e : o.enu_m) e = {e[0] * 20000 / most, e[1] * 20000 / most, e[2]};
  return o;
}

/// u, v, w of every baseline at a step, [baseline][3].
void fill_uvw(const Observation& o, std::size_t step, double* uvw) {
  const double hour =
      (static_cast<double>(step) - static_cast<double>(o.n_steps) / 2) * o.seconds * 7.2921e-5;
  std::vector<Vec3> at;
  for (const Vec3& e : o.enu_m) {
    const double x = -std::sin(o.lat_rad) * e[1] + std::cos(o.lat_rad) * e[2], y = e[0],
                 z = std::cos(o.lat_rad) * e[1] + std::sin(o.lat_rad) * e[2];
    const double ch = std::cos(hour), sh = std::sin(hour), cd = std::cos(o.dec_rad), sd = std::sin(o.dec_rad);
    at.push_back({sh * x + ch * y, -sd * ch * x + sd * sh * y + cd * z, cd * ch * x - cd * sh * y + sd * z});
  }
  for (std::size_t p = 0; p < at.size(); ++p)
    for (std::size_t q = p + 1; q < at.size(); ++q)
      for (std::size_t i = 0; i < 3; ++i) *uvw++ = at[p][i] - at[q][i];
}

struct Blocks {
  Buffer<double, 2> uvw_m;  ///< of all steps
  Buffer<std::uint32_t, 2> station;
  Buffer<double, 1> wavenumber;
  Buffer<std::complex<float>, 3> data;  ///< of one block: all have the same
  Buffer<float, 3> weight;
  std::size_t n_blocks = 0, rows = 0;

  GridBlock block(std::size_t i, bool keep) const {
    const View<const double, 2> uvw(uvw_m.data() + i * rows * 3, {rows, 3});
    return {uvw, {}, wavenumber, data, weight, station, {}, keep ? i + 1 : 0};
  }
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// What the planner is told of an observation's baselines.
IdgWorkload workload(const Observation& o, const Blocks& b, double max_w_m, const Device& device) {
  const std::size_t n_base = o.n_baselines(), n_row = b.uvw_m.extent(0);
  const double k = b.wavenumber(kChannels / 2), band = b.wavenumber(kChannels - 1) - b.wavenumber(0);
  double time_track_m = 0, length_m = 0;
  for (std::size_t row = 0; row < n_row; ++row) {
    length_m += std::hypot(b.uvw_m(row, 0), b.uvw_m(row, 1)) / static_cast<double>(n_row);
    if (row >= n_base)
      time_track_m +=
          std::hypot(b.uvw_m(row, 0) - b.uvw_m(row - n_base, 0), b.uvw_m(row, 1) - b.uvw_m(row - n_base, 1)) /
          static_cast<double>(n_base);
  }
  return {.max_w_lambda = max_w_m * b.wavenumber(kChannels - 1),
          .n_visibilities = static_cast<double>(n_row * kChannels),
          .n_planes = kPlanes,
          .n_baselines = static_cast<double>(n_base),
          .time_track_lambda = time_track_m * k,
          .channel_track_lambda = length_m * band,
          .device = device.kind};
}

/// RMS error of a few pixels, relative to the image's RMS: some pixels hold little.
double image_error(const Blocks& b, const IdgPlan& plan, const View<const double, 2>& image,
                   unsigned n_threads) {
  constexpr std::size_t n_pixels = 20;
  std::mt19937_64 random(4);
  std::vector<std::array<double, 3>> lmn;
  std::vector<double> got, want(n_pixels, 0.0);
  for (std::size_t i = 0; i < n_pixels; ++i) {
    const std::size_t x = random() % plan.image.n_x, y = random() % plan.image.n_y;
    const double l = (double(plan.image.n_x / 2) - double(x)) * plan.image.cell_rad,
                 m = (double(y) - double(plan.image.n_y / 2)) * plan.image.cell_rad, r2 = l * l + m * m;
    lmn.push_back({l, m, -r2 / (1 + std::sqrt(1 - r2))});
    got.push_back(image(y, x));
  }
  const std::size_t n_row = b.n_blocks * b.rows, n_pieces = (n_row + 4095) / 4096;
  std::vector<std::array<double, n_pixels>> sums(n_pieces);
  parallel_for(n_threads, n_pieces, [&](std::size_t piece, unsigned) {
    for (std::size_t row = piece * 4096; row < std::min(n_row, piece * 4096 + 4096); ++row)
      for (std::size_t i = 0; i < n_pixels; ++i) {
        const double path =
            b.uvw_m(row, 0) * lmn[i][0] + b.uvw_m(row, 1) * lmn[i][1] + b.uvw_m(row, 2) * lmn[i][2];
        // Channels lie evenly: a rotation each.
        const double first = -2 * std::numbers::pi * path * b.wavenumber.data()[0],
                     step = -2 * std::numbers::pi * path * (b.wavenumber.data()[1] - b.wavenumber.data()[0]);
        std::complex<double> turn = std::polar(1.0, first);
        const std::complex<double> by = std::polar(1.0, step);
        for (std::size_t chan = 0; chan < kChannels; ++chan, turn *= by)
          sums[piece][i] += (std::complex<double>(b.data(row % b.rows, chan, 0)) * turn).real();
      }
  });
  double error = 0, power = 0;
  for (std::size_t i = 0; i < n_pixels; ++i) {
    for (const auto& piece : sums) want[i] += piece[i];
    error += (got[i] - want[i]) * (got[i] - want[i]) / n_pixels;
  }
  for (const double pixel : image) power += pixel * pixel / static_cast<double>(image.size());
  return std::sqrt(error / power);
}

/// What a process does of a plan where blocks are on the device already, and where they travel in every pass.
struct Shares {
  imaging::RankShare resident, streamed;
};
Shares shares_of(const Blocks& b, const IdgPlan& plan, const IdgWorkload& work, bool rows) {
  const Ranks& ranks = join_ranks();
  if (rows) return {imaging::share_rows(ranks, plan.n_layers), imaging::share_rows(ranks, plan.n_layers)};
  imaging::WHistogram by_w;
  const double middle = b.wavenumber(kChannels / 2);
  for (std::size_t row = 0; row < b.uvw_m.extent(0); ++row)
    by_w.add({b.uvw_m(row, 0) * middle, b.uvw_m(row, 1) * middle, b.uvw_m(row, 2) * middle}, kChannels);
  PlanCost cost = modelled_cost(plan, work);
  const imaging::RankShare streamed = imaging::share_of(ranks, plan, cost, by_w);
  cost.travel_s = 0;
  return {imaging::share_of(ranks, plan, cost, by_w), streamed};
}

/// Resident passes over single layers, over the first ones and over the last ones.
void time_layers(const Blocks& b, const IdgPlan& plan, Gridder& gridder) {
  std::vector<LayerRange> ranges;
  for (std::size_t layer = 0; layer < plan.n_layers; ++layer) {
    ranges.push_back({layer, 1});
    ranges.push_back({0, layer + 1});
    if (layer > 0) ranges.push_back({layer, plan.n_layers - layer});
  }
  for (const LayerRange& range : ranges) {
    GridCounts counts;
    double seconds = INFINITY;
    for (int repetition = 0; repetition < 3; ++repetition) {  // the first one cuts
      counts = {};
      const auto begin = std::chrono::steady_clock::now();
      gridder.begin_pass(range);
      for (std::size_t i = 0; i < b.n_blocks; ++i) {
        const GridCounts own = gridder.grid(b.block(i, true));
        counts.n_visibilities += own.n_visibilities;
        counts.n_subgrids += own.n_subgrids;
      }
      gridder.end_pass();
      seconds = std::min(seconds, seconds_since(begin));
    }
    fmt::print(
        "{{\"bench\":\"idg_layers\",\"first_layer\":{},\"layers\":{},\"visibilities\":{},\"subgrids\":{},"
        "\"seconds\":{:.5g}}}\n",
        range.first, range.n, counts.n_visibilities, counts.n_subgrids, seconds);
    std::fflush(stdout);
  }
}

enum class Share { layers, rows, each };

void run(const Observation& o, const Device& device, GridMemory where, unsigned n_threads, Share shared) {
  const bool by_rows = shared == Share::rows;
  Blocks b;
  const std::size_t n_base = o.n_baselines(), row_bytes = kChannels * kPlanes * 3 * sizeof(float),
                    steps_at_once = std::max<std::size_t>(1, kBlockBytes / (n_base * row_bytes));
  b.n_blocks = o.n_steps / steps_at_once;
  b.rows = steps_at_once * n_base;
  b.uvw_m.resize({b.n_blocks * b.rows, 3});
  b.station.resize({b.rows, 2});
  b.wavenumber.resize({kChannels});
  b.data.resize({b.rows, kChannels, kPlanes});
  b.weight.resize({b.rows, kChannels, kPlanes});
  b.weight.fill(1);
  for (std::size_t c = 0; c < kChannels; ++c)
    b.wavenumber(c) = (o.first_hz + o.step_hz * static_cast<double>(c)) / 299792458.0;
  parallel_for(n_threads, b.n_blocks * steps_at_once,
               [&](std::size_t step, unsigned) { fill_uvw(o, step, &b.uvw_m(step * n_base, 0)); });
  parallel_for(n_threads, b.rows, [&](std::size_t row, unsigned) {
    std::uint64_t state = row * 0x9E3779B97F4A7C15ull + 1;
    for (std::size_t i = 0; i < kChannels * kPlanes; ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      (&b.data(row, 0, 0))[i] = {static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31f,
                                 static_cast<float>(static_cast<std::int32_t>(state >> 12)) * 0x1p-31f};
    }
  });
  std::size_t row = 0;
  for (std::size_t step = 0; step < steps_at_once; ++step)
    for (std::uint32_t p = 0; p < o.enu_m.size(); ++p)
      for (std::uint32_t q = p + 1; q < o.enu_m.size(); ++q, ++row) {
        b.station(row, 0) = p;
        b.station(row, 1) = q;
      }
  double longest = 0, max_w = 0;
  for (std::size_t r = 0; r < b.uvw_m.extent(0); ++r) {
    longest = std::max({longest, std::abs(b.uvw_m(r, 0)), std::abs(b.uvw_m(r, 1))});
    max_w = std::max(max_w, std::abs(b.uvw_m(r, 2)));
  }
  const double k = b.wavenumber(kChannels - 1);
  const double padded_field = static_cast<double>(o.grid / 2 - 20) / (longest * k);
  const std::size_t n_pixels = o.grid * 2 / 3;
  IdgSettings settings;
  settings.subgrid = 32;
  settings.accuracy = 1e-5;
  const double n_visibilities = static_cast<double>(b.n_blocks * b.rows * kChannels);
  const IdgWorkload work = workload(o, b, max_w, device);
  const IdgPlan plan =
      make_idg_plan({n_pixels, n_pixels, padded_field / static_cast<double>(o.grid)}, settings, work);
  const NvmlEnergy energy;
  const IdgSetup setup{.n_data_planes = kPlanes, .n_threads = n_threads, .grid_memory = where};
  const Shares shares = shares_of(b, plan, work, by_rows);
  imaging::RankShare share = shares.streamed;
  std::size_t at_once = std::max(shares.streamed.layers.n, shares.resident.layers.n);
  if (device.kind == Device::Kind::cuda)
    at_once = std::min(
        at_once, place_grids(device_room(device), plan, {.n_planes = kPlanes, .wanted = where}).max_layers);
  auto gridder = make_gridder(device, plan, setup);
  if (shared == Share::each) return time_layers(b, plan, *gridder);
  std::uint64_t n_subgrids = 0;
  double layers_s = 0, own_s = 0, joules = 0;
  auto pass = [&](bool keep) {
    n_subgrids = 0;
    meet_ranks();
    joules = energy.joules();
    const auto begin = std::chrono::steady_clock::now();
    layers_s = 0;
    for (std::size_t layer = 0; layer < share.layers.n; layer += at_once) {
      gridder->begin_pass(share.layers.part(layer, at_once));
      for (std::size_t i = 0; i < b.n_blocks; ++i) {
        GridBlock block = b.block(i, keep);
        if (share.n_parts > 1) {
          const std::uint64_t id = block.id;
          block = rows_of(block, share.first_row(b.rows), share.n_rows(b.rows));
          block.id = id;
        }
        n_subgrids += gridder->grid(block).n_subgrids;
      }
      const double before = seconds_since(begin);
      gridder->end_pass();
      layers_s += seconds_since(begin) - before;
    }
    own_s = seconds_since(begin);
    meet_ranks();
    const double all_s = seconds_since(begin);
    joules = energy.joules() - joules;
    return all_s;
  };
  const Ranks& ranks = join_ranks();
  auto report = [&](const char* what, double seconds, double error) {
    if (!ranks.root()) return;
    fmt::print(
        "{{\"bench\":\"idg_grid_pass\",\"processes\":{},\"share\":\"{}\",\"device\":\"{}\",\"grids\":\"{}\","
        "\"observation\":\"{}\",\"blocks\":"
        "\"{}\",\"grid\":{}"
        ","
        "\"field_rad\":{:.3g},\"subgrid\":32,\"kernel_padding\":{},\"layers\":{},\"layers_at_once\":{},"
        "\"visibilities\":{:.4g},"
        "\"subgrids\":{},"
        "\"seconds\":{:.4g},\"wait_and_layers_s\":{:.3g},\"GVis_per_s\":{:.3f},\"nJ_per_visibility\":{:.3g},"
        "\"error\":{:.2e}}}\n",
        ranks.size, by_rows ? "rows" : "layers", device.description, to_text(where), o.name, what, plan.n_u,
        padded_field, plan.settings.kernel_padding, plan.n_layers, at_once, n_visibilities, n_subgrids,
        seconds, layers_s, n_visibilities / seconds * 1e-9, joules / n_visibilities * 1e9, error);
    std::fflush(stdout);
  };
  /// Bytes that travel to a device when blocks are streamed.
  auto of_the_rows = [&] {
    std::size_t n = 0;
    for (std::size_t i = 0; i < b.n_blocks; ++i) {
      const auto rows = idg::rows_of_pass(plan, b.block(i, false), share.layers, n_threads);
      n += rows ? rows->size() : b.rows;
    }
    return static_cast<double>(n) / static_cast<double>(b.n_blocks * b.rows * share.n_parts);
  };
  /// How evenly the work is shared: a line of each process.
  auto report_share = [&](const char* what) {
    if (ranks.size == 1) return;
    fmt::print(
        "{{\"bench\":\"idg_grid_pass\",\"process\":{},\"of\":{},\"blocks\":\"{}\",\"first_layer\":{},"
        "\"layers\":{},\"subgrids\":{},\"of_the_rows\":{:.3f},\"seconds\":{:.4g},\"wait_and_layers_s\":{:.3g}"
        "}}\n",
        ranks.rank, ranks.size, what, share.layers.first, share.layers.n, n_subgrids, of_the_rows(), own_s,
        layers_s);
    std::fflush(stdout);
    meet_ranks();
  };
  const double first = pass(false);
  report_share("streamed, the first");
  const auto taking = std::chrono::steady_clock::now();
  auto image = gridder->take_images();
  meet_ranks();
  const auto adding = std::chrono::steady_clock::now();
  const double take_s = std::chrono::duration<double>(adding - taking).count();
  add_to_root({image.data(), image.size()});
  const double add_s = seconds_since(adding);
  report("streamed, the first", first, ranks.root() ? image_error(b, plan, image.view()[0], n_threads) : 0);
  meet_ranks();
  const auto summing = std::chrono::steady_clock::now();
  const bool elsewhere = imaging::add_on_machine(*gridder, ranks);
  const double on_machine_s = seconds_since(summing);
  if (!elsewhere) image = gridder->take_images();
  add_to_root({image.data(), elsewhere ? 0 : image.size()});
  const double sum_s = seconds_since(summing);
  if (ranks.root())
    fmt::print(
        "{{\"bench\":\"idg_grid_pass\",\"observation\":\"{}\",\"images_from_device_s\":{:.3g},"
        "\"images_added_s\":{:.3g},\"image_GB\":{:.3g},\"added_on_devices_s\":{:.3g},"
        "\"summed_s\":{:.3g},\"error\":{:.2e}}}\n",
        o.name, take_s, add_s, static_cast<double>(image.size() * sizeof(double)) * 1e-9, on_machine_s, sum_s,
        image_error(b, plan, image.view()[0], n_threads));
  gridder = make_gridder(device, plan, setup);
  share = shares.resident;
  pass(true);
  const double resident = std::min(pass(true), pass(true));
  report_share("resident");
  report("resident", resident, NAN);
  double survey = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < b.n_blocks; ++i) gridder->count(b.block(i, true));
  survey = seconds_since(begin);
  if (ranks.root())
    fmt::print("{{\"bench\":\"idg_grid_pass\",\"observation\":\"{}\",\"cutting_by_the_host_s\":{:.4g}}}\n",
               o.name, survey);
  gridder = make_gridder(device, plan, setup);
  share = shares.streamed;
  pass(false);
  const double streamed = pass(false);
  report_share("streamed");
  report("streamed", streamed, NAN);
  gridder = make_gridder(device, plan, setup);
  const auto pin = [&](auto& buffer) {
    return gridder->pin(buffer.data(), buffer.size() * sizeof(*buffer.data()));
  };
  const std::array pinned{pin(b.uvw_m), pin(b.station), pin(b.data), pin(b.weight)};
  if (!pinned.back()) return;
  pass(false);
  image = gridder->take_images();
  add_to_root({image.data(), image.size()});
  const double error = ranks.root() ? image_error(b, plan, image.view()[0], n_threads) : 0;
  gridder = make_gridder(device, plan, setup);
  pass(false);
  const double straight = std::min(pass(false), pass(false));
  report_share("streamed from pinned memory");
  report("streamed from pinned memory", straight, error);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Ranks& ranks = join_ranks();
    const unsigned n_threads = std::max(1u, available_threads() / static_cast<unsigned>(ranks.local_size));
    std::string on = argc > 1 ? argv[1] : "auto";
    if (on == "cuda") on += ":" + std::to_string(ranks.local_rank % std::max(1, cuda_device_count()));
    const Device device = choose_device(on, CudaSupport::available, n_threads);
    const std::size_t n_steps = argc > 2 ? std::stoul(argv[2]) : 4096;
    const GridMemory where = argc > 3 ? parse_grid_memory(argv[3]) : GridMemory::gpu;
    const std::string only = argc > 4 ? argv[4] : "";
    const std::string how = argc > 5 ? argv[5] : "layers";
    const Share share = how == "rows" ? Share::rows : how == "each" ? Share::each : Share::layers;
    if (only != "ska") run(lofar(n_steps), device, where, n_threads, share);
    if (only != "lofar") run(ska(n_steps / 4), device, where, n_threads, share);
    leave_ranks();
  } catch (const Error& error) {
    fmt::print(stderr, "bench_idg_pass: error: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  return 0;
}
