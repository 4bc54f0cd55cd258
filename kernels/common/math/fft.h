// SPDX-License-Identifier: GPL-3.0-or-later
// FFTW plans as values. Transforms are unnormalised: out[k] = sum_j in[j] exp(sign 2 pi i j k / length).
// Plans are made by estimate, never by timing, so that results repeat to the last bit; FFTW's planner is not
// thread-safe, so it runs under one lock. execute() may be called from several threads on different data.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <memory>

namespace apsyn {

enum class FftSign { minus = -1, plus = +1 };

/// Complex transforms in place over `batch` contiguous arrays, T = float or double.
template <class T>
class ComplexFft {
 public:
  /// Data [batch][length].
  ComplexFft(std::size_t length, std::size_t batch, FftSign sign);
  /// Data [batch][shape[0]][shape[1]].
  ComplexFft(const std::array<std::size_t, 2>& shape, std::size_t batch, FftSign sign);
  /// `data` is 16-byte aligned (Buffer is); std::invalid_argument otherwise.
  void execute(std::complex<T>* data) const;

 private:
  std::shared_ptr<void> plan_;
};

/// Real [batch][length] -> complex [batch][length / 2 + 1] with exponent -1; `in` is left as it was.
template <class T>
class RealFft {
 public:
  RealFft(std::size_t length, std::size_t batch);
  void execute(const T* in, std::complex<T>* out) const;

 private:
  std::shared_ptr<void> plan_;
};

/// Complex [batch][length / 2 + 1] -> real [batch][length] with exponent +1, unnormalised; `in` is used up.
template <class T>
class InverseRealFft {
 public:
  InverseRealFft(std::size_t length, std::size_t batch);
  void execute(std::complex<T>* in, T* out) const;

 private:
  std::shared_ptr<void> plan_;
};

/// The least even number >= n whose only prime factors are 2, 3, 5 and 7: a fast transform length.
std::size_t fast_fft_length(std::size_t n);

}  // namespace apsyn
