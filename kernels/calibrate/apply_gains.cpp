// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/apply_gains.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace apsyn {
namespace {

/// By hand: the operator of complex numbers looks for infinities.
inline std::complex<float> product(std::complex<float> a, std::complex<float> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline std::complex<float> product_conj(std::complex<float> a, std::complex<float> b) {
  return {a.real() * b.real() + a.imag() * b.imag(), a.imag() * b.real() - a.real() * b.imag()};
}

/// All four products, linear or circular, in their order.
bool are_all(std::span<const ProductHands> hands) {
  if (hands.size() != 4) return false;
  for (std::size_t p = 0; p < 4; ++p)
    if (hands[p].first != p / 2 || hands[p].second != p % 2) return false;
  return true;
}

}  // namespace

AppliedGains::AppliedGains(View<const std::complex<double>, 3> gains, View<const std::uint8_t, 2> flagged,
                           bool corrupt)
    : corrupt_(corrupt) {
  const auto [n_ant, n_chan, n_values] = gains.shape();
  factor_.resize_for_overwrite(gains.shape());
  if (n_values == 2) size2_.resize_for_overwrite(gains.shape());
  flagged_.resize({n_ant, n_chan});
  any_flagged_.resize({n_ant});
  for (std::size_t ant = 0; ant < n_ant; ++ant)
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      const std::complex<double>* g = &gains(ant, chan, 0);
      flagged_(ant, chan) = flagged(ant, chan);
      if (flagged(ant, chan)) any_flagged_(ant) = 1;
      std::array<std::complex<double>, 4> value{};
      if (n_values == 2) {
        for (std::size_t p = 0; p < 2; ++p) {
          value[p] = corrupt ? g[p] : 1.0 / g[p];
          size2_(ant, chan, p) = static_cast<float>(std::norm(g[p]));
        }
      } else if (corrupt) {
        std::copy_n(g, 4, value.begin());
      } else {
        const std::complex<double> determinant = g[0] * g[3] - g[1] * g[2];
        value = {g[3] / determinant, -g[1] / determinant, -g[2] / determinant, g[0] / determinant};
      }
      for (std::size_t p = 0; p < n_values; ++p) factor_(ant, chan, p) = std::complex<float>(value[p]);
    }
}

void AppliedGains::apply(std::size_t ant1, std::size_t ant2, std::span<const ProductHands> hands,
                         View<std::complex<float>, 2> data, View<float, 2> weight,
                         View<std::uint8_t, 2> flag) const {
  // Where an antenna is flagged its gains are unity, but not those of the other.
  const bool some_flagged = any_flagged_(ant1) || any_flagged_(ant2);
  thread_local Buffer<std::complex<float>, 2> data_before;
  thread_local Buffer<float, 2> weight_before;
  if (some_flagged) {
    data_before.resize_for_overwrite(data.shape());
    std::copy(data.begin(), data.end(), data_before.begin());
    weight_before.resize_for_overwrite(weight.shape());
    std::copy(weight.begin(), weight.end(), weight_before.begin());
  }
  if (factor_.extent(2) == 2)
    apply_diagonal(ant1, ant2, hands, data, weight);
  else
    apply_matrices(ant1, ant2, hands, data, weight, flag);
  if (!some_flagged) return;
  for (std::size_t chan = 0; chan < data.extent(0); ++chan) {
    if (!flagged_(ant1, chan) && !flagged_(ant2, chan)) continue;
    for (std::size_t p = 0; p < data.extent(1); ++p) {
      data(chan, p) = data_before(chan, p);
      if (weight.size() > 0) weight(chan, p) = weight_before(chan, p);
      if (!corrupt_) flag(chan, p) = 1;
    }
  }
}

