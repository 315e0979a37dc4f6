# Build rules of the project: one static library a folder, tests and benchmarks beside their sources.
#
#   di_library(NAME SOURCES ... DEPS ...)          static library deepinfer_NAME, explicit sources and dependencies
#   di_test(NAME SOURCES ... DEPS ... [LABELS ...]) gtest program; every case becomes its own ctest entry, or none with
#                                                  NAMED_ONLY (cases share loaded models; di_named_test makes the entries)
#   di_named_test(CTEST_NAME PROGRAM FILTER)       extra ctest entry of a fixed name over cases of a di_test program
#   di_bench(NAME SOURCES ... DEPS ...)            google-benchmark program, built on demand (target "benches")

add_library(deepinfer_flags INTERFACE)
target_compile_features(deepinfer_flags INTERFACE cxx_std_20)
target_include_directories(deepinfer_flags INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
# numerics.md: no contraction by the compiler, no fast-math; fma is written where it is meant.
target_compile_options(deepinfer_flags INTERFACE -ffp-contract=off -fno-math-errno
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wcast-qual -Wnon-virtual-dtor
  -Woverloaded-virtual -Wdouble-promotion -Wimplicit-fallthrough -Wformat=2 -Wundef)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(deepinfer_flags INTERFACE -Wno-missing-field-initializers)
endif()
if(DEEPINFER_WERROR)
  target_compile_options(deepinfer_flags INTERFACE -Werror)
endif()
if(DEEPINFER_TESTING)
  target_compile_definitions(deepinfer_flags INTERFACE DEEPINFER_TESTING=1)
endif()
if(DEEPINFER_SANITIZE)
  target_compile_options(deepinfer_flags INTERFACE -fsanitize=${DEEPINFER_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(deepinfer_flags INTERFACE -fsanitize=${DEEPINFER_SANITIZE})
  if(DEEPINFER_SANITIZE MATCHES "undefined")
    target_compile_options(deepinfer_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()

if(DEEPINFER_FUZZ)
  target_compile_options(deepinfer_flags INTERFACE -fsanitize=fuzzer-no-link)  # coverage feedback for libFuzzer
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

function(di_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(deepinfer_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(deepinfer_${name} PUBLIC deepinfer_flags ${ARG_DEPS})
endfunction()

function(di_test name)
  if(NOT DEEPINFER_TESTING)
    return()
  endif()
  cmake_parse_arguments(ARG "NAMED_ONLY" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE deepinfer_flags ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  # Source options, because a target's own options come before those of the flags it links.
  set_source_files_properties(${ARG_SOURCES} PROPERTIES COMPILE_OPTIONS
    "-Wno-conversion;-Wno-double-promotion;-Wno-shadow")
  target_compile_definitions(${name} PRIVATE DEEPINFER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_NAMED_ONLY)
    gtest_discover_tests(${name} PROPERTIES LABELS "${ARG_LABELS}" DISCOVERY_TIMEOUT 120)
  endif()
endfunction()

# di_named_test(CTEST_NAME PROGRAM FILTER): one ctest entry of a name that other documents fix, running the gtest cases of
# a di_test() program that match FILTER; it fails when none does.
function(di_named_test name program filter)
  if(NOT DEEPINFER_TESTING)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${program} --gtest_filter=${filter})
  set_tests_properties(${name} PROPERTIES LABELS unit FAIL_REGULAR_EXPRESSION "Running 0 tests")
endfunction()

add_custom_target(benches)
function(di_bench name)
  if(NOT DEEPINFER_TESTING)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE deepinfer_flags ${ARG_DEPS} benchmark::benchmark benchmark::benchmark_main)
  set_source_files_properties(${ARG_SOURCES} PROPERTIES COMPILE_OPTIONS "-Wno-conversion;-Wno-double-promotion")
  add_dependencies(benches ${name})
endfunction()

# di_fuzz(NAME SOURCES ... DEPS ...): libFuzzer target, with -DDEEPINFER_FUZZ=ON (clang) only; target "fuzzers" = all.
add_custom_target(fuzzers)
function(di_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(DEEPINFER_FUZZ)
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE deepinfer_flags ${ARG_DEPS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name})
  endif()
endfunction()
