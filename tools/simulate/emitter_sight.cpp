// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/simulate/emitter_sight.h"

#include <cstddef>

#include "tools/imaging/components/component_sums.h"

namespace apsyn {

EmitterSight::EmitterSight(AtermModel& aterms, const simulate::VoltageSetup& setup,
                           const SkyDirection& centre, unsigned n_threads)
    : aterms_(aterms), freq_hz_(setup.freq_hz), centre_(centre), n_threads_(n_threads) {
  for (const simulate::Emitter& emitter : setup.emitters) directions_.push_back(emitter.direction);
  const double width_hz = setup.bandwidth_hz / static_cast<double>(setup.n_chan);
  for (std::size_t chan = 0; chan < setup.n_chan; ++chan)
    channel_hz_.push_back(setup.freq_hz - 0.5 * setup.bandwidth_hz +
                          (static_cast<double>(chan) + 0.5) * width_hz);
}

std::shared_ptr<const EmitterSight::Matrices> EmitterSight::at(double time_mjd_s) {
  const std::int64_t slot = aterms_.slot_of(time_mjd_s);
  if (slot_ == slot) return kept_;
  auto made = std::make_shared<Matrices>();
  imaging::evaluate_matrices(slot, {&aterms_, centre_, channel_hz_, directions_, n_threads_}, *made);
  slot_ = slot;
  kept_ = std::move(made);
  return kept_;
}

std::vector<double> EmitterSight::received(double time_mjd_s) {
  const std::size_t n_ant = aterms_.n_stations();
  Buffer<std::complex<float>, 3> jones({n_ant, directions_.size(), 4});
  aterms_.evaluate_at(aterms_.slot_of(time_mjd_s), freq_hz_, centre_, directions_, n_threads_, jones);
  std::vector<double> received(directions_.size(), 0.0);
  for (std::size_t ant = 0; ant < n_ant; ++ant)
    for (std::size_t s = 0; s < directions_.size(); ++s)
      for (std::size_t i = 0; i < 4; ++i)
        received[s] += 0.5 * double(std::norm(jones(ant, s, i))) / static_cast<double>(n_ant);
  return received;
}

double EmitterSight::bytes() const {
  return 2.0 * 32 * double(channel_hz_.size()) * double(aterms_.n_stations()) * double(directions_.size());
}

}  // namespace apsyn
