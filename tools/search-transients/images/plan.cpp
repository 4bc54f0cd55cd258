// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/search-transients/images/plan.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/free_memory.h"
#include "kernels/dedisperse/trials.h"
#include "libcore/base/csv.h"
#include "libcore/system/program_memory.h"
#include "tools/search-transients/plan.h"

namespace apsyn {
namespace {

/// Images of a piece: enough for its noise, and for a level that no pulse subtracts itself from.
constexpr std::size_t kMinPiece = 32, kMinGivenPiece = 16;
/// Delays that fit the memory of any machine.
constexpr double kMaxDelay = 1e7;
constexpr std::size_t kMaxChannels = 131072;
/// Side of a cut-out.
constexpr std::size_t kCutoutPixels = 33;
/// Images under way between reading and searching, and what the process takes by itself.
constexpr double kRawImages = 7, kFixedBytes = 16e6, kPlotBytes = 60e6;

/// Seconds that a CPU's thread takes for a value of an image, and for one of a trial; and a GPU, which takes
/// some to start. Measured with 16 threads beside an H200, images from memory.
constexpr double kThreadValueSeconds = 6e-9, kThreadTrialSeconds = 8e-11;
constexpr double kGpuStartSeconds = 0.5, kGpuValueSeconds = 2e-10, kGpuTrialSeconds = 4e-13;
/// Values of an image, all channels, below which a GPU's calls for each take longer than a CPU.
constexpr double kMinValues = 1e6;

bool fits(const ImagesPlan& plan, const Device& device) {
  return plan.device_bytes <= 0.9 * static_cast<double>(cuda_free_memory_bytes(device.index));
}

std::size_t piece_images(const SearchOptions& options, const ImageSeriesInfo& info, std::size_t longest) {
  if (options.baseline == "auto") return std::max(kMinPiece, 4 * longest);
  const double images = std::floor(parse_duration(options.baseline) / info.step_s);
  const std::size_t least = std::max(kMinGivenPiece, 2 * longest);
  if (!(images >= static_cast<double>(least)))
    throw UsageError(
        "--baseline {}: levels need 16 images and twice the longest filter, {} here: give shorter --widths "
        "or a "
        "longer baseline",
        options.baseline, format_duration(static_cast<double>(least) * info.step_s));
  if (!(images <= kMaxDelay))
    throw UsageError("--baseline {}: {:.3g} images, at most {:.3g} can be kept: give a shorter one",
                     options.baseline, images, kMaxDelay);
  return static_cast<std::size_t>(images);
}

}  // namespace

ImagesPlan plan_images(const Tool& tool, const SearchOptions& options, const ImageSeriesInfo& info,
                       const Device& device) {
  if (options.zero_dm)
    throw UsageError("--zero-dm: is for spectra: images have their levels taken away pixel by pixel");
  if (options.format != "csv")
    throw UsageError("--format {}: has no place for positions on the sky: images give csv only",
                     options.format);
  if (info.image.freq_hz == 0 || (info.n_chan > 1 && info.image.bandwidth_hz == 0))
    throw DataError("{}: the frequencies of its channels are not known: FREQ must be there", info.name);
  ImagesPlan plan;
  ImageSearchPlan& search = plan.search;
  search.nx = info.nx, search.ny = info.ny, search.n_chan = info.n_chan;
  search.widths = parse_widths(options.widths.empty() ? "1:8" : options.widths, info.step_s);
  search.program = plan_boxcars(search.widths);
  search.threshold = options.threshold, search.rfi_sigma = options.rfi_sigma;
  search.n_threads = tool.common().threads;
  search.device = device;
  search.piece = piece_images(options, info, search.widths.back());
  if (!options.cutouts.empty() || !options.plot.empty()) search.cutout_pixels = kCutoutPixels;

  if (info.n_chan > kMaxChannels)
    throw UsageError("{}: {} channels, at most {} can be dedispersed", info.name, info.n_chan, kMaxChannels);
  const DispersionBand band{info.image.freq_hz, info.image.bandwidth_hz, info.n_chan, info.step_s};
  if (!(band.channel_hz(0) > 0 && band.channel_hz(info.n_chan - 1) > 0))
    throw DataError("{}: its channels lie from {:.6g} to {:.6g} MHz: frequencies must be positive", info.name,
                    band.channel_hz(0) * 1e-6, band.channel_hz(info.n_chan - 1) * 1e-6);
  for (const TrialLevel& level : choose_trials(band, options, 1))
    plan.dm.insert(plan.dm.end(), level.dm.begin(), level.dm.end());
  const std::size_t last = band.step_hz < 0 ? info.n_chan - 1 : 0;  // the lowest channel
  if (!(plan.dm.back() * band.delay_per_dm(last) < kMaxDelay))
    throw UsageError(
        "--dm-range {}: delays of {:.3g} images, at most {:.3g} can be followed: narrow the range",
        options.dm_range, plan.dm.back() * band.delay_per_dm(last), kMaxDelay);
  const double table_bytes = static_cast<double>(plan.dm.size() * info.n_chan) * sizeof(std::uint32_t);
  if (table_bytes > static_cast<double>(tool.common().max_memory_bytes))
    throw FailureError("{}: {}", info.name,
                       memory_shortage(tool.common().max_memory_bytes, table_bytes,
                                       fmt::format("searching --dm-range {} needs", options.dm_range),
                                       "allow more or narrow the range"));
  search.delay.resize({plan.dm.size(), info.n_chan});
  for (std::size_t trial = 0; trial < plan.dm.size(); ++trial) {
    for (std::size_t chan = 0; chan < info.n_chan; ++chan)
      search.delay(trial, chan) =
          static_cast<std::uint32_t>(std::llround(plan.dm[trial] * band.delay_per_dm(chan)));
    search.band_delay.push_back(plan.dm[trial] * band.delay_per_dm(last));
  }

  const double image_bytes = static_cast<double>(info.nx * info.ny * info.n_chan) * sizeof(float),
               record = info.image.stokes.size() > 1
                            ? image_bytes * static_cast<double>(2 * info.image.stokes.size())
                            : 0;
  plan.device_bytes = search.device_bytes();
  plan.memory_bytes = kFixedBytes + kRawImages * image_bytes + record + table_bytes + search.bytes() +
                      (search.cutout_pixels > 0 ? kPlotBytes : 0);
  if (plan.memory_bytes > static_cast<double>(tool.common().max_memory_bytes))
    throw FailureError(
        "{}: {}", info.name,
        memory_shortage(
            tool.common().max_memory_bytes, plan.memory_bytes,
            fmt::format("searching --dm-range {} in images of {} x {} pixels needs", options.dm_range,
                        info.nx, info.ny),
            "allow more, narrow the range, shorten --widths or --baseline, or make smaller images"));
  return plan;
}

bool pays_on_gpu(const ImagesPlan& plan, const ImageSeriesInfo& info, unsigned n_threads) {
  const auto values = static_cast<double>(info.nx * info.ny * info.n_chan);
  if (values < kMinValues) return false;
  if (!info.n_images) return true;
  const double all = values * static_cast<double>(*info.n_images),
               n_trial = static_cast<double>(plan.dm.size()),
               cpu_s = all * (kThreadValueSeconds + kThreadTrialSeconds * n_trial) / n_threads,
               gpu_s = kGpuStartSeconds + all * (kGpuValueSeconds + kGpuTrialSeconds * n_trial);
  return gpu_s < cpu_s;
}

Device choose_device(const Tool& tool, const SearchOptions& options, const ImageSeriesInfo& info) {
  const bool automatic = tool.common().device == "auto";
  if (automatic && cuda_device_count() > 0) {
    const Device gpu{Device::Kind::cuda, 0, {}};
    const ImagesPlan plan = plan_images(tool, options, info, gpu);
    if (!pays_on_gpu(plan, info, tool.common().threads) || !fits(plan, gpu))
      return tool.device(CudaSupport::none);
  }
  const Device device = tool.device(CudaSupport::available);
  if (device.kind == Device::Kind::cuda) {
    const ImagesPlan plan = plan_images(tool, options, info, device);
    if (!fits(plan, device))
      throw DeviceError(
          "{}: searching --dm-range {} in images of {} x {} pixels needs {} of the device's memory: narrow "
          "the "
          "range, shorten --widths or --baseline, make smaller images, or use --device cpu",
          info.name, options.dm_range, info.nx, info.ny, format_bytes(plan.device_bytes));
  }
  return device;
}

std::vector<std::string> describe(const ImagesPlan& plan, const ImageSeriesInfo& info) {
  const ImageSearchPlan& search = plan.search;
  const auto time = [&](std::size_t n) { return format_duration(static_cast<double>(n) * info.step_s); };
  const double last_hz = info.image.freq_hz + static_cast<double>(info.n_chan - 1) * info.image.bandwidth_hz;
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "input: images of {}, {} x {} pixels of {}, {} channel{} from {:.6g} to {:.6g} MHz, one each {}{}",
      info.products, info.nx, info.ny, format_angle(info.image.cell_rad), info.n_chan,
      info.n_chan == 1 ? "" : "s", info.image.freq_hz * 1e-6, last_hz * 1e-6, format_duration(info.step_s),
      info.n_images ? fmt::format(", {} of them: {}", *info.n_images,
                                  format_duration(static_cast<double>(*info.n_images) * info.step_s))
                    : std::string()));
  lines.push_back(fmt::format("trials: {} from DM {:.6g} to {:.6g}, delays up to {}", plan.dm.size(),
                              plan.dm.front(), plan.dm.back(), time(search.max_delay())));
  lines.push_back(fmt::format("filters: {} widths from {} to {}", search.widths.size(),
                              time(search.widths.front()), time(search.widths.back())));
  lines.push_back(fmt::format("baseline: means of {}", time(search.piece)));
  lines.push_back(fmt::format("memory: {}, {} kept as int16{} and {} searched at a time",
                              format_bytes(plan.memory_bytes), time(search.kept_frames()),
                              plan.device_bytes > 0 ? " on the device" : "", time(search.piece)));
  if (plan.device_bytes > 0)
    lines.push_back(fmt::format("device memory: {}", format_bytes(plan.device_bytes)));
  return lines;
}

}  // namespace apsyn
