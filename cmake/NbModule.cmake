# SPDX-License-Identifier: Apache-2.0
# nb_settings / nb_warnings: interface targets every target of ours links privately.
# nb_module(name SOURCES ... DEPS ...): one static library per folder.
# nb_unit_test(module SOURCES ... DEPS ...): one Catch2 program per module, tagged with its name.

option(NB_WERROR "treat warnings as errors" OFF)
option(NB_FAILPOINTS "compile the failpoints that the crash tests use" OFF)
set(NB_SANITIZE "" CACHE STRING "sanitizers, as for -fsanitize=")
option(NB_FUZZ "build the libFuzzer targets (clang)" OFF)

add_library(nb_settings INTERFACE)
target_compile_features(nb_settings INTERFACE cxx_std_20)
target_include_directories(nb_settings INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_compile_definitions(nb_settings INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64 NB_VERSION="${PROJECT_VERSION}")
if(NB_FAILPOINTS)
  target_compile_definitions(nb_settings INTERFACE NB_FAILPOINTS=1)
endif()
if(NB_SANITIZE)
  target_compile_options(nb_settings INTERFACE -fsanitize=${NB_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(nb_settings INTERFACE -fsanitize=${NB_SANITIZE})
  # GCC's name for it, which the tests ask for.
  if(NB_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_definitions(nb_settings INTERFACE __SANITIZE_THREAD__)
  endif()
  # Each start of a program relocates what AddressSanitizer knows of its variables, unless it lies at a fixed address:
  # the end-to-end tests start tens of thousands, and half of each start was that.
  if(NB_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_link_options(nb_settings INTERFACE -no-pie)
  endif()
endif()

add_library(nb_warnings INTERFACE)
target_compile_options(nb_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wold-style-cast)
if(NB_WERROR)
  target_compile_options(nb_warnings INTERFACE -Werror)
endif()

function(nb_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(nb_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(nb_${name} PUBLIC nb_settings ${ARG_DEPS} PRIVATE nb_warnings)
endfunction()

# With APART, a Catch2 tag, the tests that have it are a suite of their own, for another processor.
function(nb_unit_test module)
  cmake_parse_arguments(ARG "" "APART" "SOURCES;DEPS" ${ARGN})
  add_executable(unit_${module} ${ARG_SOURCES})
  target_link_libraries(unit_${module} PRIVATE nb_catch_main nb_settings nb_warnings ${ARG_DEPS})
  target_include_directories(unit_${module} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  set(suites unit.${module})
  if(ARG_APART)
    add_test(NAME unit.${module} COMMAND unit_${module} "~[${ARG_APART}]")
    add_test(NAME unit.${module}.${ARG_APART} COMMAND unit_${module} "[${ARG_APART}]")
    list(APPEND suites unit.${module}.${ARG_APART})
  else()
    add_test(NAME unit.${module} COMMAND unit_${module})
  endif()
  # Sanitizers make what simulates a disk at each of its operations 15 times slower.
  set(timeout_seconds 900)
  if(NB_SANITIZE)
    set(timeout_seconds 3600)
  endif()
  set_tests_properties(${suites} PROPERTIES TIMEOUT ${timeout_seconds})
endfunction()
