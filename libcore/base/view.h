// SPDX-License-Identifier: GPL-3.0-or-later
// Row-major array views and owning buffers, the one array type of both backends.
#pragma once

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace apsyn {

inline constexpr std::size_t kHugePageBytes = 2u << 20;

/// Aligned to a cache line; large memory to huge pages, which the kernel is asked for: they cost far fewer
/// faults.
inline void* allocate_aligned(std::size_t bytes) {
  const std::size_t alignment = bytes >= 4 * kHugePageBytes ? kHugePageBytes : 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
#ifdef MADV_HUGEPAGE
  if (memory != nullptr && alignment == kHugePageBytes)
    madvise(memory, rounded, MADV_HUGEPAGE);  // only a hint
#endif
  return memory;
}

/// A non-owning row-major view; the last index is contiguous. Construction from a span checks the size.
template <class T, std::size_t Rank>
class View {
 public:
  using Shape = std::array<std::size_t, Rank>;

  View() = default;
  View(T* data, const Shape& shape) : data_(data), shape_(shape) {}
  /// Throws std::length_error when the span does not hold exactly the shape's number of elements.
  View(std::span<T> data, const Shape& shape) : data_(data.data()), shape_(shape) {
    if (data.size() != size())
      throw std::length_error("View: shape needs " + std::to_string(size()) + " elements, span has " +
                              std::to_string(data.size()));
  }
  /// A view of T converts to a view of const T.
  operator View<const T, Rank>() const requires(!std::is_const_v<T>) { return {data_, shape_}; }

  template <class... Index>
  T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == Rank, "one index per axis");
    return data_[offset({static_cast<std::size_t>(index)...})];
  }
  /// The sub-array at one index of the slowest axis.
  View<T, Rank - 1> operator[](std::size_t index) const requires(Rank > 1) {
    std::array<std::size_t, Rank - 1> inner;
    std::size_t stride = 1;
    for (std::size_t i = 1; i < Rank; ++i) stride *= inner[i - 1] = shape_[i];
    return {data_ + index * stride, inner};
  }
  T& operator[](std::size_t index) const requires(Rank == 1) { return data_[index]; }

  T* data() const { return data_; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size(); }
  const Shape& shape() const { return shape_; }
  std::size_t extent(std::size_t axis) const { return shape_[axis]; }
  std::size_t size() const {
    std::size_t n = 1;
    for (std::size_t extent : shape_) n *= extent;
    return n;
  }
  std::span<T> span() const { return {data_, size()}; }

 private:
  std::size_t offset(const Shape& index) const {
    std::size_t linear = 0;
    for (std::size_t i = 0; i < Rank; ++i) linear = linear * shape_[i] + index[i];
    return linear;
  }
  T* data_ = nullptr;
  Shape shape_{};
};

/// An owning, move-only, 64-byte aligned row-major array. New elements are zero.
template <class T, std::size_t Rank>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using Shape = typename View<T, Rank>::Shape;

  Buffer() = default;
  explicit Buffer(const Shape& shape) { resize(shape); }
  Buffer(Buffer&& other) noexcept
      : data_(std::move(other.data_)), shape_(other.shape_), capacity_(other.capacity_) {
    other.shape_ = {};
    other.capacity_ = 0;
  }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(shape_, other.shape_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  /// Takes the shape, keeping the memory when it suffices; contents are zero afterwards.
  void resize(const Shape& shape) {
    resize_for_overwrite(shape);
    fill(T{});
  }
  /// The same without touching the contents.
  void resize_for_overwrite(const Shape& shape) {
    std::size_t n = 1;
    for (std::size_t extent : shape)
      if (__builtin_mul_overflow(n, extent, &n)) throw std::bad_array_new_length();
    if (n > capacity_) {
      std::size_t bytes;
      if (__builtin_mul_overflow(n, sizeof(T), &bytes) || bytes > SIZE_MAX - kHugePageBytes)
        throw std::bad_array_new_length();
      void* raw = allocate_aligned(bytes);
      if (raw == nullptr) throw std::bad_alloc();
      data_.reset(static_cast<T*>(raw));
      capacity_ = n;
    }
    shape_ = shape;
  }
  void fill(const T& value) {
    for (T& element : view()) element = value;
  }

  View<T, Rank> view() { return {data_.get(), shape_}; }
  View<const T, Rank> view() const { return {data_.get(), shape_}; }
  operator View<T, Rank>() { return view(); }
  operator View<const T, Rank>() const { return view(); }
  template <class... Index>
  T& operator()(Index... index) {
    return view()(index...);
  }
  template <class... Index>
  const T& operator()(Index... index) const {
    return view()(index...);
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const Shape& shape() const { return shape_; }
  std::size_t extent(std::size_t axis) const { return shape_[axis]; }
  std::size_t size() const { return view().size(); }
  /// Elements that there is memory for.
  std::size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(T* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<T[], Free> data_;
  Shape shape_{};
  std::size_t capacity_ = 0;
};

}  // namespace apsyn
