// SPDX-License-Identifier: GPL-3.0-or-later
// Measurement Sets with tables of beams, and their beams at single directions.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "libcore/aterms/aterms.h"
#include "libcore/base/constants.h"
#include "libcore/formats/ms/measurement_set.h"
#include "tests/libcore/aterms/aterm_files.h"

namespace beam_test {

/// A set of tests/data, unpacked for the life of the object.
struct BeamSet {
  BeamSet(const std::string& archive, const std::string& name) : path(folder.path + "/" + name) {
    const std::string command =
        "tar -xzf '" APSYN_TEST_DATA "/" + archive + "' -C '" + folder.path + "' 2>/dev/null";
    BOOST_REQUIRE(std::system(command.c_str()) == 0);
    apsyn::MsSelection coordinates;
    coordinates.column.clear();
    layout = apsyn::MeasurementSetReader(path, coordinates).layout();
  }
  /// The beam of a configuration's text.
  std::unique_ptr<apsyn::AtermModel> open(const std::string& text, const std::string& column = "") const {
    return apsyn::open_aterms(folder.file("beam.conf", "aterms = [ beam ]\n" + text), layout, false,
                              {{path}, column, {}});
  }

  aterm_test::Folder folder;
  std::string path;
  apsyn::ArrayLayout layout;
};

inline BeamSet lofar_set() {
  return {"LOFAR-3C48-8st.MS.tgz", "tNDPPP-generic.MS"};
}
inline BeamSet oskar_set() {
  return {"oskar-dev.ms.tar.gz", "oskar-dev.ms"};
}

/// [station][y: 1][x: 1][4] in a direction, at a time of intervals of a millisecond.
inline apsyn::Buffer<std::complex<float>, 4> towards(apsyn::AtermModel& model, double time_mjd_s,
                                                     double freq_hz, double ra_deg, double dec_deg) {
  const apsyn::AtermGrid grid{{ra_deg * apsyn::kRadPerDeg, dec_deg * apsyn::kRadPerDeg}, 1, 1e-3, 1e-3};
  return aterm_test::evaluate(model, time_mjd_s, freq_hz, grid);
}

}  // namespace beam_test
