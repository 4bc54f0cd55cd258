// SPDX-License-Identifier: GPL-3.0-or-later
// The tests of tests/kernels/search/images/light_curves.cpp on a GPU.
#include "tests/kernels/search/images/light_curves.cpp"
