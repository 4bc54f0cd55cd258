// SPDX-License-Identifier: GPL-3.0-or-later
// Where a test's grids live: in the GPU's memory, or as the program's argument says ("PROGRAM -- hybrid").
#pragma once

#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>

#include "kernels/idg/idg.h"

namespace apsyn::reference {

inline GridMemory test_grid_memory() {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  if (suite.argc < 2) return GridMemory::gpu;
  const std::string where = suite.argv[1];
  if (where == "hybrid") return GridMemory::hybrid;
  if (where == "unified") return GridMemory::unified;
  throw std::invalid_argument("grids in " + where + ": hybrid or unified");
}

}  // namespace apsyn::reference
