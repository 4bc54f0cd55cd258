// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cpu/grid/folding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/cpu/grid/folding.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/simd/turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Wide = hn::CappedTag<T, 64 / sizeof(T)>;

template <std::size_t n_values, class T>
void fold_cells_of(const CellFolding<T>& f) {
  const hn::CappedTag<T, n_values> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < f.half_v; ++j) {
    const T* HWY_RESTRICT north = f.cells + (f.half_v + j) * f.row_stride + f.half_u * n_values;
    const T* HWY_RESTRICT south = f.cells + (f.half_v - 1 - j) * f.row_stride + f.half_u * n_values;
    T* HWY_RESTRICT even = f.folded + j * 2 * f.columns;
    T* HWY_RESTRICT odd = even + f.half_v * 2 * f.columns;
    for (std::size_t i = 0; i < f.half_u; ++i)
      for (std::size_t c = 0; c < n_values; c += lanes) {
        const std::size_t plus = i * n_values + c;
        const T *west = north - (i + 1) * n_values + c, *below = south - (i + 1) * n_values + c;
        const auto pp = hn::LoadU(d, north + plus), pm = hn::LoadU(d, west);
        const auto mp = hn::LoadU(d, south + plus), mm = hn::LoadU(d, below);
        const auto sum_p = hn::Add(pp, mp), sum_m = hn::Add(pm, mm);
        const auto less_p = hn::Sub(pp, mp), less_m = hn::Sub(pm, mm);
        hn::StoreU(hn::Add(sum_p, sum_m), d, even + plus);
        hn::StoreU(hn::Sub(sum_p, sum_m), d, even + f.columns + plus);
        hn::StoreU(hn::Add(less_p, less_m), d, odd + plus);
        hn::StoreU(hn::Sub(less_p, less_m), d, odd + f.columns + plus);
      }
  }
}

template <class T>
void fold_cells_any(const CellFolding<T>& f) {
  if (f.n_planes == 1) fold_cells_of<2>(f);
  if (f.n_planes == 2) fold_cells_of<4>(f);
  if (f.n_planes == 4) fold_cells_of<8>(f);
}

template <class T>
void fill_screen_of(std::size_t n, const double* HWY_RESTRICT offset, double w, const T* HWY_RESTRICT factor,
                    T* HWY_RESTRICT re, T* HWY_RESTRICT im) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<T, decltype(d)> t;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < n; i += lanes) {
    hn::Vec<decltype(t)> cosine, sine;
    cos_sin_turns<T>(d, hn::Mul(hn::Load(d, offset + i), hn::Set(d, w)), cosine, sine);
    const auto scale = hn::Load(t, factor + i);
    hn::Store(hn::Mul(cosine, scale), t, re + i);
    hn::Store(hn::Neg(hn::Mul(sine, scale)), t, im + i);
  }
}

template <bool first, class T>
void add_screened_of(const Screening<T>& s) {
  const Wide<T> d;
  const std::size_t lanes = hn::Lanes(d), columns = s.shape.columns;
  for (std::size_t parity = 0; parity < 2; ++parity)
    for (std::size_t y = 0; y < s.shape.half; ++y) {
      const std::size_t row = (parity * s.shape.rows + y) * s.shape.row_size();
      for (std::size_t x = 0; x < columns; x += lanes) {
        const auto re = hn::Load(d, s.re + y * columns + x), im = hn::Load(d, s.im + y * columns + x);
        for (std::size_t plane = 0; plane < s.shape.n_planes; ++plane)
          for (std::size_t parity_x = 0; parity_x < 2; ++parity_x) {
            const std::size_t at_re = row + (plane * 4 + parity_x) * columns + x;
            const std::size_t at_im = at_re + 2 * columns;
            const auto in_re = hn::Load(d, s.image + at_re), in_im = hn::Load(d, s.image + at_im);
            auto out_re = hn::Mul(in_im, im), out_im = hn::Mul(in_re, im);
            if constexpr (first) {
              out_re = hn::MulSub(in_re, re, out_re);
              out_im = hn::MulAdd(in_im, re, out_im);
            } else {
              out_re = hn::MulAdd(in_re, re, hn::Sub(hn::Load(d, s.sum + at_re), out_re));
              out_im = hn::MulAdd(in_im, re, hn::Add(hn::Load(d, s.sum + at_im), out_im));
            }
            hn::Store(out_re, d, s.sum + at_re);
            hn::Store(out_im, d, s.sum + at_im);
          }
      }
    }
}

template <class T>
void add_screened_any(const Screening<T>& s) {
  s.first ? add_screened_of<true>(s) : add_screened_of<false>(s);
}

