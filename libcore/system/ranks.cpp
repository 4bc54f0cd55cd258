// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/ranks.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>
#ifdef APSYN_MPI
#include <mpi.h>

#include <chrono>
#include <thread>
#endif

#include "libcore/base/error.h"

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

/// Of one message at most: counts are int.
constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

/// Until the request is done. The library's own waiting keeps a core busy, which other threads can use while
/// one rank works alone; so whoever waits longer than messages take sleeps in between.
void wait_for(MPI_Request& request) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), done == 0;)
    if (Clock::now() - begin > std::chrono::milliseconds(1))
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    else
      std::this_thread::yield();
}

/// The ranks of this machine; made by join().
MPI_Comm machine = MPI_COMM_NULL;

void meet(MPI_Comm ranks) {
  MPI_Request request;
  MPI_Ibarrier(ranks, &request);
  wait_for(request);
}

/// Of two ranks: from here on both are there, so that what follows takes no longer than its bytes.
constexpr int kMeeting = 1, kBytes = 0;
void meet_root() {
  MPI_Request request;
  MPI_Issend(nullptr, 0, MPI_BYTE, 0, kMeeting, MPI_COMM_WORLD, &request);
  wait_for(request);
}
void meet_rank(int rank) {
  MPI_Request request;
  MPI_Irecv(nullptr, 0, MPI_BYTE, rank, kMeeting, MPI_COMM_WORLD, &request);
  wait_for(request);
}

/// use(part, count) for parts of `bytes` that one message can hold.
template <class Byte, class Use>
void in_parts(std::span<Byte> bytes, Use use) {
  for (std::size_t first = 0; first < bytes.size(); first += kMaxBytes) {
    const std::size_t n = std::min(kMaxBytes, bytes.size() - first);
    use(bytes.data() + first, static_cast<int>(n));
  }
}
#endif

Ranks join() {
  Ranks ranks = launched_ranks();
  if (ranks.size == 1) return ranks;
#ifdef APSYN_MPI
  const int n_launched = ranks.size;
  release_default_binding(static_cast<unsigned>(ranks.local_size));  // before MPI's own threads
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
  if (ranks.size != n_launched)
    throw FailureError(
        "started as {} processes, but MPI joins {}: use the launcher of the MPI that apsyn was built with, "
        "or APSYN_RANKS=off",
        n_launched, ranks.size);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, ranks.rank, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &ranks.local_rank);
  MPI_Comm_size(machine, &ranks.local_size);
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

void end_ranks(int status) {
  if (mpi_is_on()) MPI_Abort(MPI_COMM_WORLD, status);
}

void meet_ranks() {
  if (mpi_is_on()) meet(MPI_COMM_WORLD);
}

std::uint64_t min_of_ranks(std::uint64_t value) {
  if (!mpi_is_on()) return value;
  meet_ranks();
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
  return value;
}

std::vector<std::vector<std::byte>> gather_on_machine(std::span<const std::byte> bytes) {
  if (!mpi_is_on()) return {{bytes.begin(), bytes.end()}};
  meet(machine);
  const Ranks& ranks = join_ranks();
  const int n = static_cast<int>(bytes.size());
  std::vector<int> n_bytes(static_cast<std::size_t>(ranks.local_size)), firsts;
  MPI_Gather(&n, 1, MPI_INT, n_bytes.data(), 1, MPI_INT, 0, machine);
  int n_all = 0;
  for (const int own : n_bytes) firsts.push_back(std::exchange(n_all, n_all + own));
  std::vector<std::byte> all(static_cast<std::size_t>(n_all));
  MPI_Gatherv(bytes.data(), n, MPI_BYTE, all.data(), n_bytes.data(), firsts.data(), MPI_BYTE, 0, machine);
  std::vector<std::vector<std::byte>> result;
  if (ranks.local_rank == 0)
    for (std::size_t i = 0; i < n_bytes.size(); ++i)
      result.emplace_back(all.begin() + firsts[i], all.begin() + firsts[i] + n_bytes[i]);
  return result;
}

