# Read by cpack: the package's version counts the commits, so that a later one is newer to apt, and names the last. Where
# git gives no answer (no clone, or another user's), it is the plain version.
execute_process(COMMAND git -C ${CPACK_APSYN_SOURCE} rev-list --count HEAD
                OUTPUT_VARIABLE count OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${CPACK_APSYN_SOURCE} rev-parse --short=10 HEAD
                OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(count MATCHES "^[0-9]+$" AND hash MATCHES "^[0-9a-f]+$")
  set(CPACK_DEBIAN_PACKAGE_VERSION "${CPACK_PACKAGE_VERSION}+${count}.g${hash}")
  execute_process(COMMAND git -C ${CPACK_APSYN_SOURCE} diff --quiet HEAD RESULT_VARIABLE changed ERROR_QUIET)
  if(NOT changed EQUAL 0)
    string(APPEND CPACK_DEBIAN_PACKAGE_VERSION ".dirty")
  endif()
endif()
