// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace apsyn::bench {

/// Voltages of the MWA 32-tile prototype from a file and from a pipe to means in memory: reader, F and X as
/// `correlate` runs them. Prints rates of the raw bytes, and their shares of what `cat` moves from the file
/// and through the pipe.
void end_to_end_streams(unsigned n_threads, bool on_gpu);

}  // namespace apsyn::bench
