# Headers that most sources include, compiled once: a cold build then takes two thirds of its time. A compiler cache
# cannot look into them and would miss every object.
set(APSYN_PRECOMPILE AUTO CACHE STRING "Precompile common headers: ON, OFF, or AUTO (where there is no ccache)")
if(APSYN_PRECOMPILE STREQUAL "ON" OR (APSYN_PRECOMPILE STREQUAL "AUTO" AND NOT CCACHE))
  set(APSYN_PRECOMPILES ON)
  # GCC 12 no longer knows then that std::string is a system's header, and warns of what it cannot prove there.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds>)
endif()
set(precompiled_headers
  <algorithm> <array> <atomic> <chrono> <cmath> <complex> <condition_variable> <cstdint> <cstring> <deque> <filesystem>
  <functional> <map> <memory> <mutex> <numeric> <optional> <span> <string> <thread> <tuple> <utility> <vector>
  <fmt/format.h>)

# Of `owner` they are compiled, with more if more are named; the others, with the same options, take its.
function(apsyn_precompile owner)
  if(APSYN_PRECOMPILES)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;REUSED_BY")
    target_precompile_headers(${owner} PRIVATE ${precompiled_headers} ${arg_HEADERS})
    foreach(target ${arg_REUSED_BY})
      target_precompile_headers(${target} REUSE_FROM ${owner})
    endforeach()
  endif()
endfunction()
