// SPDX-License-Identifier: GPL-3.0-or-later
// Cores that a launcher takes from processes of many threads.
#pragma once

namespace apsyn {

/// Open MPI's mpirun binds two processes to a core each, and more of them to a part of the machine, when it
/// is told nothing: threads then take turns on that core. One of n_sharing processes of a machine that it
/// left less than its share of the cores gets all that mpirun has itself, and threads are shared out by
/// number. Whether it did. What was asked for (--bind-to, --map-by, --cpu-set) stays. Before other threads
/// start.
bool release_default_binding(unsigned n_sharing);

}  // namespace apsyn
