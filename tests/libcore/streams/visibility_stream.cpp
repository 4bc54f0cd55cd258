// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/visibility_stream.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "libcore/base/error.h"
#include "libcore/visibility/visibility_header.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(visibility_stream)

namespace {

VisibilityHeader example(std::size_t n_ant, bool autos) {
  VisibilityHeader h;
  h.telescope = "MWA-32T";
  h.source = "field";
  h.start = {60123, 12345678901234567};
  h.integration_s = 0.5;
  h.sample_s = 1e-4;
  h.channel_width_hz = -40e3;
  for (int chan = 0; chan < 5; ++chan) h.channel_hz.push_back(150e6 - 40e3 * chan);
  h.products = {Product::XX, Product::XY, Product::YX, Product::YY};
  h.layout = builtin_array("mwa-32t");
  h.layout.antennas.resize(n_ant);
  h.layout.antennas[1].flagged = true;
  h.baselines = all_baselines(n_ant, autos);
  h.phase_centre = SkyDirection{1.25, -0.5};
  h.flux_unit = FluxUnit::jansky;
  h.history = {"correlate 0.1.0", "--integration 0.5s"};
  return h;
}

void fill(const VisibilityHeader& h, std::int64_t index, VisibilityRecord& record) {
  record.index = index;
  record.data.resize({h.baselines.size(), h.channel_hz.size(), h.products.size()});
  record.weight.resize(record.data.shape());
  std::mt19937 random(static_cast<unsigned>(index) + 1);
  std::normal_distribution<float> normal;
  for (auto& value : record.data) value = {normal(random), normal(random)};
  for (float& weight : record.weight) weight = static_cast<float>(1 + random() % 100) / 100;
}

void write(const std::string& path, const VisibilityHeader& h, std::initializer_list<int> indices) {
  VisibilityStreamWriter writer(path, h, true);
  VisibilityRecord record;
  for (int index : indices) {
    fill(h, index, record);
    writer.write(record);
  }
  writer.commit();
}

bool malformed_at_offset(const Error& error) {
  BOOST_TEST_MESSAGE(error.what());
  return error.status() == ExitStatus::malformed &&
         std::string(error.what()).find("byte ") != std::string::npos;
}

int read_all(const std::string& path) {
  VisibilityStreamReader reader(path);
  VisibilityRecord record;
  int n = 0;
  while (reader.read(record)) ++n;
  return n;
}

void refused(const Scratch& scratch, const std::string& bytes) {
  BOOST_CHECK_EXCEPTION(read_all(scratch.file("bad", bytes)), Error, malformed_at_offset);
  reference::with_stdin(bytes, [] { BOOST_CHECK_EXCEPTION(read_all("-"), Error, malformed_at_offset); });
}

void check_records(const std::string& path, const VisibilityHeader& h) {
  VisibilityStreamReader reader(path);
  const VisibilityHeader& back = reader.header();
  BOOST_TEST(back.telescope == h.telescope);
  BOOST_TEST((back.start == h.start));
  BOOST_TEST(back.integration_s == h.integration_s);
  BOOST_TEST(back.sample_s == h.sample_s);
  BOOST_TEST(back.channel_width_hz == h.channel_width_hz);
  BOOST_REQUIRE(back.channel_hz.size() == h.channel_hz.size());
  for (std::size_t chan = 0; chan < h.channel_hz.size(); ++chan)
    BOOST_TEST(std::abs(back.channel_hz[chan] - h.channel_hz[chan]) < 1e-7);
  BOOST_TEST((back.products == h.products));
  BOOST_REQUIRE(back.baselines.size() == h.baselines.size());
  for (std::size_t i = 0; i < h.baselines.size(); ++i) {
    BOOST_REQUIRE(back.baselines[i].ant1 == h.baselines[i].ant1);
    BOOST_REQUIRE(back.baselines[i].ant2 == h.baselines[i].ant2);
  }
  BOOST_TEST(back.layout.antennas[1].flagged);
  BOOST_TEST((back.layout.antennas[2].enu_m == h.layout.antennas[2].enu_m));
  BOOST_TEST(back.layout.site->lat_rad == h.layout.site->lat_rad);
  BOOST_TEST(back.phase_centre->ra_rad == 1.25);
  BOOST_TEST((back.flux_unit == h.flux_unit));
  BOOST_TEST((back.history == h.history));
  VisibilityRecord record, wanted;
  for (int index = 0; index < 5; ++index) {
    BOOST_REQUIRE(reader.read(record));
    BOOST_TEST(record.index == index);
    fill(h, index, wanted);
    if (index == 2 || index == 3) wanted.data.fill(0), wanted.weight.fill(0);  // the gap
    BOOST_TEST(std::memcmp(record.data.data(), wanted.data.data(), 8 * wanted.data.size()) == 0);
    BOOST_TEST(std::memcmp(record.weight.data(), wanted.weight.data(), 4 * wanted.weight.size()) == 0);
  }
  BOOST_TEST(!reader.read(record));
  BOOST_TEST(!reader.read(record));
}

}  // namespace

