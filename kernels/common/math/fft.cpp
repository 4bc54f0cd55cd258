// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/math/fft.h"

#include <fftw3.h>

#include <limits>
#include <mutex>
#include <new>
#include <stdexcept>

#include "kernels/common/math/fftw_planner.h"

namespace apsyn {
namespace {

template <class T>
struct Fftw;
template <>
struct Fftw<float> {
  using Plan = fftwf_plan;
  using Complex = fftwf_complex;
  static constexpr auto plan_many = fftwf_plan_many_dft;
  static constexpr auto plan_many_real = fftwf_plan_many_dft_r2c;
  static constexpr auto execute = fftwf_execute_dft;
  static constexpr auto execute_real = fftwf_execute_dft_r2c;
  static constexpr auto plan_many_inverse = fftwf_plan_many_dft_c2r;
  static constexpr auto execute_inverse = fftwf_execute_dft_c2r;
  static constexpr auto destroy = fftwf_destroy_plan;
  static constexpr auto alignment = fftwf_alignment_of;
  static constexpr auto allocate = fftwf_malloc;
  static constexpr auto release = fftwf_free;
};
template <>
struct Fftw<double> {
  using Plan = fftw_plan;
  using Complex = fftw_complex;
  static constexpr auto plan_many = fftw_plan_many_dft;
  static constexpr auto plan_many_real = fftw_plan_many_dft_r2c;
  static constexpr auto execute = fftw_execute_dft;
  static constexpr auto execute_real = fftw_execute_dft_r2c;
  static constexpr auto plan_many_inverse = fftw_plan_many_dft_c2r;
  static constexpr auto execute_inverse = fftw_execute_dft_c2r;
  static constexpr auto destroy = fftw_destroy_plan;
  static constexpr auto alignment = fftw_alignment_of;
  static constexpr auto allocate = fftw_malloc;
  static constexpr auto release = fftw_free;
};

int checked(std::size_t n) {
  if (n == 0 || n > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw std::length_error("FFT: length or batch out of range");
  return static_cast<int>(n);
}

template <class T>
std::shared_ptr<void> own(typename Fftw<T>::Plan plan) {
  if (plan == nullptr) throw std::runtime_error("FFT: no plan for this size");
  return std::shared_ptr<void>(plan, [](void* pointer) {
    std::lock_guard lock(fftw_planner_mutex());
    Fftw<T>::destroy(static_cast<typename Fftw<T>::Plan>(pointer));
  });
}

/// Aligned memory that planning may look at; an estimate never writes to it.
template <class T>
struct Scratch {
  explicit Scratch(std::size_t bytes) : data(Fftw<T>::allocate(bytes)) {
    if (data == nullptr) throw std::bad_alloc();
  }
  ~Scratch() { Fftw<T>::release(data); }
  void* data;
};

template <class T>
std::shared_ptr<void> make_complex(int rank, const int* shape, int batch, FftSign sign) {
  using Complex = typename Fftw<T>::Complex;
  int size = 1;
  for (int i = 0; i < rank; ++i) size = checked(static_cast<std::size_t>(size) * shape[i]);
  std::lock_guard lock(fftw_planner_mutex());
  // One array's memory is enough for the planner: it derives all else from sizes and alignment.
  Scratch<T> scratch(sizeof(Complex) * static_cast<std::size_t>(size));
  auto* data = static_cast<Complex*>(scratch.data);
  return own<T>(Fftw<T>::plan_many(rank, shape, batch, data, nullptr, 1, size, data, nullptr, 1, size,
                                   static_cast<int>(sign), FFTW_ESTIMATE));
}

template <class T>
void check_alignment(const void* data) {
  if (Fftw<T>::alignment(static_cast<T*>(const_cast<void*>(data))) != 0)
    throw std::invalid_argument("FFT: data must be 16-byte aligned");
}

}  // namespace

template <class T>
ComplexFft<T>::ComplexFft(std::size_t length, std::size_t batch, FftSign sign) {
  const int shape[1] = {checked(length)};
  plan_ = make_complex<T>(1, shape, checked(batch), sign);
}

template <class T>
ComplexFft<T>::ComplexFft(const std::array<std::size_t, 2>& shape, std::size_t batch, FftSign sign) {
  const int sizes[2] = {checked(shape[0]), checked(shape[1])};
  plan_ = make_complex<T>(2, sizes, checked(batch), sign);
}

template <class T>
void ComplexFft<T>::execute(std::complex<T>* data) const {
  using Complex = typename Fftw<T>::Complex;
  check_alignment<T>(data);
  Fftw<T>::execute(static_cast<typename Fftw<T>::Plan>(plan_.get()), reinterpret_cast<Complex*>(data),
                   reinterpret_cast<Complex*>(data));
}

template <class T>
RealFft<T>::RealFft(std::size_t length, std::size_t batch) {
  using Complex = typename Fftw<T>::Complex;
  const int shape[1] = {checked(length)};
  const int n_out = shape[0] / 2 + 1;
  std::lock_guard lock(fftw_planner_mutex());
  Scratch<T> in(sizeof(T) * length), out(sizeof(Complex) * static_cast<std::size_t>(n_out));
  plan_ = own<T>(Fftw<T>::plan_many_real(1, shape, checked(batch), static_cast<T*>(in.data), nullptr, 1,
                                         shape[0], static_cast<Complex*>(out.data), nullptr, 1, n_out,
                                         FFTW_ESTIMATE | FFTW_PRESERVE_INPUT));
}

template <class T>
void RealFft<T>::execute(const T* in, std::complex<T>* out) const {
  using Complex = typename Fftw<T>::Complex;
  check_alignment<T>(in);
  check_alignment<T>(out);
  Fftw<T>::execute_real(static_cast<typename Fftw<T>::Plan>(plan_.get()), const_cast<T*>(in),
                        reinterpret_cast<Complex*>(out));
}

template <class T>
InverseRealFft<T>::InverseRealFft(std::size_t length, std::size_t batch) {
  using Complex = typename Fftw<T>::Complex;
  const int shape[1] = {checked(length)};
  const int n_in = shape[0] / 2 + 1;
  std::lock_guard lock(fftw_planner_mutex());
  Scratch<T> in(sizeof(Complex) * static_cast<std::size_t>(n_in)), out(sizeof(T) * length);
  plan_ = own<T>(Fftw<T>::plan_many_inverse(1, shape, checked(batch), static_cast<Complex*>(in.data), nullptr,
                                            1, n_in, static_cast<T*>(out.data), nullptr, 1, shape[0],
                                            FFTW_ESTIMATE | FFTW_DESTROY_INPUT));
}

template <class T>
void InverseRealFft<T>::execute(std::complex<T>* in, T* out) const {
  using Complex = typename Fftw<T>::Complex;
  check_alignment<T>(in);
  check_alignment<T>(out);
  Fftw<T>::execute_inverse(static_cast<typename Fftw<T>::Plan>(plan_.get()), reinterpret_cast<Complex*>(in),
                           out);
}

template class ComplexFft<float>;
template class ComplexFft<double>;
template class RealFft<float>;
template class RealFft<double>;
template class InverseRealFft<float>;
template class InverseRealFft<double>;

std::size_t fast_fft_length(std::size_t n) {
  for (std::size_t even = n < 2 ? 2 : (n + 1) / 2 * 2;; even += 2) {
    std::size_t rest = even;
    for (std::size_t prime : {2, 3, 5, 7})
      while (rest % prime == 0) rest /= prime;
    if (rest == 1) return even;
  }
}

}  // namespace apsyn