void broadcast_on_machine(std::span<std::byte> bytes) {
  if (!mpi_is_on()) return;
  meet(machine);
  MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, machine);
}

void add_to_root(std::span<double> values) {
  if (!mpi_is_on()) return;
  meet_ranks();
  const Ranks& ranks = join_ranks();
  const std::uint64_t n_values = values.size();
  std::vector<std::uint64_t> of_rank(static_cast<std::size_t>(ranks.size));
  MPI_Gather(&n_values, 1, MPI_UINT64_T, of_rank.data(), 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::vector<double> received;
  for (int from = 1; from < ranks.size; ++from) {
    if (ranks.root() ? of_rank[static_cast<std::size_t>(from)] == 0 : values.empty()) continue;
    if (ranks.rank == from) meet_root();
    if (ranks.root()) meet_rank(from);
    for (std::size_t first = 0; first < values.size(); first += kChunk) {
      const std::span<double> chunk = values.subspan(first, std::min(kChunk, values.size() - first));
      const int n = static_cast<int>(chunk.size());
      if (ranks.rank == from) MPI_Send(chunk.data(), n, MPI_DOUBLE, 0, kBytes, MPI_COMM_WORLD);
      if (!ranks.root()) continue;
      received.resize(chunk.size());
      MPI_Recv(received.data(), n, MPI_DOUBLE, from, kBytes, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] += received[i];
    }
  }
}

void broadcast_bytes(std::span<std::byte> bytes) {
  if (!mpi_is_on()) return;
  meet_ranks();
  in_parts(bytes, [](std::byte* part, int n) { MPI_Bcast(part, n, MPI_BYTE, 0, MPI_COMM_WORLD); });
}

void send_bytes_to_root(std::span<const std::byte> bytes) {
  if (!mpi_is_on()) return;
  meet_root();
  in_parts(bytes,
           [](const std::byte* part, int n) { MPI_Send(part, n, MPI_BYTE, 0, kBytes, MPI_COMM_WORLD); });
}

void receive_bytes(int from_rank, std::span<std::byte> bytes) {
  if (!mpi_is_on()) return;
  meet_rank(from_rank);
  in_parts(bytes, [from_rank](std::byte* part, int n) {
    MPI_Recv(part, n, MPI_BYTE, from_rank, kBytes, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}
#else
void leave_ranks() {}
void end_ranks(int) {}
void meet_ranks() {}
std::uint64_t min_of_ranks(std::uint64_t value) {
  return value;
}
std::vector<std::vector<std::byte>> gather_on_machine(std::span<const std::byte> bytes) {
  return {{bytes.begin(), bytes.end()}};
}
void broadcast_on_machine(std::span<std::byte>) {}
void add_to_root(std::span<double>) {}
void broadcast_bytes(std::span<std::byte>) {}
void send_bytes_to_root(std::span<const std::byte>) {}
void receive_bytes(int, std::span<std::byte>) {}
#endif

namespace {

/// mpirun hands on its options as variables.
bool is_told() {
  constexpr const char* options[] = {"OMPI_MCA_hwloc_base_binding_policy",
                                     "OMPI_MCA_rmaps_base_mapping_policy", "OMPI_MCA_hwloc_base_cpu_list",
                                     "OMPI_MCA_hwloc_base_cpu_set", "OMPI_MCA_rmaps_rank_file_path"};
  return std::any_of(std::begin(options), std::end(options),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace

bool release_default_binding(unsigned n_sharing) {
  if (std::getenv("OMPI_MCA_orte_bound_at_launch") == nullptr || is_told()) return false;
  cpu_set_t own, launcher;
  if (sched_getaffinity(0, sizeof own, &own) != 0 ||
      sched_getaffinity(getppid(), sizeof launcher, &launcher) != 0)
    return false;
  if (static_cast<unsigned>(CPU_COUNT(&own)) * n_sharing >= static_cast<unsigned>(CPU_COUNT(&launcher)))
    return false;
  return sched_setaffinity(0, sizeof launcher, &launcher) == 0;
}

}  // namespace apsyn
