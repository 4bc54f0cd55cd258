// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/imaging/prediction_store.h"

#include <boost/test/unit_test.hpp>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(prediction_store)

BOOST_AUTO_TEST_CASE(passes_add_up_in_memory_and_in_a_file) {
  for (bool in_memory : {true, false}) {
    PredictionStore store(in_memory);
    PredictionStore::Data data;
    for (int pass = 0; pass < 4; ++pass) {
      store.rewind();
      for (std::size_t block = 0; block < 5; ++block) {
        data.resize({block + 1, 3, 2});
        store.load(data);
        for (std::size_t i = 0; i < data.size(); ++i) {
          BOOST_TEST((data.data()[i] == std::complex<float>(float(pass * (10 * block + i)), float(pass))));
          data.data()[i] += std::complex<float>(float(10 * block + i), 1);
        }
        pass == 3 ? store.skip(data) : store.save(data);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