BOOST_AUTO_TEST_CASE(product_names_parse_back) {
  for (int code = 1; code <= 12; ++code)
    BOOST_TEST((parse_product(product_name(static_cast<Product>(code))) == static_cast<Product>(code)));
  BOOST_TEST(product_name(Product::YX) == "YX");
  BOOST_CHECK_THROW(parse_product("xx"), DataError);
  BOOST_CHECK_THROW(parse_product(""), DataError);
}

BOOST_AUTO_TEST_CASE(baselines_are_in_rows_of_the_triangle) {
  const auto with = all_baselines(3, true), without = all_baselines(3, false);
  BOOST_REQUIRE(with.size() == 6u);
  const int expected[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
  for (std::size_t i = 0; i < 6; ++i)
    BOOST_TEST((with[i].ant1 == expected[i][0] && with[i].ant2 == expected[i][1]));
  BOOST_REQUIRE(without.size() == 3u);
  BOOST_TEST((without[2].ant1 == 1 && without[2].ant2 == 2));
  BOOST_TEST(all_baselines(0, true).empty());
}

BOOST_AUTO_TEST_CASE(records_read_back_bit_for_bit) {
  const Scratch scratch;
  for (const bool autos : {true, false}) {
    const VisibilityHeader h = example(4, autos);
    write(scratch.path("a.vis"), h, {0, 1, 4});  // 2 and 3 are missing
    BOOST_TEST(scratch.read("a.vis").size() == 4096 + 5 * visibility_record_bytes(h));
    check_records(scratch.path("a.vis"), h);
    reference::with_stdout(scratch.path("s.vis"), [&] { write("-", h, {0, 1, 4}); });
    BOOST_TEST(scratch.read("s.vis").size() == 8192 + 5 * visibility_record_bytes(h));
    check_records(scratch.path("s.vis"), h);
    reference::with_stdin(scratch.read("s.vis"), [&] { check_records("-", h); });
    reference::with_stdin(scratch.read("a.vis"), [&] { check_records("-", h); });
  }
}

BOOST_AUTO_TEST_CASE(not_finite_is_no_data) {
  const Scratch scratch;
  const VisibilityHeader h = example(2, true);
  VisibilityRecord record;
  fill(h, 0, record);
  record.data(0, 0, 0) = {NAN, 1};
  record.data(0, 0, 1) = {1, INFINITY};
  record.weight(0, 0, 2) = NAN;
  record.weight(0, 0, 3) = -1;
  record.weight(0, 1, 0) = 0;
  VisibilityStreamWriter writer(scratch.path("a.vis"), h, false);
  writer.write(record);
  writer.commit();
  VisibilityStreamReader reader(scratch.path("a.vis"));
  BOOST_REQUIRE(reader.read(record));
  for (std::size_t i = 0; i < 5; ++i) {
    BOOST_TEST(record.weight.data()[i] == 0);
    BOOST_TEST(record.data.data()[i] == 0.0f);
  }
  BOOST_TEST(record.weight.data()[5] > 0);
}

BOOST_AUTO_TEST_CASE(truncated_and_damaged_streams_are_refused) {
  const Scratch scratch;
  const VisibilityHeader h = example(3, true);
  write(scratch.path("a.vis"), h, {0, 1, 2});
  reference::with_stdout(scratch.path("s.vis"), [&] { write("-", h, {0, 1, 2}); });
  const std::string file = scratch.read("a.vis"), stream = scratch.read("s.vis");
  BOOST_TEST(read_all(scratch.path("s.vis")) == 3);
  std::mt19937 random(4);
  for (int i = 0; i < 200; ++i) {
    refused(scratch, file.substr(0, random() % file.size()));
    refused(scratch, stream.substr(0, random() % stream.size()));
    std::string damaged = stream;
    damaged[4096 + random() % (stream.size() - 4096)] ^= static_cast<char>(1u << random() % 8);
    refused(scratch, damaged);
  }
  for (std::size_t n = 0; n < 3; ++n) {  // between records
    refused(scratch, file.substr(0, 4096 + n * visibility_record_bytes(h)));
    refused(scratch, stream.substr(0, 4096 + n * visibility_record_bytes(h)));
  }
  refused(scratch, file + std::string(visibility_record_bytes(h), '\0'));
}

BOOST_AUTO_TEST_CASE(wrong_headers_are_refused) {
  const VisibilityHeader h = example(3, true);
  const std::string good = format_visibility_header(h, {});
  const auto with = [&](const std::string& key, const std::string& value) {
    std::string text = good;
    const std::size_t at = text.find("\n" + key + " ") + 1;
    BOOST_REQUIRE(at > 0);
    text.replace(at, text.find('\n', at) - at, value.empty() ? "# gone" : key + " " + value);
    return text;
  };
  for (const auto& [key, value] :
       std::initializer_list<std::pair<std::string, std::string>>{{"INSTRUMENT", "apsyn"},
                                                                  {"ORDER", "TFAP"},
                                                                  {"NBIT", "64"},
                                                                  {"NBL", "4"},
                                                                  {"NBL", ""},
                                                                  {"PRODUCTS", "XX,ZZ"},
                                                                  {"PRODUCTS", "XX,XX"},
                                                                  {"PRODUCTS", ""},
                                                                  {"TSAMP", ""},
                                                                  {"TSAMP", "0"},
                                                                  {"FREQ", ""},
                                                                  {"BW", ""},
                                                                  {"NCHAN", "0"},
                                                                  {"NANT", "5"},
                                                                  {"ENDIAN", "BIG"},
                                                                  {"UTC_START", ""},
                                                                  {"OBS_OFFSET", "1"},
                                                                  {"TRAILER", "2"}}) {
    VisibilityStreamKeys keys;
    BOOST_CHECK_EXCEPTION(
        parse_visibility_header(with(key, value), "a.vis", keys), Error, [&](const Error& e) {
          BOOST_TEST_MESSAGE(e.what());
          return e.status() == ExitStatus::malformed && std::string(e.what()).find(key) != std::string::npos;
        });
  }
  VisibilityHeader uneven = h;
  uneven.channel_hz[2] += 1e3;
  BOOST_CHECK_THROW(format_visibility_header(uneven, {}), UsageError);
  VisibilityHeader subset = h;
  subset.baselines.pop_back();
  BOOST_CHECK_THROW(format_visibility_header(subset, {}), UsageError);
}

BOOST_AUTO_TEST_CASE(random_bytes_never_crash) {
  std::mt19937 random(6);
  const std::string good = format_visibility_header(example(3, true), {});
  for (int turn = 0; turn < 3000; ++turn) {
    std::string text = good;
    for (int n = 0; n < 3; ++n)
      text[random() % 1200] = static_cast<char>(turn % 2 ? 32 + random() % 95 : random());
    VisibilityStreamKeys keys;
    try {
      parse_visibility_header(text, "a", keys);
    } catch (const Error& error) {
      BOOST_REQUIRE((error.status() == ExitStatus::malformed));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
