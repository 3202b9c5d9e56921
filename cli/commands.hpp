// SPDX-License-Identifier: Apache-2.0
// The commands: each takes its settings and returns the process's exit code, having said on standard output or error
// what there is to say.
#pragma once

#include "base/clock.hpp"
#include "cli/settings.hpp"

namespace nb::cli {

int run_init(const Settings& settings, Clock& clock);
int run_push(const Settings& settings, Clock& clock);
int run_pull(const Settings& settings, Clock& clock);
int run_restore(const Settings& settings, Clock& clock);
int run_verify(const Settings& settings, Clock& clock);
int run_serve(const Settings& settings, Clock& clock);
int run_recover(const Settings& settings, Clock& clock);
int run_status(const Settings& settings, Clock& clock);
int run_cache(const Settings& settings, Clock& clock);
int run_bench(const Settings& settings, Clock& clock);
int run_doctor(const Settings& settings, Clock& clock);
int run_deploy(const Settings& settings, Clock& clock);
int run_drill(const Settings& settings, Clock& clock);

// generations, ls, cat, diff, rollback (cli/host_command.hpp).
int run_host_command(const Settings& settings, Clock& clock);

int run_command(const Settings& settings, Clock& clock);

}  // namespace nb::cli
