// SPDX-License-Identifier: GPL-3.0-or-later
// From the uv grids of the layers to the visibilities of one task.
//
// The subgrid's cells are transformed to L x L coarse pixels, which take the A-terms, the taper, the task's
// own w screen and the coefficients of the w terms; these are transformed to fine cells about the
// visibilities, [v][u][term][plane re, im], and each visibility is interpolated from them (short_kernel.h).
// All transforms are short and dense: folded matrix products over all planes and terms at once.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/idg/idg.h"
#include "kernels/idg/interpolate_cpu.h"
#include "kernels/idg/partition.h"
#include "kernels/idg/short_kernel.h"

namespace apsyn {

/// Constants of a plan, shared by all threads.
template <class T>
struct DegridTables {
  DegridTables(const IdgPlan& plan, const IdgSetup& setup);
  IdgPlan plan;
  IdgSetup setup;
  ShortKernel kernel;
  KernelWeights<T> weights;
  std::size_t n_model_values;  ///< real values of a model pixel or uv cell: re, im of every model plane
  std::size_t n_values;        ///< of a fine cell's term: of every data plane, rounded up to 2, 4 or 8
  Buffer<T, 2> cell_cosine, cell_sine;  ///< [k][y] 2 pi k (y + 1/2) / L, k = 0 .. L/2
  Buffer<T, 2> fine_cosine, fine_sine;  ///< [x][q] 2 pi (x + 1/2) (q + 1/2) / (oversampling L)
  Buffer<T, 2> factor;                  ///< [x][y], positive quadrant: taper / L^2 / the kernel's correction
  Buffer<double, 2> n;                  ///< [x][y] n - n_middle, likewise
  /// [terms - 1]: the widest half range of w that so many terms serve, and their [term][x][y]
  /// (2 - [r = 0]) J_r. The w kernel has none.
  std::vector<double> half_w_lambda;
  std::vector<Buffer<T, 3>> coefficient;
};

/// The layers of a pass: [layer][v][u][plane], cell k at index k mod n.
template <class T>
struct LayerGrids {
  View<const std::complex<T>, 4> grids;
  std::size_t first_layer = 0;
};

/// One thread's memory.
template <class T>
class SubgridPredictor {
 public:
  explicit SubgridPredictor(const DegridTables<T>& tables) : tables_(tables) {}
  /// data [row][chan][data plane] += the task's visibilities.
  template <class Out>
  void predict(const GridBlock& block, const Partition& partition, const SubgridTask& task,
               const LayerGrids<T>& layers, View<std::complex<Out>, 3> data);

 private:
  struct Place {
    std::uint32_t row, chan;
    double u, v;      ///< fine cells from the middle
    double w_lambda;  ///< less the task's; as it is for the w kernel
    double turns;     ///< of the phase that all pixels share
    bool conjugate;
  };

  void place_visibilities(const GridBlock& block, const Partition& partition, const SubgridTask& task);
  void choose_terms(const SubgridTask& task);
  void load_pixels(const SubgridTask& task, View<const std::complex<T>, 3> grid);
  void apply_aterms(const GridBlock& block, const SubgridTask& task);
  void fold_pixels();
  void expand_term(std::size_t term, const T* coefficient, bool screen);
  void make_screen(double w_lambda);
  void make_fine_cells();
  template <class Out>
  void interpolate_all(const SubgridTask& task, View<std::complex<Out>, 3> data);

  const DegridTables<T>& tables_;
  std::vector<Place> places_;
  std::size_t n_fine_u_ = 0, n_fine_v_ = 0;  ///< fine cells of this task
  std::size_t n_terms_ = 1, cell_stride_ = 0;
  Buffer<T, 2> even_, odd_;  ///< [k][other axis][model values]
  Buffer<T, 2> pixel_;       ///< [x][y][model values]
  Buffer<T, 2> mixed_;       ///< [x][y][values]
  Buffer<T, 1> folded_;      ///< [x parity][y parity][x][y][values]
  Buffer<T, 1> term_pixel_;  ///< [x parity][y parity][x][y][term][values]
  Buffer<T, 1> half_fine_;   ///< [y parity][y][fine u][term][values]
  Buffer<T, 1> fine_;        ///< [fine v][fine u][term][values]
  std::vector<double> screen_turns_;
  std::vector<T> screen_cosine_, screen_sine_;  ///< [x][y]
};

}  // namespace apsyn
