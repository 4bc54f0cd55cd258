// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/search/images/image_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "kernels/search/images/position.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// What is kept of a storm of interference: pulses of a pixel, of a gulp, and candidates that wait for later
/// frames.
constexpr std::size_t kMaxOfPixel = 8, kMaxOfGulp = 200, kMaxOpen = 4096;
/// Variance of a level, over that of a frame and the length of a piece.
constexpr double kLevelVariance = 0.3;
/// Part of a window that must count.
constexpr double kLeastUsable = 0.25;
/// Images, and their sides, that the beam is measured in.
constexpr std::size_t kBeamImages = 4, kBeamSide = 512;

LightCurvePlan curve_plan(const ImageSearchPlan& plan) {
  return {plan.nx,        plan.ny,        plan.n_chan, plan.piece, plan.kept_frames(),
          plan.rfi_sigma, plan.n_threads, plan.device};
}

double noise_of(double n, std::size_t width, std::size_t piece) {
  return std::sqrt(n * (1 + kLevelVariance * static_cast<double>(width) / static_cast<double>(piece)));
}

}  // namespace

std::size_t ImageSearchPlan::max_delay() const {
  return delay.size() == 0 ? 0 : *std::max_element(delay.begin(), delay.end());
}

std::size_t ImageSearchPlan::kept_frames() const {
  return 4 * piece + max_delay() + widths.back() + 2 * kCutoutFrames;
}

double ImageSearchPlan::bytes() const {
  const double sums = static_cast<double>(program.steps.size() * (piece + widths.back()) * kTilePixels * 2),
               table = static_cast<double>(delay.extent(0) * widths.size() * piece * 6);
  const auto side = static_cast<double>(cutout_pixels);
  // hits on their way from a device, as they come and sorted
  const double hits = device.kind == Device::Kind::cuda
                          ? 52 * static_cast<double>(device_hit_capacity(
                                     delay.extent(0), (piece + widths.back() - 1) / widths.back()))
                          : 0;
  const double cutout = side * side * static_cast<double>(2 * kCutoutFrames + widths.back() + 1) * 4;
  return LightCurves::bytes(curve_plan(*this)) + table + hits +
         static_cast<double>(n_threads) * (sums + 4e6) + static_cast<double>(kMaxOfGulp) * cutout;
}

double ImageSearchPlan::device_bytes() const {
  if (device.kind == Device::Kind::cpu) return 0;
  return cuda_curve_store_bytes(curve_plan(*this), delay.extent(0), widths.size(), widths.back());
}

ImageSearch::ImageSearch(const ImageSearchPlan& plan) : plan_(plan), curves_(curve_plan(plan)) {}

PulseRule ImageSearch::rule() const {
  return {plan_.band_delay, beam_pixels_.value_or(1), static_cast<std::int64_t>(plan_.widths.back())};
}

void ImageSearch::push(std::span<const float> planes) {
  curves_.push(planes);
  search_until(curves_.finished() -
               static_cast<std::int64_t>(plan_.max_delay() + plan_.widths.back() + kCutoutFrames));
}

void ImageSearch::search_until(std::int64_t end) {
  const auto piece = static_cast<std::int64_t>(plan_.piece);
  for (; searched_ + piece <= end; searched_ += piece) search_gulp(searched_, plan_.piece);
}

void ImageSearch::end() {
  if (ended_) return;
  ended_ = true;
  const std::int64_t n_frame = curves_.pushed();
  curves_.end();
  const auto behind = static_cast<std::int64_t>(plan_.max_delay() + plan_.widths.back() + kCutoutFrames);
  while (searched_ < n_frame) {
    const std::int64_t until = std::min(n_frame, searched_ + static_cast<std::int64_t>(plan_.piece));
    if (until + behind > curves_.pushed())
      curves_.append_unusable(static_cast<std::size_t>(until + behind - curves_.pushed()));
    search_gulp(searched_, static_cast<std::size_t>(until - searched_));
    searched_ = until;
  }
}

