// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/aperture.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/base/constants.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// exp(2 pi i k (first + i step)) of i = 0 .. n - 1.
std::vector<std::complex<double>> turns(double per_m, double first_m, double step_m, std::size_t n) {
  std::vector<std::complex<double>> out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(std::polar(1.0, kTwoPi * per_m * (first_m + static_cast<double>(i) * step_m)));
  return out;
}

/// A plan of single channels in which only antennas of one kind are valid.
EpicPlan only(const EpicPlan& plan, std::size_t kind) {
  EpicPlan some;
  some.n_chan = plan.n_chan;
  some.n_fine = plan.n_fine;
  some.n_ant = plan.n_ant;
  some.n_pol = plan.n_pol;
  some.channel_hz = plan.channel_hz;
  some.first = plan.first;
  some.second = plan.second;
  some.cross = plan.cross;
  some.left_out = plan.left_out;
  some.factor.resize_for_overwrite(plan.factor.shape());
  std::copy(plan.factor.begin(), plan.factor.end(), some.factor.begin());
  some.n_threads = plan.n_threads;
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
    const bool flagged = !plan.flagged.empty() && plan.flagged[ant] != 0;
    some.flagged.push_back(flagged || plan.aperture[ant] != kind ? 1 : 0);
  }
  return some;
}

double reach_of(const Aperture& aperture) {
  const auto side = [](double first_m, double step_m, std::size_t n) {
    return std::max(std::abs(first_m), std::abs(first_m + static_cast<double>(n - 1) * step_m));
  };
  return std::hypot(side(aperture.first_east_m, aperture.step_east_m, aperture.samples.extent(1)),
                    side(aperture.first_north_m, aperture.step_north_m, aperture.samples.extent(0)));
}

}  // namespace

std::complex<double> aperture_response(const Aperture& aperture, double freq_hz, double east, double north) {
  const auto& samples = aperture.samples;
  const double k = freq_hz / kSpeedOfLight_m_s;
  const auto turn_x = turns(k * east, aperture.first_east_m, aperture.step_east_m, samples.extent(1));
  const auto turn_y = turns(k * north, aperture.first_north_m, aperture.step_north_m, samples.extent(0));
  std::complex<double> sum = 0, zenith = 0;
  for (std::size_t y = 0; y < samples.extent(0); ++y) {
    std::complex<double> row = 0;
    for (std::size_t x = 0; x < samples.extent(1); ++x) {
      row += samples(y, x) * turn_x[x];
      zenith += samples(y, x);
    }
    sum += row * turn_y[y];
  }
  return sum / zenith;
}

ApertureWeights::ApertureWeights(const EpicPlan& plan, bool autos)
    : plan_(plan), pairs_({plan.n_channel(), n_kind(), n_kind()}), antennas_({plan.n_channel(), n_kind()}) {
  for (std::size_t kind = 0; kind < n_kind(); ++kind) {
    if (autos) of_kind_.push_back(only(plan, kind));
    reach_m_ = std::max(reach_m_, reach_of(*plan.apertures[kind]));
  }
  for (const EpicPlan& own : of_kind_) autos_.emplace_back(own);
}

void ApertureWeights::start() {
  for (EpicAutos& autos : autos_) autos.start();
  pairs_.fill(0);
  antennas_.fill(0);
}

void ApertureWeights::add(const SpectraBlock& block) {
  for (EpicAutos& autos : autos_) autos.add(block);
  if (any()) count(block);
}

void ApertureWeights::count(const SpectraBlock& block) {
  std::vector<std::int64_t> there(n_kind());
  const std::size_t n_row = block.all_valid ? 1 : block.valid.extent(0);
  Buffer<std::int64_t, 3> pairs({n_row, n_kind(), n_kind()});
  Buffer<std::int64_t, 2> antennas({n_row, n_kind()});
  for (std::size_t row = 0; row < n_row; ++row)
    for (std::size_t t = 0; t < block.n_spectra; ++t) {
      std::fill(there.begin(), there.end(), 0);
      for (std::size_t ant = 0; ant < plan_.n_ant; ++ant)
        if ((plan_.flagged.empty() || plan_.flagged[ant] == 0) &&
            (block.all_valid || block.valid(row, ant, t) != 0))
          ++there[plan_.aperture[ant]];
      for (std::size_t k = 0; k < n_kind(); ++k) {
        antennas(row, k) += there[k];
        for (std::size_t l = 0; l < n_kind(); ++l) pairs(row, k, l) += there[k] * there[l];
      }
    }
  for (std::size_t i = 0; i < block.n_chan * plan_.n_fine; ++i) {
    const std::size_t channel = block.first_chan * plan_.n_fine + i, row = n_row == 1 ? 0 : i / plan_.n_fine;
    if (!plan_.left_out.empty() && plan_.left_out[channel] != 0) continue;
    for (std::size_t k = 0; k < n_kind(); ++k) {
      antennas_(channel, k) += antennas(row, k);
      for (std::size_t l = 0; l < n_kind(); ++l) pairs_(channel, k, l) += pairs(row, k, l);
    }
  }
}

