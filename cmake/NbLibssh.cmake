# SPDX-License-Identifier: Apache-2.0
# nb_libssh: the libssh to link with. Ours is what nssh/build-libssh makes: a static library with UMAC, cipher none and
# a larger channel window. With the system's everything else works, and `nbackup --version` says which it is.
set(NBACKUP_LIBSSH auto CACHE STRING "which libssh: nssh (ours), system, or auto (ours where there is one)")
set_property(CACHE NBACKUP_LIBSSH PROPERTY STRINGS auto system nssh)
set(NBACKUP_LIBSSH_PREFIX ${PROJECT_SOURCE_DIR}/build/libssh CACHE PATH "where nssh/build-libssh has put our libssh")

if(NOT NBACKUP_LIBSSH MATCHES "^(auto|system|nssh)$")
  message(FATAL_ERROR "NBACKUP_LIBSSH is '${NBACKUP_LIBSSH}'; it must be auto, system or nssh")
endif()

add_library(nb_libssh INTERFACE)
set(nb_libssh_archive ${NBACKUP_LIBSSH_PREFIX}/lib/libssh.a)
if(NBACKUP_LIBSSH STREQUAL "system" OR (NBACKUP_LIBSSH STREQUAL "auto" AND NOT EXISTS ${nb_libssh_archive}))
  pkg_check_modules(LIBSSH REQUIRED IMPORTED_TARGET libssh)
  target_link_libraries(nb_libssh INTERFACE PkgConfig::LIBSSH)
  message(STATUS "libssh: the system's, ${LIBSSH_VERSION}")
elseif(EXISTS ${nb_libssh_archive})
  find_package(ZLIB REQUIRED)
  # A target of its own: what a bare file name needs could be put before it, where --as-needed drops it.
  add_library(nb_libssh_archive STATIC IMPORTED GLOBAL)
  set_target_properties(nb_libssh_archive PROPERTIES IMPORTED_LOCATION ${nb_libssh_archive})
  target_link_libraries(nb_libssh_archive INTERFACE OpenSSL::Crypto ZLIB::ZLIB Threads::Threads)
  target_include_directories(nb_libssh SYSTEM INTERFACE ${NBACKUP_LIBSSH_PREFIX}/include)
  target_link_libraries(nb_libssh INTERFACE nb_libssh_archive)
  message(STATUS "libssh: ours, ${NBACKUP_LIBSSH_PREFIX}")
else()
  message(FATAL_ERROR "no ${nb_libssh_archive}: run nssh/build-libssh, or set NBACKUP_LIBSSH_PREFIX")
endif()
