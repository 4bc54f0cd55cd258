// SPDX-License-Identifier: GPL-3.0-or-later
// The tests of tests/tools/imaging/calibration/self_calibration.cpp with images and predictions made on a
// GPU, between which the host finds the gains.
#include "tests/tools/imaging/calibration/self_calibration.cpp"
