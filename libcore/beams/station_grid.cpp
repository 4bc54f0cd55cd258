// SPDX-License-Identifier: GPL-3.0-or-later
// First what fields of equal axes share, their elements on the sky; then the stations, a block of pixels at a
// time. Elements with coefficients of their own cost a product of all phasors with all coefficients.
#include "libcore/beams/station_grid.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/beams/element_field.h"
#include "libcore/beams/lanes.h"
#include "libcore/beams/phasor_field.h"
#include "libcore/beams/plane_loops.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;
using Flags = std::vector<std::array<bool, 2>>;

/// A field as the sums of phasors want it.
struct FieldTask {
  const StationField* field = nullptr;
  std::size_t on_sky = 0;                       ///< which of the elements' planes
  std::array<std::vector<Vec3>, 2> elements_m;  ///< those with an X, those with a Y, from the phase reference
  bool same_elements = true;                    ///< both lists are equal
  std::vector<Vec3> all_m;                      ///< of embedded elements, flagged ones too
  std::size_t coefficients = 0;                 ///< of embedded elements: which of these
};

/// Memory of one thread.
struct Scratch {
  PhasorSum sum;
  ComplexPlanes factor[2], tile, phasors, waves;
  Buffer<float, 3> jones;  ///< [8: X north re, im, ...][y][x of the block]
  Buffer<Complex, 2> basis;
  std::vector<Vec3> pixels;
};

