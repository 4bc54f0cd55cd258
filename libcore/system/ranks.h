// SPDX-License-Identifier: GPL-3.0-or-later
// Processes that mpirun or srun started together to share one piece of work. Everything works without a
// launcher, and in builds without MPI: there is then one process, of rank 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

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

/// Ends MPI, once all ranks have come here. A process that fails must not call it, but end_ranks().
void leave_ranks();

/// Ends all ranks, this one too, with a status that launchers pass on: not all of them end the others when
/// one process ends, which then wait for it for ever. Returns where there is one process.
void end_ranks(int status);

// What follows does nothing where there is one process. All ranks make the same calls in the same order, but
// for those from one rank to another, which pair up. Who waits for another sleeps.

/// Returns when all ranks have come here.
void meet_ranks();

/// The least, or the greatest, of all ranks' values.
std::uint64_t min_of_ranks(std::uint64_t value);
double max_of_ranks(double value);

/// What the ranks of this machine give, in their order, for the first of them; the others get nothing.
std::vector<std::vector<std::byte>> gather_on_machine(std::span<const std::byte> bytes);
/// What the first rank of this machine has replaces what the machine's others have. All have come here when
/// it returns.
void broadcast_on_machine(std::span<std::byte> bytes);

/// Adds the values of all ranks to those of rank 0, one rank after the other: the same to the last bit from
/// run to run. Other ranks' are then of no use. They give as many as rank 0, or none.
void add_to_root(std::span<double> values);
void add_to_root(std::span<float> values);

/// The same sums for all ranks.
void add_for_all(std::span<double> values);

/// What rank 0 has replaces what the others have.
void broadcast_bytes(std::span<std::byte> bytes);
template <class T>
void broadcast(std::span<T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  broadcast_bytes(std::as_writable_bytes(values));
}
template <class T>
void broadcast(T& value) {
  broadcast(std::span(&value, 1));
}

/// From one rank to rank 0, which receives as many bytes: those of a rank in the order that it sent them.
void send_bytes_to_root(std::span<const std::byte> bytes);
void receive_bytes(int from_rank, std::span<std::byte> bytes);
/// From rank 0 to another one, likewise.
void send_bytes_from_root(int to_rank, std::span<const std::byte> bytes);
void receive_bytes_from_root(std::span<std::byte> bytes);
template <class T>
void send_to_root(std::span<const T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  send_bytes_to_root(std::as_bytes(values));
}
template <class T>
void receive(int from_rank, std::span<T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  receive_bytes(from_rank, std::as_writable_bytes(values));
}
template <class T>
void send_from_root(int to_rank, std::span<const T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  send_bytes_from_root(to_rank, std::as_bytes(values));
}
template <class T>
void receive_from_root(std::span<T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  receive_bytes_from_root(std::as_writable_bytes(values));
}

/// Open MPI's mpirun binds two processes to a core each, and more of them to a part of the machine, when it
/// is told nothing: threads then take turns on that core. One of n_sharing processes of a machine that it
/// left less than its share of the cores gets all that mpirun has itself, and threads are shared out by
/// number. Whether it did. What was asked for (--bind-to, --map-by, --cpu-set) stays. Before other threads
/// start.
bool release_default_binding(unsigned n_sharing);

}  // namespace apsyn
