# A room is one folder in include/attune and lib with the same name; each becomes
# one static library AttuneNAME, and its tests one program AttuneNAMETests.

set(ATTUNE_INCLUDES ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)

# What every target shares: LLVM's headers, and no exceptions outside tools/ and python/.
add_library(attune_options INTERFACE)
target_include_directories(attune_options INTERFACE ${ATTUNE_INCLUDES})
target_include_directories(attune_options SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_options(attune_options INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:ATTUNE_EXCEPTIONS>>>>:-fno-exceptions>
  -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Wno-deprecated-declarations -fvisibility-inlines-hidden)
separate_arguments(ATTUNE_LLVM_DEFS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(attune_options INTERFACE
  __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS _GNU_SOURCE)

# One precompiled header for all rooms that include MLIR.
file(WRITE ${CMAKE_BINARY_DIR}/attune_pch.cpp "")
add_library(attune_mlir_pch OBJECT ${CMAKE_BINARY_DIR}/attune_pch.cpp)
target_link_libraries(attune_mlir_pch PUBLIC attune_options)
set(ATTUNE_PCH_HEADERS
  <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/Linalg/IR/Linalg.h>
  <mlir/Dialect/Transform/IR/TransformOps.h> <mlir/Pass/PassManager.h>
  <llvm/Support/JSON.h> <llvm/ADT/StringMap.h> <string> <vector> <memory> <optional>)
target_precompile_headers(attune_mlir_pch PRIVATE ${ATTUNE_PCH_HEADERS})

# attune_room(NAME [MLIR] [LINK libs...] [DEPENDS targets...])
function(attune_room NAME)
  cmake_parse_arguments(R "MLIR" "" "LINK;DEPENDS" ${ARGN})
  file(GLOB SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp
       ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
  if(NOT SOURCES)
    return() # an empty folder stops nobody
  endif()
  add_library(Attune${NAME} STATIC ${SOURCES})
  target_link_libraries(Attune${NAME} PUBLIC attune_options ${R_LINK})
  if(R_MLIR)
    target_link_libraries(Attune${NAME} PUBLIC MLIR LLVM)
    target_precompile_headers(Attune${NAME} REUSE_FROM attune_mlir_pch)
    if(TARGET AttuneTableGen)
      add_dependencies(Attune${NAME} AttuneTableGen)
    endif()
  else()
    target_link_libraries(Attune${NAME} PUBLIC LLVM)
  endif()
  if(R_DEPENDS)
    add_dependencies(Attune${NAME} ${R_DEPENDS})
  endif()
endfunction()

# attune_unittest(NAME [MLIR] [LINK libs...]): all *.cpp of the folder, one GoogleTest program.
function(attune_unittest NAME)
  cmake_parse_arguments(R "MLIR" "" "LINK" ${ARGN})
  file(GLOB SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT SOURCES)
    return() # an empty folder stops nobody
  endif()
  add_executable(Attune${NAME}Tests ${SOURCES})
  target_link_libraries(Attune${NAME}Tests PRIVATE Attune${NAME} ${R_LINK}
    GTest::gtest_main GTest::gmock)
  target_include_directories(Attune${NAME}Tests PRIVATE ${CMAKE_SOURCE_DIR}/unittests)
  target_compile_definitions(Attune${NAME}Tests PRIVATE
    ATTUNE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" ATTUNE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  if(R_MLIR)
    target_precompile_headers(Attune${NAME}Tests REUSE_FROM attune_mlir_pch)
    # CMake compiles programs with -fPIE, and clang wants the same here as in the
    # precompiled header.
    target_compile_options(Attune${NAME}Tests PRIVATE -fPIC)
  endif()
  add_test(NAME unit.${NAME} COMMAND Attune${NAME}Tests)
  set_tests_properties(unit.${NAME} PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
