// SPDX-License-Identifier: GPL-3.0-or-later
// What a CPU needs for work, by which --device auto chooses: more for more data, more pixels and more rounds,
// less with more threads, and unknown for what has no size.
#include "tools/imaging/device_choice.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/reference/scratch.h"

using namespace apsyn;
using namespace apsyn::imaging;

BOOST_AUTO_TEST_SUITE(device_choice)

BOOST_AUTO_TEST_CASE(time_is_that_of_all_files_of_the_inputs_and_of_the_pixels) {
  const reference::Scratch folder;
  std::filesystem::create_directories(folder.path("set.ms/sub"));
  folder.file("set.ms/a", std::string(3000, 'a'));
  folder.file("set.ms/sub/b", std::string(1000, 'b'));
  folder.file("stream", std::string(4000, 'c'));
  const std::vector<std::string> set{folder.path("set.ms")}, file{folder.path("stream")},
      both{set[0], file[0]}, pipe{"-"};
  const double of_set = cpu_seconds({set}, 1);
  BOOST_TEST(of_set > 0);
  BOOST_TEST(cpu_seconds({file}, 1) == of_set);
  BOOST_TEST(cpu_seconds({both}, 1) == 2 * of_set);
  BOOST_TEST(cpu_seconds({set}, 4) == of_set / 4);
  BOOST_TEST(cpu_seconds({set, 0, 3}, 1) == 3 * of_set);
  BOOST_TEST(cpu_seconds({set, 1e6, 1}, 1) > of_set);
  BOOST_TEST(std::isinf(cpu_seconds({pipe}, 16)));
}

BOOST_AUTO_TEST_CASE(little_work_is_left_to_the_cpu_and_much_to_a_gpu_if_there_is_one) {
  const reference::Scratch folder;
  const std::vector<std::string> set{folder.path("set.ms")};
  std::filesystem::create_directories(set[0]);
  Tool tool("test", "choice");
  tool.common().device = "auto";
  tool.common().threads = 2;
  BOOST_TEST((imaging::choose_device(tool, {set}).kind == Device::Kind::cpu));
  const bool has_gpu = cuda_device_count() > 0;
  BOOST_TEST((imaging::choose_device(tool, {set, 1e12}).kind == Device::Kind::cuda) == has_gpu);
  tool.common().device = "cpu";
  BOOST_TEST((imaging::choose_device(tool, {set, 1e12}).kind == Device::Kind::cpu));
  if (!has_gpu) return;
  tool.common().device = "cuda";  // who names it gets it
  BOOST_TEST((imaging::choose_device(tool, {set}).kind == Device::Kind::cuda));
}

BOOST_AUTO_TEST_SUITE_END()
