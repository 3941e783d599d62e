# What an installed Attune has besides its programs: the installed tree works from
# any folder, so nothing in it names another path of its own.
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE
  ${CMAKE_SOURCE_DIR}/NOTICE ${CMAKE_SOURCE_DIR}/CHANGELOG.md
  DESTINATION share/doc/attune)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION share/doc/attune/docs
  FILES_MATCHING PATTERN "*.md")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples/ DESTINATION share/attune/examples
  FILES_MATCHING PATTERN "*.mlir" PATTERN "*.npy" REGEX "/command/[^/]*$")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tools/search/ DESTINATION share/attune/search
  FILES_MATCHING PATTERN "*.py")
