// SPDX-License-Identifier: GPL-3.0-or-later
// W-projection: the table is made once; intervals are gridded in the order of their w, so that blocks that
// run together read the same weights. AW-projection: chunks of intervals, as many as setup.max_weight_bytes
// hold, have their weights made and are then gridded.
#include "tests/bench/projection/projection_cuda.h"

#include <algorithm>
#include <numeric>

#include "kernels/common/cuda/array.h"
#include "kernels/common/cuda/fft.h"
#include "libcore/base/error.h"
#include "tests/bench/projection/projection_kernels.cuh"
#include "tests/bench/projection/weights.h"

namespace apsyn::projection {

namespace {

/// Rows that a block grids: few enough that all processors have blocks and that those of one table run
/// together, many enough that the last cells of each block, which all go to memory, count little.
std::size_t rows_of_part(std::size_t size) {
  return size < 32 ? 8 : 16;
}

template <class T>
DeviceArray<T> upload(const void* host, std::size_t size) {
  DeviceArray<T> array(size);
  cuda_check(cudaMemcpy(array.data(), host, size * sizeof(T), cudaMemcpyHostToDevice),
             "copying to the device");
  return array;
}

class Event {
 public:
  Event() { cuda_check(cudaEventCreate(&event_), "creating an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record() { cuda_check(cudaEventRecord(event_), "recording an event"); }
  double seconds_since(const Event& begin) const {
    float ms = 0;
    cuda_check(cudaEventElapsedTime(&ms, begin.event_, event_), "timing");
    return ms * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// The order in which intervals are gridded, and the parts of each that are blocks' work.
struct Parts {
  std::vector<uint2> samples;          ///< [part] first, and one past the last
  std::vector<std::size_t> before{0};  ///< [place in the order] parts of earlier ones
};
Parts make_parts(const Setup& setup, const std::vector<double>& w, std::size_t n_rows, std::size_t n_chan) {
  std::vector<std::size_t> order(w.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!setup.has_aterms())
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return w[a] < w[b]; });
  const std::size_t step = rows_of_part(setup.size);
  Parts parts;
  for (std::size_t interval : order) {
    const std::size_t last = std::min(n_rows, (interval + 1) * setup.interval);
    for (std::size_t row = interval * setup.interval; row < last; row += step)
      parts.samples.push_back(
          uint2{std::uint32_t(row * n_chan), std::uint32_t(std::min(last, row + step) * n_chan)});
    parts.before.push_back(parts.samples.size());
  }
  return parts;
}

class CudaGridder final : public Gridder {
 public:
  CudaGridder(const Setup& setup, int device)
      : setup_(setup), n_weights_(n_offsets * setup.size * setup.size) {
    cuda_check(cudaSetDevice(device), "choosing a device");
    const std::size_t n = setup.size;
    std::vector<float> taper(n);
    for (std::size_t i = 0; i < n; ++i) taper[transform_index(i, n)] = static_cast<float>(setup.taper[i]);
    taper_ = upload<float>(taper.data(), n);
    n_1_ = upload<double>(n_minus_one(setup).data(), n * n);
    const auto ramps = offset_ramps(n);
    const std::vector<std::complex<float>> ramps_f(ramps.begin(), ramps.end());
    ramps_ = upload<float2>(ramps_f.data(), ramps_f.size());
    if (setup.has_aterms()) {
      std::vector<std::complex<float>> aterms(setup.aterms.size());
      for (std::size_t s = 0; s < setup.aterms.extent(0); ++s)
        for (std::size_t y = 0; y < n; ++y)
          for (std::size_t x = 0; x < n; ++x)
            aterms[(s * n + transform_index(y, n)) * n + transform_index(x, n)] = setup.aterms(s, y, x);
      aterms_ = upload<float2>(aterms.data(), aterms.size());
    }
    if (!setup.has_aterms()) {
      plan_chunks(setup.n_w_planes);
      weights_ = DeviceArray<float2>(setup.n_w_planes * n_weights_);
      make_w_table();
    }
    grid_ = DeviceArray<float4>(setup.n_grid * setup.n_grid * 2);
    cuda_check(cudaMemset(grid_.data(), 0, grid_.size() * sizeof(float4)), "clearing the grid");
  }

  void grid(const Visibilities& visibilities) override {
    const auto data = upload<float4>(visibilities.data.data(), visibilities.data.size() / 2);
    const auto weight = upload<float4>(visibilities.weight.data(), visibilities.weight.size() / n_pol);
    process(visibilities, data.data(), weight.data(),
            [](const GridTask& task) { launch_grid(task, nullptr); });
  }

  void degrid(const Visibilities& where, View<std::complex<float>, 3> data) override {
    const DeviceArray<float4> predicted(data.size() / 2);
    cuda_check(cudaMemset(predicted.data(), 0, predicted.size() * sizeof(float4)), "clearing visibilities");
    process(where, nullptr, nullptr,
            [&](const GridTask& task) { launch_degrid(task, predicted.data(), nullptr); });
    cuda_check(
        cudaMemcpy(data.data(), predicted.data(), predicted.size() * sizeof(float4), cudaMemcpyDeviceToHost),
        "copying from the device");
  }

  void set_grid(View<const std::complex<float>, 3> grid) override {
    Buffer<std::complex<float>, 3> cells({setup_.n_grid, setup_.n_grid, n_pol});
    for (std::size_t v = 0; v < setup_.n_grid; ++v)
      for (std::size_t u = 0; u < setup_.n_grid; ++u)
        for (std::size_t pol = 0; pol < n_pol; ++pol) cells(v, u, pol) = grid(v, pol, u);
    cuda_check(cudaMemcpy(grid_.data(), cells.data(), cells.size() * sizeof(float2), cudaMemcpyHostToDevice),
               "copying to the device");
  }

  Seconds seconds() const override { return seconds_; }

  Buffer<std::complex<float>, 3> grid_copy() const override {
    Buffer<std::complex<float>, 3> copy({setup_.n_grid, n_pol, setup_.n_grid});
    Buffer<std::complex<float>, 3> cells({setup_.n_grid, setup_.n_grid, n_pol});
    cuda_check(cudaMemcpy(cells.data(), grid_.data(), cells.size() * sizeof(float2), cudaMemcpyDeviceToHost),
               "copying from the device");
    for (std::size_t v = 0; v < setup_.n_grid; ++v)
      for (std::size_t u = 0; u < setup_.n_grid; ++u)
        for (std::size_t pol = 0; pol < n_pol; ++pol) copy(v, pol, u) = cells(v, u, pol);
    return copy;
  }

 private:
  /// Calls launch(task) for the parts of one chunk of weights after the other.
  template <class Launch>
  void process(const Visibilities& in, const float4* data, const float4* weight, Launch launch) {
    const std::size_t n_rows = in.uvw_m.extent(0), n_chan = in.wavenumber.size();
    const std::size_t n_intervals = (n_rows + setup_.interval - 1) / setup_.interval;
    if (setup_.has_aterms()) plan_chunks(n_intervals);
    std::vector<double> w(n_intervals);
    for (std::size_t i = 0; i < n_intervals; ++i) w[i] = interval_w_lambda(setup_, in, i);
    const Parts parts = make_parts(setup_, w, n_rows, n_chan);
    const auto uvw = upload<double>(in.uvw_m.data(), in.uvw_m.size());
    const auto wavenumber = upload<double>(in.wavenumber.data(), n_chan);
    const auto w_device = upload<double>(w.data(), n_intervals);
    const auto stations = upload<uint2>(in.station.data(), setup_.has_aterms() ? n_intervals : 0);
    const auto parts_device = upload<uint2>(parts.samples.data(), parts.samples.size());
    const DeviceArray<DeviceSample> samples(n_rows * n_chan);
    PrepareTask prepare{};
    prepare.uvw_m = uvw.data();
    prepare.wavenumber = wavenumber.data();
    prepare.data = data;
    prepare.weight = weight;
    prepare.n_rows = std::uint32_t(n_rows);
    prepare.n_chan = std::uint32_t(n_chan);
    prepare.size = std::uint32_t(setup_.size);
    prepare.interval = std::uint32_t(setup_.interval);
    prepare.cells_per_lambda = static_cast<double>(setup_.n_grid) * setup_.cell_rad;
    prepare.max_w_lambda = setup_.max_w_lambda;
    prepare.planes_per_lambda = 1 / setup_.w_step_lambda();
    prepare.n_tables = setup_.has_aterms() ? std::uint32_t(tables_at_once_) : 0;
    prepare.samples = samples.data();
    seconds_ = {};
    Event begin, made, done;
    begin.record();
    launch_prepare(prepare, nullptr);
    const std::size_t step = setup_.has_aterms() ? tables_at_once_ : n_intervals;
    for (std::size_t first = 0; first < n_intervals; first += step) {
      const std::size_t n = std::min(step, n_intervals - first), first_part = parts.before[first];
      if (first > 0) begin.record();
      if (setup_.has_aterms())
        make_weights(w_device.data() + first, stations.data() + first, n, weights_.data());
      made.record();
      launch({samples.data(), parts_device.data() + first_part, weights_.data(),
              std::uint32_t(parts.before[first + n] - first_part), std::uint32_t(setup_.size),
              std::uint32_t(setup_.n_grid), grid_.data()});
      done.record();
      cuda_check(cudaDeviceSynchronize(), "gridding");
      seconds_.weights += made.seconds_since(begin);
      seconds_.gridding += done.seconds_since(made);
    }
  }

  /// Cuts n tables into equal chunks.
  void plan_chunks(std::size_t n) {
    const std::size_t most =
        std::max<std::size_t>(1, setup_.max_weight_bytes / (n_weights_ * sizeof(float2)));
    const std::size_t n_chunks = (n + most - 1) / most, at_once = (n + n_chunks - 1) / n_chunks;
    if (at_once == tables_at_once_) return;
    tables_at_once_ = at_once;
    fft_ =
        std::make_unique<CudaFft2d>(int(setup_.size), int(setup_.size), int(at_once * n_offsets), CUFFT_C2C);
    if (setup_.has_aterms()) {
      weights_ = DeviceArray<float2>();  // give back before asking for more
      weights_ = DeviceArray<float2>(at_once * n_weights_);
      cuda_check(cudaMemset(weights_.data(), 0, weights_.size() * sizeof(float2)), "clearing the weights");
    }
  }

  /// Weights of n <= tables_at_once_ tables. Transforms of a shorter chunk's rest meet old values: harmless.
  void make_weights(const double* w, const uint2* stations, std::size_t n, float2* out) {
    launch_screens({taper_.data(), n_1_.data(), ramps_.data(), aterms_.data(), stations, w,
                    std::uint32_t(setup_.size), std::uint32_t(n), out},
                   nullptr);
    fft_->execute(out, CUFFT_INVERSE);
  }

  void make_w_table() {
    std::vector<double> planes(setup_.n_w_planes);
    for (std::size_t i = 0; i < planes.size(); ++i)
      planes[i] = static_cast<double>(i) * setup_.w_step_lambda() - setup_.max_w_lambda;
    const auto w = upload<double>(planes.data(), planes.size());
    // The last chunk begins early enough to be a whole one.
    for (std::size_t first = 0; first < planes.size(); first += tables_at_once_) {
      const std::size_t at = std::min(first, planes.size() - tables_at_once_);
      make_weights(w.data() + at, nullptr, tables_at_once_, weights_.data() + at * n_weights_);
    }
    cuda_check(cudaDeviceSynchronize(), "making weights");
  }

  const Setup& setup_;
  std::size_t n_weights_;  ///< of a table
  std::size_t tables_at_once_ = 0;
  DeviceArray<float> taper_;
  DeviceArray<double> n_1_;
  DeviceArray<float2> ramps_, aterms_, weights_;
  DeviceArray<float4> grid_;
  std::unique_ptr<CudaFft2d> fft_;
  Seconds seconds_;
};

}  // namespace

std::unique_ptr<Gridder> make_cuda_gridder(const Setup& setup, int device) {
  return std::make_unique<CudaGridder>(setup, device);
}

}  // namespace apsyn::projection
