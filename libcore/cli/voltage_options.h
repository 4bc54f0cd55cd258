// SPDX-License-Identifier: GPL-3.0-or-later
// What every tool that reads voltages takes: --antennas, --metafits, --site, --flag-antennas, --gains,
// --samples; and --gains-follow.
#pragma once

#include <cstdint>
#include <string>

#include "libcore/cli/tool.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

struct VoltageOptions : VoltageSelection {
  std::string samples;  ///< FIRST:COUNT; parsing sets first_sample and n_samples
};

void add_voltage_options(Tool& tool, VoltageOptions& options);
/// --gains-follow, of tools that work on a stream as it comes.
void add_gains_follow(Tool& tool, VoltageOptions& options);
/// Parses options.samples ("FIRST:COUNT", "FIRST:" or ":COUNT") into first_sample and n_samples; UsageError.
/// add_voltage_options() has it called while the command line is parsed.
void parse_sample_range(VoltageOptions& options);

/// A stream in words, for --dry-run and -v.
std::string describe(const VoltageHeader& header);
/// How its samples go through memory.
std::string describe_blocks(std::uint64_t memory_bytes, std::size_t gulp_samples, std::size_t block_spectra,
                            std::size_t n_channel);

}  // namespace apsyn
