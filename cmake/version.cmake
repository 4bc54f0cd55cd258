# The git hash is read at build time, not at configure time, so that --version never lies after a commit.
string(REPLACE ";" " " cuda_archs "${CMAKE_CUDA_ARCHITECTURES}")
if(NOT APSYN_HAVE_CUDA)
  set(cuda_archs none)
endif()
set(version_dir ${CMAKE_BINARY_DIR}/generated)
add_custom_target(apsyn_version_source
  COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${CMAKE_SOURCE_DIR} -DOUT=${version_dir}/version.cpp
          -DVERSION=${PROJECT_VERSION} "-DARCHS=${cuda_archs}" -P ${CMAKE_SOURCE_DIR}/cmake/write-version.cmake
  BYPRODUCTS ${version_dir}/version.cpp VERBATIM)
add_library(apsyn_version STATIC ${version_dir}/version.cpp)
add_dependencies(apsyn_version apsyn_version_source)
