// SPDX-License-Identifier: GPL-3.0-or-later
// Stored malformed inputs, and good ones cut at every byte of their headers, through every parser: each ends
// with an error of ours or with data, within a second of processor time, and memory stays bounded. Usage:
// fuzz-replay CASES [TARGET].
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "libcore/system/device.h"
#include "tests/fuzz/targets.h"

namespace fs = std::filesystem;
using apsyn::fuzz::Target;

namespace {

// clang tells of sanitizers by other means, and builds the fuzzers with them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr double kMax_s = kSanitized ? 20 : 1;  // of the processor: a busy machine fails nothing
constexpr std::size_t kMaxBytes = 512u << 20;   // sanitizers keep what was freed
constexpr std::size_t kHeaderBytes = 6000;      // of the good ones, longer than what readers decide by
constexpr std::size_t kMinCases = 200;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Tally {
  std::size_t n_cases = 0, n_cuts = 0;
  double longest_s = 0;
  std::vector<std::string> failures;
};

bool run_case(const Target& target, const std::string& bytes, const std::string& name, Tally& tally) {
  bool good = false;
  const std::clock_t begin = std::clock();
  try {
    good = target.run(bytes);
  } catch (const std::exception& error) {
    tally.failures.push_back(fmt::format("{}: {}", name, error.what()));
  }
  const double took_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (took_s > kMax_s) tally.failures.push_back(fmt::format("{}: took {:.2f} s", name, took_s));
  tally.longest_s = std::max(tally.longest_s, took_s);
  return good;
}

/// Good inputs are named good*; the others are malformed.
void run_target(const Target& target, const fs::path& folder, Tally& tally) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::size_t n_good = 0;
  for (const fs::path& file : files) {
    const std::string bytes = bytes_of(file);
    const bool good = run_case(target, bytes, file.string(), tally);
    ++tally.n_cases;
    if (!file.filename().string().starts_with("good")) continue;
    if (!good) tally.failures.push_back(fmt::format("{}: is refused", file.string()));
    ++n_good;
    for (std::size_t cut = 0; cut < std::min(bytes.size(), kHeaderBytes); ++cut, ++tally.n_cuts)
      run_case(target, bytes.substr(0, cut), fmt::format("{} cut at {}", file.string(), cut), tally);
  }
  if (n_good == 0) tally.failures.push_back(fmt::format("{}: no good input to cut", folder.string()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: fuzz-replay CASES [TARGET]\n", stderr);
    return 2;
  }
  Tally tally;
  for (const Target& target : apsyn::fuzz::targets())
    if (argc < 3 || target.name == argv[2]) run_target(target, fs::path(argv[1]) / target.name, tally);
  if (argc < 3 && tally.n_cases < kMinCases)
    tally.failures.push_back(fmt::format("{} cases: {} are wanted", tally.n_cases, kMinCases));
  if (!kSanitized && apsyn::peak_memory_bytes() > kMaxBytes)
    tally.failures.push_back(fmt::format("{} bytes of memory at most", apsyn::peak_memory_bytes()));
  fmt::print("{} cases, {} cuts, the longest {:.3f} s, {:.0f} MiB\n", tally.n_cases, tally.n_cuts,
             tally.longest_s, static_cast<double>(apsyn::peak_memory_bytes()) / (1 << 20));
  for (const std::string& failure : tally.failures) fmt::print(stderr, "{}\n", failure);
  return tally.failures.empty() ? 0 : 1;
}
