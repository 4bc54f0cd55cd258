// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/recordings/gps_code.h"

#include <array>
#include <map>
#include <numbers>
#include <utility>

namespace apsyn::reference {

using Complex = std::complex<double>;

void fft(std::vector<Complex>& x, double sign) {
  const std::size_t n = x.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  static std::map<std::pair<std::size_t, double>, std::vector<Complex>> turns;
  std::vector<Complex>& turn = turns[{n, sign}];
  for (std::size_t k = turn.size(); k < n / 2; ++k)
    turn.push_back(
        std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
  for (std::size_t length = 2; length <= n; length <<= 1)
    for (std::size_t start = 0; start < n; start += length)
      for (std::size_t k = 0; k < length / 2; ++k) {
        const Complex a = x[start + k], b = x[start + k + length / 2] * turn[k * (n / length)];
        x[start + k] = a + b;
        x[start + k + length / 2] = a - b;
      }
}

std::vector<double> gold_code(std::size_t prn) {
  static constexpr int kTaps[32][2] = {{2, 6},  {3, 7}, {4, 8}, {5, 9},  {1, 9}, {2, 10}, {1, 8}, {2, 9},
                                       {3, 10}, {2, 3}, {3, 4}, {5, 6},  {6, 7}, {7, 8},  {8, 9}, {9, 10},
                                       {1, 4},  {2, 5}, {3, 6}, {4, 7},  {5, 8}, {6, 9},  {1, 3}, {4, 6},
                                       {5, 7},  {6, 8}, {7, 9}, {8, 10}, {1, 6}, {2, 7},  {3, 8}, {4, 9}};
  std::array<int, 11> g1, g2;
  g1.fill(1), g2.fill(1);
  std::vector<double> code;
  for (int chip = 0; chip < 1023; ++chip) {
    const int value = g1[10] ^ g2[static_cast<std::size_t>(kTaps[prn - 1][0])] ^
                      g2[static_cast<std::size_t>(kTaps[prn - 1][1])];
    code.insert(code.end(), 4, value ? -1.0 : 1.0);
    const int feed1 = g1[3] ^ g1[10], feed2 = g2[2] ^ g2[3] ^ g2[6] ^ g2[8] ^ g2[9] ^ g2[10];
    for (std::size_t i = 10; i > 1; --i) g1[i] = g1[i - 1], g2[i] = g2[i - 1];
    g1[1] = feed1, g2[1] = feed2;
  }
  return code;
}

}  // namespace apsyn::reference
