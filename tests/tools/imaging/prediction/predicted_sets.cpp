// SPDX-License-Identifier: GPL-3.0-or-later
// Several sets to predict into: what is wrong with one of them is found before any of them is changed.
#include <casacore/tables/Tables/ScaColDesc.h>

#include <boost/test/unit_test.hpp>

#include "libcore/base/error.h"
#include "tests/libcore/formats/ms/ms_observation.h"
#include "tools/imaging/prediction/predict_set.h"

using namespace apsyn;
using namespace apsyn::imaging;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(predicted_sets)

// Numbers of the observers' in the column that is to be written, and an input column that one set lacks.
BOOST_AUTO_TEST_CASE(a_column_that_holds_or_lacks_visibilities_is_found_in_every_set) {
  ScratchFolder folder;
  const std::vector<std::string> paths{folder / "good.ms", folder / "bad.ms"};
  for (const std::string& path : paths) Observation(ms_description(), 2).write(path);
  {
    casacore::Table table = edit(paths[1]);
    table.addColumn(casacore::ScalarColumnDesc<casacore::Float>("NUMBERS"));
  }
  PredictionOptions options;
  options.column = "MODEL_DATA";
  BOOST_CHECK_NO_THROW(look_at_sets(options, paths));
  options.column = "NUMBERS";
  BOOST_CHECK_NO_THROW(look_at_sets(options, {paths[0]}));
  BOOST_CHECK_THROW(look_at_sets(options, paths), UsageError);
  options.column = "MODEL_DATA";
  options.subtract = true;
  options.output_column = "NUMBERS";
  BOOST_CHECK_THROW(look_at_sets(options, paths), UsageError);
  options.output_column = "CORRECTED_DATA";
  BOOST_CHECK_NO_THROW(look_at_sets(options, paths));
  options.input_column = "NUMBERS";
  BOOST_CHECK_THROW(look_at_sets(options, paths), Error);
  BOOST_CHECK_THROW(look_at_sets(options, {folder / "nosuch.ms"}), Error);
}

BOOST_AUTO_TEST_SUITE_END()
