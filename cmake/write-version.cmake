execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=10
                OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT hash)
  set(hash unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT [[
namespace apsyn {
const char* version() { return "@VERSION@"; }
const char* git_hash() { return "@hash@"; }
const char* cuda_architectures() { return "@ARCHS@"; }
}  // namespace apsyn
]] @ONLY)
