// SPDX-License-Identifier: GPL-3.0-or-later
// How a recording is shared among processes: every spectrum once, whole integrations but at the end.
#include "tools/correlate/stream_parts.h"

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(stream_parts)

namespace {

/// Integrations of 10 spectra of 8 samples, records of about a kilobyte.
CorrelatePlan plan_of(std::int64_t n_samples) {
  CorrelatePlan plan;
  plan.f.n_sample = 8;
  plan.f.n_spectra = -1;
  plan.integration.n_spectra = 10;
  plan.n_samples = n_samples;
  plan.visibilities.baselines.resize(5);
  plan.visibilities.channel_hz.resize(17);
  plan.visibilities.products = {Product::XX};
  return plan;
}

}  // namespace

BOOST_AUTO_TEST_CASE(parts_adjoin_and_cover_the_recording) {
  for (const std::int64_t n_samples : {8 * 10 * 64, 8 * 10 * 64 + 8 * 3 + 5, 8 * 10 * 9, 40})
    for (const bool ranged : {false, true})
      for (const int n_ranks : {1, 2, 3, 8})
        for (const std::uint64_t max_bytes : {std::uint64_t{1}, std::uint64_t{1} << 40}) {
          VoltageOptions options;
          options.first_sample = ranged ? 800 : 0;
          options.n_samples = ranged ? n_samples : -1;
          const std::vector<StreamPart> parts = parts_of(plan_of(n_samples), options, n_ranks, max_bytes);
          std::int64_t sample = options.first_sample, record = 0;
          for (std::size_t i = 0; i < parts.size(); ++i) {
            BOOST_TEST(parts[i].first_sample == sample);
            BOOST_TEST(parts[i].first_record == record);
            if (i + 1 == parts.size()) break;
            BOOST_TEST(parts[i].n_samples == parts[i].n_spectra * 8);
            BOOST_TEST(parts[i].n_spectra % 10 == 0);
            sample += parts[i].n_samples;
            record += parts[i].n_spectra / 10;
          }
          BOOST_TEST(parts.back().n_samples == (ranged ? options.first_sample + n_samples - sample : -1));
          BOOST_TEST(sample < options.first_sample + n_samples);
          if (n_ranks == 1) BOOST_TEST(parts.size() == 1u);
          if (n_ranks > 1 && max_bytes == 1) {
            const std::int64_t n_records = (n_samples / 8 + 9) / 10;
            BOOST_TEST(static_cast<std::int64_t>(parts.size()) == std::max<std::int64_t>(1, n_records));
          }
        }
}

BOOST_AUTO_TEST_CASE(recordings_of_unknown_length_are_not_shared) {
  BOOST_TEST(parts_of(plan_of(-1), {}, 4, 1).size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
