// SPDX-License-Identifier: GPL-3.0-or-later
// A few rows of c stay in registers while k runs; how many depends on the registers of the instruction set.
#include "libcore/beams/complex_product.h"

#include "libcore/beams/lanes.h"

namespace apsyn {
namespace {

struct Operands {
  const ComplexPlanes* a;
  const ComplexPlanes* b;
  const View<const float, 2>* rho;
  ComplexPlanes* c;
};

template <std::size_t kRows>
APSYN_BEAM_INLINE void multiply_rows(const Operands& of, std::size_t first_row, std::size_t x) {
  const std::size_t n_k = of.b->re.extent(0), n_x = of.b->re.extent(1), stride = of.a->re.extent(1);
  const float* a_re = of.a->re.data() + first_row * stride;
  const float* a_im = of.a->im.data() + first_row * stride;
  const float* b_re = of.b->re.data() + x;
  const float* b_im = of.b->im.data() + x;
  Lanes re[kRows], im[kRows];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kRows; ++r) re[r] = im[r] = Lanes{};
  for (std::size_t k = 0; k < n_k; ++k) {
    const Lanes br = load_lanes(b_re + k * n_x), bi = load_lanes(b_im + k * n_x);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      const float ar = a_re[r * stride + k], ai = a_im[r * stride + k];
      re[r] += ar * br;
      re[r] -= ai * bi;
      im[r] += ar * bi;
      im[r] += ai * br;
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kRows; ++r) {
    float* to_re = of.c->re.data() + (first_row + r) * n_x + x;
    float* to_im = of.c->im.data() + (first_row + r) * n_x + x;
    if (of.rho != nullptr) {
      const Lanes rho = load_lanes(of.rho->data() + (first_row + r) * n_x + x);
      re[r] += rho * load_lanes(to_re);
      im[r] += rho * load_lanes(to_im);
    }
    store_lanes(to_re, re[r]);
    store_lanes(to_im, im[r]);
  }
}

template <std::size_t kRows>
APSYN_BEAM_INLINE void multiply_all(const Operands& of) {
  const std::size_t n_rows = of.c->re.extent(0), n_x = of.c->re.extent(1);
  for (std::size_t x = 0; x < n_x; x += kLanes) {
    std::size_t row = 0;
    for (; row + kRows <= n_rows; row += kRows) multiply_rows<kRows>(of, row, x);
    for (; row < n_rows; ++row) multiply_rows<1>(of, row, x);
  }
}

/// Rows of c whose sums fit into the registers.
constexpr std::size_t rows_in_registers(LaneTarget target) {
  return target == LaneTarget::avx512 ? 8 : target == LaneTarget::avx2 ? 2 : 1;
}

}  // namespace

void multiply_planes(const ComplexPlanes& a, const ComplexPlanes& b, const View<const float, 2>* rho,
                     ComplexPlanes& c) {
  const Operands operands{&a, &b, rho, &c};
  run_on_lanes([&](auto target) APSYN_BEAM_BODY { multiply_all<rows_in_registers(target())>(operands); });
}

}  // namespace apsyn
