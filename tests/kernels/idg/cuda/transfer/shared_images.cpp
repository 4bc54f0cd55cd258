// SPDX-License-Identifier: GPL-3.0-or-later
// Images that another process's GPU holds, or the same GPU, are added to the own: what the host adds, to
// the rounding of float64. The other process is this program again, which inherits two pipes as its standard
// input and output.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <string>

#include "libcore/system/device.h"
#include "tests/support/array_rows.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(shared_images)

namespace {

constexpr std::size_t kImages = 1000;  // of 8 MB: as large as memory is that can be shared

Device gpu(int index) {
  return {Device::Kind::cuda, index, "cuda:" + std::to_string(index)};
}

/// With the images of half of the rows, `part`.
std::unique_ptr<Gridder> gridded(const Device& device, std::size_t part, std::size_t n_pixels = kImages) {
  const ArrayRows d = observe_array(12, 40, 8);
  const std::size_t n_row = d.uvw_m.extent(0);
  const auto data = noise_for(d);
  const IdgPlan plan = make_idg_plan({n_pixels, n_pixels, 1e-4}, {.kernel_padding = 12}, longest_w(d), 1e5);
  auto gridder = make_gridder(device, plan, {.n_threads = 2});
  GridBlock block = d.block(false);
  block.data = data;
  gridder->begin_pass({0, plan.n_layers});
  gridder->grid(rows_of(block, part * (n_row / 2), n_row / 2));
  gridder->end_pass();
  return gridder;
}

void write_all(int file, const void* bytes, std::size_t n) {
  BOOST_REQUIRE_EQUAL(write(file, bytes, n), static_cast<ssize_t>(n));
}
void read_all(int file, void* bytes, std::size_t n) {
  for (std::size_t done = 0; done < n;) {
    const ssize_t more = read(file, static_cast<char*>(bytes) + done, n - done);
    BOOST_REQUIRE_GT(more, 0);
    done += static_cast<std::size_t>(more);
  }
}

/// This program, which runs nothing but the test case `the_other_process_lends_its_images`.
struct Other {
  int to = -1, from = -1;
  pid_t pid = 0;
  explicit Other(int device) {
    int in[2], out[2];
    BOOST_REQUIRE(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], 0);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    setenv("APSYN_TEST_OTHER", std::to_string(device).c_str(), 1);
    char name[] = "shared_images", what[] = "--run_test=shared_images/the_other_process_lends_its_images",
         log[] = "--log_sink=stderr", report[] = "--report_sink=stderr";
    char* arguments[] = {name, what, log, report, nullptr};
    BOOST_REQUIRE_EQUAL(posix_spawn(&pid, "/proc/self/exe", &files, nullptr, arguments, environ), 0);
    unsetenv("APSYN_TEST_OTHER");
    posix_spawn_file_actions_destroy(&files);
    close(in[0]);
    close(out[1]);
    to = in[1];
    from = out[0];
  }
  std::vector<std::byte> handle() {
    std::uint64_t size = 0;
    read_all(from, &size, sizeof size);
    std::vector<std::byte> bytes(size);
    read_all(from, bytes.data(), size);
    return bytes;
  }
  /// It may end now; its exit status.
  int end() {
    close(to);
    int status = -1;
    waitpid(pid, &status, 0);
    close(from);
    return status;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_other_process_lends_its_images) {
  const char* device = std::getenv("APSYN_TEST_OTHER");
  if (device == nullptr) return;  // it is the other that has this to do
  const auto gridder = gridded(gpu(std::atoi(device)), 1);
  const std::vector<std::byte> handle = gridder->images_handle();
  const std::uint64_t size = handle.size();
  write_all(1, &size, sizeof size);
  write_all(1, handle.data(), size);
  char byte;
  BOOST_CHECK_EQUAL(read(0, &byte, 1), 0);  // until the images have been added
}

BOOST_AUTO_TEST_CASE(another_processs_images_are_added) {
  if (std::getenv("APSYN_TEST_OTHER") != nullptr) return;
  const auto first = gridded(gpu(0), 0)->take_images(), second = gridded(gpu(0), 1)->take_images();
  for (int device = 0; device < std::min(4, cuda_device_count()); ++device) {
    Other other(device);
    const std::vector<std::byte> handle = other.handle();
    BOOST_REQUIRE_GT(handle.size(), 0u);
    const auto gridder = gridded(gpu(0), 0);
    // Not of one's own process, not what is none, not of images of another size.
    BOOST_CHECK(!gridder->add_images(gridder->images_handle()));
    BOOST_CHECK(!gridder->add_images(std::vector<std::byte>(handle.size())));
    BOOST_CHECK(!gridder->add_images({}));
    BOOST_CHECK(!gridded(gpu(0), 0, kImages + 2)->add_images(handle));
    BOOST_REQUIRE(gridder->add_images(handle));
    BOOST_CHECK_EQUAL(other.end(), 0);
    const auto sum = gridder->take_images();
    double power = 0, error = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const double want = first.data()[i] + second.data()[i];
      power += want * want;
      error += (sum.data()[i] - want) * (sum.data()[i] - want);
    }
    BOOST_CHECK_GT(power, 0);
    // The taper is divided out before or after.
    BOOST_TEST_MESSAGE("cuda:" << device << ": " << std::sqrt(error / power));
    BOOST_CHECK_LE(std::sqrt(error), 1e-15 * std::sqrt(power));  // measured: 1e-16
  }
}

BOOST_AUTO_TEST_CASE(small_images_go_through_the_host) {
  if (std::getenv("APSYN_TEST_OTHER") != nullptr) return;
  BOOST_CHECK(gridded(gpu(0), 0, 100)->images_handle().empty());
}

BOOST_AUTO_TEST_SUITE_END()
