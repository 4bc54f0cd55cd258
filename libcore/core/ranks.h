// SPDX-License-Identifier: GPL-3.0-or-later
// Processes that mpirun or srun started together to share one piece of work. Everything works without a
// launcher, and in builds without MPI: there is then one process, of rank 0.
#pragma once

#include <span>

namespace apsyn {

struct Ranks {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  ///< among those on the same machine
  bool root() const { return rank == 0; }
};

/// What the launcher's environment says, without starting MPI; one process where APSYN_RANKS=off.
Ranks launched_ranks();

/// Starts MPI where a launcher started several processes. Later calls return the same. FailureError in a
/// build without MPI that a launcher started several times.
const Ranks& join_ranks();

/// Ends MPI, once all ranks have come here. A process that fails must not call it: the launcher then ends the
/// others.
void leave_ranks();

/// Adds the values of all ranks to those of rank 0, one rank after the other: the same to the last bit from
/// run to run. Other ranks keep theirs. All ranks give as many.
void add_to_root(std::span<double> values);

}  // namespace apsyn
