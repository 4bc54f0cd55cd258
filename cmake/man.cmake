# Man pages are written in scdoc; completions come from the tools' own --help, so they cannot drift.
include(GNUInstallDirs)
find_program(SCDOC scdoc REQUIRED)
file(GLOB man_sources CONFIGURE_DEPENDS man/*.scd)
foreach(source ${man_sources})
  get_filename_component(page ${source} NAME_WLE)
  string(REGEX MATCH "[157]$" section ${page})
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/${page} DEPENDS ${source}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
    COMMAND ${SCDOC} < ${source} > ${CMAKE_BINARY_DIR}/man/${page})
  list(APPEND man_pages ${CMAKE_BINARY_DIR}/man/${page})
  install(FILES ${CMAKE_BINARY_DIR}/man/${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
add_custom_target(man ALL DEPENDS ${man_pages})
