// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/core/ranks.h"

#include <cstdlib>
#include <string>
#ifdef APSYN_MPI
#include <mpi.h>

#include <algorithm>
#include <vector>
#endif

#include "libcore/core/error.h"

namespace apsyn {
namespace {

/// The first of these variables that is set, as a number.
int number_of(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names)
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return otherwise;
}

#ifdef APSYN_MPI
bool mpi_is_on() {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started != 0 && ended == 0;
}
#endif

Ranks join() {
  Ranks ranks = launched_ranks();
  if (ranks.size == 1) return ranks;
#ifdef APSYN_MPI
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
  MPI_Comm local;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, ranks.rank, MPI_INFO_NULL, &local);
  MPI_Comm_rank(local, &ranks.local_rank);
  MPI_Comm_size(local, &ranks.local_size);
  MPI_Comm_free(&local);
  return ranks;
#else
  throw FailureError(
      "started as {} processes by an MPI launcher, but built without MPI: start one, or build "
      "with -DAPSYN_MPI=ON",
      ranks.size);
#endif
}

}  // namespace

Ranks launched_ranks() {
  Ranks ranks;
  if (const char* use = std::getenv("APSYN_RANKS"); use != nullptr && std::string(use) == "off") return ranks;
  // Open MPI, then MPICH and its like, then srun with PMIx
  ranks.size = number_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"},
                         std::getenv("PMIX_RANK") != nullptr ? number_of({"SLURM_STEP_NUM_TASKS"}, 1) : 1);
  if (ranks.size <= 1) return {};
  ranks.rank = number_of({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}, 0);
  ranks.local_size =
      number_of({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"}, 1);
  ranks.local_rank = number_of({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}, 0);
  return ranks;
}

const Ranks& join_ranks() {
  static const Ranks ranks = join();
  return ranks;
}

#ifdef APSYN_MPI
void leave_ranks() {
  if (mpi_is_on()) MPI_Finalize();
}

void add_to_root(std::span<double> values) {
  if (!mpi_is_on()) return;
  const Ranks& ranks = join_ranks();
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::vector<double> received;
  for (int from = 1; from < ranks.size; ++from)
    for (std::size_t first = 0; first < values.size(); first += kChunk) {
      const std::span<double> chunk = values.subspan(first, std::min(kChunk, values.size() - first));
      const int n = static_cast<int>(chunk.size());
      if (ranks.rank == from) MPI_Send(chunk.data(), n, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
      if (!ranks.root()) continue;
      received.resize(chunk.size());
      MPI_Recv(received.data(), n, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] += received[i];
    }
}
#else
void leave_ranks() {}
void add_to_root(std::span<double>) {}
#endif

}  // namespace apsyn
