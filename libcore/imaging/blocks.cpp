// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/imaging/blocks.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "libcore/sky/rephase.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Frames that are turned by less than this are those of the same phase centre: 0.2 micro-arcseconds.
constexpr double same_frame_rad = 1e-12;

/// Whether the frames differ: by their directions, or about a pole by their right ascensions alone.
bool turns(const Mat3& rotation) {
  double largest = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      largest = std::max(largest, std::abs(rotation[i][j] - (i == j ? 1 : 0)));
  return largest > same_frame_rad;
}

/// How rows of each field get to a centre.
class Moves {
 public:
  Moves(const std::vector<MsField>& fields, const SkyDirection& centre) {
    for (const MsField& field : fields) {
      const Rephasing move = make_rephasing(field.phase_centre, centre);
      moves_.emplace_back(turns(move.rotation) ? std::optional(move) : std::nullopt);
    }
  }
  /// Null: the field's rows are there.
  const Rephasing* of(int field) const {
    const auto own = static_cast<std::size_t>(field);
    return own < moves_.size() && moves_[own] ? &*moves_[own] : nullptr;
  }
  bool any(const MsRows& rows) const {
    return std::any_of(moves_.begin(), moves_.end(), [](const auto& move) { return move.has_value(); }) &&
           std::any_of(rows.field.begin(), rows.field.end(), [&](int field) { return of(field) != nullptr; });
  }

 private:
  std::vector<std::optional<Rephasing>> moves_;
};

enum class Factors { real, imaginary, complex };

Factors factors_of(const PlaneRecipe& plane) {
  bool real = true, imaginary = true;
  for (const std::complex<double>& factor : plane.coefficient) {
    real = real && factor.imag() == 0;
    imaginary = imaginary && factor.real() == 0;
  }
  return real ? Factors::real : imaginary ? Factors::imaginary : Factors::complex;
}

/// Real and imaginary part, side by side in a register.
using Pair = double __attribute__((vector_size(16)));
using FloatPair = float __attribute__((vector_size(8)));
using BitPair = std::uint32_t __attribute__((vector_size(8)));

Pair load(const std::complex<float>& value) {
  FloatPair parts;
  std::memcpy(&parts, &value, sizeof parts);
  return __builtin_convertvector(parts, Pair);
}

/// One plane of a row, out of n products, of consecutive channels. Sums begin with +0, and products with
/// factors of 0 are +0 or -0: leaving these out changes no bit of a sum of finite numbers.
template <std::size_t n, Factors factors>
void fill_plane(const std::complex<float>* data, const float* weight, std::size_t n_products,
                std::size_t n_channels, const PlaneRecipe& plane, std::size_t n_planes,
                std::complex<float>* out, float* out_weight) {
  // Recipes of fewer products take their first one more often, times 0.
  std::size_t index[n];
  Pair by_re[n], by_im[n];
  for (std::size_t i = 0; i < n; ++i) {
    const bool own = i < plane.index.size();
    index[i] = plane.index[own ? i : 0];
    const std::complex<double> factor = own ? plane.coefficient[i] : 0;
    by_re[i] = Pair{factor.real(), factor.real()};
    by_im[i] = Pair{-factor.imag(), factor.imag()};
  }
  for (std::size_t c = 0; c < n_channels; ++c) {
    float least = weight[index[0]];
    Pair sum = {};
    for (std::size_t i = 0; i < n; ++i) {
      const Pair value = load(data[index[i]]), turned = {value[1], value[0]};
      least = std::min(least, weight[index[i]]);
      if constexpr (factors == Factors::real)
        sum += by_re[i] * value;
      else if constexpr (factors == Factors::imaginary)
        sum += by_im[i] * turned;
      else
        sum += by_re[i] * value + by_im[i] * turned;
    }
    const FloatPair both = {least, least};
    const auto used = std::bit_cast<BitPair>(both > FloatPair{});
    const BitPair value = std::bit_cast<BitPair>(__builtin_convertvector(sum, FloatPair)) & used,
                  kept = std::bit_cast<BitPair>(both) & used;
    std::memcpy(static_cast<void*>(out), &value, sizeof value);
    std::memcpy(out_weight, &kept, sizeof *out_weight);
    data += n_products;
    weight += n_products;
    out += n_planes;
    out_weight += n_planes;
  }
}

