// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/search/images/light_curves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "libcore/base/median.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
/// Pixels, and tiles, whose statistics stand for those of an image.
constexpr std::size_t kSomePixels = 1024, kSomeTiles = 256;
/// Steps of the first piece, whose noise is not known yet: so many for the scatter over the first image.
constexpr float kFirstSteps = 128;
/// Side of the squares of pixels that share a noise, and how many of them must have a value.
constexpr std::size_t kPool = 16, kMinPool = 8;
/// An image scatters too much, or is too high, by at least these parts of its usual scatter; and what sticks
/// out of it by that many is no interference.
constexpr float kMinScatter = 0.5f, kMinShift = 0.5f, kPointLike = 10;

/// The middle one of an odd number of values, the mean of the middle two of an even number; 0 of none.
float middle_of(std::span<float> values) {
  const std::size_t n = values.size();
  if (n == 0) return 0;
  std::sort(values.begin(), values.end());
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// What equation (1) becomes where not all of the four means around a piece are known; NaN for those that are
/// not. `near[2]` is its own.
float level_of(const std::array<float, 5>& near) {
  const auto known = [&](std::size_t i) { return !std::isnan(near[i]); };
  if (known(1) && known(3)) return (near[1] + near[3]) / 2;
  // values of the line through three pieces at the first, or last, of them
  if (known(2) && known(3) && known(4)) return (5 * near[2] + 2 * near[3] - near[4]) / 6;
  if (known(2) && known(1) && known(0)) return (5 * near[2] + 2 * near[1] - near[0]) / 6;
  float sum = 0, n = 0;
  for (std::size_t i = 0; i < near.size(); ++i)
    if (known(i)) sum += near[i], ++n;
  return n > 0 ? sum / n : kNan;
}

}  // namespace

LightCurves::LightCurves(const LightCurvePlan& plan) : plan_(plan) {
  if (plan.n_pixel() == 0 || plan.n_chan == 0 || plan.piece < 8 || plan.n_frame < 4 * plan.piece)
    throw std::invalid_argument("LightCurves: no pixels, or too few frames");
  const std::size_t n_tile = plan.n_tile();
  resize_by_threads<std::int16_t, 4>(plan.n_threads,
                                     {n_tile, plan.n_frame, TileRing::rows(plan.n_chan), kTilePixels}, ring_);
  resize_by_threads<float, 4>(plan.n_threads, {n_tile, kSlots, plan.n_chan, kTilePixels}, mean_);
  resize_by_threads<float, 4>(plan.n_threads, {n_tile, kSlots, plan.n_chan, kTilePixels}, reference_);
  usable_.resize({plan.n_chan, plan.n_frame});
  statistics_.resize({plan.piece, plan.n_chan});
  std::size_t step = std::max<std::size_t>(1, plan.n_pixel() / kSomePixels);
  while (step > 1 && std::gcd(step, plan.nx) != 1) ++step;  // not along a column
  for (std::size_t pixel = 0; pixel < plan.n_pixel(); pixel += step) some_pixels_.push_back(pixel);
  next_step_.assign(plan.n_chan, 0);
}

double LightCurves::bytes(const LightCurvePlan& plan) {
  const double lanes = static_cast<double>(plan.n_tile() * kTilePixels);
  const double n_piece = static_cast<double>(plan.n_frame) / static_cast<double>(plan.piece) + 9;
  return lanes * (2.0 * static_cast<double>(plan.n_frame * TileRing::rows(plan.n_chan)) +
                  8.0 * static_cast<double>(kSlots * plan.n_chan) + 8 * n_piece);
}

TileRing LightCurves::tile(std::size_t number) const {
  const std::size_t n_row = TileRing::rows(plan_.n_chan), size = n_row * plan_.n_frame * kTilePixels;
  return {const_cast<std::int16_t*>(ring_.data()) + number * size, plan_.n_frame, n_row};
}

