// SPDX-License-Identifier: GPL-3.0-or-later
// Image planes out of products that are corrected while they are read: the products are kept as the set has
// them, so that new gains need no second look at it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/calibrate/apply_gains.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/visibility/imaging.h"
#include "libcore/visibility/stokes.h"
#include "tools/imaging/calibration/gain_chain.h"

namespace apsyn::calibrate {

/// Receptors of the two antennas in each product. UsageError for Stokes parameters. `path`: for the message.
std::vector<ProductHands> hands_of(const std::vector<Product>& products, const std::string& path);

inline bool is_parallel_hand(const ProductHands& hands) {
  return hands.first == hands.second;
}

class CalibratedSource final : public ImagingSource {
 public:
  /// `products` gives all products of the sets, `planes` are made of them. `antenna_of_station`: as
  /// CalibratedSet has it. `chains`, one for each group, may be null: then nothing is corrected. All but the
  /// planes outlive this.
  CalibratedSource(ImagingSource& products, const std::vector<PlaneRecipe>& planes,
                   std::vector<ProductHands> hands, std::span<const MsIntegration> integrations,
                   std::span<const std::uint32_t> antenna_of_station, const std::vector<GainChain>* chains,
                   unsigned n_threads);

  const ImagingInfo& info() const override { return info_; }
  void rewind(const ChannelGroup& group) override;
  bool read(ImagingBlock& block, std::uint64_t max_bytes) override;
  std::uint64_t bytes() const override { return products_.bytes(); }
  void keep_none() override { products_.keep_none(); }

 private:
  /// Points gains_of_row_ at the gains of each row's time.
  void find_gains(const ImagingBlock& raw);
  std::unique_ptr<AppliedGains> gains_at(std::size_t part, std::size_t integration, std::size_t n_chan) const;
  void correct(const ImagingBlock& raw, std::size_t first, std::size_t end, ImagingBlock& block) const;

  ImagingSource& products_;
  std::vector<PlaneRecipe> planes_;
  std::vector<ProductHands> hands_;
  std::span<const MsIntegration> integrations_;
  std::span<const std::uint32_t> antenna_of_station_;
  const std::vector<GainChain>* chains_;
  const GainChain* chain_ = nullptr;  ///< of the group that is read; null: none
  unsigned n_threads_;
  ImagingInfo info_;
  std::vector<std::size_t> channels_;  ///< all of the block
  /// Of the block's window and integrations: [{part, integration}].
  std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<AppliedGains>> gains_;
  std::vector<const AppliedGains*> gains_of_row_;
};

}  // namespace apsyn::calibrate
