// SPDX-License-Identifier: GPL-3.0-or-later
// The pixels of a task's subgrids from its folded sums, on the device: for kernels that store them in device
// memory or transform them immediately.
#pragma once

#include "kernels/idg/aterms/aterm_math.h"
#include "kernels/idg/cuda/grid/image.cuh"

namespace apsyn::idg_cuda {

template <class T>
using Value = AtermValue<T>;

/// The four pixels (+-y, +-x) of one plane: [y < 0][x < 0].
template <class T>
struct Quad {
  Value<T> at[2][2];
};

/// sum V exp(-i (x theta_u + y theta_v)) for the four signs of x and y, times the terms' coefficients.
template <class T>
__device__ __forceinline__ Quad<T> unfold(const ImageTask<T>& task, int own, int plane, int first_term,
                                          int last_term, int y, int x) {
  const TaskSumsShape& shape = task.shape;
  const int half = task.side / 2;
  const std::size_t part = std::size_t(shape.n_rows) * shape.row_values;
  Quad<T> sum{};
  for (int r = first_term; r < last_term; ++r) {
    const T* c = task.sums + own * shape.task_values + std::size_t(r * shape.n_planes + plane) * 4 * part +
                 std::size_t(y) * shape.row_values + x;
    auto at = [&](int quarter, int values) { return __ldg(c + quarter * part + values); };
    const T rcc = at(0, 0), rcs = at(0, shape.sine_values), rsc = at(1, 0), rss = at(1, shape.sine_values);
    const T icc = at(2, 0), ics = at(2, shape.sine_values), isc = at(3, 0), iss = at(3, shape.sine_values);
    const int which = task.n_outputs > 1 ? 0 : r;
    const T factor = task.coefficient[(std::size_t(which) * half + y) * half + x];
    auto add = [&](Value<T>& pixel, T re, T im) {
      const Value<T> turned = (which & 3) == 0   ? Value<T>{re, im}  // (-i)^r
                              : (which & 3) == 1 ? Value<T>{im, -re}
                              : (which & 3) == 2 ? Value<T>{-re, -im}
                                                 : Value<T>{-im, re};
      pixel.re += factor * turned.re;
      pixel.im += factor * turned.im;
    };
    add(sum.at[0][0], (rcc - rss) + (isc + ics), (icc - iss) - (rsc + rcs));
    add(sum.at[0][1], (rcc + rss) + (isc - ics), (icc + iss) - (rsc - rcs));
    add(sum.at[1][0], (rcc + rss) - (isc - ics), (icc + iss) + (rsc - rcs));
    add(sum.at[1][1], (rcc - rss) - (isc + ics), (icc - iss) + (rsc + rcs));
  }
  return sum;
}

template <class T>
__device__ __forceinline__ AtermMatrix<T> load_jones(const float2* jones) {
  auto at = [&](int i) { return Value<T>{T(jones[i].x), T(jones[i].y)}; };
  return {at(0), at(1), at(2), at(3)};
}

/// The w screen of the positive half's `pixel`.
template <class T>
__device__ __forceinline__ Value<T> screen_at(const ImageTask<T>& task, int own, int pixel) {
  if (task.n_from_middle == nullptr) return {1, 0};
  T sine, cosine;
  sincos_turns(-task.screen_lambda[own] * task.n_from_middle[pixel], sine, cosine);
  return {cosine, sine};
}

/// Four pixels of one plane of a task without A-terms, (+-y, +-x) of the positive half's `pixel`: calls
/// store(output, y, x, value) for all outputs.
template <class T, class Store>
__device__ __forceinline__ void for_each_plain_pixel(const ImageTask<T>& task, int own, int plane, int pixel,
                                                     const Value<T>& screen, Store&& store) {
  const int half = task.side / 2, y = pixel / half, x = pixel % half;
  for (int output = 0; output < task.n_outputs; ++output) {
    const bool apart = task.n_outputs > 1;
    const Quad<T> quad =
        unfold(task, own, plane, apart ? output : 0, apart ? output + 1 : task.shape.n_terms, y, x);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      store(output, i >> 1 ? half - 1 - y : half + y, i & 1 ? half - 1 - x : half + x,
            quad.at[i >> 1][i & 1] * screen);
  }
}

/// Four pixels of a task, (+-y, +-x) of the positive half's `pixel`: calls store(image plane, output, y, x,
/// value) for all planes and outputs. kAterms: whether the task has A-terms. y grows north and x east, as l
/// does.
template <bool kAterms, class T, class Store>
__device__ __forceinline__ void for_each_pixel(const ImageTask<T>& task, int own, int pixel, Store&& store) {
  const int half = task.side / 2, y = pixel / half, x = pixel % half;
  const Value<T> screen = screen_at(task, own, pixel);
  const int n_planes = task.shape.n_planes;
  auto place = [&](int negative, int i) { return negative ? half - 1 - i : half + i; };
  auto store_plain = [&](int plane, int image_plane) {
    for_each_plain_pixel(task, own, plane, pixel, screen,
                         [&](int output, int at_y, int at_x, const Value<T>& value) {
                           store(image_plane, output, at_y, at_x, value);
                         });
  };
  if constexpr (!kAterms) {
#pragma unroll 2
    for (int plane = 0; plane < n_planes; ++plane) store_plain(plane, plane);
  } else {
    const AtermKey key = task.keys[own];
    const std::size_t pixels = std::size_t(task.side) * task.side,
                      slot =
                          (std::size_t(key.row_slot) * task.n_chan_slots + key.chan_slot) * task.n_responses;
    const bool folded = key.folded != 0;
    for (int output = 0; output < task.n_outputs; ++output) {
      const bool apart = task.n_outputs > 1;
      const int first = apart ? output : 0, last = apart ? output + 1 : task.shape.n_terms;
      const Quad<T> xx = unfold(task, own, 0, first, last, y, x),
                    yy = unfold(task, own, 3, first, last, y, x);
      const Quad<T> xy = unfold(task, own, 1, first, last, y, x),
                    yx = unfold(task, own, 2, first, last, y, x);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at_y = place(i >> 1, y), at_x = place(i & 1, x);
        const std::size_t jones_pixel = std::size_t(at_y) * task.side + (task.side - 1 - at_x);
        const AtermMatrix<T> p =
            load_jones<T>(task.jones + ((slot + key.response_p) * pixels + jones_pixel) * 4);
        const AtermMatrix<T> q =
            load_jones<T>(task.jones + ((slot + key.response_q) * pixels + jones_pixel) * 4);
        const AtermMatrix<T> seen{xx.at[i >> 1][i & 1], xy.at[i >> 1][i & 1], yx.at[i >> 1][i & 1],
                                  yy.at[i >> 1][i & 1]};
        const AtermMatrix<T> sky = task.aterms == DeviceAterms::normalised ? aterm_normalised(p, seen, q)
                                                                           : aterm_adjoint(p, seen, q);
        const Value<T> values[4] = {sky.xx, sky.xy, sky.yx, sky.yy};
        for (int s = 0; s < task.n_image_planes; ++s) {
          Value<T> mixed{0, 0};
#pragma unroll
          for (int c = 0; c < 4; ++c) {
            const double2 mix = folded ? task.folded_mix[s][c] : task.mix[s][c];
            mixed = mixed + Value<T>{T(mix.x), T(mix.y)} * values[c];
          }
          store(s, output, at_y, at_x, mixed * screen);
        }
      }
    }
    if (n_planes > 4) store_plain(4, task.n_image_planes);
  }
}

}  // namespace apsyn::idg_cuda