LightCurves::FrameStatistics LightCurves::look(std::size_t chan, const float* plane) const {
  std::vector<float> values;
  values.reserve(some_pixels_.size());
  const std::size_t slot = (n_piece_ - 1) % kSlots;
  bool any = false;
  for (const std::size_t pixel : some_pixels_) {
    const float value = plane[pixel];
    if (!std::isfinite(value)) continue;
    any = any || value != 0;
    const float off = value - reference_(pixel / kTilePixels, slot, chan, pixel % kTilePixels);
    if (std::isfinite(off)) values.push_back(off);
  }
  FrameStatistics s;
  s.missing = !any || values.empty();
  if (s.missing) return s;
  s.middle = median_of(values);
  s.scatter = robust_spread(values, s.middle);
  return s;
}

void LightCurves::start_piece() {
  Piece& next = pieces_.emplace_back();
  next.frames = {pushed_, 0};
  next.step = next_step_;
  if (pieces_.size() == 1) return;
  // what was measured last is the reference of what comes
  const std::size_t slot = n_piece_ % kSlots, before = (n_piece_ + kSlots - 1) % kSlots;
  parallel_for(plan_.n_threads, plan_.n_tile(), [&](std::size_t tile, unsigned) {
    for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
      for (std::size_t i = 0; i < kTilePixels; ++i) {
        const float mean = mean_(tile, before, chan, i);
        reference_(tile, slot, chan, i) = std::isnan(mean) ? reference_(tile, before, chan, i) : mean;
      }
  });
}

void LightCurves::push(std::span<const float> planes) {
  if (ended_) throw std::logic_error("LightCurves: a frame after the end");
  const std::size_t n_pixel = plan_.n_pixel(), n_chan = plan_.n_chan;
  if (!planes.empty() && planes.size() != n_pixel * n_chan)
    throw std::invalid_argument("LightCurves: a frame of another shape");
  if (pieces_.empty() || pieces_.back().frames.n == plan_.piece) {
    start_piece();
    ++n_piece_;
  }
  Piece& piece = pieces_.back();
  const std::size_t in_piece = piece.frames.n, slot = (n_piece_ - 1) % kSlots;
  std::vector<std::uint8_t> missing(n_chan, 1);
  parallel_for(plan_.n_threads, planes.empty() ? 0 : n_chan, [&](std::size_t chan, unsigned) {
    const float* plane = planes.data() + chan * n_pixel;
    if (piece.step[chan] == 0) {
      // the first image of a channel is its own reference
      for (std::size_t tile = 0; tile < plan_.n_tile(); ++tile)
        for (std::size_t i = 0; i < kTilePixels; ++i) reference_(tile, slot, chan, i) = 0;
      const FrameStatistics s = look(chan, plane);
      if (s.missing || !(s.scatter > 0)) return;
      piece.step[chan] = next_step_[chan] = s.scatter / kFirstSteps;
      for (std::size_t pixel = 0; pixel < n_pixel; ++pixel)
        if (std::isfinite(plane[pixel]))
          reference_(pixel / kTilePixels, slot, chan, pixel % kTilePixels) = plane[pixel];
    }
    statistics_(in_piece, chan) = look(chan, plane);
    missing[chan] = statistics_(in_piece, chan).missing ? 1 : 0;
  });
  const std::size_t place = static_cast<std::size_t>(pushed_) % plan_.n_frame;
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    usable_(chan, place) = missing[chan] == 0;
    statistics_(in_piece, chan).missing = missing[chan] != 0;
    report_.n_missing += missing[chan];
  }
  report_.n_all += n_chan;
  Buffer<std::int16_t, 2> largest({plan_.n_tile(), n_chan});
  parallel_for(plan_.n_threads, plan_.n_tile(), [&](std::size_t tile, unsigned) {
    const std::size_t first = tile * kTilePixels, n = std::min(kTilePixels, n_pixel - first);
    const TileRing ring = this->tile(tile);
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      if (missing[chan] != 0)
        std::fill_n(ring.row(chan, pushed_), kTilePixels, kBlankPixel);
      else
        largest(tile, chan) =
            quantise_pixels(planes.data() + chan * n_pixel + first, n, &reference_(tile, slot, chan, 0),
                            1 / piece.step[chan], ring.row(chan, pushed_));
    }
  });
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    std::int16_t peak = -32767;
    for (std::size_t tile = 0; tile < plan_.n_tile(); ++tile) peak = std::max(peak, largest(tile, chan));
    statistics_(in_piece, chan).peak = static_cast<float>(peak) * piece.step[chan];
  }
  ++pushed_;
  if (++piece.frames.n == plan_.piece) end_piece();
}

