// SPDX-License-Identifier: GPL-3.0-or-later
// dft and corr of the CPU against the sums of their definition in float64.
#include "kernels/epic/pair_imager.h"
#include "tests/support/epic_comparison.h"

namespace apsyn::test {
namespace {

const Method kExact[] = {
    {"dft", make_dft_imager},
    {"corr", [](EpicPlan plan) { return make_corr_imager(std::move(plan)); }},
    {"corr, direct", [](EpicPlan plan) { return make_corr_imager(std::move(plan), PairForm::direct); }},
    {"corr, grid", [](EpicPlan plan) { return make_corr_imager(std::move(plan), PairForm::grid); },
     multiplies_codes(), true}};

}  // namespace
}  // namespace apsyn::test

#include "tests/support/epic_exact_cases.h"