template <std::size_t n>
auto plane_filler(Factors factors) {
  return factors == Factors::real        ? fill_plane<n, Factors::real>
         : factors == Factors::imaginary ? fill_plane<n, Factors::imaginary>
                                         : fill_plane<n, Factors::complex>;
}

/// Recipes of four planes out of four products, two of which are of the outer products 0 and 3 with real
/// factors, and two of the inner ones 1 and 2, one with real and one with imaginary factors: I, Q, U, V. All
/// four are made at once: a vector holds an outer plane and the inner one of real factors, another one the
/// rest.
struct StokesRecipes {
  /// [vector][term][re, im of the outer plane's factor, then of the inner one's] by which products 0 and 1,
  /// then 3 and 2, are multiplied; of imaginary factors for products whose parts have changed places.
  std::array<std::array<std::array<double, 4>, 2>, 2> factor{};
  std::array<std::int32_t, 8> word{};         ///< [plane][re, im] among outer, inner, outer, inner planes
  std::array<std::int32_t, 4> weight_word{};  ///< [plane] 0 for outer planes, 1 for inner ones
};

std::optional<StokesRecipes> stokes_recipes(const std::vector<PlaneRecipe>& planes, std::size_t n_products) {
  constexpr std::size_t kPlanes = 4, kInner = 2;
  if (planes.size() != kPlanes || n_products != kPlanes) return {};
  StokesRecipes recipes;
  std::array<bool, kPlanes> taken{};  // [vector, inner]
  for (std::size_t p = 0; p < kPlanes; ++p) {
    const PlaneRecipe& plane = planes[p];
    const bool outer = plane.index == std::vector<std::size_t>{0, 3},
               inner = plane.index == std::vector<std::size_t>{1, 2};
    const Factors factors = factors_of(plane);
    if ((!outer && !inner) || factors == Factors::complex || (outer && factors != Factors::real)) return {};
    const std::size_t own = inner ? 1 : 0;
    std::size_t vector = factors == Factors::imaginary ? 1 : 0;
    if (outer && taken[0]) vector = 1;
    if (std::exchange(taken[2 * vector + own], true)) return {};
    for (std::size_t term = 0; term < 2; ++term) {
      const std::complex<double> by = plane.coefficient[term];
      // Only powers of two: their products are exact, so that it does not matter how sums are formed.
      int exponent = 0;
      if (std::abs(std::frexp(by.real() + by.imag(), &exponent)) != 0.5) return {};
      double* to = &recipes.factor[vector][term][kInner * own];
      to[0] = factors == Factors::real ? by.real() : -by.imag();
      to[1] = factors == Factors::real ? by.real() : by.imag();
    }
    const auto place = static_cast<std::int32_t>(2 * (2 * vector + own));
    recipes.word[2 * p] = place;
    recipes.word[2 * p + 1] = place + 1;
    recipes.weight_word[p] = static_cast<std::int32_t>(own);
  }
  return recipes;
}

/// Whether the planes are the four products in their order, each with the least of the weights: those that
/// A-terms are applied to.
bool are_products(const std::vector<PlaneRecipe>& planes, std::size_t n_products) {
  constexpr std::size_t kPlanes = 4;
  if (planes.size() != kPlanes || n_products != kPlanes) return false;
  for (std::size_t p = 0; p < kPlanes; ++p) {
    if (planes[p].index != std::vector<std::size_t>{0, 1, 2, 3}) return false;
    for (std::size_t i = 0; i < kPlanes; ++i)
      if (planes[p].coefficient[i] != std::complex<double>(i == p ? 1 : 0)) return false;
  }
  return true;
}

/// fill_plane() of such planes at once, to the same bits where all products are finite.
void fill_products(const std::complex<float>* data, const float* weight, std::size_t n_channels,
                   std::complex<float>* out, float* out_weight) {
  using Quad = float __attribute__((vector_size(16)));
  using BitQuad = std::uint32_t __attribute__((vector_size(16)));
  for (std::size_t c = 0; c < n_channels; ++c, data += 4, weight += 4, out += 4, out_weight += 4) {
    const float least = std::min(std::min(std::min(weight[0], weight[1]), weight[2]), weight[3]);
    const Quad weights = {least, least, least, least};
    const auto used = std::bit_cast<BitQuad>(weights > Quad{});
    std::array<Quad, 2> values;
    std::memcpy(&values, data, sizeof values);
    for (Quad& two : values)  // + 0: there is no -0 in a sum that begins with +0
      two = std::bit_cast<Quad>(std::bit_cast<BitQuad>(two + Quad{}) & used);
    const BitQuad kept = std::bit_cast<BitQuad>(weights) & used;
    std::memcpy(static_cast<void*>(out), &values, sizeof values);
    std::memcpy(out_weight, &kept, sizeof kept);
  }
}

