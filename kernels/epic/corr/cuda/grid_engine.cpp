// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/common/cuda/attribute.h"
#include "kernels/common/cuda/fft.h"
#include "kernels/common/free_memory.h"
#include "kernels/epic/corr/cuda/engine.cuh"
#include "kernels/epic/corr/cuda/grid.cuh"
#include "kernels/epic/corr/cuda/outlier_plan.cuh"
#include "kernels/epic/corr/cuda/strips/imager.cuh"
#include "kernels/epic/corr/cuda/tables.cuh"
#include "kernels/epic/corr/cuda/transform_plan.cuh"
#include "kernels/epic/corr/pair_orders.h"
#include "kernels/epic/factors.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"

namespace apsyn::epic_cuda {

namespace {

constexpr std::size_t kMaxGridPairs = std::size_t{1} << 24;  ///< that PairCode numbers
constexpr std::size_t kGridBytes = std::size_t{1} << 31;     ///< of grids that are transformed together

/// C2R transforms of [batch][rows][columns / 2 + 1], exponent +1.
class RealFft2d {
 public:
  RealFft2d(int rows, int columns, int batch) {
    int shape[2] = {rows, columns};
    cufft_check(cufftPlanMany(&plan_, 2, shape, nullptr, 1, 0, nullptr, 1, 0, CUFFT_C2R, batch), "planning");
  }
  RealFft2d(const RealFft2d&) = delete;
  RealFft2d& operator=(const RealFft2d&) = delete;
  ~RealFft2d() { cufftDestroy(plan_); }
  void execute(float2* cells, float* images, cudaStream_t stream) const {
    cufft_check(cufftSetStream(plan_, stream), "choosing a stream");
    cufft_check(cufftExecC2R(plan_, cells, images), "transforming");
  }

 private:
  cufftHandle plan_ = 0;
};

class GridPairEngine final : public DevicePairEngine {
 public:
  GridPairEngine(const EpicPlan& plan, DeviceSky& sky, int device_index, std::size_t table_bytes)
      : plan_(plan),
        sky_(sky),
        table_bytes_(table_bytes > 0 ? table_bytes : cuda_free_memory_bytes(device_index) / 4) {
    shared_bytes_ = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device_index);
    hz_.copy(plan.channel_hz.data(), plan.channel_hz.size());
    std::vector<double2> gains;
    for (std::size_t channel = 0; channel < plan.n_channel(); ++channel)
      for (std::size_t input = 0; input < plan.n_ant * plan.n_pol; ++input) {
        const std::complex<double> g = epic_factor(plan, input / plan.n_pol, input % plan.n_pol, channel);
        gains.push_back({g.real(), g.imag()});
      }
    gains_.copy(gains.data(), gains.size());
  }
  bool serves(const EpicGeometry& geometry) override {
    return orders_ && version_ == sky_.version() && apsyn::serves(*orders_, geometry);
  }
  void move(const EpicGeometry& geometry, cudaStream_t stream) override;
  void image(const PairsOf& pairs, cudaStream_t stream) override { image(pairs, nullptr, stream); }
  bool adds_channels() const override { return shape_.n_average == static_cast<int>(plan_.n_average); }
  bool makes_total() const override { return true; }
  bool makes_planes() const override { return adds_channels() && !transform_ && n_outlier_pair_ == 0; }
  void image_planes(const PairsOf& pairs, const PlaneTask& planes, cudaStream_t stream) override {
    image(pairs, &planes, stream);
  }

 private:
  struct Images {
    int first = 0, n = 0;
  };
  /// On a grid: of the plan, or single channels where their pairs are too many to be numbered, or too many
  /// for the grids.
  int n_image() const { return static_cast<int>(plan_.n_channel()) / shape_.n_average; }
  void plan(const EpicGeometry& geometry, DepthBy by = DepthBy::kernels);
  bool leaves_warps_idle() const;
  void plan_without_transform(const EpicGeometry& geometry);
  void plan_outliers(const EpicGeometry& geometry);
  void plan_batches();
  void image(const PairsOf& pairs, const PlaneTask* planes, cudaStream_t stream);
  void make_tables(int first_image, int n_image, cudaStream_t stream);
  void make_depth_tables(int first_image, int n_image, cudaStream_t stream);
  void sum_outliers(int first_image, int n_image, cudaStream_t stream);
  /// Images first_table + first_image .. of the plan.
  void image_some(int first_image, int n_image, int first_table, const PlaneTask* planes,
                  cudaStream_t stream);
  void weigh_sites(cudaStream_t stream);
  void interpolate(int n_image, const OrderTarget& target, cudaStream_t stream);

