// SPDX-License-Identifier: GPL-3.0-or-later
// Files of both correlators, whose tiles come in any order: what is read is what the tiles measured.
#include <boost/test/unit_test.hpp>

#include "tests/libcore/formats/mwa_fits/observed.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(correlator_files)

namespace {

// Numbers are rounded twice to float32, on the way into the file and out of the reader: 2 sqrt(2) 2^-24
// = 1.7e-7 of a cell. Measured: 1.2e-7.
constexpr double kRounding = 1.7e-7;

}  // namespace

BOOST_AUTO_TEST_CASE(legacy_files_are_numbered_down_above_channel_128) {
  Observed observed(128, {127, 128, 129, 130});
  const std::vector<std::string> files{observed.write_gpubox(1, 127), observed.write_gpubox(2, 128),
                                       observed.write_gpubox(3, 130), observed.write_gpubox(4, 129)};
  MwaFitsReader reader(observed.write_metafits(), files, {});
  const MsDescription& set = reader.description();
  BOOST_TEST(!reader.is_mwax());
  BOOST_TEST(set.window_name == "ch127-130");
  BOOST_TEST(set.more_windows.empty());
  BOOST_TEST(set.telescope == "MWA");
  BOOST_TEST(set.source == "made_169");
  BOOST_REQUIRE(set.channel_hz.size() == 16u);
  // The lower edge of channel 127 and no gaps after it.
  for (std::size_t i = 0; i < 16; ++i)
    BOOST_TEST(std::abs(set.channel_hz[i] - (126.5 * 1.28e6 + static_cast<double>(i) * 320e3)) < 1e-3);
  const std::vector<ReadRow> rows = read_all(reader);
  BOOST_REQUIRE(rows.size() == 128u * 129 / 2);
  BOOST_TEST(worst_error(observed, rows, set) < kRounding);
}

BOOST_AUTO_TEST_CASE(mwax_files_are_named_by_channel_and_tell_weights) {
  Observed observed(5, {117, 118, 132});
  const std::vector<std::string> files{observed.write_mwax(118), observed.write_mwax(117)};
  MwaFitsOptions options;
  options.flag_edge_hz = 0;
  MwaFitsReader reader(observed.write_metafits(), files, options);
  BOOST_TEST(reader.is_mwax());
  BOOST_TEST(reader.n_coarse_channels() == 2u);
  const MsDescription& set = reader.description();
  BOOST_REQUIRE(set.channel_hz.size() == 8u);
  BOOST_TEST(std::abs(set.channel_hz[2] - 117 * 1.28e6) < 1e-3);  // the middle channel
  const std::vector<ReadRow> rows = read_all(reader);
  BOOST_REQUIRE(rows.size() == 15u);
  BOOST_TEST(worst_error(observed, rows, set) < kRounding);
  for (const ReadRow& row : rows)
    for (std::size_t cell = 0; cell < row.weight.size(); ++cell) {
      std::size_t i = 0, j = 0;
      for (std::size_t k = 0; k < 5; ++k) {
        if (observed.metafits.tiles[k].antenna == row.pair.ant1) i = k;
        if (observed.metafits.tiles[k].antenna == row.pair.ant2) j = k;
      }
      const std::size_t pols = cell % 4 / 2 + cell % 2;
      BOOST_TEST(row.weight[cell] == static_cast<float>(1.0 / static_cast<double>(1 + (i + j) % 4 + pols)));
    }
}

BOOST_AUTO_TEST_CASE(an_odd_number_of_fine_channels_is_centred) {
  Observed observed(3, {100});
  observed.metafits.n_fine = 5;
  observed.metafits.fine_khz = 256;
  MwaFitsReader reader(observed.write_metafits(), {observed.write_mwax(100)}, {});
  BOOST_TEST(std::abs(reader.description().channel_hz[2] - 128e6) < 1e-3);
}

BOOST_AUTO_TEST_CASE(averaged_channels_of_the_legacy_correlator_lie_between_their_parts) {
  Observed observed(128, {143});
  observed.metafits.cards = {{"NAV_FREQ", "4"}};
  MwaFitsReader reader(observed.write_metafits(), {observed.write_gpubox(1, 143)}, {});
  // Four channels of 80 kHz, the first centred on the edge.
  BOOST_TEST(std::abs(reader.description().channel_hz[0] - (142.5 * 1.28e6 + 120e3)) < 1e-3);
}

BOOST_AUTO_TEST_CASE(any_type_of_number_and_packing_gives_the_same) {
  for (const MwaPacking packing : {MwaPacking::integers, MwaPacking::gzip})
    for (const double scale : {1.0, 0.03125}) {
      Observed observed(128, {131});
      observed.packing = packing;
      observed.scale = scale;
      MwaFitsReader reader(observed.write_metafits(), {observed.write_gpubox(1, 131)}, {});
      const std::vector<ReadRow> rows = read_all(reader);
      // Integers are rounded to half of the scale, and stand for values from (40 / 64)^2 100^2 = 3906 on.
      BOOST_TEST(worst_error(observed, rows, reader.description()) <
                 kRounding + scale / std::sqrt(2.0) / 3906);
    }
  Observed observed(4, {131});
  observed.packing = MwaPacking::gzip;
  MwaFitsReader reader(observed.write_metafits(), {observed.write_mwax(131)}, {});
  BOOST_TEST(worst_error(observed, read_all(reader), reader.description()) <
             kRounding + 1 / std::sqrt(2.0) / 3906);
}