#if defined(__x86_64__)
/// fill_plane() of all four planes at once, to the same bits.
__attribute__((target("avx2"))) void fill_stokes(const std::complex<float>* data, const float* weight,
                                                 std::size_t n_channels, const StokesRecipes& recipes,
                                                 std::complex<float>* out, float* out_weight) {
  const auto factor = [&](std::size_t vector, std::size_t term) __attribute__((target("avx2"))) {
    return _mm256_loadu_pd(recipes.factor[vector][term].data());
  };
  const __m256d by[2][2] = {{factor(0, 0), factor(0, 1)}, {factor(1, 0), factor(1, 1)}};
  const __m256i word = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(recipes.word.data()));
  const __m128i weight_word = _mm_loadu_si128(reinterpret_cast<const __m128i*>(recipes.weight_word.data()));
  const auto* values = reinterpret_cast<const float*>(data);
  auto* to = reinterpret_cast<float*>(out);
  for (std::size_t c = 0; c < n_channels; ++c, values += 8, weight += 4, to += 8, out_weight += 4) {
    const __m256d first = _mm256_cvtps_pd(_mm_loadu_ps(values)),
                  last = _mm256_cvtps_pd(_mm_loadu_ps(values + 4)),
                  second = _mm256_permute4x64_pd(last, 0x4e);  // products 3 and 2
    // Parts of the inner products change places for the factors that are imaginary.
    const __m256d zero = _mm256_setzero_pd(), first_turned = _mm256_permute_pd(first, 0x6),
                  second_turned = _mm256_permute_pd(second, 0x6);
    const __m256d real = _mm256_add_pd(_mm256_add_pd(zero, _mm256_mul_pd(by[0][0], first)),
                                       _mm256_mul_pd(by[0][1], second)),
                  rest = _mm256_add_pd(_mm256_add_pd(zero, _mm256_mul_pd(by[1][0], first_turned)),
                                       _mm256_mul_pd(by[1][1], second_turned));
    const __m256 sums = _mm256_set_m128(_mm256_cvtpd_ps(rest), _mm256_cvtpd_ps(real));
    const __m128 w = _mm_loadu_ps(weight), pair_minimum = _mm_min_ps(_mm_shuffle_ps(w, w, 0x1b), w),
                 least = _mm_permutevar_ps(pair_minimum, weight_word),
                 used = _mm_cmpgt_ps(least, _mm_setzero_ps());
    const __m256i used_words = _mm256_cvtepi32_epi64(_mm_castps_si128(used));
    _mm256_storeu_ps(to,
                     _mm256_and_ps(_mm256_permutevar8x32_ps(sums, word), _mm256_castsi256_ps(used_words)));
    _mm_storeu_ps(out_weight, _mm_and_ps(least, used));
  }
}
const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
#else
void fill_stokes(const std::complex<float>*, const float*, std::size_t, const StokesRecipes&,
                 std::complex<float>*, float*) {}
constexpr bool kHasAvx2 = false;
#endif

}  // namespace

std::vector<std::size_t> channels_in(const std::vector<double>& channel_hz, const ChannelGroup& group) {
  std::vector<std::size_t> channels;
  for (std::size_t i = 0; i < channel_hz.size(); ++i)
    if (channel_hz[i] >= group.low_hz && channel_hz[i] <= group.high_hz) channels.push_back(i);
  return channels;
}

void resize_planes(ImagingBlock& block, std::size_t n_row, std::size_t n_chan, std::size_t n_planes,
                   unsigned n_threads) {
  resize_for_threads(n_threads, {n_row, n_chan, n_planes}, block.data);
  resize_for_threads(n_threads, {n_row, n_chan, n_planes}, block.weight);
}

void make_planes(View<const std::complex<float>, 3> data, View<const float, 3> weight,
                 const std::vector<std::size_t>& channels, const std::vector<PlaneRecipe>& planes,
                 ImagingBlock& block, std::size_t first_row) {
  const std::size_t first = first_row * channels.size() * planes.size();
  make_planes(data, weight, channels, planes, block.data.data() + first, block.weight.data() + first);
}

