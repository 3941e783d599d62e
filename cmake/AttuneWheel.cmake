# A wheel of what another build folder made (pyproject.toml): nothing is compiled.
get_filename_component(ATTUNE_BUILT ${ATTUNE_BUILT} ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
if(NOT EXISTS ${ATTUNE_BUILT}/cmake_install.cmake)
  message(FATAL_ERROR "ATTUNE_BUILT=${ATTUNE_BUILT} is no build folder of Attune")
endif()
install(CODE "
  set(package \"\${CMAKE_INSTALL_PREFIX}\")
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${ATTUNE_BUILT} --prefix \${package}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  # An installed tree has the Python package in it; in a wheel it is around it.
  file(GLOB modules \${package}/lib/attune/python/_attune*)
  if(NOT modules)
    message(FATAL_ERROR \"${ATTUNE_BUILT} has no Python modules; was nanobind there (./dev setup)?\")
  endif()
  file(COPY \${modules} DESTINATION \${package}/..)
  file(REMOVE_RECURSE \${package}/lib/attune/python)
")
