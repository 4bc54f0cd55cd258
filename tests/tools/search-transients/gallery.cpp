// SPDX-License-Identifier: GPL-3.0-or-later
// What a file and the options become: how much is searched at a time, and what the picture shows of it.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/formats/filterbank/file.h"
#include "libcore/streams/open_samples.h"
#include "tests/reference/scratch.h"
#include "tools/search-transients/results.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(gallery)

namespace {

/// 64 channels of 4 MHz from 1500 MHz down, samples of 0.25 ms.
struct Case {
  reference::Scratch scratch;
  Tool tool{"search-transients", ""};
  SearchOptions options;
  std::unique_ptr<SampleReader> reader;

  explicit Case(std::size_t n_time) {
    tool.common().threads = 1;
    tool.common().max_memory_bytes = 4'000'000'000;
    options.dm_range = "10:50";
    options.widths = "1:32";
    FilterbankHeader header;
    header.source = "FRB";
    header.sample_s = 0.25e-3;
    header.first_hz = 1500e6, header.step_hz = -4e6;
    header.n_chan = 64, header.n_bit = 8, header.start = {59000, 0};
    FilterbankWriter writer(scratch.path("in.fil"), header, false);
    const std::vector<std::uint8_t> samples(64 * n_time, 100);
    writer.write(samples.data(), samples.size());
    writer.commit();
    reader = open_samples(scratch.path("in.fil"));
  }
  SearchPlan plan() const { return make_plan(tool, options, *reader, {}); }
};

FoundCandidate candidate_of(std::uint32_t trial, std::int64_t begin, float sn) {
  FoundCandidate found;
  found.candidate.best = {trial, 1, begin, 8, sn};
  found.candidate.trials = {{trial - 1, sn - 2}, {trial, sn}};
  PulseCutout& cutout = found.cutout.emplace();
  cutout.first_s = static_cast<double>(begin);
  cutout.step_s = 1e-3;
  cutout.low_hz = 1.2e9, cutout.high_hz = 1.5e9;
  return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_more_is_searched_at_a_time_than_there_is) {
  const SearchPlan short_one = Case(1000).plan(), long_one = Case(300000).plan();
  BOOST_TEST(short_one.block == long_one.block);
  BOOST_TEST(short_one.gulp == (1000 / short_one.block + 1) * short_one.block);
  BOOST_TEST(long_one.gulp == 65536u);
  BOOST_TEST(short_one.memory_bytes < long_one.memory_bytes);
  BOOST_TEST(short_one.dm.front() == 10);
  BOOST_TEST(std::abs(short_one.dm.back() - 50) < 1);
  Case little(300000);
  little.tool.common().max_memory_bytes = static_cast<std::uint64_t>(long_one.memory_bytes) - 1;
  BOOST_TEST(little.plan().gulp < long_one.gulp);
  little.tool.common().max_memory_bytes = 1'000'000;
  BOOST_CHECK_THROW(little.plan(), FailureError);
}

// Of five candidates the strongest three are shown with their surroundings, the strongest first.
BOOST_AUTO_TEST_CASE(the_picture_shows_all_candidates_and_the_best_three_from_near) {
  Case made(2000);
  made.options.threshold = 7;
  const SearchPlan plan = made.plan();
  BOOST_TEST_REQUIRE(plan.dm.size() > 6u);
  CandidateGallery gallery;
  const float sn[] = {8, 12, 9, 20, 10};
  for (std::uint32_t i = 0; i < 5; ++i) gallery.add(plan, 0.25e-3, candidate_of(i + 1, 1000 * i, sn[i]));
  const TransientFigure figure = gallery.figure(plan, *made.reader, 0.5);
  BOOST_TEST(figure.title == "FRB");
  BOOST_TEST(figure.subtitle.starts_with("5 candidates above 7 "));
  BOOST_TEST(figure.subtitle.find("64 channels, 1374 MHz") != std::string::npos);  // 1500 - 63 * 2
  BOOST_TEST(figure.dm_low == plan.dm.front());
  BOOST_TEST(figure.dm_high == plan.dm.back());
  BOOST_TEST(figure.duration_s == 0.5);
  BOOST_TEST(figure.threshold == 7);
  BOOST_TEST_REQUIRE(figure.candidates.size() == 5u);
  for (std::uint32_t i = 0; i < 5; ++i) {
    BOOST_TEST(std::abs(figure.candidates[i].time_s - (1000 * i + 4) * 0.25e-3) < 1e-12);
    BOOST_TEST(figure.candidates[i].dm == plan.dm[i + 1]);
    BOOST_TEST(figure.candidates[i].sn == static_cast<double>(sn[i]));
  }
  BOOST_TEST_REQUIRE(figure.best.size() == 3u);
  const std::uint32_t best[] = {3, 1, 4};
  for (std::size_t i = 0; i < 3; ++i) {
    const TransientDetail& detail = figure.best[i];
    BOOST_TEST(detail.point.sn == static_cast<double>(sn[best[i]]));
    BOOST_TEST(detail.cutout.first_s == 1000 * best[i]);
    BOOST_TEST(detail.cutout.step_s == 1e-3);
    BOOST_TEST(detail.cutout.low_hz == 1.2e9);
    BOOST_TEST(detail.cutout.high_hz == 1.5e9);
    BOOST_TEST_REQUIRE(detail.dm.size() == 2u);
    BOOST_TEST(detail.dm[0] == plan.dm[best[i]]);
    BOOST_TEST(detail.sn[0] == static_cast<double>(sn[best[i]]) - 2);
  }
}

BOOST_AUTO_TEST_SUITE_END()
