// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace apsyn {

/// Makes a GPU ready, which its first use would do otherwise: a fifth of a second. Errors are left to that
/// use.
void start_cuda_device(int index);

}  // namespace apsyn
