# docs/dialect.md is written by mlir-tblgen from the .td files. `./dev docs` brings
# it up to date; a test fails when somebody changed a .td file and forgot.
#
# As a script (cmake -P): joins the parts, -DOPS=... -DTRANSFORMS=... -DOUTPUT=...
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${OPS} ops)
  file(READ ${TRANSFORMS} transforms)
  string(REPLACE "[TOC]\n\n" "" ops "${ops}")
  string(REGEX REPLACE "^<!--[^\n]*\n+" "" ops "${ops}")
  string(REGEX REPLACE "^<!--[^\n]*\n+" "" transforms "${transforms}")
  set(head "<!-- Written by ./dev docs from include/attune/Dialect/*.td; change those. -->\n\n")
  set(text "${head}${ops}\n## Transform operations\n\n${transforms}")
  string(REGEX REPLACE "\n\n\n+" "\n\n" text "${text}")
  string(STRIP "${text}" text)
  file(WRITE ${OUTPUT} "${text}\n")
  return()
endif()

set(folder ${CMAKE_BINARY_DIR}/docs)
file(MAKE_DIRECTORY ${folder})
set(sources ${CMAKE_SOURCE_DIR}/include/attune/Dialect)
set(tblgen ${LLVM_TOOLS_BINARY_DIR}/mlir-tblgen)
set(includes -I ${CMAKE_SOURCE_DIR}/include)
foreach(path ${MLIR_INCLUDE_DIRS})
  list(APPEND includes -I ${path})
endforeach()
file(GLOB definitions CONFIGURE_DEPENDS ${sources}/*.td)
add_custom_command(OUTPUT ${folder}/dialect.md
  COMMAND ${tblgen} -gen-dialect-doc -dialect=attune ${includes} ${sources}/AttuneOps.td -o ${folder}/ops.md
  COMMAND ${tblgen} -gen-op-doc ${includes} ${sources}/AttuneTransformOps.td -o ${folder}/transforms.md
  COMMAND ${CMAKE_COMMAND} -DOPS=${folder}/ops.md -DTRANSFORMS=${folder}/transforms.md
    -DOUTPUT=${folder}/dialect.md -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${definitions} ${CMAKE_CURRENT_LIST_FILE})
add_custom_target(attune-docs ALL DEPENDS ${folder}/dialect.md)
# docs/reliability.md is written from the tests (unittests/Faults.h).
set(reliability ${CMAKE_SOURCE_DIR}/.venv/bin/python ${CMAKE_SOURCE_DIR}/tools/dev/reliability.py
  --build=${CMAKE_BINARY_DIR})
# What ./dev docs does, when everything is built.
add_custom_target(attune-update-docs DEPENDS ${folder}/dialect.md
  COMMAND ${CMAKE_COMMAND} -E copy ${folder}/dialect.md ${CMAKE_SOURCE_DIR}/docs/dialect.md
  COMMAND ${reliability})
if(BUILD_TESTING)
  add_test(NAME docs.dialect
    COMMAND ${CMAKE_COMMAND} -E compare_files ${folder}/dialect.md ${CMAKE_SOURCE_DIR}/docs/dialect.md)
  add_test(NAME docs.reliability COMMAND ${reliability} --check)
  set_tests_properties(docs.reliability PROPERTIES TIMEOUT 60)
endif()
