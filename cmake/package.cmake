# cpack: a Debian package of the tools, their man pages and completions. Libraries that it needs are found by
# dpkg-shlibdeps; casacore's leap seconds and the font of figures are data.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME apsyn)
set(CPACK_PACKAGE_CONTACT "apsyn maintainers <maintainers@apsyn.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_APSYN_SOURCE ${CMAKE_SOURCE_DIR})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/cmake/package-version.cmake)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "casacore-data-tai-utc, fonts-dejavu-core")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "${PROJECT_DESCRIPTION}
 Correlates, beamforms and images what the antennas of an aperture-synthesis
 radio telescope record: small command line tools that talk through files and
 pipes.")
include(CPack)
