// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/calibration/calibrated_source.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/imaging/blocks.h"
#include "libcore/system/parallel.h"

namespace apsyn::calibrate {

std::vector<ProductHands> hands_of(const std::vector<Product>& products, const std::string& path) {
  std::vector<ProductHands> hands;
  for (const Product product : products) {
    if (product < Product::RR)
      throw UsageError("{}: holds Stokes parameters: gains are those of receptors", path);
    const int number = (static_cast<int>(product) - static_cast<int>(Product::RR)) % 4;
    hands.push_back({static_cast<std::uint8_t>(number / 2), static_cast<std::uint8_t>(number % 2)});
  }
  return hands;
}

CalibratedSource::CalibratedSource(ImagingSource& products, const std::vector<PlaneRecipe>& planes,
                                   std::vector<ProductHands> hands,
                                   std::span<const MsIntegration> integrations,
                                   std::span<const std::uint32_t> antenna_of_station,
                                   const std::vector<GainChain>* chains, unsigned n_threads)
    : products_(products),
      planes_(planes),
      hands_(std::move(hands)),
      integrations_(integrations),
      antenna_of_station_(antenna_of_station),
      chains_(chains),
      n_threads_(n_threads),
      info_(products.info()) {
  info_.planes.clear();
  for (const PlaneRecipe& plane : planes_) info_.planes.push_back(plane.name);
}

void CalibratedSource::rewind(const ChannelGroup& group) {
  products_.rewind(group);
  chain_ = nullptr;
  gains_.clear();
  if (chains_ == nullptr) return;
  for (const GainChain& chain : *chains_)
    if (chain.group().takes_same(group) && !chain.empty()) chain_ = &chain;
}

bool CalibratedSource::read(ImagingBlock& block, std::uint64_t max_bytes) {
  const ImagingBlock* raw = products_.next(max_bytes);
  if (raw == nullptr) return false;
  const std::size_t n_row = raw->data.extent(0), n_chan = raw->data.extent(1);
  const auto copy = [](const auto& from, auto& to) {
    to.resize_for_overwrite(from.shape());
    std::copy(from.begin(), from.end(), to.begin());
  };
  copy(raw->uvw_m, block.uvw_m);
  copy(raw->path_m, block.path_m);
  copy(raw->channel_hz, block.channel_hz);
  copy(raw->station, block.station);
  block.time_mjd_s = raw->time_mjd_s;
  resize_planes(block, n_row, n_chan, planes_.size(), n_threads_);
  channels_.resize(n_chan);
  std::iota(channels_.begin(), channels_.end(), std::size_t{0});
  if (chain_ != nullptr) find_gains(*raw);
  constexpr std::size_t kRows = 64;
  parallel_for(n_threads_, (n_row + kRows - 1) / kRows, [&](std::size_t item, unsigned) {
    correct(*raw, item * kRows, std::min(n_row, (item + 1) * kRows), block);
  });
  return true;
}

void CalibratedSource::find_gains(const ImagingBlock& raw) {
  decltype(gains_) used;
  const std::size_t part = chain_->part_of(raw);
  gains_of_row_.resize(raw.time_mjd_s.size());
  double last_s = NAN;
  const AppliedGains* last = nullptr;
  for (std::size_t row = 0; row < gains_of_row_.size(); ++row) {
    const double time_s = raw.time_mjd_s[row];
    if (time_s != last_s) {
      last_s = time_s;
      const std::size_t integration =
          std::min(integration_at(integrations_, time_s), integrations_.size() - 1);
      auto& own = used[{part, integration}];
      if (!own) {
        const auto former = gains_.find({part, integration});
        own = former != gains_.end() && former->second ? std::move(former->second)
                                                       : gains_at(part, integration, raw.data.extent(1));
      }
      last = own.get();
    }
    gains_of_row_[row] = last;
  }
  gains_ = std::move(used);
}

std::unique_ptr<AppliedGains> CalibratedSource::gains_at(std::size_t part, std::size_t integration,
                                                         std::size_t n_chan) const {
  const KnownGains known = chain_->gains(part, integration);
  const std::size_t n_antennas = known.value.extent(1), n_hands = known.value.extent(2);
  Buffer<std::complex<double>, 3> gains({n_antennas, n_chan, 2});
  Buffer<std::uint8_t, 2> flagged({n_antennas, n_chan});
  for (std::size_t antenna = 0; antenna < n_antennas; ++antenna)
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      for (std::size_t hand = 0; hand < 2; ++hand) {
        const std::complex<double> g(known.value(0, antenna, std::min(hand, n_hands - 1)));
        const bool good = std::isfinite(g.real()) && std::isfinite(g.imag()) && g != 0.0;
        gains(antenna, chan, hand) = good ? g : 1.0;
        if (!good) flagged(antenna, chan) = 1;
      }
  return std::make_unique<AppliedGains>(gains, flagged, false);
}

void CalibratedSource::correct(const ImagingBlock& raw, std::size_t first, std::size_t end,
                               ImagingBlock& block) const {
  const std::size_t n_chan = raw.data.extent(1), n_product = raw.data.extent(2),
                    row_values = n_chan * n_product;
  if (chain_ == nullptr)
    return make_planes({raw.data.data() + first * row_values, {end - first, n_chan, n_product}},
                       {raw.weight.data() + first * row_values, {end - first, n_chan, n_product}}, channels_,
                       planes_, block, first);
  thread_local Buffer<std::complex<float>, 3> data;
  thread_local Buffer<float, 3> weight;
  thread_local Buffer<std::uint8_t, 2> flag;
  data.resize_for_overwrite({end - first, n_chan, n_product});
  weight.resize_for_overwrite(data.shape());
  std::copy_n(raw.data.data() + first * row_values, data.size(), data.begin());
  std::copy_n(raw.weight.data() + first * row_values, weight.size(), weight.begin());
  for (std::size_t row = first; row < end; ++row) {
    flag.resize({n_chan, n_product});
    float* own_weight = weight.data() + (row - first) * row_values;
    const auto antenna = [&](std::size_t end) {
      const std::uint32_t station = raw.station(row, end);
      return antenna_of_station_.empty() ? station : antenna_of_station_[station];
    };
    gains_of_row_[row]->apply(antenna(0), antenna(1), hands_,
                              {data.data() + (row - first) * row_values, {n_chan, n_product}},
                              {own_weight, {n_chan, n_product}}, flag);
    for (std::size_t i = 0; i < row_values; ++i)
      if (flag.data()[i] != 0) own_weight[i] = 0;
  }
  make_planes(data, weight, channels_, planes_, block, first);
}

}  // namespace apsyn::calibrate