void LightCurves::flag_bright(const Piece& piece) {
  if (plan_.rfi_sigma == 0) return;
  const auto sigma = static_cast<float>(plan_.rfi_sigma);
  for (std::size_t chan = 0; chan < plan_.n_chan; ++chan) {
    std::vector<float> middles, scatters;
    for (std::size_t t = 0; t < piece.frames.n; ++t) {
      const FrameStatistics& s = statistics_(t, chan);
      if (s.missing || s.scatter == 0) continue;  // 0: of the image that is its own reference
      middles.push_back(s.middle), scatters.push_back(s.scatter);
    }
    const float usual = median_of(scatters), middle = median_of(middles);
    const float most = usual + std::max(kMinScatter * usual, sigma * robust_spread(scatters, usual)),
                shift = std::max(kMinShift * usual, sigma * robust_spread(middles, middle));
    for (std::size_t t = 0; t < piece.frames.n; ++t) {
      const FrameStatistics& s = statistics_(t, chan);
      if (s.missing || (s.scatter <= most && std::abs(s.middle - middle) <= shift)) continue;
      if (s.peak - s.middle > kPointLike * s.scatter) continue;
      usable_(chan, (static_cast<std::size_t>(piece.frames.first) + t) % plan_.n_frame) = 0;
      ++report_.n_bright;
    }
  }
}

void LightCurves::measure(Piece& piece) {
  const std::size_t n_chan = plan_.n_chan, n_tile = plan_.n_tile(), slot = n_measured_ % kSlots;
  piece.noise.assign(n_chan, 0);
  piece.variance.assign(n_tile * kTilePixels, 0);
  // what is left at the end of a stream may be too short to tell a level
  if (2 * piece.frames.n < plan_.piece && n_measured_ > 0) {
    parallel_for(plan_.n_threads, n_tile, [&](std::size_t tile, unsigned) {
      std::fill_n(&mean_(tile, slot, 0, 0), n_chan * kTilePixels, kNan);
    });
    return;
  }
  const std::size_t every = (n_tile + kSomeTiles - 1) / kSomeTiles, n_some = (n_tile + every - 1) / every;
  Buffer<float, 3> some({n_chan, n_some, kTilePixels});
  parallel_for(plan_.n_threads, n_tile, [&](std::size_t tile, unsigned) {
    std::array<float, kTilePixels> mean, deviation;
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      measure_channel(this->tile(tile), flags(), chan, piece.frames, mean.data(), deviation.data());
      for (std::size_t i = 0; i < kTilePixels; ++i)
        mean_(tile, slot, chan, i) = reference_(tile, slot, chan, i) + mean[i] * piece.step[chan];
      if (tile % every == 0) std::copy(deviation.begin(), deviation.end(), &some(chan, tile / every, 0));
    }
  });
  std::vector<float> factor(n_chan, 0);
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    std::vector<float> known;
    for (std::size_t i = 0; i < n_some * kTilePixels; ++i)
      if (const float value = (&some(chan, 0, 0))[i]; value > 0) known.push_back(value);
    const float deviation = median_of(known);
    piece.noise[chan] = deviation * piece.step[chan];
    factor[chan] = deviation > 0 ? 1 / deviation : 0;
    if (deviation > 0) next_step_[chan] = piece.noise[chan] / kStepsPerNoise;
  }
  parallel_for(plan_.n_threads, n_tile, [&](std::size_t tile, unsigned) {
    thread_local std::vector<float> mean, scratch;
    mean.resize(n_chan * kTilePixels);
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      for (std::size_t i = 0; i < kTilePixels; ++i)
        mean[chan * kTilePixels + i] =
            (mean_(tile, slot, chan, i) - reference_(tile, slot, chan, i)) / piece.step[chan];
    measure_band(this->tile(tile), flags(), piece.frames, mean, factor, scratch,
                 piece.variance.data() + tile * kTilePixels);
  });
}

void LightCurves::end_piece() {
  Piece& last = pieces_.back();
  flag_bright(last);
  measure(last);
  ++n_measured_;
  if (n_measured_ >= 4) finish_until_middle_of(n_measured_ - 3);
  while (pieces_.size() > kSlots + 2 &&
         pieces_.front().frames.first + static_cast<std::int64_t>(plan_.piece) <=
             pushed_ - static_cast<std::int64_t>(plan_.n_frame)) {
    pieces_.pop_front();
    ++first_piece_;
  }
}

