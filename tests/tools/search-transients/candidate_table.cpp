// SPDX-License-Identifier: GPL-3.0-or-later
// A candidate's line, with times worked out by hand.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <string>

#include "libcore/cli/tool.h"
#include "tests/reference/scratch.h"
#include "tools/search-transients/results.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(candidate_table)

// A window of 2 s that begins half a day after the start: its middle is at 43201 s, 0.50001157407407 days.
BOOST_AUTO_TEST_CASE(times_are_those_of_the_middle_of_the_best_window) {
  const reference::Scratch scratch;
  SearchPlan plan;
  plan.dm = {10, 20, 30};
  FilterbankHeader header;
  header.sample_s = 1e-3;
  header.start = {60000, 0};
  Candidate candidate;
  candidate.best = {1, 1, 43'200'000, 2000, 9.5f};
  candidate.n_hits = 3;
  candidate.first_trial = 0;
  candidate.last_trial = 2;
  candidate.begin = 43'199'000;
  candidate.end = 43'203'000;
  Tool tool("search-transients", "");
  CandidateTable table(tool, scratch.path("a.csv"), TableFormat::csv);
  table.write(plan, header, candidate);
  table.commit();
  std::ifstream file(scratch.path("a.csv"));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  BOOST_TEST(text ==
             "time_s,mjd,dm,sn,width_s,n_hits,dm_low,dm_high,begin_s,end_s\n"
             "43201.0000000,60000.500011574074,20.0000,9.50,2.0000000,3,10.0000,30.0000,43199.0000000,"
             "43203.0000000\n");
}

BOOST_AUTO_TEST_SUITE_END()