class StationBeams {
 public:
  StationBeams(const StationArray& array, BeamPart part, const ElementResponses& elements,
               const StationPointing& at, View<const SkyVector, 2> sky, std::span<const Jones> left)
      : array_(array), part_(part), elements_(elements), at_(at), sky_(sky), left_(left) {
    directions_.resize(sky.shape());
    for (std::size_t i = 0; i < sky.size(); ++i) directions_.data()[i] = sky.data()[i].direction;
    for (const Station& station : array.stations) {
      tasks_.emplace_back();
      for (const StationField& field : station.fields) {
        tasks_.back().push_back(task_of(station, field));
        if (part == BeamPart::element) break;
      }
    }
    plan_.emplace(View<const Vec3, 2>(directions_), reach_m_ * kTwoPi * at.freq_hz / kSpeedOfLight_m_s);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      delay_hz_[axis] = at.delay_freq_hz * at.delay[axis];
      tile_hz_[axis] = at.delay_freq_hz * at.tile[axis];
    }
  }

  void multiply(unsigned n_threads, View<std::complex<float>, 4> jones) {
    if (part_ != BeamPart::array_factor) {
      planes_.resize(frames_.size());
      parallel_for(n_threads, frames_.size(), [&](std::size_t i, unsigned) {
        const StationField& field = *frames_[i];
        if (elements_[field.element]->embedded() == nullptr)
          fill_element_field(field.axes, array_.kind, *elements_[field.element], {sky_.data(), {sky_.size()}},
                             planes_[i]);
      });
    }
    std::vector<Scratch> scratch(std::max(1u, n_threads));
    const std::size_t n_blocks = plan_->blocks().size();
    parallel_for(n_threads, tasks_.size() * n_blocks, [&](std::size_t item, unsigned thread) {
      const std::size_t station = item / n_blocks;
      evaluate(station, plan_->blocks()[item % n_blocks], scratch[thread], jones[station]);
    });
  }

 private:
  FieldTask task_of(const Station& station, const StationField& field) {
    FieldTask task;
    task.field = &field;
    task.on_sky = frame_of(field);
    const Vec3 from_reference =
        array_.kind == StationKind::lofar ? field.position_m - station.phase_reference_m : Vec3{};
    const bool is_embedded = part_ == BeamPart::full && elements_[field.element]->embedded() != nullptr;
    for (std::size_t k = 0; k < field.elements_m.size(); ++k) {
      const Vec3 r_m = field.elements_m[k] + from_reference;
      reach_m_ = std::max(reach_m_, std::sqrt(dot(r_m, r_m)));
      if (is_embedded) task.all_m.push_back(r_m);
      for (std::size_t i = 0; i < 2; ++i)
        if (field.enabled[k][array_.kind == StationKind::lofar ? 0 : i]) task.elements_m[i].push_back(r_m);
      if (array_.kind != StationKind::lofar && field.enabled[k][0] != field.enabled[k][1])
        task.same_elements = false;
    }
    for (const Vec3& r_m : field.tile_m) reach_m_ = std::max(reach_m_, std::sqrt(dot(r_m, r_m)));
    if (is_embedded) task.coefficients = coefficients_of(field);
    return task;
  }

  /// Fields of equal axes and elements share what an element sees.
  std::size_t frame_of(const StationField& field) {
    for (std::size_t i = 0; i < frames_.size(); ++i)
      if (frames_[i]->axes == field.axes && frames_[i]->element == field.element) return i;
    frames_.push_back(&field);
    return frames_.size() - 1;
  }

  /// Of embedded elements with equal flags: [wave][TE_X TM_X TE_Y TM_Y] by element, 0 where flagged, over the
  /// number of those that are not.
  std::size_t coefficients_of(const StationField& field) {
    const auto [at, is_new] = flags_.emplace(field.enabled, coefficients_.size());
    if (!is_new) return at->second;
    const auto alpha = elements_[field.element]->embedded()->coefficients();
    ComplexPlanes& own = coefficients_.emplace_back();
    own.resize(4 * alpha.extent(1), field.elements_m.size());
    std::array<double, 2> n{};
    for (const auto& enabled : field.enabled)
      for (std::size_t i = 0; i < 2; ++i) n[i] += enabled[i];
    for (std::size_t k = 0; k < field.elements_m.size(); ++k)
      for (std::size_t wave = 0; wave < alpha.extent(1); ++wave)
        for (std::size_t i = 0; i < 4; ++i) {
          const bool is_on = field.enabled[k][i / 2];
          const Complex value = is_on ? alpha(k, wave, i) / n[i / 2] : 0;
          own.re(4 * wave + i, k) = static_cast<float>(value.real());
          own.im(4 * wave + i, k) = static_cast<float>(value.imag());
        }
    return at->second;
  }

  void evaluate(std::size_t station, const PhasorBlock& block, Scratch& scratch,
                View<std::complex<float>, 3> jones) const {
    const std::size_t n_x = (block.n_x + kLanes - 1) / kLanes * kLanes;
    scratch.jones.resize({8, block.n_y, n_x});
    scratch.jones.fill(0);
    for (const FieldTask& task : tasks_[station]) {
      if (part_ == BeamPart::full && elements_[task.field->element]->embedded() != nullptr)
        add_embedded(task, block, scratch);
      else
        add_field(task, block, scratch);
    }
    const double scale = 1.0 / static_cast<double>(std::max<std::size_t>(1, tasks_[station].size()));
    store(block, scaled(left_[station], scale), scratch.jones, jones);
  }

  void add_field(const FieldTask& task, const PhasorBlock& block, Scratch& scratch) const {
    const std::size_t n_x = scratch.jones.extent(2), plane = block.n_y * n_x;
    for (std::size_t i = 0; i < (task.same_elements ? 1 : 2) && part_ != BeamPart::element; ++i) {
      ComplexPlanes& factor = scratch.factor[i];
      scratch.sum.evaluate(*plan_, block, task.elements_m[i], at_.freq_hz, delay_hz_, factor);
      double n = static_cast<double>(std::max<std::size_t>(1, task.elements_m[i].size()));
      if (!task.field->tile_m.empty()) {
        if (i == 0)
          scratch.sum.evaluate(*plan_, block, task.field->tile_m, at_.freq_hz, tile_hz_, scratch.tile);
        n *= static_cast<double>(task.field->tile_m.size());
        scale_by(plane, static_cast<float>(1 / n), {scratch.tile.re.data(), scratch.tile.im.data()},
                 {factor.re.data(), factor.im.data()});
      } else {
        const auto by = static_cast<float>(1 / n);
        for (float& value : factor.re) value *= by;
        for (float& value : factor.im) value *= by;
      }
    }
    for (std::size_t row = 0; row < 2; ++row) {
      const ComplexPlanes& factor = scratch.factor[task.same_elements ? 0 : row];
      for (std::size_t column = 0; column < 2; ++column)
        for (std::size_t y = 0; y < block.n_y; ++y) {
          float* re = &scratch.jones(4 * row + 2 * column, y, 0);
          float* im = re + plane;
          if (part_ == BeamPart::array_factor) {
            if (row != column) break;
            for (std::size_t x = 0; x < block.n_x; ++x) {
              re[x] += factor.re(y, x);
              im[x] += factor.im(y, x);
            }
            continue;
          }
          const std::size_t first = (block.y + y) * sky_.extent(1) + block.x;
          const float* e_re = &planes_[task.on_sky](2 * row + column, 0, first);
          const float* e_im = &planes_[task.on_sky](2 * row + column, 1, first);
          if (part_ == BeamPart::full) {
            add_products(block.n_x, {&factor.re(y, 0), &factor.im(y, 0)}, {e_re, e_im}, {re, im});
            continue;
          }
          for (std::size_t x = 0; x < block.n_x; ++x) {
            re[x] += e_re[x];
            im[x] += e_im[x];
          }
        }
    }
  }

  void add_embedded(const FieldTask& task, const PhasorBlock& block, Scratch& scratch) const {
    const EmbeddedWaves& embedded = *elements_[task.field->element]->embedded();
    const ComplexPlanes& coefficients = coefficients_[task.coefficients];
    const std::size_t n_waves = coefficients.re.extent(0) / 4, n_x = scratch.jones.extent(2);
    scratch.pixels.resize(n_x);
    scratch.waves.resize(4 * n_waves, n_x);
    scratch.basis.resize({n_waves, 4});
    for (std::size_t y = 0; y < block.n_y; ++y) {
      for (std::size_t x = 0; x < n_x; ++x)
        scratch.pixels[x] = directions_(block.y + y, block.x + std::min(x, block.n_x - 1));
      scratch.sum.phasors({scratch.pixels.data(), {n_x}}, task.all_m, at_.freq_hz, delay_hz_,
                          scratch.phasors);
      multiply_planes(coefficients, scratch.phasors, nullptr, scratch.waves);
      for (std::size_t x = 0; x < block.n_x; ++x) {
        const SkyVector& there = sky_(block.y + y, block.x + x);
        const ElementDirection d = clamped_to_horizon(
            StationKind::oskar, element_direction(apsyn::multiply(task.field->axes, there.direction)));
        embedded.waves(d, scratch.basis);
        Jones e{};
        for (std::size_t wave = 0; wave < n_waves; ++wave)
          for (std::size_t row = 0; row < 2; ++row) {
            const std::size_t at = 4 * wave + 2 * row;
            const Complex te(scratch.waves.re(at, x), scratch.waves.im(at, x)),
                tm(scratch.waves.re(at + 1, x), scratch.waves.im(at + 1, x));
            e[2 * row] += scratch.basis(wave, 0) * te + scratch.basis(wave, 1) * tm;
            e[2 * row + 1] += scratch.basis(wave, 2) * te + scratch.basis(wave, 3) * tm;
          }
        e[2] = -e[2];
        e[3] = -e[3];
        const Jones own = turned_to_sky(e, d, apsyn::multiply(task.field->axes, there.north));
        for (std::size_t i = 0; i < 4; ++i) {
          scratch.jones(2 * i, y, x) += static_cast<float>(own[i].real());
          scratch.jones(2 * i + 1, y, x) += static_cast<float>(own[i].imag());
        }
      }
    }
  }

  /// jones := jones left J
  static void store(const PhasorBlock& block, const Jones& left, Buffer<float, 3>& own,
                    View<std::complex<float>, 3> jones) {
    const std::size_t plane = own.extent(1) * own.extent(2);
    float scale = 1;
    if (left[1] == 0.0 && left[2] == 0.0 && left[0] == left[3] && left[0].imag() == 0)
      scale = static_cast<float>(left[0].real());
    else
      multiply_from_left(plane, left, own.data());
    for (std::size_t y = 0; y < block.n_y; ++y)
      multiply_from_right(block.n_x, scale, &own(0, y, 0), plane, &jones(block.y + y, block.x, 0));
  }

  /// J := left J, of eight planes.
  static void multiply_from_left(std::size_t n, const Jones& left, float* planes) {
    std::array<std::complex<float>, 4> l;
    for (std::size_t i = 0; i < 4; ++i) l[i] = static_cast<std::complex<float>>(left[i]);
    for (std::size_t column = 0; column < 2; ++column) {
      float *x_re = planes + 2 * column * n, *x_im = x_re + n, *y_re = x_re + 4 * n, *y_im = y_re + n;
      for (std::size_t i = 0; i < n; ++i) {
        const float a = x_re[i], b = x_im[i], c = y_re[i], d = y_im[i];
        x_re[i] = l[0].real() * a - l[0].imag() * b + (l[1].real() * c - l[1].imag() * d);
        x_im[i] = l[0].real() * b + l[0].imag() * a + (l[1].real() * d + l[1].imag() * c);
        y_re[i] = l[2].real() * a - l[2].imag() * b + (l[3].real() * c - l[3].imag() * d);
        y_im[i] = l[2].real() * b + l[2].imag() * a + (l[3].real() * d + l[3].imag() * c);
      }
    }
  }

  const StationArray& array_;
  BeamPart part_;
  const ElementResponses& elements_;
  StationPointing at_;
  View<const SkyVector, 2> sky_;
  std::span<const Jones> left_;
  Buffer<Vec3, 2> directions_;
  std::vector<std::vector<FieldTask>> tasks_;  ///< [station][field]
  std::vector<const StationField*> frames_;    ///< the first of each
  std::vector<Buffer<float, 3>> planes_;       ///< [frame], of elements that are alike
  std::map<Flags, std::size_t> flags_;
  std::vector<ComplexPlanes> coefficients_;
  double reach_m_ = 0;
  std::optional<PhasorPlan> plan_;
  Vec3 delay_hz_{}, tile_hz_{};
};

}  // namespace

void multiply_station_beams(const StationArray& array, BeamPart part, const ElementResponses& elements,
                            const StationPointing& at, View<const SkyVector, 2> sky,
                            std::span<const Jones> left, unsigned n_threads,
                            View<std::complex<float>, 4> jones) {
  StationBeams(array, part, elements, at, sky, left).multiply(n_threads, jones);
}

}  // namespace apsyn
