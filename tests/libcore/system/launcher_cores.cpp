// SPDX-License-Identifier: GPL-3.0-or-later
// A process that Open MPI bound by default gets its launcher's cores back; what was asked for stays.
#include "libcore/system/ranks.h"

#include <sched.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(launcher_cores)

namespace {

cpu_set_t cores_of(pid_t process) {
  cpu_set_t cores;
  BOOST_REQUIRE_EQUAL(sched_getaffinity(process, sizeof cores, &cores), 0);
  return cores;
}

/// Bound to the first of the launcher's cores, as long as it lives.
struct Bound {
  cpu_set_t launcher = cores_of(getppid()), before = cores_of(0);
  Bound() {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; CPU_COUNT(&one) == 0; ++core)
      if (CPU_ISSET(core, &launcher)) CPU_SET(core, &one);
    BOOST_REQUIRE_EQUAL(sched_setaffinity(0, sizeof one, &one), 0);
    setenv("OMPI_MCA_orte_bound_at_launch", "1", 1);
  }
  ~Bound() {
    unsetenv("OMPI_MCA_orte_bound_at_launch");
    sched_setaffinity(0, sizeof before, &before);
  }
  unsigned n_launcher() const { return static_cast<unsigned>(CPU_COUNT(&launcher)); }
};

int n_own() {
  const cpu_set_t own = cores_of(0);
  return CPU_COUNT(&own);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_core_for_all_threads_is_released) {
  const Bound bound;
  if (bound.n_launcher() < 2) return;
  BOOST_CHECK(release_default_binding(1));
  const cpu_set_t own = cores_of(0);
  BOOST_CHECK(CPU_EQUAL(&own, &bound.launcher));
  BOOST_CHECK(!release_default_binding(1));  // there is no more
}

BOOST_AUTO_TEST_CASE(its_share_is_enough) {
  const Bound bound;
  BOOST_CHECK(!release_default_binding(bound.n_launcher()));
  BOOST_CHECK_EQUAL(n_own(), 1);
}

BOOST_AUTO_TEST_CASE(what_was_asked_for_stays) {
  const Bound bound;
  for (const char* name : {"OMPI_MCA_hwloc_base_binding_policy", "OMPI_MCA_rmaps_base_mapping_policy"}) {
    setenv(name, "core", 1);
    BOOST_CHECK(!release_default_binding(1));
    unsetenv(name);
  }
  unsetenv("OMPI_MCA_orte_bound_at_launch");
  BOOST_CHECK(!release_default_binding(1));
  BOOST_CHECK_EQUAL(n_own(), 1);
}

BOOST_AUTO_TEST_SUITE_END()