/// One row of the subgrid from its even and odd parts, each [re, im].
template <class T>
void unfold_row(std::size_t half, const T* HWY_RESTRICT even_re, const T* HWY_RESTRICT odd_re,
                const T* HWY_RESTRICT even_im, const T* HWY_RESTRICT odd_im, T* HWY_RESTRICT row) {
  // Complex cells -half .. half - 1; cell -half is odd alone, cell 0 even alone.
  row[0] = -odd_re[half - 1];
  row[1] = -odd_im[half - 1];
  T* HWY_RESTRICT right = row + 2 * half;
  right[0] = even_re[0];
  right[1] = even_im[0];
  for (std::size_t k = 1; k < half; ++k) {
    right[2 * k] = even_re[k] + odd_re[k - 1];
    right[2 * k + 1] = even_im[k] + odd_im[k - 1];
  }
  T* HWY_RESTRICT left = row;
  for (std::size_t k = 1; k < half; ++k) {
    left[2 * (half - k)] = even_re[k] - odd_re[k - 1];
    left[2 * (half - k) + 1] = even_im[k] - odd_im[k - 1];
  }
}

template <class T>
void unfold_cells_of(const FoldedShape& shape, const T* cells, std::size_t plane,
                     View<std::complex<T>, 2> subgrid) {
  constexpr std::size_t max_columns = 256;
  const std::size_t half = shape.half, columns = shape.columns, row_size = shape.row_size();
  const T* even = cells + plane * 4 * columns;
  const T* odd = even + shape.rows * row_size;
  HWY_ALIGN T sum[4 * max_columns], difference[4 * max_columns];
  auto write = [&](const T* parts, std::size_t v) {
    unfold_row(half, parts, parts + columns, parts + 2 * columns, parts + 3 * columns,
               reinterpret_cast<T*>(&subgrid(v, 0)));
  };
  write(even, half);
  for (std::size_t k = 1; k <= half; ++k) {
    const T* HWY_RESTRICT p = even + k * row_size;
    const T* HWY_RESTRICT q = odd + (k - 1) * row_size;
    if (k == half) {
      for (std::size_t i = 0; i < 4 * columns; ++i) difference[i] = -q[i];
      write(difference, 0);
    } else {
      for (std::size_t i = 0; i < 4 * columns; ++i) sum[i] = p[i] + q[i];
      for (std::size_t i = 0; i < 4 * columns; ++i) difference[i] = p[i] - q[i];
      write(sum, half + k);
      write(difference, half - k);
    }
  }
}

void fold_float(const CellFolding<float>& f) {
  fold_cells_any(f);
}
void fold_double(const CellFolding<double>& f) {
  fold_cells_any(f);
}
void screen_float(std::size_t n, const double* offset, double w, const float* factor, float* re, float* im) {
  fill_screen_of(n, offset, w, factor, re, im);
}
void screen_double(std::size_t n, const double* offset, double w, const double* factor, double* re,
                   double* im) {
  fill_screen_of(n, offset, w, factor, re, im);
}
void add_float(const Screening<float>& s) {
  add_screened_any(s);
}
void add_double(const Screening<double>& s) {
  add_screened_any(s);
}
void unfold_float(const FoldedShape& shape, const float* cells, std::size_t plane,
                  View<std::complex<float>, 2> subgrid) {
  unfold_cells_of(shape, cells, plane, subgrid);
}
void unfold_double(const FoldedShape& shape, const double* cells, std::size_t plane,
                   View<std::complex<double>, 2> subgrid) {
  unfold_cells_of(shape, cells, plane, subgrid);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(fold_float);
HWY_EXPORT(fold_double);
HWY_EXPORT(screen_float);
HWY_EXPORT(screen_double);
HWY_EXPORT(add_float);
HWY_EXPORT(add_double);
HWY_EXPORT(unfold_float);
HWY_EXPORT(unfold_double);

void fold_cells(const CellFolding<float>& folding) {
  HWY_DYNAMIC_DISPATCH(fold_float)(folding);
}
void fold_cells(const CellFolding<double>& folding) {
  HWY_DYNAMIC_DISPATCH(fold_double)(folding);
}
void fill_screen(std::size_t n, const double* offset, double w, const float* factor, float* re, float* im) {
  HWY_DYNAMIC_DISPATCH(screen_float)(n, offset, w, factor, re, im);
}
void fill_screen(std::size_t n, const double* offset, double w, const double* factor, double* re,
                 double* im) {
  HWY_DYNAMIC_DISPATCH(screen_double)(n, offset, w, factor, re, im);
}
void add_screened(const Screening<float>& screening) {
  HWY_DYNAMIC_DISPATCH(add_float)(screening);
}
void add_screened(const Screening<double>& screening) {
  HWY_DYNAMIC_DISPATCH(add_double)(screening);
}
void unfold_cells(const FoldedShape& shape, const float* cells, std::size_t plane,
                  View<std::complex<float>, 2> subgrid) {
  HWY_DYNAMIC_DISPATCH(unfold_float)(shape, cells, plane, subgrid);
}
void unfold_cells(const FoldedShape& shape, const double* cells, std::size_t plane,
                  View<std::complex<double>, 2> subgrid) {
  HWY_DYNAMIC_DISPATCH(unfold_double)(shape, cells, plane, subgrid);
}
}  // namespace apsyn
#endif
