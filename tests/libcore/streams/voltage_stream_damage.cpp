// SPDX-License-Identifier: GPL-3.0-or-later
// Voltage streams that are cut, damaged or not what their headers say end in a message.
#include "libcore/streams/voltage_stream.h"

#include <boost/test/unit_test.hpp>
#include <random>

#include "libcore/base/error.h"
#include "tests/reference/recordings/voltage_encoder.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;
using reference::VoltageFormat;

BOOST_AUTO_TEST_SUITE(voltage_stream_damage)

namespace {

bool malformed_at_offset(const Error& error) {
  BOOST_TEST_MESSAGE(error.what());
  return error.status() == ExitStatus::malformed &&
         std::string(error.what()).find("byte ") != std::string::npos;
}

// Every byte must be seen, or the end must be refused.
void read_all(const std::string& path, std::size_t n_time = 100) {
  VoltageReader reader(path);
  VoltageBlock block;
  while (reader.read(block, n_time)) {
  }
}

void refused(const Scratch& scratch, const std::string& bytes) {
  BOOST_CHECK_EXCEPTION(read_all(scratch.file("bad.dada", bytes)), Error, malformed_at_offset);
  reference::with_stdin(bytes, [] { BOOST_CHECK_EXCEPTION(read_all("-"), Error, malformed_at_offset); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(damaged_headers_end_in_order) {
  const Scratch scratch;
  VoltageFormat f{"FTAP", 3, 2, 2, 20, 4};
  const auto payload = reference::encode_voltages(f, 400, [](auto t, auto c, auto a, auto p, unsigned part) {
    return double((t + c + a + p + part) % 8);
  });
  const std::string good = reference::voltage_header_text(f, "FILE_SIZE " + std::to_string(payload.size()) +
                                                                 "\nRESOLUTION 24\nMISSING_NSAMP 50\n") +
                           std::string(payload.begin(), payload.end());
  std::mt19937 random(21);
  std::size_t n_read = 0;
  for (int turn = 0; turn < 1500; ++turn) {
    std::string bytes = good;
    for (int n = 0; n < 2; ++n)
      bytes[random() % 420] = static_cast<char>(turn % 3 ? '0' + random() % 10 : 32 + random() % 95);
    // Without a known length the reader must not believe what the header promises.
    const auto body = [&](const std::string& path) {
      try {
        read_all(path, 64);
        ++n_read;
      } catch (const Error& error) {
        BOOST_REQUIRE((error.status() == ExitStatus::malformed));
      }
    };
    body(scratch.file("damaged.dada", bytes));
    if (turn % 10 == 0) reference::with_stdin(bytes, [&] { body("-"); });
  }
  BOOST_TEST_MESSAGE(n_read << " were still streams");
}

BOOST_AUTO_TEST_CASE(every_cut_is_refused) {
  const Scratch scratch;
  VoltageHeader header;
  header.sample_s = 1e-6;
  header.n_chan = 2, header.n_ant = 3, header.n_pol = 1;
  std::vector<std::uint8_t> payload(12 * 700, 1);
  const auto write = [&](const std::string& path) {
    VoltageWriter writer(path, header, true);
    writer.write(payload.data(), payload.size());
    writer.commit();
  };
  write(scratch.path("a.dada"));
  reference::with_stdout(scratch.path("s.dada"), [&] { write("-"); });
  const std::string file = scratch.read("a.dada"), stream = scratch.read("s.dada");
  for (std::size_t cut = 0; cut < 4096; ++cut) {
    if (cut % 64 == 0) refused(scratch, file.substr(0, cut));
    BOOST_CHECK_EXCEPTION(read_all(scratch.file("bad.dada", file.substr(0, cut))), Error,
                          malformed_at_offset);
  }
  std::mt19937 random(11);
  for (int i = 0; i < 200; ++i) {
    refused(scratch, file.substr(0, 4096 + random() % payload.size()));
    refused(scratch, stream.substr(0, 4096 + random() % (stream.size() - 4096)));
  }
  for (std::size_t whole = 0; whole < 700; whole += 50) {  // whole samples are no excuse
    refused(scratch, file.substr(0, 4096 + 12 * whole));
    refused(scratch, stream.substr(0, 4096 + 12 * whole));
  }
  refused(scratch, file + std::string(12, 'x'));
  refused(scratch, stream + std::string(12, 'x'));
}

BOOST_AUTO_TEST_CASE(a_damaged_stream_is_refused) {
  const Scratch scratch;
  VoltageHeader header;
  header.sample_s = 1e-6;
  std::vector<std::uint8_t> payload(5000, 3);
  reference::with_stdout(scratch.path("s.dada"), [&] {
    VoltageWriter writer("-", header, true);
    writer.write(payload.data(), payload.size());
    writer.commit();
  });
  const std::string stream = scratch.read("s.dada");
  read_all(scratch.path("s.dada"));
  std::string flipped = stream;
  flipped[5000] ^= 1;
  BOOST_CHECK_EXCEPTION(read_all(scratch.file("flipped.dada", flipped)), Error, [](const Error& e) {
    return malformed_at_offset(e) && std::string(e.what()).find("checksum") != std::string::npos;
  });
  std::mt19937 random(12);
  for (int i = 0; i < 200; ++i) {
    std::string damaged = stream;
    damaged[4096 + random() % (stream.size() - 4096)] ^= static_cast<char>(1u << random() % 8);
    refused(scratch, damaged);
  }
}

BOOST_AUTO_TEST_CASE(sizes_of_other_software_are_checked) {
  const Scratch scratch;
  const VoltageFormat f{"TFAP", 1, 1, 2};
  const std::string data(4 * 1000, 'x');
  const auto accepted = [&](const std::string& keys, std::size_t n_bytes) {
    const std::string bytes = reference::voltage_header_text(f, keys) + data.substr(0, n_bytes);
    read_all(scratch.file("good.dada", bytes));
    reference::with_stdin(bytes, [] { read_all("-"); });
  };
  const auto rejected = [&](const std::string& keys, std::size_t n_bytes) {
    refused(scratch, reference::voltage_header_text(f, keys) + data.substr(0, n_bytes));
  };
  accepted("", 4000);  // no sizes at all: any whole sample
  rejected("", 3999);
  accepted("RESOLUTION 1\n", 3996);
  rejected("RESOLUTION 1\n", 3998);
  accepted("RESOLUTION 400\n", 400);
  rejected("RESOLUTION 400\n", 404);
  rejected("RESOLUTION 6\n", 18);  // a whole RESOLUTION that cuts a sample
  accepted("FILE_SIZE 4000\n", 4000);
  rejected("FILE_SIZE 4000\n", 3996);
  rejected("FILE_SIZE 3996\n", 4000);
  accepted("FILE_SIZE 8096\n", 4000);  // counts the header
  accepted("FILE_SIZE 100000\nRESOLUTION 400\n", 4000);
  rejected("FILE_SIZE 100000\nRESOLUTION 400\n", 3996);
  rejected("FILE_SIZE 100000\nRESOLUTION 4\n", 4000);
  rejected("FILE_SIZE 100000\nRESOLUTION 400\nTRAILER 0\n", 4000);
  rejected("TRAILER 1\n", 4000);
  rejected("TRAILER 0\nFILE_SIZE 0\n", 4000);
}

BOOST_AUTO_TEST_CASE(inputs_that_cannot_be_opened_are_failures) {
  const Scratch scratch;
  BOOST_CHECK_THROW(VoltageReader(scratch.path("absent")), FailureError);
  BOOST_CHECK_THROW(VoltageReader(scratch.path("")), FailureError);
  refused(scratch, std::string(10000, 'x'));
  refused(scratch, std::string(10000, '\0'));
}

BOOST_AUTO_TEST_SUITE_END()
