# SPDX-License-Identifier: Apache-2.0
# Every library that nbackup uses, found once. Debian's packages are the only source, as they are or, for libssh, built
# with our patches.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(CURL REQUIRED libcurl)  # its headers; the library is loaded when needed
include(NbLibssh)
pkg_check_modules(SQLITE3 REQUIRED IMPORTED_TARGET sqlite3)
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLiteCpp REQUIRED)
if(BUILD_TESTING)
  find_package(Catch2 2.13 REQUIRED)
endif()
