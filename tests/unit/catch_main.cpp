// SPDX-License-Identifier: Apache-2.0
// The one translation unit that pays for Catch2's main; every unit program links it.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