BOOST_AUTO_TEST_CASE(old_metafits_do_not_tell_the_order) {
  Observed observed(128, {131});
  observed.metafits.tells_order = false;
  MwaFitsReader reader(observed.write_metafits(), {observed.write_gpubox(1, 131)}, {});
  BOOST_TEST(worst_error(observed, read_all(reader), reader.description()) < kRounding);
}

BOOST_AUTO_TEST_CASE(coordinates_are_those_of_the_tiles) {
  Observed observed(6, {100});
  MwaFitsReader reader(observed.write_metafits(), {observed.write_mwax(100)}, {});
  const SkyFrame frame(*Observed::mwa_site());
  for (const ReadRow& row : read_all(reader)) {
    const auto position = [&](int index) {
      const auto& enh = observed.tile_of(index).enh_m;
      return Vec3{enh[0], enh[1], enh[2]};
    };
    const double time_mjd_s = 40587 * 86400.0 + 1512140080.25;
    BOOST_TEST(std::abs(row.time_mjd_s - time_mjd_s) < 1e-6);
    const Vec3 wanted = multiply(frame.uvw_rotation(from_mjd_seconds(time_mjd_s), observed.centre),
                                 position(row.pair.ant1) - position(row.pair.ant2));
    for (std::size_t axis = 0; axis < 3; ++axis) BOOST_TEST(std::abs(row.uvw_m[axis] - wanted[axis]) < 1e-4);
  }
}

BOOST_AUTO_TEST_CASE(blocks_and_threads_change_nothing) {
  Observed observed(128, {127, 128});
  const std::string metafits = observed.write_metafits();
  const std::vector<std::string> files{observed.write_gpubox(1, 127, kBegin_ms, 2),
                                       observed.write_gpubox(2, 128, kBegin_ms, 2)};
  MwaFitsReader whole(metafits, files, {}), pieces(metafits, files, {});
  const std::vector<ReadRow> all = read_all(whole), others = read_all(pieces, 1000, 1);
  BOOST_TEST(whole.n_rows() == 2 * 8256);
  BOOST_REQUIRE(all.size() == others.size());
  bool same = true;
  for (std::size_t i = 0; i < all.size(); ++i)
    same &= all[i].data == others[i].data && all[i].weight == others[i].weight &&
            all[i].uvw_m == others[i].uvw_m && all[i].time_mjd_s == others[i].time_mjd_s &&
            all[i].pair.ant1 == others[i].pair.ant1 && all[i].pair.ant2 == others[i].pair.ant2;
  BOOST_TEST(same);
}

BOOST_AUTO_TEST_CASE(files_are_joined_in_time_and_what_is_missing_has_no_weight) {
  Observed observed(4, {117, 118});
  observed.metafits.cards = {{"GOODTIME", "0"}};
  const std::vector<std::string> files{
      observed.write_mwax(117, kBegin_ms + 1000, 2, 1), observed.write_mwax(117, kBegin_ms, 2, 0),
      observed.write_mwax(118, kBegin_ms + 500, 2, 0), observed.write_mwax(118, kBegin_ms + 2500, 1, 1)};
  MwaFitsOptions options;
  options.flag_edge_hz = 0;
  MwaFitsReader reader(observed.write_metafits(), files, options);
  BOOST_TEST(reader.n_times() == 5);    // of both: 0, 0.5, 1, 1.5 and 2.5 s
  BOOST_TEST(reader.n_missing() == 3);  // 118 at 0 and 1.5 s, 117 at 2.5 s
  BOOST_TEST(reader.n_rows() == 50);
  const std::vector<ReadRow> rows = read_all(reader);
  BOOST_REQUIRE(rows.size() == 50u);
  const double begin_s = 40587 * 86400.0 + 1512140080.25;
  const double times_s[] = {0, 0.5, 1, 1.5, 2.5};
  const bool there[5][2] = {{true, false}, {true, true}, {true, true}, {true, false}, {false, true}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    BOOST_TEST(std::abs(rows[i].time_mjd_s - begin_s - times_s[i / 10]) < 1e-6);
    for (std::size_t cell = 0; cell < 32; ++cell) {
      BOOST_TEST((rows[i].weight[cell] > 0) == there[i / 10][cell / 16]);
      if (!there[i / 10][cell / 16]) BOOST_TEST(rows[i].data[cell] == std::complex<float>());
    }
  }
}

BOOST_AUTO_TEST_CASE(channels_that_are_not_adjacent_become_windows) {
  Observed observed(4, {117, 120, 121});
  const std::vector<std::string> files{observed.write_mwax(117, kBegin_ms, 2),
                                       observed.write_mwax(120, kBegin_ms, 1),
                                       observed.write_mwax(121, kBegin_ms, 2)};
  MwaFitsReader reader(observed.write_metafits(), files, {});
  const MsDescription& set = reader.description();
  BOOST_TEST(set.window_name == "ch117");
  BOOST_REQUIRE(set.more_windows.size() == 2u);
  BOOST_TEST(set.more_windows[1].name == "ch121");
  const std::vector<ReadRow> rows = read_all(reader);
  BOOST_TEST(rows.size() == 50u);  // no rows of channel 120 the second time
  BOOST_TEST(reader.n_rows() == 50);
  BOOST_TEST(worst_error(observed, rows, set) < kRounding);
}

BOOST_AUTO_TEST_SUITE_END()
