// SPDX-License-Identifier: GPL-3.0-or-later
// What the formats share. For libcore/formats/solution_files only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/formats/solution_files/solution_files.h"

namespace apsyn {

/// The finest steps among the tables, on which their product is written.
struct SolutionSteps {
  std::vector<double> time_mjd_s, interval_s;  ///< those of the table with the most times
  std::vector<double> freq_hz, width_hz;       ///< of the one with the most channels
  bool has_channels = false;                   ///< the product depends on frequency
};
/// With n_chan channels of equal width over the band, where that is given. UsageError when the solutions do
/// not tell their band.
SolutionSteps choose_steps(const Solutions& solutions, std::optional<std::size_t> n_chan,
                           const std::string& path);

/// The product of the chain on these steps, [time][antenna][chan][XX XY YX YY], and flags [time][antenna]
/// [chan].
struct SolutionProduct {
  SolutionSteps steps;
  Buffer<std::complex<double>, 4> jones;
  Buffer<std::uint8_t, 3> flagged;
};
SolutionProduct evaluate_product(const Solutions& solutions, const SolutionSteps& steps,
                                 std::optional<std::size_t> direction, unsigned n_threads);

/// UsageError when single delays or TEC are to be gains, and nobody says of how many channels.
void require_channels(const SolutionSteps& steps, std::optional<std::size_t> n_chan, const std::string& path);

/// UsageError when the solutions have directions and none is chosen.
void require_direction(const Solutions& solutions, std::optional<std::size_t> direction,
                       const std::string& path);

bool is_ao(std::string_view first_bytes);
Solutions read_ao(const std::string& path, const SolutionContext& context);
void write_ao(const std::string& path, const Solutions& solutions, const SolutionWriteOptions& options);

/// By libcore/formats/fits/hyperdrive.h.
Solutions convert_hyperdrive(const std::string& path, const SolutionContext& context);

Solutions read_gains_table(const std::string& path, const SolutionContext& context);
SolutionWriteReport write_gains_table(const std::string& path, const Solutions& solutions,
                                      const SolutionWriteOptions& options);

SolutionWriteReport write_aterm_images(const std::string& path, const Solutions& solutions,
                                       const SolutionWriteOptions& options);

}  // namespace apsyn
