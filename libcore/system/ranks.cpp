// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/ranks.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#ifdef APSYN_MPI
#include <mpi.h>

#include <chrono>
#include <thread>
#endif

#include "libcore/base/error.h"
#include "libcore/system/parallel.h"
#include "libcore/system/rank_channel.h"

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

/// Open MPI looks for networks and starts what drives them, which takes a fifth of a second and more. Ranks
/// of one machine need none. What was asked for stays.
void look_for_no_network() {
  constexpr const char* shared_memory_alone[][2] = {
      {"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,vader"}, {"OMPI_MCA_osc", "sm"}};
  const auto is_set = [](const auto& option) { return std::getenv(option[0]) != nullptr; };
  if (std::any_of(std::begin(shared_memory_alone), std::end(shared_memory_alone), is_set)) return;
  for (const auto& [name, value] : shared_memory_alone) ::setenv(name, value, 0);
}

/// Where all ranks are on one machine that gives them memory to share, what travels between the first and
/// another; made by join(), too.
struct Channels {
  std::vector<RankChannel> to_root, from_root;  ///< [other rank - 1]
  std::optional<RankChannel> to_all;            ///< from the first
};
std::optional<Channels> channels;
MPI_Win channel_memory = MPI_WIN_NULL;

/// Sender and receiver know how many bytes there are: less travel as messages.
bool uses_channels(std::size_t n_bytes) {
  return channels && n_bytes >= std::size_t{1} << 20;
}
RankChannel& channel_of(std::vector<RankChannel>& all, int rank) {
  return all[static_cast<std::size_t>(rank - 1)];
}

void make_channels(const Ranks& ranks) {
  const auto n_others = static_cast<std::size_t>(ranks.size - 1);
  if (ranks.local_size != ranks.size || n_others > RankChannel::kMaxReceivers) return;
  MPI_Comm_set_errhandler(machine, MPI_ERRORS_RETURN);
  std::byte* memory = nullptr;
  const std::size_t n_bytes = ranks.root() ? (2 * n_others + 1) * RankChannel::memory_bytes() : 0;
  int made = MPI_Win_allocate_shared(static_cast<MPI_Aint>(n_bytes), 1, MPI_INFO_NULL, machine, &memory,
                                     &channel_memory) == MPI_SUCCESS
                 ? 1
                 : 0;
  MPI_Comm_set_errhandler(machine, MPI_ERRORS_ARE_FATAL);
  MPI_Allreduce(MPI_IN_PLACE, &made, 1, MPI_INT, MPI_MIN, machine);
  if (made == 0) return;
  MPI_Aint size = 0;
  int unit = 0;
  MPI_Win_shared_query(channel_memory, 0, &size, &unit, &memory);
  const unsigned share = std::thread::hardware_concurrency() / static_cast<unsigned>(ranks.size),
                 n_threads = std::clamp(share, 1u, 16u);
  const auto make = [&](std::size_t n_receivers) {
    RankChannel channel(memory, n_receivers, n_threads);
    if (ranks.root()) channel.begin();
    memory += RankChannel::memory_bytes();
    return channel;
  };
  channels.emplace();
  channels->to_all = make(n_others);
  for (std::size_t i = 0; i < n_others; ++i) {
    channels->to_root.push_back(make(1));
    channels->from_root.push_back(make(1));
  }
  MPI_Barrier(machine);
}

void meet(MPI_Comm ranks) {
  MPI_Request request;
  MPI_Ibarrier(ranks, &request);
  wait_for(request);
}

