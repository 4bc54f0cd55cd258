// SPDX-License-Identifier: GPL-3.0-or-later
// Strategies that find interference, run by AOFlagger's library (Offringa et al. 2010, MNRAS 405, 155; 2012,
// A&A 539, A95). A build without the library knows that it has none; its types stay out of this header.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/view.h"

namespace apsyn {

bool built_with_aoflagger();

/// The Lua file of a strategy: a file of that name, "auto" (that of the telescope, or the generic one) or the
/// name of a telescope that has one (lofar, mwa, jvla, ...). UsageError for an unknown name, and in a build
/// without AOFlagger.
std::string find_strategy(const std::string& name, const std::string& telescope);

/// What strategies may ask about the data.
struct RfiContext {
  ArrayLayout layout;                            ///< with site, or all antennas at its place
  std::vector<std::vector<double>> channel_hz;   ///< [band]
  std::vector<std::vector<double>> width_hz;     ///< [band]
  std::vector<std::vector<double>> times_mjd_s;  ///< [sequence]
};

/// What one baseline has at one time.
struct RfiTime {
  const std::complex<float>* data = nullptr;  ///< [chan][product]; null: nothing
  const std::uint8_t* flags = nullptr;        ///< the same
};

struct RfiBaseline {
  int ant1 = 0, ant2 = 0;
  std::size_t band = 0, sequence = 0;  ///< of the context
};

/// One strategy, for one thread at a time.
class RfiStrategy {
 public:
  /// UsageError for a file that is no strategy; FailureError when it cannot be read.
  RfiStrategy(const std::string& file, const RfiContext& context);
  ~RfiStrategy();
  /// Finds what is bad in the data of one baseline, `times` of 1, 2 or 4 products: `found` [time][chan], of
  /// all products. What is flagged in any product is bad already, as values that are no numbers are, and
  /// missing times. FailureError where the strategy fails.
  void run(std::span<const RfiTime> times, std::size_t n_product, const RfiBaseline& baseline,
           View<std::uint8_t, 2> found);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