void LightCurves::end() {
  if (ended_) return;
  ended_ = true;
  if (pieces_.empty()) return;
  if (n_measured_ < n_piece_) end_piece();
  finish_until_middle_of(n_piece_ - 1);
  const std::size_t last = n_piece_ - 1;
  normalise(last, finished_, pushed_, last, last);
  finished_ = pushed_;
}

void LightCurves::append_unusable(std::size_t n) {
  for (std::size_t i = 0; i < n; ++i, ++pushed_) {
    for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
      usable_(chan, static_cast<std::size_t>(pushed_) % plan_.n_frame) = 0;
    parallel_for(plan_.n_threads, plan_.n_tile(), [&](std::size_t tile, unsigned) {
      for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
        std::fill_n(this->tile(tile).row(chan, pushed_), kTilePixels, std::int16_t{0});
    });
  }
  finished_ = pushed_;
}

bool LightCurves::has_piece(std::int64_t number) const {
  return number >= static_cast<std::int64_t>(first_piece_) && number < static_cast<std::int64_t>(n_measured_);
}

std::int64_t LightCurves::middle2(std::size_t number) const {
  const FrameSpan& frames = piece(number).frames;
  return 2 * frames.first + static_cast<std::int64_t>(frames.n) - 1;
}

void LightCurves::set_noise(std::size_t number) {
  Piece& own = piece(number);
  if (!own.channel.empty()) return;
  std::vector<const Piece*> around;
  for (int i = -2; i <= 2; ++i)
    if (const std::int64_t k = static_cast<std::int64_t>(number) + i; has_piece(k))
      around.push_back(&piece(static_cast<std::size_t>(k)));
  const std::size_t n_chan = plan_.n_chan;
  own.channel.assign(n_chan, 0);
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    std::vector<float> known;
    for (const Piece* p : around)
      if (p->noise[chan] > 0) known.push_back(p->noise[chan]);
    own.channel[chan] = middle_of(known);
  }
  own.pixel.assign(plan_.n_tile() * kTilePixels, 0);
  const std::size_t n_column = (plan_.nx + kPool - 1) / kPool, n_row = (plan_.ny + kPool - 1) / kPool;
  parallel_for(plan_.n_threads, n_column * n_row, [&](std::size_t block, unsigned) {
    const std::size_t x0 = block % n_column * kPool, y0 = block / n_column * kPool;
    std::vector<float> pool;
    std::size_t most = 0;
    const auto visit = [&](auto use) {
      for (std::size_t y = y0; y < std::min(plan_.ny, y0 + kPool); ++y)
        for (std::size_t x = x0; x < std::min(plan_.nx, x0 + kPool); ++x) use(y * plan_.nx + x);
    };
    visit([&](std::size_t pixel) {
      std::array<float, 5> known;
      std::size_t n = 0;
      for (const Piece* p : around)
        if (p->variance[pixel] > 0) known[n++] = p->variance[pixel];
      most = std::max(most, n);
      own.pixel[pixel] = std::sqrt(middle_of({known.data(), n}));
      if (n > 0) pool.push_back(own.pixel[pixel]);
    });
    if (pool.size() < kMinPool) return;
    const float usual = median_of(pool);
    // four standard errors of a median of standard deviations
    const float limit = usual * (1 + 5 / std::sqrt(2 * static_cast<float>(plan_.piece * most)));
    visit([&](std::size_t pixel) {
      if (own.pixel[pixel] > 0 && own.pixel[pixel] < limit) own.pixel[pixel] = usual;
    });
  });
}

