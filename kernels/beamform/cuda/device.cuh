// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of spectra that are on the device: what is kept from batch to batch, and the order of the steps
// (cuda/stage.cuh). For host code with CUDA only.
#pragma once

#include <deque>
#include <vector>

#include "kernels/beamform/beam_engine.h"
#include "kernels/beamform/cuda/stage.cuh"
#include "kernels/common/cuda/spectra.cuh"
#include "kernels/common/cuda/transfer.h"

namespace apsyn {

class DeviceBeams {
 public:
  /// Weights are kept while they fit and beams do not move, otherwise made for each launch.
  static constexpr std::uint64_t kMaxWeightBytes = std::uint64_t{1} << 30;
  /// Between the steps of one launch: as many channels as this holds, at least one (or one average).
  static constexpr std::uint64_t kScratchBytes = std::uint64_t{512} << 20;

  /// `plan` and `delays` must outlive this.
  DeviceBeams(const BeamformPlan& plan, BeamDelaySource& delays, int device_index, BeamPrecision precision);

  /// Spectra of a batch that begins with `first`, at most `most`: batches do not cross long stretches of
  /// equal weights.
  std::int64_t batch_of(std::int64_t first, std::int64_t most) const;
  /// The plan's calibration or members have changed: what is made of them is made anew. set_scales() must
  /// follow where spectra are requantised. No batch is under way.
  void renew_gains();
  /// Weights are divided by these from now on: [input chan][input], steps per unit of requantised spectra.
  void set_scales(const View<const float, 2>& steps);
  /// All: queue spectra first ..+ validity.n_spectra, which follow those of the call before, into
  /// out[beam][time][value] of the times that end there (BeamBlock::values). The arrays must stay until the
  /// stream is through.
  void of_samples(std::int64_t first, const SpectraBlock& validity, const DeviceSamples& samples, float* out,
                  cudaStream_t stream);
  void of_codes(std::int64_t first, const SpectraBlock& validity, const std::int8_t* spectra,
                const x_layout::Layout& from, float* out, cudaStream_t stream);
  void of_spectra(std::int64_t first, const SpectraBlock& validity, const beam_stage::Spectra& spectra,
                  float* out, cudaStream_t stream);

 private:
  /// What is uploaded for a batch.
  struct Slot {
    std::unique_ptr<std::uint8_t[], FreePinned> host;
    std::size_t host_bytes = 0;
    Upload<std::uint8_t> device;
    Event sent;
    bool busy = false;
  };
  struct Launch {
    beam_stage::Batch batch;
    beam_stage::Steering steering;
    bool keep = true;       ///< weights_ are of all channels
    bool steer = true;      ///< they must be made
    bool all_good = false;  ///< no antenna of a beam is missing
    bool known = false;     ///< validity is that of the batch before
    bool fused = false;     ///< detection is part of the sums
    bool direct = false;    ///< sums are what files hold: no means are left to take
    int segment = 1;
  };
  /// Delays of steering intervals begin .. end.
  struct Path {
    std::int64_t begin = 0, end = -1;
    bool sloped = false;  ///< those of the first, and what each interval adds; otherwise those of each
    std::int64_t span = 1024;
    std::unique_ptr<double[], FreePinned> host;
    std::size_t host_size = 0;
    Upload<double> device;
    Event sent;
    bool busy = false;
  };

  bool integers() const { return precision_ != BeamPrecision::single; }
  bool voltages() const { return plan_.product == BeamProduct::voltage; }
  int n_detected() const;
  int tile() const;
  void make_tables();
  void make_gain_tables();
  Launch prepare(std::int64_t first, const SpectraBlock& validity, cudaStream_t stream);
  void follow(std::int64_t first_interval, std::int64_t n_section, cudaStream_t stream);
  void look_up(const SpectraBlock& validity, Launch& launch, cudaStream_t stream);
  bool is_direct(std::int64_t first, const Launch& launch) const;
  int segment_of(std::int64_t first, const Launch& launch) const;
  beam_products::RowLayout row_layout(const beam_stage::Batch& batch) const;
  beam_products::WeightLayout weight_layout(const beam_stage::Batch& batch) const;
  /// Whether sums take samples as they come.
  bool takes(const Launch& launch, const beam_stage::Packing& packing) const;
  std::uint64_t weight_bytes(const beam_stage::Batch& batch) const;
  std::size_t channels_at_once(const Launch& launch) const;
  void make_weights(const Launch& launch, cudaStream_t stream);
  beam_stage::Products products_of(const Launch& launch);
  void sum_codes(const Launch& launch, const beam_products::Source& source,
                 const beam_stage::Products& products, float* out, cudaStream_t stream);
  void sum_floats(const Launch& launch, const beam_stage::Spectra& spectra,
                  const beam_stage::Products& products, cudaStream_t stream);
  /// sum(launch, products) for some channels after the others, and what comes before and behind it.
  template <class Sum>
  void run(std::int64_t first, const SpectraBlock& validity, float* out, cudaStream_t stream, const Sum& sum);

  const BeamformPlan& plan_;
  BeamDelaySource& delays_;
  BeamPrecision precision_;
  int shift_ = 0;  // of the first of two limbs of weights
  int n_sm_ = 0;
  std::vector<std::uint8_t> used_;  // [ant] in any beam
  DeviceArray<std::uint8_t> member_;
  DeviceArray<double> channel_hz_, amplitude_;
  std::vector<std::complex<double>> base_;  // factors of unit steps
  DeviceArray<float2> factor_;
  bool factor_of_channels_ = false, amplitude_of_channels_ = false;
  bool shared_weights_ = false;  // polarisations have the same
  bool even_channels_ = false;
  Path path_;
  std::vector<std::uint8_t> known_valid_;  // that known_valid_device_ holds; empty: nothing
  const std::uint8_t* known_valid_device_ = nullptr;
  bool all_known_ = false;
  bool kept_scales_ = false;
  bool kept_steps_ = false;
  Slot slots_[2];
  unsigned turn_ = 0;
  std::int64_t kept_interval_ = -1;  // first of those that weights_ of all channels are for
  int kept_sections_ = 0;
  Upload<std::int8_t> weights_;  // float2, or as kernels/common/cuda/beams/products.cuh has them
  Upload<float> step_, scale_, norm_, products_, counts_;
  Upload<std::int8_t> rows_;
  Upload<float2> voltages_, unpacked_;
  DeviceArray<double> open_[2];  // [beam][out channel][value.., count]
  unsigned open_turn_ = 0;
};

}  // namespace apsyn
