// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/launcher_cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace apsyn {
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