  const EpicPlan& plan_;
  DeviceSky& sky_;
  std::size_t table_bytes_;
  int shared_bytes_ = 0;
  CellShape shape_;
  std::optional<PairOrders> orders_;
  int n_power_ = 0, n_outlier_pair_ = 0, n_outlier_run_ = 0;
  PairTables tables_;
  std::optional<Images> made_;        // that they are made for
  int n_table_ = 1, n_together_ = 1;  // images that have tables at a time, that are transformed at a time
  std::size_t version_ = 0;           // of the pixels that orders are for
  std::optional<TransformTask> transform_;  // where one kernel can
  std::optional<StripImager> strips_;       // where two can, of few pairs
  std::optional<RealFft2d> fft_;            // and where not
  Upload<double> hz_, uvw_s_;
  Upload<double> order_uvw_s_;         // with heights above the plane of a lattice for w
  PairSlope slope_;                    // of that plane
  std::optional<DepthKernels> depth_;  // for that slope; none: orders
  Upload<double> inverse_;
  double inverse_scale_ = 0;
  Upload<float> of_column_, of_row_;
  bool adds_at_sites_ = false;       // orders, before pixels are interpolated
  bool weighed_ = false;             // sites, for this geometry
  Upload<double2> gains_, factors_;  // g; g exp(2 pi i nu (d - w n_middle))
  Upload<double> delays_s_;          // d - w n_middle
  bool turned_ = false;              // factors_, by them
  Upload<float> taps_, pixel_factors_;
  Upload<std::uint32_t> pixel_cells_;
  Upload<float2> turns_;
  Upload<std::uint16_t> row_of_place_;
  Upload<std::uint8_t> outliers_;
  Upload<uint2> outlier_pairs_;
  Upload<OutlierRun> outlier_runs_;
  Upload<std::uint32_t> largest_;
  Upload<float2> values_, cells_;
  Upload<float> images_;
};

void GridPairEngine::move(const EpicGeometry& geometry, cudaStream_t stream) {
  if (!serves(geometry)) {
    cuda_check(cudaDeviceSynchronize(), "imaging");  // by the plan before
    plan(geometry);
  }
  const auto uvw = image_frame_s(geometry);
  uvw_s_.copy(uvw.data(), 3 * uvw.size(), stream);
  slope_ = orders_->shape.lattice ? fit_slope(uvw) : PairSlope{};
  depth_.reset();
  if (orders_->depth_kernels) depth_ = depth_kernels(*orders_, geometry);
  const auto order_uvw = heights_s(uvw, slope_);
  order_uvw_s_.copy(order_uvw.data(), 3 * order_uvw.size(), stream);
  std::vector<double> delays_s;
  for (std::size_t ant = 0; ant < plan_.n_ant; ++ant)
    delays_s.push_back(geometry.delay_s[ant] - uvw[ant][2] * orders_->shape.depth.n_middle);
  delays_s_.copy(delays_s.data(), delays_s.size(), stream);
  made_.reset();
  turned_ = weighed_ = false;
}

/// Whether the grids of averaged channels, one for each image, are so few and small that most of the device
/// would wait for the few warps that add millions of pairs to them. A grid for each channel is then sooner
/// done.
bool GridPairEngine::leaves_warps_idle() const {
  constexpr std::size_t kManyPairs = std::size_t{1} << 20;
  constexpr int kFewWindows = 4096;
  const int n_window = n_image() * shape_.n_group() * shape_.n_strip() * (shape_.n_row_pair() / kWindowPairs);
  return shape_.n_grid_pair() >= kManyPairs && n_window < kFewWindows;
}

/// For all geometries that the same orders serve.
void GridPairEngine::plan(const EpicGeometry& geometry, DepthBy by) {
  orders_.emplace(plan_pair_orders(plan_, geometry, sky_.pixels(), by));
  version_ = sky_.version();
  shape_.n_x = static_cast<int>(orders_->shape.n_x);
  shape_.n_y = static_cast<int>(orders_->shape.n_y);
  shape_.width = static_cast<int>(orders_->depth_kernels ? DepthKernels::kWidth : orders_->kernel.width());
  shape_.n_order = static_cast<int>(orders_->n_order());
  shape_.n_column = static_cast<int>(orders_->shape.n_column);
  shape_.n_row = static_cast<int>(orders_->shape.n_row);
  shape_.n_ant = static_cast<int>(plan_.n_ant);
  shape_.n_product = plan_.n_pol == 1 || plan_.total ? 1 : plan_.cross ? 4 : 2;
  shape_.n_average = static_cast<int>(plan_.n_average);
  if (shape_.n_grid_pair() > kMaxGridPairs || leaves_warps_idle()) shape_.n_average = 1;
  n_power_ = static_cast<int>(orders_->kernel.degree() + 1);
  taps_.copy(orders_->taps.data(), orders_->taps.size());
  transform_.reset();
  strips_.reset();
  const auto fused =
      orders_->shape.lattice || orders_->depth_kernels
          ? std::nullopt
          : plan_transform(plan_, *orders_, sky_.pixels(), static_cast<std::size_t>(shared_bytes_));
  if (fused) {
    TransformTask& task = transform_.emplace();
    task.cells_shape = shape_;
    task.shape = fused->shape;
    task.turns = turns_.copy(fused->turns.data(), fused->turns.size());
    task.row_of_place = row_of_place_.copy(fused->row_of_place.data(), fused->row_of_place.size());
    task.factors = pixel_factors_.copy(fused->factors.data(), fused->factors.size());
    task.pixels = pixel_cells_.copy(fused->pixels.data(), fused->pixels.size());
    task.n_stride = sky_.n_stride();
  }
  plan_outliers(geometry);
  if (!transform_) plan_without_transform(geometry);
  if (orders_->depth_kernels && !strips_) return plan(geometry, DepthBy::orders);
  plan_batches();
}

/// For grids that one kernel does not transform.
void GridPairEngine::plan_without_transform(const EpicGeometry& geometry) {
  if (const auto strips = plan_strips(plan_, *orders_, sky_.pixels(), shape_, makes_planes(),
                                      static_cast<std::size_t>(shared_bytes_))) {
    strips_.emplace(*strips, shape_, orders_->depth_kernels ? orders_->depth_kernels->n_term() : 0);
  } else {
    shape_.n_column = shape_.n_x / 2 + 1;
    shape_.n_row = shape_.n_y / 2;
    pixel_factors_.copy(orders_->factors.data(), orders_->factors.size());
    pixel_cells_.copy(orders_->places.data(), orders_->places.size());
  }
  adds_at_sites_ = false;
  if (!orders_->shape.lattice) return;
  adds_at_sites_ =
      strips_ && orders_->shape.coarse &&
      (orders_->depth_kernels || loss_at_sites(plan_, geometry, sky_.pixels(), *orders_->shape.lattice,
                                               orders_->kernel) <= PairOrders::kCoarseSiteError);
  const InverseTransform inverse(orders_->kernel);
  inverse_.copy(inverse.coefficients().data(), InverseTransform::kTerms);
  inverse_scale_ = inverse.scale();
  of_column_.copy(orders_->of_column.data(), orders_->of_column.size());
  of_row_.copy(orders_->of_row.data(), orders_->of_row.size());
}

void GridPairEngine::plan_outliers(const EpicGeometry& geometry) {
  std::vector<std::uint8_t> outlier_antennas(plan_.n_ant, 0);
  for (const std::size_t ant : orders_->shape.outlier_antennas) outlier_antennas[ant] = 1;
  outliers_.copy(outlier_antennas.data(), outlier_antennas.size());
  std::vector<uint2> pairs;
  for (std::uint32_t a = 0; a < plan_.n_ant; ++a)
    for (std::uint32_t b = a + 1; b < plan_.n_ant; ++b)
      if (outlier_antennas[a] != 0 || outlier_antennas[b] != 0) pairs.push_back({a, b});
  n_outlier_pair_ = static_cast<int>(pairs.size());
  if (pairs.empty()) return;
  outlier_pairs_.copy(pairs.data(), pairs.size());
  const auto runs = plan_outlier_runs(plan_, geometry, sky_.pixels(), orders_->shape.depth.n_middle);
  n_outlier_run_ = static_cast<int>(runs.size());
  outlier_runs_.copy(runs.data(), runs.size());
}

void GridPairEngine::plan_batches() {
  const std::size_t cells = shape_.n_cell(), n_images = static_cast<std::size_t>(n_image());
  const std::size_t image = std::size_t(adds_at_sites_ ? std::min(shape_.n_order, 2) : shape_.n_order) *
                            shape_.n_product * orders_->shape.n_x * orders_->shape.n_y;
  const auto evenly = [&](std::size_t most, std::size_t n) {
    const std::size_t parts = (n + most - 1) / most;
    return static_cast<int>((n + parts - 1) / parts);
  };
  const std::size_t table = (strips_ ? strips_->table_bytes() : PairTables::image_bytes(shape_)) +
                            shape_.n_grid_pair() * 4 * sizeof(float2);
  const std::size_t with_keys = UINT32_MAX / list_keys(shape_, 1);  // keys of lists are 32 bits
  n_table_ =
      evenly(std::clamp<std::size_t>(std::min(table_bytes_ / table, with_keys), 1, n_images), n_images);
  const bool in_images = orders_->shape.lattice || (!transform_ && !strips_);
  const std::size_t together =
      (strips_ ? strips_->column_bytes() : cells * sizeof(float2)) + (in_images ? image * sizeof(float) : 0);
  n_together_ = evenly(std::clamp<std::size_t>(std::min(kGridBytes, table_bytes_ / 2) / together, 1,
                                               static_cast<std::size_t>(n_table_)),
                       static_cast<std::size_t>(n_table_));
  const auto n_together = static_cast<std::size_t>(n_together_);
  fft_.reset();
  if (in_images) images_.reserve(n_together * image);
  if (strips_) return;
  cells_.reserve(n_together * cells);
  if (!transform_) fft_.emplace(shape_.n_y, shape_.n_x, n_together_ * shape_.n_order * shape_.n_product);
}

/// Makes the tables of some images.
void GridPairEngine::make_tables(int first_image, int n_image, cudaStream_t stream) {
  made_ = {first_image, n_image};
  if (depth_) return make_depth_tables(first_image, n_image, stream);
  PlaceTask place;
  place.shape = shape_;
  place.n_channel = n_image * shape_.n_average;
  place.hz = hz_.data() + first_image * shape_.n_average;
  place.uvw_s = order_uvw_s_.data();
  place.outlier_antennas = outliers_.data();
  place.cell = orders_->shape.pitch;
  if (orders_->shape.lattice) {
    place.inverse = inverse_.data();
    place.n_inverse = static_cast<int>(InverseTransform::kTerms);
    place.inverse_scale = inverse_scale_;
  }
  place.n_half = orders_->shape.depth.n_half;
  place.error = orders_->shape.coarse ? PairOrders::kCoarseError : PairOrders::kError;
  if (strips_)
    strips_->make_tables(place, taps_.data(), n_power_, stream);
  else
    tables_.make(place, taps_.data(), n_power_, n_together_, stream);
}

void GridPairEngine::make_depth_tables(int first_image, int n_image, cudaStream_t stream) {
  DepthPairTask task;
  task.n_channel = n_image * shape_.n_average;
  task.hz = hz_.data() + first_image * shape_.n_average;
  task.uvw_s = order_uvw_s_.data();
  task.outlier_antennas = outliers_.data();
  task.cell = orders_->shape.pitch;
  task.x = depth_->x();
  task.y = depth_->y();
  if (orders_->shape.lattice) {
    task.inverse = inverse_.data();
    task.n_inverse = static_cast<int>(InverseTransform::kTerms);
    task.inverse_scale = inverse_scale_;
  }
  strips_->make_tables(task, stream);
}

void GridPairEngine::image(const PairsOf& pairs, const PlaneTask* planes, cudaStream_t stream) {
  if (sky_.n_pixel() == 0 || plan_.n_ant < 2) return;
  if (!turned_) {
    TurnTask turn{hz_.data(), delays_s_.data(), gains_.data()};
    turn.n_channel = static_cast<int>(plan_.n_channel());
    turn.n_ant = shape_.n_ant;
    turn.n_pol = static_cast<int>(plan_.n_pol);
    turn.factors = factors_.reserve(plan_.n_channel() * plan_.n_ant * plan_.n_pol);
    launch_turn_factors(turn, stream);
    turned_ = true;
  }
  for (int first = 0; first < n_image(); first += n_table_) {
    const int n = std::min(n_table_, n_image() - first), first_channel = first * shape_.n_average;
    if (!made_ || made_->first != first || made_->n != n) make_tables(first, n, stream);
    PairTask task = pairs(first_channel, n * shape_.n_average);
    task.factor = factors_.data() + static_cast<std::size_t>(first_channel) * plan_.n_ant * plan_.n_pol;
    task.total = plan_.total;
    const auto n_here = static_cast<std::size_t>(n);
    launch_pair_values(task, shape_.n_average, values_.reserve(n_here * shape_.n_grid_pair() * 4),
                       largest_.reserve(n_here), stream);
    if (n_outlier_pair_ > 0) sum_outliers(first, n, stream);
    for (int image = 0; image < n; image += n_together_)
      image_some(image, std::min(n_together_, n - image), first, planes, stream);
  }
}

void GridPairEngine::sum_outliers(int first_image, int n_image, cudaStream_t stream) {
  OutlierTask task;
  task.shape = shape_;
  task.n_image = n_image;
  task.n_run = n_outlier_run_;
  task.n_pair = n_outlier_pair_;
  task.hz = hz_.data() + first_image * shape_.n_average;
  task.uvw_s = uvw_s_.data();
  task.cell = plan_.cell;
  task.pairs = outlier_pairs_.data();
  task.runs = outlier_runs_.data();
  task.values = values_.data();
  task.sums = sky_.sums(first_image);
  task.n_stride = sky_.n_stride();
  // channels of an image one after the other: they add to the same sums
  for (task.nth = 0; task.nth < shape_.n_average; ++task.nth) launch_sum_outliers(task, stream);
}

void GridPairEngine::image_some(int first_image, int n_image, int first_table, const PlaneTask* planes,
                                cudaStream_t stream) {
  OrderTarget target;
  target.n_stride = sky_.n_stride();
  if (planes != nullptr) {
    target.planes = *planes;
    target.first_image = first_table + first_image;
  } else {
    target.sums = sky_.sums(first_table + first_image);
  }
  if (strips_) {
    strips_->columns(values_.data(), first_image, n_image, stream);
    if (!orders_->shape.lattice) return strips_->rows(n_image, target, stream);
    if (adds_at_sites_ && !weighed_ && !depth_) weigh_sites(stream);
    strips_->rows(n_image, images_.data(), stream);
    return interpolate(n_image, target, stream);
  }
  GatherTask gather = tables_.task(first_image, n_image);
  gather.values = values_.data();
  gather.largest = largest_.data();
  gather.cells = cells_.data();
  launch_gather_pairs(gather, stream);
  if (transform_) {
    TransformTask transform = *transform_;
    transform.n_image = n_image;
    transform.cells = cells_.data();
    transform.sums = sky_.sums(first_table + first_image);
    return launch_transform(transform, stream);
  }
  fft_->execute(cells_.data(), images_.data(), stream);
  if (orders_->shape.lattice) return interpolate(n_image, target, stream);
  OrderTask sum;
  sum.shape = shape_;
  sum.n_image = n_image;
  sum.n_pixel = sky_.n_pixel();
  sum.images = images_.data();
  sum.factors = pixel_factors_.data();
  sum.cells = pixel_cells_.data();
  sum.target = target;
  launch_sum_orders(sum, stream);
}

void GridPairEngine::weigh_sites(cudaStream_t stream) {
  SiteFactorTask task;
  task.n_site_x = static_cast<int>(orders_->shape.lattice->n_x);
  task.n_site_y = static_cast<int>(orders_->shape.lattice->n_y);
  task.pitch = orders_->shape.lattice->pitch;
  task.slope_u = slope_.u;
  task.slope_v = slope_.v;
  task.n_middle = orders_->shape.depth.n_middle;
  task.n_half = orders_->shape.depth.n_half;
  task.of_column = of_column_.data();
  task.of_row = of_row_.data();
  strips_->weigh_sites(task, stream);
  weighed_ = true;
}

void GridPairEngine::interpolate(int n_image, const OrderTarget& target, cudaStream_t stream) {
  const PairLattice& lattice = *orders_->shape.lattice;
  SiteTask sites;
  sites.shape = shape_;
  sites.n_image = n_image;
  sites.n_pixel = sky_.n_pixel();
  sites.images = images_.data();
  sites.nx = static_cast<int>(plan_.nx);
  sites.ny = static_cast<int>(plan_.ny);
  sites.pixels = sky_.index();
  sites.cell = plan_.cell;
  sites.pitch = lattice.pitch;
  sites.slope_u = slope_.u;
  sites.slope_v = slope_.v;
  sites.n_middle = orders_->shape.depth.n_middle;
  sites.n_half = orders_->shape.depth.n_half;
  if (adds_at_sites_) {
    sites.shape.n_order = std::min(shape_.n_order, 2);
  } else {
    sites.of_column = of_column_.data();
    sites.of_row = of_row_.data();
  }
  sites.taps = taps_.data();
  sites.n_power = n_power_;
  sites.target = target;
  launch_sum_sites(sites, stream);
}

}  // namespace

std::unique_ptr<DevicePairEngine> make_grid_pair_engine(const EpicPlan& plan, DeviceSky& sky,
                                                        int device_index, std::size_t table_bytes) {
  return std::make_unique<GridPairEngine>(plan, sky, device_index, table_bytes);
}

}  // namespace apsyn::epic_cuda
