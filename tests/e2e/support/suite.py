# SPDX-License-Identifier: Apache-2.0
"""Runs the suites named as arguments as `python3 -m unittest -v` does. Exit code 77 where all that was to be tested has
been skipped, which ctest would else show as passed."""
from __future__ import annotations

import sys
import unittest

ALL_SKIPPED = 77


def exit_code(result: unittest.TestResult) -> int:
    if not result.wasSuccessful():
        return 1
    skipped = [test for test, _ in result.skipped if not isinstance(test, unittest.case._SubTest)]  # noqa: SLF001
    return ALL_SKIPPED if skipped and len(skipped) >= result.testsRun else 0


if __name__ == "__main__":
    sys.exit(exit_code(unittest.main(module=None, verbosity=2, exit=False).result))
