// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/aterm_image.h"

#include <cmath>
#include <map>

namespace apsyn::reference {

AtermMatrix multiply(const AtermMatrix& a, const AtermMatrix& b) {
  AtermMatrix c{};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) c[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j];
  return c;
}

AtermMatrix hermitian(const AtermMatrix& a) {
  return {{{std::conj(a[0][0]), std::conj(a[1][0])}, {std::conj(a[0][1]), std::conj(a[1][1])}}};
}

AtermMatrix inverse(const AtermMatrix& a) {
  const std::complex<double> d = a[0][0] * a[1][1] - a[0][1] * a[1][0];
  return {{{a[1][1] / d, -a[0][1] / d}, {-a[1][0] / d, a[0][0] / d}}};
}

std::vector<AtermMatrix> aterm_image(const std::vector<AtermVisibility>& visibilities,
                                     const std::vector<DftPixel>& pixels, const AtermFunction& aterm,
                                     bool normalised) {
  std::vector<AtermMatrix> image(pixels.size(), AtermMatrix{});
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const double l = pixels[i].l, m = pixels[i].m;
    const double n_1 = -(l * l + m * m) / (1 + std::sqrt(1 - l * l - m * m));
    std::map<std::array<std::size_t, 2>, AtermMatrix> known;
    auto at = [&](std::size_t station, std::size_t slot) {
      auto [place, is_new] = known.try_emplace({station, slot});
      if (is_new) place->second = aterm(station, slot, l, m);
      return place->second;
    };
    for (const AtermVisibility& vis : visibilities) {
      AtermMatrix p = at(vis.p, vis.slot), q = at(vis.q, vis.slot);
      double scale = 1;
      if (normalised) {
        p = inverse(p);
        q = hermitian(inverse(q));
        double power = 0;
        for (const auto& row : multiply(p, q))
          for (const auto& value : row) power += std::norm(value);
        scale = std::sqrt(2 / power);
      } else {
        p = hermitian(p);
      }
      const AtermMatrix sky = multiply(multiply(p, vis.weighted), q);
      const double turns = vis.u * l + vis.v * m + vis.w * n_1;
      const auto phasor = std::polar(scale, -2 * std::acos(-1.0) * (turns - std::round(turns)));
      for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b) image[i][a][b] += sky[a][b] * phasor;
    }
  }
  return image;
}

}  // namespace apsyn::reference