/// Of two ranks: from here on both are there, so that what follows takes no longer than its bytes.
constexpr int kMeeting = 1, kBytes = 0;
void meet_receiver(int rank) {
  MPI_Request request;
  MPI_Issend(nullptr, 0, MPI_BYTE, rank, kMeeting, MPI_COMM_WORLD, &request);
  wait_for(request);
}
void meet_sender(int rank) {
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

void send_message(int to_rank, std::span<const std::byte> bytes) {
  meet_receiver(to_rank);
  in_parts(bytes, [to_rank](const std::byte* part, int n) {
    MPI_Send(part, n, MPI_BYTE, to_rank, kBytes, MPI_COMM_WORLD);
  });
}
void receive_message(int from_rank, std::span<std::byte> bytes) {
  meet_sender(from_rank);
  in_parts(bytes, [from_rank](std::byte* part, int n) {
    MPI_Recv(part, n, MPI_BYTE, from_rank, kBytes, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}
#endif

Ranks join() {
  Ranks ranks = launched_ranks();
  if (ranks.size == 1) return ranks;
#ifdef APSYN_MPI
  if (ranks.local_size == ranks.size) look_for_no_network();
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
  make_channels(ranks);
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
  if (!mpi_is_on()) return;
  if (channel_memory != MPI_WIN_NULL) MPI_Win_free(&channel_memory);
  MPI_Finalize();
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

double max_of_ranks(double value) {
  if (!mpi_is_on()) return value;
  meet_ranks();
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
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

namespace {

template <class T>
void add_values(std::span<const T> from, std::span<T> to, unsigned n_threads) {
  constexpr std::size_t kPiece = std::size_t{1} << 17;
  parallel_for(n_threads, (to.size() + kPiece - 1) / kPiece, [&](std::size_t piece, unsigned) {
    const std::size_t first = piece * kPiece, n = std::min(kPiece, to.size() - first);
    for (std::size_t i = first; i < first + n; ++i) to[i] += from[i];
  });
}

template <class T>
void add_all_to_root(std::span<T> values, MPI_Datatype type) {
  if (!mpi_is_on()) return;
  meet_ranks();
  const Ranks& ranks = join_ranks();
  const std::uint64_t n_values = values.size();
  std::vector<std::uint64_t> of_rank(static_cast<std::size_t>(ranks.size));
  MPI_Gather(&n_values, 1, MPI_UINT64_T, of_rank.data(), 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::vector<T> received;
  for (int from = 1; from < ranks.size; ++from) {
    if (ranks.root() ? of_rank[static_cast<std::size_t>(from)] == 0 : values.empty()) continue;
    if (uses_channels(values.size_bytes())) {
      const RankChannel& channel = channel_of(channels->to_root, from);
      if (ranks.rank == from) channel.send(std::as_bytes(values));
      if (ranks.root())
        channel.receive(0, values.size_bytes(), [&](std::size_t offset, std::span<const std::byte> part) {
          const std::span<const T> theirs(reinterpret_cast<const T*>(part.data()), part.size() / sizeof(T));
          add_values(theirs, values.subspan(offset / sizeof(T), theirs.size()), channel.n_threads());
        });
      continue;
    }
    if (ranks.rank == from) meet_receiver(0);
    if (ranks.root()) meet_sender(from);
    for (std::size_t first = 0; first < values.size(); first += kChunk) {
      const std::span<T> chunk = values.subspan(first, std::min(kChunk, values.size() - first));
      const int n = static_cast<int>(chunk.size());
      if (ranks.rank == from) MPI_Send(chunk.data(), n, type, 0, kBytes, MPI_COMM_WORLD);
      if (!ranks.root()) continue;
      received.resize(chunk.size());
      MPI_Recv(received.data(), n, type, from, kBytes, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      add_values(std::span<const T>(received), chunk, 1);
    }
  }
}

}  // namespace

void add_to_root(std::span<double> values) {
  add_all_to_root(values, MPI_DOUBLE);
}
void add_to_root(std::span<float> values) {
  add_all_to_root(values, MPI_FLOAT);
}

void broadcast_bytes(std::span<std::byte> bytes) {
  if (!mpi_is_on()) return;
  meet_ranks();
  if (uses_channels(bytes.size())) {
    const Ranks& ranks = join_ranks();
    if (ranks.root()) return channels->to_all->send(bytes);
    return channels->to_all->receive(static_cast<std::size_t>(ranks.rank - 1), bytes);
  }
  in_parts(bytes, [](std::byte* part, int n) { MPI_Bcast(part, n, MPI_BYTE, 0, MPI_COMM_WORLD); });
}

void send_bytes_to_root(std::span<const std::byte> bytes) {
  if (!mpi_is_on()) return;
  if (uses_channels(bytes.size())) return channel_of(channels->to_root, join_ranks().rank).send(bytes);
  send_message(0, bytes);
}

void receive_bytes(int from_rank, std::span<std::byte> bytes) {
  if (!mpi_is_on()) return;
  if (uses_channels(bytes.size())) return channel_of(channels->to_root, from_rank).receive(0, bytes);
  receive_message(from_rank, bytes);
}

void send_bytes_from_root(int to_rank, std::span<const std::byte> bytes) {
  if (!mpi_is_on()) return;
  if (uses_channels(bytes.size())) return channel_of(channels->from_root, to_rank).send(bytes);
  send_message(to_rank, bytes);
}

void receive_bytes_from_root(std::span<std::byte> bytes) {
  if (!mpi_is_on()) return;
  if (uses_channels(bytes.size()))
    return channel_of(channels->from_root, join_ranks().rank).receive(0, bytes);
  receive_message(0, bytes);
}
#else
void leave_ranks() {}
void end_ranks(int) {}
void meet_ranks() {}
std::uint64_t min_of_ranks(std::uint64_t value) {
  return value;
}
double max_of_ranks(double value) {
  return value;
}
std::vector<std::vector<std::byte>> gather_on_machine(std::span<const std::byte> bytes) {
  return {{bytes.begin(), bytes.end()}};
}
void broadcast_on_machine(std::span<std::byte>) {}
void add_to_root(std::span<double>) {}
void add_to_root(std::span<float>) {}
void broadcast_bytes(std::span<std::byte>) {}
void send_bytes_to_root(std::span<const std::byte>) {}
void receive_bytes(int, std::span<std::byte>) {}
void send_bytes_from_root(int, std::span<const std::byte>) {}
void receive_bytes_from_root(std::span<std::byte>) {}
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

void add_for_all(std::span<double> values) {
  add_to_root(values);
  broadcast(values);
}

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