ScanTable ImageSearch::make_table(std::int64_t begin, std::size_t n) const {
  const std::size_t n_trial = plan_.delay.extent(0), n_width = plan_.widths.size(),
                    longest = plan_.widths.back();
  ScanTable table;
  table.first = begin, table.n_begin = n;
  table.delay = plan_.delay.view();
  table.program = &plan_.program, table.threshold = plan_.threshold;
  table.below.resize_for_overwrite({n_trial, n_width, n});
  table.to_sn.resize_for_overwrite({n_trial, n_width, n});
  const FrameFlags flags = curves_.flags();
  std::size_t n_alive = 0;
  for (std::size_t chan = 0; chan < plan_.n_chan; ++chan) {
    bool alive = false;
    for (std::size_t t = 0; t < n + plan_.max_delay() + longest && !alive; ++t)
      alive = flags.usable(chan, begin + static_cast<std::int64_t>(t));
    n_alive += alive ? 1 : 0;
  }
  parallel_for(plan_.n_threads, n_trial, [&](std::size_t trial, unsigned) {
    std::vector<std::size_t> before(n + longest, 0);  // usable channels of all frames before
    for (std::size_t t = 0; t + 1 < before.size(); ++t) {
      std::size_t usable = 0;
      for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
        usable += flags.usable(chan, begin + static_cast<std::int64_t>(t + plan_.delay(trial, chan))) ? 1 : 0;
      before[t + 1] = before[t] + usable;
    }
    for (std::size_t w = 0; w < n_width; ++w)
      for (std::size_t t = 0; t < n; ++t) {
        const std::size_t width = plan_.widths[w];
        const auto count = static_cast<double>(before[t + width] - before[t]);
        const bool enough = count > 0 && count >= kLeastUsable * static_cast<double>(n_alive * width);
        const double steps = static_cast<double>(kStepsPerNoise) * noise_of(count, width, plan_.piece);
        table.to_sn(trial, w, t) = enough ? static_cast<float>(1 / steps) : 0;
        table.below(trial, w, t) =
            enough ? static_cast<std::int16_t>(std::min(32766.0, std::ceil(plan_.threshold * steps) - 1))
                   : std::numeric_limits<std::int16_t>::max();
      }
  });
  return table;
}

void ImageSearch::measure_beam(std::int64_t frame) {
  const std::size_t nx = std::min(plan_.nx, kBeamSide), ny = std::min(plan_.ny, kBeamSide),
                    x0 = (plan_.nx - nx) / 2, y0 = (plan_.ny - ny) / 2;
  Buffer<float, 3> images({kBeamImages, ny, nx});
  std::vector<std::int16_t> plane(plan_.nx * plan_.ny);
  std::size_t n = 0;
  for (std::size_t i = 0; i < kBeamImages; ++i) {
    const std::int64_t at = frame + static_cast<std::int64_t>(i * plan_.piece / kBeamImages);
    const std::size_t chan = (2 * i + 1) * plan_.n_chan / (2 * kBeamImages);
    if (!curves_.flags().usable(chan, at)) continue;
    curves_.store().copy_plane(at, chan, plane);
    for (std::size_t y = 0; y < ny; ++y)
      for (std::size_t x = 0; x < nx; ++x) {
        const std::size_t pixel = (y0 + y) * plan_.nx + x0 + x;
        images(n, y, x) = curves_.unit(at, chan, pixel) > 0 ? static_cast<float>(plane[pixel])
                                                            : std::numeric_limits<float>::quiet_NaN();
      }
    ++n;
  }
  if (n > 0) beam_pixels_ = noise_correlation_pixels({images.data(), {n, ny, nx}});
}

