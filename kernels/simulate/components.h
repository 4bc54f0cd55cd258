// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities of a sky model at given uvw, straight from the measurement equation in float64, at the centre
// of each channel and integration (no smearing over either):
//   V = exp(2 pi i path / lambda) sum_s S_s(nu) G_s exp(2 pi i (u l_s + v m_s + w (n_s - 1)) / lambda),
// with l, m, n the direction of component s from the centre that u, v, w (metres) point at, S its Stokes
// parameters and G as in visibilities.h. Directions all over the sphere count, n < 0 too: without time and
// place there is no horizon.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/simulate/channel_runs.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/view.h"
#include "libcore/sky/sky_model.h"

namespace apsyn::simulate {

/// I alone, or I Q U V when a component has any of the others.
std::vector<std::string> stokes_of(const SkyModel& sky);

class ComponentPredictor {
 public:
  ComponentPredictor(const SkyModel& sky, const SkyDirection& centre, const std::vector<double>& channel_hz);
  /// uvw_m [row][3], path_m [row] or empty, data [row][chan][plane] with the planes of stokes_of(); data is
  /// overwritten. The same for any number of threads. std::invalid_argument when the shapes disagree.
  void predict(View<const double, 2> uvw_m, View<const double, 1> path_m, unsigned n_threads,
               View<std::complex<float>, 3> data) const;

  /// Correlations XX XY YX YY of components as two stations each see them:
  ///   V_pq = sum over s of J_p,s B_s J_q,s^H S exp(...), B = [I + Q, U + iV; U - iV, I - Q],
  /// for components first .. first + n of the model. jones [chan][station][component of these][XX XY YX YY],
  /// station [row][p, q]; `data` [row][chan][4] is added to.
  struct Beams {
    std::size_t first = 0;
    View<const std::complex<float>, 4> jones;
  };
  void add_through(View<const double, 2> uvw_m, View<const double, 1> path_m,
                   View<const std::uint32_t, 2> station, const Beams& beams, unsigned n_threads,
                   View<std::complex<double>, 3> data) const;

 private:
  struct Sum;
  /// response [chan] of one component: the exponential, times what its shape takes away.
  void respond(std::size_t index, const Vec3& uvw_m, double path_m, std::complex<double>* response) const;
  void add(std::size_t index, const Vec3& uvw_m, double path_m, Sum& sum) const;

  SkyModel sky_;
  std::vector<Mat3> towards_;  ///< [component] frame at the component out of the frame at the centre
  std::vector<double> per_m_;  ///< [chan]
  std::vector<ChannelRun> runs_;
  Buffer<double, 3> stokes_jy_;  ///< [component][chan][plane]
};

}  // namespace apsyn::simulate
