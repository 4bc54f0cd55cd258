// SPDX-License-Identifier: GPL-3.0-or-later
// The main program of the tests of a folder.
#define BOOST_TEST_MODULE apsyn
#include <boost/test/unit_test.hpp>
