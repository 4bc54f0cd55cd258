// SPDX-License-Identifier: GPL-3.0-or-later
// Functions that CUDA kernels and host code share.
#pragma once

#ifdef __CUDACC__
#define APSYN_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define APSYN_HOST_DEVICE inline
#endif
