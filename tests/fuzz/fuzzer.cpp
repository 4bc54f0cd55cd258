// SPDX-License-Identifier: GPL-3.0-or-later
// libFuzzer on one of the targets, which APSYN_FUZZ_TARGET names:
//   APSYN_FUZZ_TARGET=vdif build/fuzz/tests/fuzz-parsers -max_total_time=60 NEW tests/fuzz/cases/vdif
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t n) {
  static const apsyn::fuzz::Target* const target = [] {
    const char* name = std::getenv("APSYN_FUZZ_TARGET");
    const apsyn::fuzz::Target* found = name != nullptr ? apsyn::fuzz::find_target(name) : nullptr;
    if (found == nullptr) {
      std::fputs("APSYN_FUZZ_TARGET: name one of the folders of tests/fuzz/cases\n", stderr);
      std::exit(2);
    }
    return found;
  }();
  target->run({reinterpret_cast<const char*>(bytes), n});
  return 0;
}
