// SPDX-License-Identifier: GPL-3.0-or-later
// corr with CUDA against the sums of its definition in float64.
#include "kernels/correlate/pair_sums_cuda.h"
#include "kernels/epic/corr_cuda.h"
#include "tests/reference/test_device.h"
#include "tests/support/epic_comparison.h"

using apsyn::reference::NeedsGpu;
BOOST_TEST_GLOBAL_FIXTURE(NeedsGpu);

namespace apsyn::test {
namespace {

std::unique_ptr<DeviceImager> imager(EpicPlan plan, PairForm form) {
  return make_corr_imager_cuda(std::move(plan), make_device_pair_sums, 0, form);
}

const Method kExact[] = {
    {"corr, cuda, directly", [](EpicPlan plan) { return imager(std::move(plan), PairForm::direct); }, true},
    {"corr, cuda, on a grid", [](EpicPlan plan) { return imager(std::move(plan), PairForm::grid); }, true,
     true}};

#ifdef APSYN_CUDA
const DeviceMethod kDevice[] = {
    {"corr directly", [](EpicPlan plan) { return imager(std::move(plan), PairForm::direct); }, 3e-5},
    {"corr on a grid", [](EpicPlan plan) { return imager(std::move(plan), PairForm::grid); }, 3e-5}};
#endif

}  // namespace
}  // namespace apsyn::test

#include "tests/support/epic_exact_cases.h"
#ifdef APSYN_CUDA
#include "tests/support/epic_resident_cases.h"
#endif
