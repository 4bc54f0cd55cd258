// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/search/images/light_curves.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "libcore/base/median.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Pixels, and tiles, whose statistics stand for those of an image.
constexpr std::size_t kSomePixels = 1024, kSomeTiles = 256;
/// Steps of the first piece, whose noise is not known yet: so many for the scatter over the first image.
constexpr float kFirstSteps = 128;
/// Side of the squares of pixels that share a noise, and how many of them must have a value.
constexpr std::size_t kPool = 16, kMinPool = 8;
/// An image scatters too much, or is too high, by at least these parts of its usual scatter; and what sticks
/// out of it by that many is no interference.
constexpr float kMinScatter = 0.5f, kMinShift = 0.5f, kPointLike = 10;

using Clock = std::chrono::steady_clock;
double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// The middle one of an odd number of values, the mean of the middle two of an even number; 0 of none.
float middle_of(std::span<float> values) {
  const std::size_t n = values.size();
  if (n == 0) return 0;
  std::sort(values.begin(), values.end());
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

LightCurves::LightCurves(const LightCurvePlan& plan) : plan_(plan) {
  if (plan.n_pixel() == 0 || plan.n_chan == 0 || plan.piece < 8 || plan.n_frame < 4 * plan.piece)
    throw std::invalid_argument("LightCurves: no pixels, or too few frames");
  store_ = plan.device.kind == Device::Kind::cuda ? make_cuda_curve_store(plan) : make_cpu_curve_store(plan);
  usable_.resize({plan.n_chan, plan.n_frame});
  statistics_.resize({plan.piece, plan.n_chan});
  std::size_t step = std::max<std::size_t>(1, plan.n_pixel() / kSomePixels);
  while (step > 1 && std::gcd(step, plan.nx) != 1) ++step;  // not along a column
  for (std::size_t pixel = 0; pixel < plan.n_pixel(); pixel += step) some_pixels_.push_back(pixel);
  some_references_.resize({plan.n_chan, some_pixels_.size()});
  next_step_.assign(plan.n_chan, 0);
}

double LightCurves::bytes(const LightCurvePlan& plan) {
  const double n_piece = static_cast<double>(plan.n_frame) / static_cast<double>(plan.piece) + 9;
  return static_cast<double>(plan.n_lane()) * 8 * n_piece + (plan.device.kind == Device::Kind::cuda
                                                                 ? cuda_curve_store_host_bytes(plan)
                                                                 : cpu_curve_store_bytes(plan));
}

LightCurves::FrameStatistics LightCurves::look(std::size_t chan, const float* plane) const {
  std::vector<float> values;
  values.reserve(some_pixels_.size());
  bool any = false;
  for (std::size_t i = 0; i < some_pixels_.size(); ++i) {
    const float value = plane[some_pixels_[i]];
    if (!std::isfinite(value)) continue;
    any = any || value != 0;
    const float off = value - some_references_(chan, i);
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
  const std::size_t slot = n_piece_ % kPieceSlots;
  store_->start_piece(slot, (n_piece_ + kPieceSlots - 1) % kPieceSlots);
  store_->copy_references(slot, some_pixels_, some_references_);
}

void LightCurves::push(std::span<const float> planes) {
  const Clock::time_point begin = Clock::now();
  if (ended_) throw std::logic_error("LightCurves: a frame after the end");
  const std::size_t n_pixel = plan_.n_pixel(), n_chan = plan_.n_chan;
  if (!planes.empty() && planes.size() != n_pixel * n_chan)
    throw std::invalid_argument("LightCurves: a frame of another shape");
  if (pieces_.empty() || pieces_.back().frames.n == plan_.piece) {
    start_piece();
    ++n_piece_;
  }
  Piece& piece = pieces_.back();
  const std::size_t in_piece = piece.frames.n;
  store_->receive(planes);
  std::vector<ChannelUse> use(n_chan);
  parallel_for(plan_.n_threads, planes.empty() ? 0 : n_chan, [&](std::size_t chan, unsigned) {
    const float* plane = planes.data() + chan * n_pixel;
    if (piece.step[chan] == 0) {
      // the first image of a channel is its own reference, which was 0 before
      const FrameStatistics s = look(chan, plane);
      if (s.missing || !(s.scatter > 0)) return;
      piece.step[chan] = next_step_[chan] = s.scatter / kFirstSteps;
      for (std::size_t i = 0; i < some_pixels_.size(); ++i)
        if (const float value = plane[some_pixels_[i]]; std::isfinite(value))
          some_references_(chan, i) = value;
      use[chan].is_reference = true;
    }
    statistics_(in_piece, chan) = look(chan, plane);
    use[chan].missing = statistics_(in_piece, chan).missing;
    use[chan].step = piece.step[chan];
  });
  const std::size_t place = static_cast<std::size_t>(pushed_) % plan_.n_frame;
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    usable_(chan, place) = use[chan].missing ? 0 : 1;
    statistics_(in_piece, chan).missing = use[chan].missing;
    report_.n_missing += use[chan].missing ? 1 : 0;
  }
  report_.n_all += n_chan;
  store_->store(planes, pushed_, in_piece, (n_piece_ - 1) % kPieceSlots, use);
  ++pushed_;
  const Clock::time_point taken = Clock::now();
  seconds_.frames += seconds_between(begin, taken);
  if (++piece.frames.n < plan_.piece) return;
  end_piece();
  seconds_.levels += seconds_between(taken, Clock::now());
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

PieceFrames LightCurves::frames_of(const Piece& piece, std::size_t number) const {
  return {piece.frames, number % kPieceSlots, piece.step, flags()};
}

void LightCurves::measure(Piece& piece) {
  const std::size_t n_chan = plan_.n_chan, n_tile = plan_.n_tile();
  piece.noise.assign(n_chan, 0);
  piece.variance.assign(plan_.n_lane(), 0);
  // what is left at the end of a stream may be too short to tell a level
  if (2 * piece.frames.n < plan_.piece && n_measured_ > 0) {
    store_->forget_means(n_measured_ % kPieceSlots);
    return;
  }
  const std::size_t every = (n_tile + kSomeTiles - 1) / kSomeTiles, n_some = (n_tile + every - 1) / every;
  Buffer<float, 3> some({n_chan, n_some, kTilePixels});
  store_->measure_channels(frames_of(piece, n_measured_), every, some);
  std::vector<float> factor(n_chan, 0);
  parallel_for(plan_.n_threads, n_chan, [&](std::size_t chan, unsigned) {
    std::vector<float> known;
    for (std::size_t i = 0; i < n_some * kTilePixels; ++i)
      if (const float value = (&some(chan, 0, 0))[i]; value > 0) known.push_back(value);
    const float deviation = median_of(known);
    piece.noise[chan] = deviation * piece.step[chan];
    factor[chan] = deviation > 0 ? 1 / deviation : 0;
    if (deviation > 0) next_step_[chan] = piece.noise[chan] / kStepsPerNoise;
  });
  store_->measure_band(frames_of(piece, n_measured_), factor, piece.variance);
}

void LightCurves::end_piece() {
  Piece& last = pieces_.back();
  Buffer<std::int16_t, 2> peaks({last.frames.n, plan_.n_chan});
  store_->copy_peaks(peaks);
  for (std::size_t t = 0; t < last.frames.n; ++t)
    for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
      statistics_(t, chan).peak = static_cast<float>(peaks(t, chan)) * last.step[chan];
  flag_bright(last);
  measure(last);
  ++n_measured_;
  if (n_measured_ >= 4) finish_until_middle_of(n_measured_ - 3);
  while (pieces_.size() > kPieceSlots + 2 &&
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
  const FrameSpan appended{pushed_, n};
  for (std::size_t i = 0; i < n; ++i, ++pushed_)
    for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
      usable_(chan, static_cast<std::size_t>(pushed_) % plan_.n_frame) = 0;
  store_->clear(appended);
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
  own.pixel.assign(plan_.n_lane(), 0);
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

std::array<int, 5> LightCurves::slots_around(std::size_t number) const {
  std::array<int, 5> slots;
  for (std::size_t j = 0; j < slots.size(); ++j) {
    const std::int64_t k = static_cast<std::int64_t>(number + j) - 2;
    const bool stored =
        has_piece(k) && k + static_cast<std::int64_t>(kPieceSlots) >= static_cast<std::int64_t>(n_measured_);
    slots[j] = stored ? static_cast<int>(static_cast<std::size_t>(k) % kPieceSlots) : Levels::kNoSlot;
  }
  return slots;
}

void LightCurves::normalise(std::size_t number, std::int64_t begin, std::int64_t end, std::size_t left,
                            std::size_t right) {
  if (begin >= end) return;
  set_noise(number);
  const Piece& own = piece(number);
  const double length = static_cast<double>(middle2(right) - middle2(left)),
               step = length > 0 ? 2 / length : 0,
               ramp = length > 0 ? static_cast<double>(2 * begin - middle2(left)) / length : 0;
  Normalisation task{frames_of(own, number),  own.channel, own.pixel, {}, static_cast<float>(ramp),
                     static_cast<float>(step)};
  task.piece.frames = {begin, static_cast<std::size_t>(end - begin)};
  task.levels.from = slots_around(left);
  task.levels.is_line = right != left;
  if (task.levels.is_line) task.levels.to = slots_around(right);
  store_->normalise(task);
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

}  // namespace apsyn
