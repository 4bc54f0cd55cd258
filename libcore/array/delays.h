// SPDX-License-Identifier: GPL-3.0-or-later
// Signal delays of antennas as functions of time: how kernels learn of geometry without knowing the sky.
// E_i of a wave from direction s carries exp(+2 pi i nu r_i.s/c) (apsyn-conventions(7)): it reads the wave
// tau_i = r_i.s/c - cable_i seconds ahead of the array's reference point. tau is what delay() returns.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace apsyn {

class DelaySource {
 public:
  virtual ~DelaySource() = default;
  /// Makes delay() usable for begin_s <= t <= end_s; from one thread, with begin_s never falling.
  virtual void prepare(double begin_s, double end_s) = 0;
  /// tau of antenna `ant`, seconds, at t_s seconds after sample 0. Safe from several threads at once.
  virtual double delay_s(std::size_t ant, double t_s) const = 0;
  /// A bound on |tau| over all antennas and times.
  virtual double max_delay_s() const = 0;
};

/// Delays that do not change: cables, or a beam fixed to the ground.
class StaticDelays final : public DelaySource {
 public:
  explicit StaticDelays(std::vector<double> delay_s) : delay_s_(std::move(delay_s)) {}
  void prepare(double, double) override {}
  double delay_s(std::size_t ant, double) const override { return delay_s_[ant]; }
  double max_delay_s() const override {
    double largest = 0;
    for (double delay : delay_s_) largest = delay > largest ? delay : -delay > largest ? -delay : largest;
    return largest;
  }

 private:
  std::vector<double> delay_s_;
};

/// Delays of many beams. A beam's delay is what is left of tau once the F stage has aligned the antennas.
class BeamDelaySource {
 public:
  virtual ~BeamDelaySource() = default;
  /// Makes delays_s() ready for a span of time, like DelaySource::prepare.
  virtual void prepare(double begin_s, double end_s) = 0;
  /// tau of all antennas towards beam `beam`, seconds, at t_s seconds after sample 0.
  virtual void delays_s(std::size_t beam, double t_s, std::span<double> delay_s) const = 0;
};

}  // namespace apsyn