void AppliedGains::apply_diagonal(std::size_t ant1, std::size_t ant2, std::span<const ProductHands> hands,
                                  View<std::complex<float>, 2> data, View<float, 2> weight) const {
  const std::size_t n_chan = data.extent(0);
  if (n_chan == 0) return;
  const std::complex<float>*left = &factor_(ant1, 0, 0), *right = &factor_(ant2, 0, 0);
  const float *size_left = &size2_(ant1, 0, 0), *size_right = &size2_(ant2, 0, 0);
  const bool weights = weight.size() > 0 && !corrupt_;
  if (are_all(hands)) {
    std::complex<float>* value = data.data();
    float* w = weight.data();
    for (std::size_t chan = 0; chan < n_chan; ++chan, left += 2, right += 2, value += 4) {
      const std::complex<float> factors[4] = {
          product_conj(left[0], right[0]), product_conj(left[0], right[1]), product_conj(left[1], right[0]),
          product_conj(left[1], right[1])};
      for (std::size_t p = 0; p < 4; ++p) value[p] = product(value[p], factors[p]);
    }
    if (!weights) return;
    for (std::size_t chan = 0; chan < n_chan; ++chan, size_left += 2, size_right += 2, w += 4) {
      w[0] *= size_left[0] * size_right[0];
      w[1] *= size_left[0] * size_right[1];
      w[2] *= size_left[1] * size_right[0];
      w[3] *= size_left[1] * size_right[1];
    }
    return;
  }
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    for (std::size_t p = 0; p < hands.size(); ++p) {
      const std::size_t a = 2 * chan + hands[p].first, b = 2 * chan + hands[p].second;
      data(chan, p) = product(data(chan, p), product_conj(left[a], right[b]));
      if (weights) weight(chan, p) *= size_left[a] * size_right[b];
    }
}

void AppliedGains::apply_matrices(std::size_t ant1, std::size_t ant2, std::span<const ProductHands> hands,
                                  View<std::complex<float>, 2> data, View<float, 2> weight,
                                  View<std::uint8_t, 2> flag) const {
  const bool weights = weight.size() > 0 && !corrupt_;
  std::array<std::size_t, 4> at{};  // [2 a + b] index of the product
  for (std::size_t p = 0; p < 4; ++p) at[2u * hands[p].first + hands[p].second] = p;
  for (std::size_t chan = 0; chan < data.extent(0); ++chan) {
    const std::complex<float>*left = &factor_(ant1, chan, 0), *right = &factor_(ant2, chan, 0);
    std::complex<float> value[4], half[4], corrected[4];
    for (std::size_t i = 0; i < 4; ++i) value[i] = data(chan, at[i]);
    for (std::size_t a = 0; a < 2; ++a)
      for (std::size_t d = 0; d < 2; ++d)
        half[2 * a + d] = product(left[2 * a], value[d]) + product(left[2 * a + 1], value[2 + d]);
    for (std::size_t a = 0; a < 2; ++a)
      for (std::size_t b = 0; b < 2; ++b)
        corrected[2 * a + b] =
            product_conj(half[2 * a], right[2 * b]) + product_conj(half[2 * a + 1], right[2 * b + 1]);
    float variance[4] = {};
    bool bad[4] = {};
    for (std::size_t ab = 0; ab < 4 && !corrupt_; ++ab)
      for (std::size_t cd = 0; cd < 4; ++cd) {
        const float share = std::norm(left[2 * (ab / 2) + cd / 2]) * std::norm(right[2 * (ab % 2) + cd % 2]);
        if (share == 0) continue;
        bad[ab] = bad[ab] || flag(chan, at[cd]);
        if (weights) variance[ab] += share / weight(chan, at[cd]);
      }
    for (std::size_t ab = 0; ab < 4; ++ab) {
      data(chan, at[ab]) = corrected[ab];
      if (bad[ab]) flag(chan, at[ab]) = 1;
      if (!weights) continue;
      const float w = 1 / variance[ab];
      weight(chan, at[ab]) = std::isfinite(w) ? w : 0.0f;
    }
  }
}

}  // namespace apsyn
