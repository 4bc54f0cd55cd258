# Read by cpack: the package's version counts the commits, so that a later one is newer to apt, and names the last.
foreach(part "rev-list;--count;HEAD" "describe;--always;--dirty=.dirty;--abbrev=10")
  execute_process(COMMAND git -C ${CPACK_APSYN_SOURCE} ${part}
                  OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND answers "${answer}")
endforeach()
list(GET answers 0 count)
list(GET answers 1 hash)
if(count AND hash)
  set(CPACK_DEBIAN_PACKAGE_VERSION "${CPACK_PACKAGE_VERSION}+${count}.g${hash}")
endif()
