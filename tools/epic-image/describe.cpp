// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/describe.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/channelise/channelise_cuda.h"
#include "kernels/epic/epic.h"
#include "kernels/epic/epic_cuda.h"
#include "kernels/epic/fft/off_grid.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/base/median.h"
#include "libcore/base/units.h"
#include "libcore/voltage/array_delays.h"
#include "libcore/voltage/voltage.h"
#include "tools/epic-image/products.h"
#include "tools/epic-image/setup.h"

namespace apsyn {
namespace {

/// Of antennas that are not flagged.
std::vector<double> baseline_lengths_m(const ArrayLayout& layout) {
  std::vector<double> lengths_m;
  for (std::size_t i = 0; i < layout.antennas.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Antenna &a = layout.antennas[i], &b = layout.antennas[j];
      const Vec3 apart_m = a.enu_m - b.enu_m;
      if (!a.flagged && !b.flagged) lengths_m.push_back(std::sqrt(dot(apart_m, apart_m)));
    }
  return lengths_m;
}

/// 0 with less than two of them.
double longest_used_baseline_m(const ArrayLayout& layout) {
  const std::vector<double> lengths_m = baseline_lengths_m(layout);
  return lengths_m.empty() ? 0 : *std::max_element(lengths_m.begin(), lengths_m.end());
}

std::string describe_pixels(const EpicSetup& setup) {
  const EpicPlan& epic = setup.epic;
  if (!setup.directions.empty()) return fmt::format("{} directions", setup.directions.size());
  return fmt::format("{} x {} pixels of {:.4g} deg", epic.nx, epic.ny, epic.cell / kRadPerDeg);
}

std::string off_grid_names(const EpicSetup& setup) {
  const OffGridOrder order = off_grid_order(setup.epic);
  std::string names;
  for (std::size_t i = 0; i < order.n_off; ++i)
    names += (i > 0 ? ", " : "") + setup.header.layout.antennas[order.antennas[i]].name;
  return names;
}

}  // namespace

std::string describe_method(const EpicSetup& setup) {
  switch (setup.method) {
    case EpicMethod::fft:
      return fmt::format("fft: grid with kernels of {} cells, transform a field {:.4g} times the image's",
                         setup.epic.kernel_cells, setup.epic.padding);
    case EpicMethod::dft:
      return fmt::format("dft: direct sums of antennas to pixels{}", setup.epic.float64 ? " in float64" : "");
    case EpicMethod::corr:
      break;
  }
  return "corr: correlate, then image the sums";
}

double fringe_rad(const EpicSetup& setup) {
  return kSpeedOfLight_m_s / setup.epic.highest_hz() / longest_used_baseline_m(setup.header.layout);
}

std::vector<std::string> describe(const EpicSetup& setup) {
  const VoltageHeader& header = setup.header;
  const EpicPlan& epic = setup.epic;
  std::vector<std::string> lines;
  lines.push_back(
      fmt::format("input: {} antennas, {} polarisations, {} channels of {} around {}, {} bits, samples of {}",
                  header.n_ant, header.n_pol, header.n_chan,
                  format_frequency(std::abs(header.bandwidth_hz) / static_cast<double>(header.n_chan)),
                  format_frequency(header.freq_hz), header.n_bit, format_duration(header.sample_s)));
  if (setup.f.n_sample > 1)
    lines.push_back(fmt::format("spectra: {} fine channels per channel, {} samples, {} each", setup.f.n_fine,
                                setup.f.n_sample, format_duration(setup.spectrum_s)));
  std::string planes;
  for (const OutputPlane& plane : setup.planes) planes += (planes.empty() ? "" : ",") + plane.name;
  lines.push_back(
      fmt::format("output: {} of {} ({} spectra), {}, {} channels of {}, {}{}",
                  epic.field ? "fields" : "images", format_duration(setup.image_s()),
                  setup.accumulate_spectra, describe_pixels(setup), epic.n_image_channel(),
                  format_frequency(std::abs(setup.f.channel_step_hz()) * static_cast<double>(epic.n_average)),
                  planes, epic.autos || epic.field ? "" : ", without autocorrelations"));
  if (setup.centre)
    lines.push_back(fmt::format("centre: {} {}, at an elevation of {:.1f} deg when the data begin",
                                format_right_ascension(setup.centre->ra_rad, 2),
                                format_declination(setup.centre->dec_rad, 1),
                                setup.centre_elevation_rad / kRadPerDeg));
  lines.push_back("method: " + describe_method(setup));
  if (epic.weighting) lines.push_back("weighting: " + setup.weighting + ", of each image's baselines");
  if (setup.grid)
    lines.push_back(fmt::format("grid: {} x {} cells{}", setup.grid->x.n, setup.grid->y.n,
                                setup.grid->resampled ? " of the plane that fits the antennas best" : ""));
  if (const std::size_t n_off = off_grid_order(epic).n_off; n_off > 0)
    lines.push_back(fmt::format("{} outside the grid {} added exactly: {}",
                                n_off == 1 ? "1 antenna" : fmt::format("{} antennas", n_off),
                                n_off == 1 ? "is" : "are", off_grid_names(setup)));
  if (setup.outlier)
    lines.push_back(
        fmt::format("antenna {} stands far out: without it (--flag-antennas) {} x {} cells would do",
                    header.layout.antennas[setup.outlier->ant].name, setup.outlier->without.x.n,
                    setup.outlier->without.y.n));
  if (!epic.apertures.empty())
    lines.push_back(fmt::format("antennas of {} kinds of apertures", epic.apertures.size()));
  const double longest_m = longest_used_baseline_m(header.layout);
  const double turns = std::abs(setup.f.channel_step_hz()) * static_cast<double>(epic.n_average) * longest_m /
                       kSpeedOfLight_m_s;
  const std::string fringe = setup.directions.empty()
                                 ? fmt::format("{:.3g} pixels to a fringe", fringe_rad(setup) / epic.cell)
                                 : fmt::format("fringes of {:.3g} deg", fringe_rad(setup) / kRadPerDeg);
  lines.push_back(fmt::format(
      "longest baseline {:.1f} m: {}; over an image's channels it turns {:.2g} times at the horizon",
      longest_m, fringe, turns));
  lines.push_back(fmt::format("memory: {}, reading {} samples at a time, {} spectra of {} channels per block",
                              format_bytes(static_cast<double>(setup.memory_bytes)), setup.gulp_samples,
                              setup.block_spectra, setup.batch_chan * setup.f.n_fine));
  if (setup.on_gpu())
    lines.push_back(fmt::format("on the GPU: {} samples and up to {} spectra at a time{}{}",
                                setup.cuda.gulp_samples, cuda_max_spectra(setup.cuda),
                                setup.method == EpicMethod::dft && setup.precision == EpicPrecision::half &&
                                        epic.apertures.empty() && !epic.field
                                    ? ", rounded weights"
                                    : "",
                                setup.device_bytes > 0
                                    ? fmt::format(", {} of its memory for images",
                                                  format_bytes(static_cast<double>(setup.device_bytes)))
                                    : ""));
  return lines;
}

std::vector<std::string> shortcomings(const EpicSetup& setup) {
  std::vector<std::string> lines;
  const EpicPlan& epic = setup.epic;
  std::vector<double> lengths_m = baseline_lengths_m(setup.header.layout);
  const double longest_m = longest_used_baseline_m(setup.header.layout);
  if (!(longest_m > 0)) return lines;
  const bool image = setup.directions.empty();
  const double finest_rad = fringe_rad(setup),
               median_fringe_rad = finest_rad * longest_m / median_of(lengths_m);
  if (image && median_fringe_rad < epic.cell)
    lines.push_back(fmt::format(
        "pixels of {:.3g} deg are coarser than the fringes of half of the baselines, {:.3g} deg: sources "
        "between pixels are not in the image: give a larger --size, or a --scale or --field for pixels of "
        "{:.3g} deg",
        epic.cell / kRadPerDeg, median_fringe_rad / kRadPerDeg, finest_rad / 2 / kRadPerDeg));
  if (setup.centre && setup.centre_elevation_rad < 0)
    lines.push_back(fmt::format(
        "--centre {} {}: {:.1f} deg below the horizon when the data begin: what is below it has no value",
        format_right_ascension(setup.centre->ra_rad, 2), format_declination(setup.centre->dec_rad, 1),
        -setup.centre_elevation_rad / kRadPerDeg));
  // Spectra of whole channels are not delayed towards a centre.
  const double off_zenith = setup.aligned() ? 0 : std::cos(setup.centre_elevation_rad);
  const double edge = image ? std::min(1.0, off_zenith + epic.cell * static_cast<double>(epic.nx) / 2) : 1;
  const double turns = std::abs(setup.f.channel_step_hz()) * longest_m / kSpeedOfLight_m_s * edge;
  const double loss = turns >= 1 ? 1 : winding_loss(turns);
  constexpr double kMaxLoss = 0.1;
  if (loss > kMaxLoss)
    lines.push_back(fmt::format(
        "over channels of {} baselines of {:.0f} m lose {:.0f} % of what is {}: give a larger --channels",
        format_frequency(std::abs(setup.f.channel_step_hz())), longest_m, 100 * loss,
        image ? "at the image's edge" : "near the horizon"));
  return lines;
}

}  // namespace apsyn
