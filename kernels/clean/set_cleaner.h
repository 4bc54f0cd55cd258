// SPDX-License-Identifier: GPL-3.0-or-later
// One set of planes through its minor cycles: thresholds, masks, averages over groups, what was found.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "kernels/clean/cleaner_cuda.h"
#include "kernels/clean/cpu/clark.h"
#include "kernels/clean/cpu/multiscale.h"
#include "kernels/clean/deconvolve.h"
#include "kernels/clean/spectral_fitter.h"

namespace apsyn {

/// The planes that a set takes of images [group][pol].
struct SetPlanes {
  std::vector<std::size_t> groups;  ///< without those of weight 0
  std::size_t first_pol = 0, n_pol = 1;
};

class OwnPlanes;

class SetCleaner {
 public:
  SetCleaner(const DeconvolutionSettings& settings, View<const float, 4> psf,
             const std::vector<DeconvolutionGroup>& groups, const SetPlanes& planes, double beam_pixels);

  bool done() const { return done_; }
  /// See Deconvolver::begin_again.
  void begin_again() { mask_in_force_ = done_ = false; }
  /// `allowed` may be empty. See Deconvolver::minor_cycle.
  SetReport cycle(View<float, 4> residual, View<float, 4> model, View<const std::uint8_t, 2> allowed);
  /// Frees what the next cycle can recompute, so that several sets do not hold it at once and gridding has
  /// the memory. `keep_transforms`: keep the transforms of the scales, which take about as long to make as a
  /// few rounds of cleaning at one scale.
  void release(bool keep_transforms);
  /// The last cycle's report with peak_jy (as a positive number), noise_jy and threshold_jy of `residual`,
  /// where components may lie. The threshold is that of the last stage.
  SetReport remains(View<float, 4> residual, View<const std::uint8_t, 2> allowed);
  void append_components(std::vector<ModelComponent>& to, std::size_t n_group, std::size_t n_pol) const;

 private:
  using Key = std::tuple<std::size_t, std::size_t, std::size_t>;  ///< scale, y, x
  using Found = std::map<Key, std::vector<double>>;               ///< flux [search group or own][pol]

  bool averages() const { return ranges_.size() < planes_.groups.size(); }
  void average_psfs(View<const float, 4> psf);
  std::vector<View<float, 2>> average(const std::vector<View<float, 2>>& planes);
  PlaneSet search_set(const OwnPlanes& own);
  SetReport report_of_planes() const;
  void prepare(const PlaneSet& set);
  void make_search_weight(const PlaneSet& set, View<const std::uint8_t, 2> allowed);
  double measure_noise(const PlaneSet& set);
  void weight_by_noise(double lowest_jy);
  double threshold(double noise_jy) const;
  bool mask_is_empty() const;
  const ScaleMasks& masks() const;
  SetComponent component_of(const PlaneSet& set, const SetPeak& peak, double gain) const;
  LoopStop clean(const PlaneSet& set, const CleanTask& task);
  bool on_device() const { return settings_.device.kind == Device::Kind::cuda; }
  std::unique_ptr<CudaCleaner> cuda_cleaner(const PlaneSet& set) const;
  CleanStop stop_of(LoopStop stop, const SetReport& report, bool at_cycle_level) const;
  /// What the cycle found, to the model and (when groups are averaged) off the residual.
  void apply(const Found& found, const OwnPlanes& own);
  std::vector<double> own_group_fluxes(const std::vector<double>& flux) const;
  double mean_flux(const std::vector<View<float, 2>>& model) const;
  /// The automatic mask before the first cycle: that of an earlier model.
  void begin_masks(const std::vector<View<float, 2>>& model);
  void extend_masks(const Found& found);

  DeconvolutionSettings settings_;
  std::vector<DeconvolutionGroup> groups_;  ///< all of the images
  SetPlanes planes_;
  std::vector<std::vector<std::size_t>> ranges_;  ///< [search group] indices into planes_.groups
  std::vector<DeconvolutionGroup> search_groups_;
  double beam_pixels_;
  std::vector<View<const float, 2>> psf_;       ///< [own group * n_pol + pol]
  std::vector<Buffer<float, 2>> averaged_psf_;  ///< [search group * n_pol + pol], when groups are averaged
  std::vector<Buffer<float, 2>> averaged_;      ///< residuals, the same
  std::vector<View<const float, 2>> search_psf_;
  SpectralFitter fitter_;
  bool prepared_ = false;
  std::vector<CleanScale> scales_;                      ///< of multi-scale CLEAN
  std::unique_ptr<PsfSubtraction> subtraction_;         ///< of the search groups, on the CPU
  std::unique_ptr<PsfSubtraction> output_subtraction_;  ///< of the own groups, when they are averaged
  std::unique_ptr<SubImages> sub_images_;
  std::unique_ptr<Multiscale> multiscale_;
  ScaleMasks auto_mask_;  ///< [scale], once components were found
  Buffer<float, 2> search_weight_, noise_map_;
  Buffer<std::uint8_t, 2> blank_;
  bool mask_in_force_ = false, done_ = false;
  std::optional<SetReport> last_;  ///< of the last cycle
  std::size_t n_total_ = 0;
  Found all_found_;
};

}  // namespace apsyn
