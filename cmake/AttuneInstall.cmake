# What an installed Attune has besides its programs: the installed tree works from
# any folder, so nothing in it names another path of its own.
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE
  ${CMAKE_SOURCE_DIR}/NOTICE ${CMAKE_SOURCE_DIR}/CHANGELOG.md
  DESTINATION share/doc/attune)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION share/doc/attune/docs
  FILES_MATCHING PATTERN "*.md")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples/ DESTINATION share/attune/examples
  FILES_MATCHING PATTERN "*.mlir" PATTERN "*.npy" PATTERN "search_client.py" REGEX "/(command|harness)/[^/]*$")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tools/search/ DESTINATION share/attune/search
  FILES_MATCHING PATTERN "*.py")

# find_package(Attune) for programs in C++ that use the harness: headers, the rooms
# it stands on, and how to link them.
set(ATTUNE_INSTALLED_ROOMS Harness Backend Spec Database Measure Codegen SpaceFromSchedule Schedule
  Search Space Dispatch Import Dialect Support)
list(TRANSFORM ATTUNE_INSTALLED_ROOMS PREPEND Attune OUTPUT_VARIABLE installed_targets)
install(TARGETS ${installed_targets} ARCHIVE DESTINATION lib/attune)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/attune ${CMAKE_BINARY_DIR}/include/attune
  DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
include(CMakePackageConfigHelpers)
configure_file(${CMAKE_SOURCE_DIR}/cmake/AttuneConfig.cmake.in ${CMAKE_BINARY_DIR}/AttuneConfig.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/AttuneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/AttuneConfig.cmake ${CMAKE_BINARY_DIR}/AttuneConfigVersion.cmake
  DESTINATION lib/cmake/Attune)