void make_planes(View<const std::complex<float>, 3> data, View<const float, 3> weight,
                 const std::vector<std::size_t>& channels, const std::vector<PlaneRecipe>& planes,
                 std::complex<float>* out, float* out_weight) {
  const std::size_t n_planes = planes.size(), row_size = channels.size() * n_planes;
  const auto stokes = kHasAvx2 ? stokes_recipes(planes, data.extent(2)) : std::nullopt;
  const bool products = are_products(planes, data.extent(2));
  std::vector<decltype(&fill_plane<1, Factors::real>)> fill;
  for (const PlaneRecipe& plane : planes) {
    const Factors factors = factors_of(plane);
    const std::size_t n = plane.index.size();
    fill.push_back(n <= 1   ? plane_filler<1>(factors)
                   : n == 2 ? plane_filler<2>(factors)
                            : plane_filler<4>(factors));
  }
  for (std::size_t row = 0; row < data.extent(0); ++row)
    for (std::size_t c = 0, n = 1; c < channels.size(); c += n, n = 1) {
      while (c + n < channels.size() && channels[c + n] == channels[c] + n) ++n;
      const std::size_t from = channels[c] * data.extent(2), to = row * row_size + c * n_planes;
      const std::complex<float>* values = data[row].data() + from;
      const float* weights = weight[row].data() + from;
      if (stokes) {
        fill_stokes(values, weights, n, *stokes, out + to, out_weight + to);
        continue;
      }
      if (products) {
        fill_products(values, weights, n, out + to, out_weight + to);
        continue;
      }
      for (std::size_t p = 0; p < n_planes; ++p)
        fill[p](values, weights, data.extent(2), n, planes[p], n_planes, out + to + p, out_weight + to + p);
    }
}

bool moves_to_centre(const MsRows& rows, const std::vector<MsField>& fields, const SkyDirection& centre) {
  return Moves(fields, centre).any(rows);
}

std::vector<std::size_t> move_to_centre(const MsRows& rows, const std::vector<MsField>& fields,
                                        const SkyDirection& centre, ImagingBlock& block, unsigned n_threads) {
  const Moves moves(fields, centre);
  const bool any = moves.any(rows);
  const std::size_t n_row = rows.uvw_m.extent(0);
  block.uvw_m.resize_for_overwrite({n_row, 3});
  block.path_m.resize_for_overwrite({any ? n_row : 0});
  constexpr std::size_t kRows = 1 << 14;
  std::vector<std::vector<std::size_t>> without((n_row + kRows - 1) / kRows);
  parallel_for(n_threads, without.size(), [&](std::size_t item, unsigned) {
    for (std::size_t row = item * kRows; row < std::min(n_row, (item + 1) * kRows); ++row) {
      Vec3 uvw{rows.uvw_m(row, 0), rows.uvw_m(row, 1), rows.uvw_m(row, 2)};
      double path_m = 0;
      if (const Rephasing* move = any ? moves.of(rows.field[row]) : nullptr) {
        path_m = dot(move->path, uvw);
        uvw = multiply(move->rotation, uvw);
      }
      if (!std::isfinite(uvw[0] + uvw[1] + uvw[2])) {
        uvw = {};
        path_m = 0;
        without[item].push_back(row);
      }
      for (std::size_t i = 0; i < 3; ++i) block.uvw_m(row, i) = uvw[i];
      if (any) block.path_m(row) = path_m;
    }
  });
  std::vector<std::size_t> all;
  for (const std::vector<std::size_t>& part : without) all.insert(all.end(), part.begin(), part.end());
  return all;
}

MergedChannels merge_channels(const std::vector<MsSpectralWindow>& windows) {
  std::map<double, double> widths;  // of each frequency
  for (const MsSpectralWindow& window : windows)
    for (std::size_t i = 0; i < window.channel_hz.size(); ++i) {
      double& width_hz = widths[window.channel_hz[i]];
      width_hz = std::max(width_hz, window.width_hz[i]);
    }
  MergedChannels merged;
  for (const auto& [channel_hz, width_hz] : widths) {
    merged.channel_hz.push_back(channel_hz);
    merged.width_hz.push_back(width_hz);
  }
  return merged;
}

}  // namespace apsyn