void ImageSearch::search_gulp(std::int64_t begin, std::size_t n) {
  const auto start = std::chrono::steady_clock::now();
  if (!beam_pixels_) measure_beam(begin);
  const ScanTable table = make_table(begin, n);
  const PulseRule pulse_rule = rule();
  const std::size_t n_tile = curves_.plan().n_tile();
  std::vector<std::vector<PulseHit>> found(n_tile);
  std::vector<std::uint64_t> dropped(n_tile);
  curves_.store().scan(table, [&](std::size_t tile, std::span<const TileHit> hits) {
    std::vector<std::vector<PulseHit>> of_pixel(kTilePixels);
    for (const TileHit& hit : hits) {
      const std::size_t pixel = tile * kTilePixels + hit.pixel;
      const auto width = static_cast<std::int64_t>(plan_.widths[hit.width]);
      of_pixel[hit.pixel].push_back({hit.trial, hit.begin, width, hit.sn,
                                     static_cast<std::uint32_t>(pixel % plan_.nx),
                                     static_cast<std::uint32_t>(pixel / plan_.nx), 1, 1, hit.trial, hit.trial,
                                     hit.begin, hit.begin + width});
    }
    for (std::vector<PulseHit>& own : of_pixel) {
      GatheredPulses gathered = gather_pulses(std::move(own), pulse_rule, kMaxOfPixel);
      dropped[tile] += gathered.n_dropped;
      found[tile].insert(found[tile].end(), gathered.pulses.begin(), gathered.pulses.end());
    }
  });
  trial_pixels_ += static_cast<double>(plan_.delay.extent(0)) * static_cast<double>(plan_.nx * plan_.ny) *
                   static_cast<double>(n);
  std::vector<PulseHit> all;
  for (std::size_t tile = 0; tile < n_tile; ++tile) {
    all.insert(all.end(), found[tile].begin(), found[tile].end());
    n_dropped_ += dropped[tile];
  }
  const GatheredPulses gathered = gather_pulses(std::move(all), pulse_rule, kMaxOfGulp);
  n_dropped_ += gathered.n_dropped;
  const std::size_t n_before = open_.size();
  open_.resize(n_before + gathered.pulses.size());
  // what is around a pulse comes from a device by one copy after the other
  const unsigned n_threads = plan_.device.kind == Device::Kind::cuda ? 1 : plan_.n_threads;
  parallel_for(n_threads, gathered.pulses.size(),
               [&](std::size_t i, unsigned) { open_[n_before + i] = refine(gathered.pulses[i]); });
  scan_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Calls add(frame, channel) for all that counts of a pulse's window.
template <class Add>
void ImageSearch::for_window(const PulseHit& hit, Add add) const {
  const FrameFlags flags = curves_.flags();
  for (std::int64_t t = hit.begin; t < hit.begin + hit.width; ++t)
    for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
      if (const std::int64_t frame = t + plan_.delay(hit.trial, chan); flags.usable(chan, frame))
        add(frame, chan);
}

double ImageSearch::significance(const PulseHit& hit, const PixelCurve& curve) const {
  double sum = 0, n = 0;
  for_window(hit, [&](std::int64_t frame, std::size_t chan) { sum += curve.steps(frame, chan), n += 1; });
  if (n == 0) return 0;
  return sum / static_cast<double>(kStepsPerNoise) /
         noise_of(n, static_cast<std::size_t>(hit.width), plan_.piece);
}

/// Mean over a pulse's window and channels, in the image's unit.
double ImageSearch::flux(const PulseHit& hit, std::size_t pixel, const PixelCurve& curve) const {
  double sum = 0, n = 0;
  for_window(hit, [&](std::int64_t frame, std::size_t chan) {
    sum += curve.steps(frame, chan) * curves_.unit(frame, chan, pixel), n += 1;
  });
  return n > 0 ? sum / n : 0;
}

ImageCandidate ImageSearch::refine(const PulseHit& found) const {
  ImageCandidate candidate;
  PulseHit& hit = candidate.hit = found;
  const std::unique_ptr<CurveReader> reader = curves_.store().reader();
  const auto flux_at = [&](std::size_t x, std::size_t y) {
    const std::size_t pixel = y * plan_.nx + x;
    return flux(hit, pixel, reader->at(pixel));
  };
  // Sums that saturate are alike, and a source that pulses adds to the noise of its own pixel: climb to the
  // pixel of the highest flux, which has the shape of the beam.
  double best = flux_at(hit.x, hit.y);
  for (bool climbs = true; climbs;) {
    climbs = false;
    const std::uint32_t x0 = hit.x, y0 = hit.y;
    for (std::uint32_t y = y0 > 0 ? y0 - 1 : 0; y < std::min<std::size_t>(plan_.ny, y0 + 2); ++y)
      for (std::uint32_t x = x0 > 0 ? x0 - 1 : 0; x < std::min<std::size_t>(plan_.nx, x0 + 2); ++x)
        if (const double value = flux_at(x, y); value > best)
          best = value, hit.x = x, hit.y = y, climbs = true;
  }
  candidate.flux = best;
  const PixelCurve curve = reader->at(hit.y * plan_.nx + hit.x);
  hit.sn = static_cast<float>(significance(hit, curve));
  candidate.x = hit.x, candidate.y = hit.y;
  if (hit.x > 0 && hit.y > 0 && hit.x + 1 < plan_.nx && hit.y + 1 < plan_.ny) {
    Buffer<double, 2> near({3, 3});
    for (std::size_t y = 0; y < 3; ++y)
      for (std::size_t x = 0; x < 3; ++x) near(y, x) = flux_at(hit.x + x - 1, hit.y + y - 1);
    if (const auto peak = fit_peak(near.view())) candidate.x += peak->x, candidate.y += peak->y;
  }
  if (plan_.cutout_pixels > 0) {
    candidate.trial_sn = trial_significance(hit, curve);
    candidate.cutout = cut_out(hit, *reader);
  }
  return candidate;
}

std::vector<float> ImageSearch::trial_significance(const PulseHit& hit, const PixelCurve& curve) const {
  const std::size_t n_trial = plan_.delay.extent(0);
  const FrameFlags flags = curves_.flags();
  const auto width = static_cast<std::size_t>(hit.width);
  const std::int64_t oldest = std::max<std::int64_t>(0, searched_ - static_cast<std::int64_t>(kCutoutFrames));
  std::vector<float> best(n_trial, 0);
  std::vector<double> sum, n;  // of the frames before
  for (std::size_t trial = 0; trial < n_trial; ++trial) {
    const View<const std::uint32_t, 1> delay = plan_.delay.view()[trial];
    const double track = plan_.band_delay[hit.trial] - plan_.band_delay[trial];
    const auto longest = static_cast<std::int64_t>(*std::max_element(delay.begin(), delay.end()));
    const std::int64_t early = hit.begin + static_cast<std::int64_t>(std::floor(std::min(0.0, track))) - 1,
                       late = hit.begin + static_cast<std::int64_t>(std::ceil(std::max(0.0, track))) + 1 +
                              hit.width;
    const std::int64_t from = std::max(oldest, early), to = std::min(late, curves_.finished() - longest);
    sum.assign(1, 0), n.assign(1, 0);
    for (std::int64_t t = from; t < to; ++t) {
      double value = 0, count = 0;
      for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
        if (const std::int64_t frame = t + delay[chan]; flags.usable(chan, frame))
          value += curve.steps(frame, chan), count += 1;
      sum.push_back(sum.back() + value), n.push_back(n.back() + count);
    }
    for (std::size_t t = 0; t + width < sum.size(); ++t)
      if (const double count = n[t + width] - n[t]; count > 0)
        best[trial] = std::max(best[trial], static_cast<float>((sum[t + width] - sum[t]) / kStepsPerNoise /
                                                               noise_of(count, width, plan_.piece)));
  }
  return best;
}

ImageCutout ImageSearch::cut_out(const PulseHit& hit, CurveReader& reader) const {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::size_t side = plan_.cutout_pixels,
                    n_time = 2 * kCutoutFrames + static_cast<std::size_t>(hit.width);
  const FrameFlags flags = curves_.flags();
  ImageCutout out;
  out.first_frame = hit.begin - static_cast<std::int64_t>(kCutoutFrames);
  out.x0 = static_cast<std::int64_t>(hit.x) - static_cast<std::int64_t>(side / 2);
  out.y0 = static_cast<std::int64_t>(hit.y) - static_cast<std::int64_t>(side / 2);
  out.images.resize({n_time, side, side});
  out.images.fill(kNan);
  out.significance.resize({side, side});
  out.significance.fill(kNan);
  out.spectrum.resize({plan_.n_chan, n_time});
  out.spectrum.fill(kNan);
  const auto usable = [&](std::size_t chan, std::int64_t frame) {
    return frame >= 0 && flags.usable(chan, frame);
  };
  for (std::size_t y = 0; y < side; ++y)
    for (std::size_t x = 0; x < side; ++x) {
      const std::int64_t px = out.x0 + static_cast<std::int64_t>(x),
                         py = out.y0 + static_cast<std::int64_t>(y);
      if (px < 0 || py < 0 || px >= static_cast<std::int64_t>(plan_.nx) ||
          py >= static_cast<std::int64_t>(plan_.ny))
        continue;
      const std::size_t pixel = static_cast<std::size_t>(py) * plan_.nx + static_cast<std::size_t>(px);
      const PixelCurve curve = reader.at(pixel);
      bool any = false;
      for (std::size_t t = 0; t < n_time; ++t) {
        double sum = 0, n = 0;
        for (std::size_t chan = 0; chan < plan_.n_chan; ++chan) {
          const std::int64_t frame =
              out.first_frame + static_cast<std::int64_t>(t + plan_.delay(hit.trial, chan));
          if (!usable(chan, frame)) continue;
          const double unit = curves_.unit(frame, chan, pixel);
          if (unit > 0) sum += curve.steps(frame, chan) * unit, n += 1;
        }
        if (n > 0) out.images(t, y, x) = static_cast<float>(sum / n), any = true;
      }
      if (any) out.significance(y, x) = static_cast<float>(significance(hit, curve));
    }
  const PixelCurve curve = reader.at(hit.y * plan_.nx + hit.x);
  for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
    for (std::size_t t = 0; t < n_time; ++t) {
      const std::int64_t frame =
          out.first_frame + static_cast<std::int64_t>(t + plan_.delay(hit.trial, chan));
      if (usable(chan, frame))
        out.spectrum(chan, t) = static_cast<float>(curve.steps(frame, chan)) / kStepsPerNoise;
    }
  return out;
}

std::vector<ImageCandidate> ImageSearch::take() {
  std::sort(open_.begin(), open_.end(), [](const ImageCandidate& a, const ImageCandidate& b) {
    return std::tie(a.hit.begin, a.hit.trial, a.hit.y, a.hit.x) <
           std::tie(b.hit.begin, b.hit.trial, b.hit.y, b.hit.x);
  });
  const PulseRule pulse_rule = rule();
  const std::int64_t reach = pulse_rule.reach();
  std::vector<ImageCandidate> done, left;
  for (std::size_t first = 0; first < open_.size();) {
    // a group: nothing before or behind it can be the same pulse
    std::size_t end = first + 1;
    while (end < open_.size() && open_[end].hit.begin - open_[end - 1].hit.begin <= reach) ++end;
    const bool complete = ended_ || open_[end - 1].hit.begin + reach < searched_ || open_.size() > kMaxOpen;
    if (!complete) {
      std::move(open_.begin() + static_cast<std::ptrdiff_t>(first),
                open_.begin() + static_cast<std::ptrdiff_t>(end), std::back_inserter(left));
      first = end;
      continue;
    }
    std::vector<PulseHit> hits;
    for (std::size_t i = first; i < end; ++i) hits.push_back(open_[i].hit);
    for (const PulseHit& pulse : gather_pulses(std::move(hits), pulse_rule, end - first).pulses) {
      const auto own =
          std::find_if(open_.begin() + static_cast<std::ptrdiff_t>(first),
                       open_.begin() + static_cast<std::ptrdiff_t>(end), [&](const ImageCandidate& c) {
                         return std::tie(c.hit.trial, c.hit.begin, c.hit.width, c.hit.x, c.hit.y) ==
                                std::tie(pulse.trial, pulse.begin, pulse.width, pulse.x, pulse.y);
                       });
      own->hit = pulse;
      done.push_back(std::move(*own));
    }
    first = end;
  }
  open_ = std::move(left);
  std::sort(done.begin(), done.end(), [](const ImageCandidate& a, const ImageCandidate& b) {
    return std::tie(a.hit.begin, a.hit.trial, a.hit.y, a.hit.x) <
           std::tie(b.hit.begin, b.hit.trial, b.hit.y, b.hit.x);
  });
  return done;
}

}  // namespace apsyn
