// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/memory_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "kernels/channelise/channelise.h"
#include "kernels/channelise/channelise_cuda.h"
#include "kernels/common/free_memory.h"
#include "kernels/common/spectra/spectra.h"
#include "kernels/epic/epic.h"
#include "kernels/epic/fft/fft_cuda.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/units.h"
#include "libcore/voltage/voltage.h"
#include "libcore/voltage/voltage_pipeline.h"
#include "tools/epic-image/products.h"
#include "tools/epic-image/regions.h"

namespace apsyn {
namespace {

/// What the process takes by itself.
constexpr std::uint64_t kEpicBytes = 30'000'000;

/// What the F stage of the CPU holds, and the spectra that it makes at a time; a GPU's: plan_gpu.
std::uint64_t host_pipeline_bytes(const EpicSetup& setup, std::uint64_t chan_bytes,
                                  std::uint64_t sample_bytes) {
  if (setup.on_gpu()) return 0;
  const std::uint64_t block_samples = setup.block_spectra * setup.f.n_sample;
  return channeliser_bytes(setup.f) + chan_bytes * (setup.block_spectra + 1) * setup.batch_chan +
         (filled(setup.gulp_samples, setup.n_samples) +
          filled(setup.gulp_samples + block_samples + setup.f.n_span(), setup.n_samples)) *
             sample_bytes;
}

}  // namespace

void plan_memory(EpicSetup& setup, const EpicCost& cost, std::uint64_t max_memory_bytes) {
  const VoltageHeader& header = setup.header;
  const EpicPlan& epic = setup.epic;
  const std::uint64_t sample_bytes = std::uint64_t{2} * header.n_chan * header.n_ant * header.n_pol *
                                     (header.n_bit <= 8 ? sizeof(std::int8_t) : sizeof(float));
  const std::uint64_t chan_bytes =
      std::uint64_t{epic.n_fine} * panel_count(epic.n_ant * epic.n_pol) * 2 * kPanelInputs * sizeof(float);
  const std::uint64_t plane_bytes = sizeof(float) * epic.n_image_channel() * epic.width() * epic.height();
  const std::uint64_t image_bytes = plane_bytes * epic.n_plane();
  // as outputs hold them, and as they are written
  const std::uint64_t record_bytes =
      2 * plane_bytes * setup.planes.size() * (is_complex(setup.planes) ? 2 : 1);
  const std::size_t whole = epic.n_average / std::gcd(epic.n_average, epic.n_fine);
  for (std::uint64_t cache = 32u << 20;; cache /= 2) {
    const auto image_spectra = static_cast<std::uint64_t>(setup.accumulate_spectra);
    setup.block_spectra = static_cast<std::size_t>(
        std::clamp<std::uint64_t>(cache / chan_bytes / whole, std::min<std::uint64_t>(16, image_spectra),
                                  std::min<std::uint64_t>(512, image_spectra)));
    setup.batch_chan = static_cast<std::size_t>(std::clamp<std::uint64_t>(
        cache / (chan_bytes * setup.block_spectra) / whole * whole, whole, epic.n_chan));
    // Small images of few spectra are read and written several at a time.
    const std::uint64_t together = std::clamp<std::uint64_t>(cache / image_bytes, 1, 16);
    const std::uint64_t read_samples =
        std::max<std::uint64_t>(setup.block_spectra, std::min<std::uint64_t>(16, together * image_spectra)) *
        setup.f.n_sample;
    // Whole spans of missing samples are read fastest, but not many large images of theirs held at once.
    const std::uint64_t span = std::max<std::uint64_t>(1, header.missing_samples);
    const std::uint64_t unit = span * image_bytes > image_spectra * setup.f.n_sample * cache ? 1 : span;
    const std::uint64_t gulp = std::max(unit, (read_samples + unit - 1) / unit * unit);
    setup.gulp_samples = static_cast<std::size_t>(gulp);
    const std::uint64_t image_samples = image_spectra * setup.f.n_sample;
    const std::uint64_t images = (gulp + image_samples - 1) / image_samples;
    constexpr std::uint64_t kOnTheWay = 2;  // images between the imager and an item
    const std::int64_t n = setup.n_samples, per_image = static_cast<std::int64_t>(image_samples),
                       n_images = n < 0 ? -1 : (n + per_image - 1) / per_image;
    // Integers are handed on as they are, in a quarter of the memory of floats.
    const std::uint64_t fed_bytes = header.n_bit <= 8 && cost.of_codes ? chan_bytes / 4 : chan_bytes;
    setup.memory_bytes = cost.bytes + host_pipeline_bytes(setup, fed_bytes, sample_bytes) +
                         filled(kStreamItems * gulp, n) * sample_bytes +
                         filled(kStreamItems * images + kOnTheWay, n_images) * image_bytes + record_bytes +
                         kEpicBytes + cuda_program_bytes();
    if (setup.memory_bytes <= max_memory_bytes) return;
    if (cache <= 64u << 10) refuse_memory(static_cast<double>(setup.memory_bytes), max_memory_bytes);
  }
}

void check_size(const EpicSetup& setup, std::uint64_t max_memory_bytes) {
  const EpicPlan& epic = setup.epic;
  const double bytes =
      static_cast<double>(epic.width()) * static_cast<double>(epic.height()) *
      static_cast<double>(epic.n_image_channel() * epic.n_plane() * sizeof(float) + sizeof(Vec3));
  if (bytes > static_cast<double>(max_memory_bytes)) refuse_memory(bytes, max_memory_bytes);
}

void plan_gpu(EpicSetup& setup, bool four_bit, bool live, std::uint64_t max_memory_bytes) {
  constexpr std::size_t kMaxChannels = 65535;  // along an axis of a launch
  if (setup.epic.n_channel() > kMaxChannels)
    throw UsageError("--channels {}: {} channels in all: a GPU images {} at most: give --device cpu",
                     setup.epic.n_fine, setup.epic.n_channel(), kMaxChannels);
  setup.cuda.f = setup.f;
  setup.cuda.n_spectra = setup.accumulate_spectra;
  setup.cuda.integer = setup.header.n_bit <= 8;
  setup.cuda.four_bit = four_bit;
  const std::uint64_t others = setup.memory_bytes,
                      span = std::max<std::size_t>(1, setup.header.missing_samples);
  const std::uint64_t image_samples = static_cast<std::uint64_t>(setup.accumulate_spectra) * setup.f.n_sample;
  const std::uint64_t image_bytes = sizeof(float) * setup.epic.n_image_channel() * setup.epic.width() *
                                    setup.epic.height() * setup.epic.n_plane();
  const std::uint64_t sample_bytes = std::uint64_t{2} * setup.header.n_chan * setup.header.n_ant *
                                     setup.header.n_pol *
                                     (setup.header.n_bit <= 8 ? sizeof(std::int8_t) : sizeof(float));
  const std::size_t small_gulp = setup.gulp_samples;
  const std::uint64_t planned_images = (small_gulp + image_samples - 1) / image_samples;
  const bool stay = measures_regions(setup);  // images, on the GPU
  for (std::uint64_t bytes = 64u << 20; bytes >= 64u << 10; bytes /= 2) {
    // No more images than fit into the same space: those that a gulp ends come to the host together.
    const std::uint64_t images = live ? 1 : std::max<std::uint64_t>(1, bytes / image_bytes);
    setup.cuda.gulp_samples = cuda_gulp_samples(setup.cuda, bytes, setup.n_samples);
    if (!stay)
      setup.cuda.gulp_samples = std::clamp<std::size_t>(
          images * image_samples, cuda_gulp_samples(setup.cuda, 1, setup.n_samples), setup.cuda.gulp_samples);
    const std::uint64_t gulp = std::min<std::uint64_t>(setup.cuda.gulp_samples / 2, images * image_samples);
    setup.gulp_samples = std::max<std::size_t>(small_gulp, gulp / span * span);
    const std::uint64_t more = setup.gulp_samples - small_gulp;
    const std::uint64_t ended =
        std::max<std::uint64_t>(setup.gulp_samples, stay ? 0 : setup.cuda.gulp_samples) / image_samples;
    const std::uint64_t more_images = ended - std::min<std::uint64_t>(ended, planned_images);
    setup.memory_bytes = others + cuda_channeliser_host_bytes(setup.cuda) +
                         kStreamItems * (more * sample_bytes + more_images * image_bytes);
    if (setup.memory_bytes <= max_memory_bytes) return;
  }
  refuse_memory(static_cast<double>(setup.memory_bytes), max_memory_bytes);
}

void plan_device_memory(EpicSetup& setup, const EpicGeometry& geometry) {
  if (setup.method != EpicMethod::fft || setup.epic.field) return;
  const auto n_spectra =
      std::min(static_cast<std::uint64_t>(setup.accumulate_spectra), cuda_max_spectra(setup.cuda));
  setup.device_bytes =
      fft_device_bytes(setup.epic, geometry, n_spectra, setup.fft_precision, setup.device.index);
  const std::uint64_t free_bytes = cuda_free_memory_bytes(setup.device.index);
  if (setup.device_bytes > free_bytes)
    throw DeviceError(
        "--method fft needs {} of the GPU's memory, {} are free: make fewer or smaller images, average "
        "channels, or give --device cpu",
        format_bytes(static_cast<double>(setup.device_bytes)), format_bytes(static_cast<double>(free_bytes)));
}

}  // namespace apsyn
