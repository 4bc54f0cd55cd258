// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace apsyn {

/// Makes a GPU ready, which its first use would do otherwise: a fifth of a second. Errors are left to that
/// use.
void start_cuda_device(int index);

/// Gives back all that this process has of a GPU, which its end would do otherwise: a tenth of a second.
/// Nothing that is on the GPU may be left, or be used any more.
void end_cuda_device(int index);

}  // namespace apsyn
