// SPDX-License-Identifier: GPL-3.0-or-later
// What the tool is going to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/channelise/channelise_cuda.h"
#include "kernels/epic/epic_cuda.h"
#include "kernels/epic/fft/grid.h"
#include "kernels/epic/fft/setup.h"
#include "libcore/array/beam_table.h"
#include "libcore/base/constants.h"
#include "libcore/formats/fits/aperture.h"
#include "libcore/sky/regions.h"
#include "libcore/system/device.h"
#include "tools/epic-image/products.h"

namespace apsyn {

struct EpicSetup {
  VoltageHeader header;  ///< with the effective layout
  ChannelisePlan f;
  EpicPlan epic;
  std::vector<OutputPlane> planes;
  std::vector<BeamDirection> directions;  ///< of light curves; empty: images
  std::optional<SkyDirection> centre;     ///< that images follow; none: the zenith
  double centre_elevation_rad = kPi / 2;  ///< when the stream begins
  std::vector<Region> regions;            ///< of light curves of images
  std::string regions_path;
  ApertureTable apertures;  ///< none: all antennas hear alike
  std::string weighting;    ///< in words, of corr
  EpicMethod method = EpicMethod::dft;
  std::optional<FftGrid> grid;        ///< of fft
  std::optional<FftOutlier> outlier;  ///< that makes it large
  Device device;
  /// On a GPU, of dft and of fft.
  EpicPrecision precision = EpicPrecision::single, fft_precision = EpicPrecision::single;
  CudaChannelisePlan cuda;         ///< f on a GPU
  std::uint64_t device_bytes = 0;  ///< of its memory, to image by fft; 0 = not counted
  double spectrum_s = 0;
  std::int64_t accumulate_spectra = 1;
  std::int64_t n_samples = -1;  ///< to be read; -1 = to the end
  std::int64_t n_spectra = -1;  ///< of them; -1 = as many as come
  std::size_t gulp_samples = 0, block_spectra = 0, batch_chan = 1;
  std::uint64_t memory_bytes = 0;

  /// Whether the F stage aligns the antennas: spectra of many samples need it.
  bool aligned() const { return f.n_sample > 1; }
  bool on_gpu() const { return device.kind == Device::Kind::cuda; }
  double image_s() const { return spectrum_s * static_cast<double>(accumulate_spectra); }
};

}  // namespace apsyn
