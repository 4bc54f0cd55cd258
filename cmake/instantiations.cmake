# Templates of kernels that take long to compile: each instance has a source file of its own, which is made here, so that
# they are compiled beside each other. apsyn_instantiate(NAME HEADER NAMESPACE SIGNATURE CALL) makes
# NAMESPACE/NAME.cu with `void SIGNATURE { CALL; }`.
function(apsyn_instantiate name header namespace signature call)
  set(source ${CMAKE_BINARY_DIR}/generated/instantiations/${namespace}/${name}.cu)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/instantiation.cu.in ${source} @ONLY)
  target_sources(apsyn_kernels PRIVATE ${source})
endfunction()

# The last radix of the fused transform of direct imaging.
foreach(radix 3 4 5 8)
  apsyn_instantiate(fused_${radix} kernels/epic/fft/cuda/fused/launch.cuh epic_fft
    "launch_last_${radix}(const FusedTask& task, int n_value, cudaStream_t stream)"
    "launch_values<${radix}>(task, n_value, stream)")
endforeach()
# The steps along y of its transform by products of matrices.
foreach(steps 1 2 3)
  apsyn_instantiate(images_${steps} kernels/epic/fft/cuda/matrix/images.cuh epic_fft
    "launch_image_grids_${steps}(const ImageGridsTask& task, const MatrixSize& size, cudaStream_t stream)"
    "launch_steps_y<${steps}>(task, size, stream)")
endforeach()
# The number of taps of the F stage's filterbank, for complex and for real samples.
foreach(taps 1 4)
  apsyn_instantiate(fused_complex_${taps} kernels/channelise/cuda/fused/launch.cuh f_stage
    "launch_fused_complex_${taps}(const FusedLaunch& launch)" "launch_length<${taps}, false>(launch)")
  apsyn_instantiate(fused_real_${taps} kernels/channelise/cuda/fused/launch.cuh f_stage
    "launch_fused_real_${taps}(const FusedLaunch& launch)" "launch_length<${taps}, true>(launch)")
  apsyn_instantiate(mma_${taps} kernels/channelise/cuda/mma/launch.cuh f_stage
    "launch_mma_${taps}(const FusedLaunch& launch)" "launch_mma_length<${taps}>(launch)")
endforeach()
# The length of its long transforms.
foreach(length 256 512 1024 2048 4096 8192 16384)
  apsyn_instantiate(long_${length} kernels/channelise/cuda/long/launch.cuh f_stage
    "launch_long_${length}(const LongLaunch& launch)" "launch_long_length<${length}>(launch)")
endforeach()
# What is detected of beams.
foreach(product coherence quadratic voltage)
  apsyn_instantiate(${product} kernels/common/cuda/beams/kernel.cuh beam_products
    "launch_${product}(const Task& task, int n_sm, cudaStream_t stream)"
    "launch_product<Product::${product}>(task, n_sm, stream)")
endforeach()
apsyn_instantiate(power_single kernels/common/cuda/beams/kernel.cuh beam_products
  "launch_power_single(const Task& task, int n_sm, cudaStream_t stream)"
  "launch_groups<Product::power, 1, false>(task, n_sm, stream)")
apsyn_instantiate(power_own kernels/common/cuda/beams/kernel.cuh beam_products
  "launch_power_own(const Task& task, int n_sm, cudaStream_t stream)"
  "launch_groups<Product::power, 2, true>(task, n_sm, stream)")
apsyn_instantiate(power_shared kernels/common/cuda/beams/kernel.cuh beam_products
  "launch_power_shared(const Task& task, int n_sm, cudaStream_t stream)"
  "launch_groups<Product::power, 2, false>(task, n_sm, stream)")