void LightCurves::level(std::size_t tile, std::size_t chan, std::size_t number, float* out) const {
  static const std::array<float, kTilePixels> kUnknown = [] {
    std::array<float, kTilePixels> values;
    values.fill(kNan);
    return values;
  }();
  std::array<const float*, 5> near;
  for (std::size_t j = 0; j < near.size(); ++j) {
    const std::int64_t k = static_cast<std::int64_t>(number + j) - 2;
    const bool stored =
        has_piece(k) && k + static_cast<std::int64_t>(kSlots) >= static_cast<std::int64_t>(n_measured_);
    near[j] = stored ? &mean_(tile, static_cast<std::size_t>(k) % kSlots, chan, 0) : kUnknown.data();
  }
  // all pixels as if all four were known, which they are almost always; a sum with NaN is NaN
  for (std::size_t i = 0; i < kTilePixels; ++i) {
    const float a = near[0][i], b = near[1][i], c = near[3][i], d = near[4][i];
    const float low = std::min(std::min(a, b), std::min(c, d)),
                high = std::max(std::max(a, b), std::max(c, d));
    out[i] = (a + b + c + d - low - high) / 2;
  }
  for (std::size_t i = 0; i < kTilePixels; ++i)
    if (std::isnan(out[i])) out[i] = level_of({near[0][i], near[1][i], near[2][i], near[3][i], near[4][i]});
}

void LightCurves::normalise(std::size_t number, std::int64_t begin, std::int64_t end, std::size_t left,
                            std::size_t right) {
  if (begin >= end) return;
  set_noise(number);
  const Piece& own = piece(number);
  const std::size_t slot = number % kSlots;
  const double length = static_cast<double>(middle2(right) - middle2(left)),
               step = length > 0 ? 2 / length : 0,
               ramp = length > 0 ? static_cast<double>(2 * begin - middle2(left)) / length : 0;
  parallel_for(plan_.n_threads, plan_.n_tile(), [&](std::size_t tile, unsigned) {
    alignas(64) std::array<float, kTilePixels> from, to, scale, offset, slope;
    const float* pixel = own.pixel.data() + tile * kTilePixels;
    for (std::size_t chan = 0; chan < plan_.n_chan; ++chan) {
      level(tile, chan, left, from.data());
      if (right != left) level(tile, chan, right, to.data());
      for (std::size_t i = 0; i < kTilePixels; ++i) {
        const float noise = own.channel[chan] * pixel[i], b0 = from[i], b1 = right != left ? to[i] : b0;
        const bool known = noise > 0 && !std::isnan(b0) && !std::isnan(b1);
        const float per = known ? kStepsPerNoise / noise : 0;
        scale[i] = per * own.step[chan];
        offset[i] = known ? per * (reference_(tile, slot, chan, i) - b0) : 0;
        slope[i] = known ? -per * (b1 - b0) : 0;
      }
      normalise_pixels(
          this->tile(tile), flags(), chan, {begin, static_cast<std::size_t>(end - begin)},
          {scale.data(), offset.data(), slope.data(), static_cast<float>(ramp), static_cast<float>(step)});
    }
  });
}

void LightCurves::finish_until_middle_of(std::size_t number) {
  const auto middle = [&](std::size_t k) { return (middle2(k) + 1) / 2; };
  if (finished_pieces_ == 0) {
    normalise(0, 0, middle(0), 0, 0);
    finished_ = middle(0);
    finished_pieces_ = 1;
  }
  for (; finished_pieces_ <= number; ++finished_pieces_) {
    const std::size_t right = finished_pieces_, left = right - 1;
    const std::int64_t border = piece(right).frames.first;
    normalise(left, finished_, border, left, right);
    normalise(right, border, middle(right), left, right);
    finished_ = middle(right);
  }
}

const LightCurves::Piece* LightCurves::piece_of(std::int64_t frame) const {
  if (pieces_.empty() || frame < pieces_.front().frames.first) return nullptr;
  const auto number = static_cast<std::size_t>(frame) / plan_.piece;
  if (number < first_piece_ || number >= n_piece_ || piece(number).channel.empty()) return nullptr;
  return &piece(number);
}

double LightCurves::unit(std::int64_t frame, std::size_t chan, std::size_t pixel) const {
  const Piece* p = piece_of(frame);
  return p == nullptr
             ? 0
             : static_cast<double>(p->channel[chan] * p->pixel[pixel]) / static_cast<double>(kStepsPerNoise);
}

double LightCurves::steps(std::int64_t frame, std::size_t chan, std::size_t pixel) const {
  return *(tile(pixel / kTilePixels).row(chan, frame) + pixel % kTilePixels);
}

}  // namespace apsyn