bool ApertureWeights::look(const SkyPixels& pixels) {
  if (!any()) return false;
  constexpr double kTolerance = 1e-5;
  const double highest_hz = plan_.highest_hz();
  const double radians = kTwoPi * reach_m_ * highest_hz / kSpeedOfLight_m_s;
  bool moved = unit_.extent(0) != pixels.size();
  for (std::size_t i = 0; i < unit_.size() && !moved; ++i)
    moved = std::abs(unit_.data()[i] - pixels.unit.data()[i]) * radians > kTolerance;
  if (!moved) return false;
  unit_.resize_for_overwrite(pixels.unit.shape());
  std::copy(pixels.unit.begin(), pixels.unit.end(), unit_.begin());
  heard_.resize_for_overwrite({plan_.n_channel(), n_kind(), pixels.size()});
  constexpr std::size_t kPiece = 256;
  const std::size_t n_piece = (pixels.size() + kPiece - 1) / kPiece;
  parallel_for(plan_.n_threads, plan_.n_channel() * n_piece, [&](std::size_t item, unsigned) {
    const std::size_t channel = item / n_piece, first = item % n_piece * kPiece;
    for (std::size_t kind = 0; kind < n_kind(); ++kind)
      for (std::size_t pixel = first; pixel < std::min(first + kPiece, pixels.size()); ++pixel)
        heard_(channel, kind, pixel) = std::complex<float>(aperture_response(
            *plan_.apertures[kind], plan_.channel_hz[channel], unit_(pixel, 0), unit_(pixel, 1)));
  });
  return true;
}

template <class T>
void ApertureWeights::weigh(std::size_t channel, std::size_t first, std::size_t n_pixel, T* weights,
                            std::size_t stride) const {
  for (std::size_t pixel = 0; pixel < n_pixel && any(); ++pixel)
    for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) {
      T* weight = weights + pixel * stride + 2 * ant;
      const std::complex<T> heard = heard_(channel, plan_.aperture[ant], first + pixel);
      const T re = weight[0] * heard.real() + weight[1] * heard.imag();
      weight[1] = weight[1] * heard.real() - weight[0] * heard.imag();
      weight[0] = re;
    }
}

template void ApertureWeights::weigh(std::size_t, std::size_t, std::size_t, float*, std::size_t) const;
template void ApertureWeights::weigh(std::size_t, std::size_t, std::size_t, double*, std::size_t) const;

void ApertureWeights::add_autos(double factor, View<double, 3> sums) const {
  parallel_for(plan_.n_threads, autos_.empty() ? 0 : sums.extent(0), [&](std::size_t image, unsigned) {
    for (std::size_t channel = image * plan_.n_average; channel < (image + 1) * plan_.n_average; ++channel)
      for (std::size_t kind = 0; kind < n_kind(); ++kind)
        for (std::size_t pixel = 0; pixel < sums.extent(1); ++pixel) {
          const double power = std::norm(std::complex<double>(heard_(channel, kind, pixel)));
          for (std::size_t value = 0; value < 4; ++value)
            sums(image, pixel, value) += factor * power * autos_[kind].sums()[channel][value];
        }
  });
}

double ApertureWeights::weight(std::size_t channel, std::size_t pixel) const {
  double sum = 0;
  const auto power = [&](std::size_t kind) {
    return std::norm(std::complex<double>(heard_(channel, kind, pixel)));
  };
  for (std::size_t k = 0; k < n_kind(); ++k) {
    const double b = power(k);
    for (std::size_t l = 0; l < n_kind(); ++l)
      sum += static_cast<double>(pairs_(channel, k, l)) * b * power(l);
    if (!plan_.autos) sum -= static_cast<double>(antennas_(channel, k)) * b * b;
  }
  return sum;
}

void ApertureWeights::scale(const EpicWeights& weights, const SkyPixels& pixels, EpicImages& images) const {
  if (!any()) return;
  parallel_for(plan_.n_threads, plan_.n_image_channel(), [&](std::size_t image, unsigned) {
    const auto pairs = static_cast<double>(weights.pairs(image));
    for (std::size_t pixel = 0; pixel < pixels.size(); ++pixel) {
      double sum = 0;
      for (std::size_t channel = image * plan_.n_average; channel < (image + 1) * plan_.n_average; ++channel)
        sum += weight(channel, pixel);
      const double factor =
          sum >= kMinApertureResponse * pairs ? pairs / sum : std::numeric_limits<double>::quiet_NaN();
      const std::size_t x = pixels.index[pixel] % plan_.width(), y = pixels.index[pixel] / plan_.width();
      for (std::size_t plane = 0; plane < plan_.n_plane(); ++plane)
        images.planes(image, plane, y, x) =
            static_cast<float>(static_cast<double>(images.planes(image, plane, y, x)) * factor);
    }
  });
}

std::uint64_t ApertureWeights::bytes(const EpicPlan& plan, std::size_t n_pixel) {
  if (plan.apertures.empty()) return 0;
  return n_pixel *
         (3 * sizeof(double) + plan.n_channel() * plan.apertures.size() * sizeof(std::complex<float>));
}

}  // namespace apsyn
