# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end suites share: a private sshd, a tree walker, tree generators, loop mounts, runners."""
