// SPDX-License-Identifier: Apache-2.0
#include "cli/deploy_script.hpp"

#include <fmt/format.h>

#include "cli/connect.hpp"
#include "ssh/quote.hpp"

namespace nb::cli {
namespace {

// $1: user or system. $far_path is where a later `nbackup serve` is looked for; PATH is that of the login. Facts are
// found as the user even for `system`: nothing of the user's is run as root.
constexpr std::string_view k_facts = R"sh(
LC_ALL=C
export LC_ALL
nl='
'
say() { printf '%s %s\n' "$1" "${2%%"$nl"*}"; }
version_of() { "$1" --version 2>/dev/null </dev/null; }
existing() { if [ -e "$1" ]; then printf '%s' "$1"; else existing "$(dirname "$1")"; fi; }
room() {
  set -- $(df -Pk "$(existing "$dir")" 2>/dev/null | tail -n 1)
  printf '%s' "${4-}"
}

echo nbackup-deploy 1
say machine "$(uname -m)"
say bits "$(getconf LONG_BIT 2>/dev/null)"
say system "$(. /etc/os-release 2>/dev/null && printf '%s' "${PRETTY_NAME-}")"
as=
root=no
if [ "$(id -u)" -eq 0 ]; then
  root=yes
elif [ "$1" = system ]; then
  as='sudo -n'
  if why=$($as true 2>&1 </dev/null); then root=yes; else say sudo "$why"; fi
fi
say root "$root"
if [ "$1" = system ]; then dir=/usr/local/bin; else dir=$HOME/.local/bin; fi
say directory "$dir"
say room-kib "$(room)"
command -v sha256sum >/dev/null && say sums yes
if [ -d "$dir/nbackup" ]; then
  say target directory
elif [ -e "$dir/nbackup" ]; then
  say target file
  sum=$(sha256sum "$dir/nbackup" 2>/dev/null </dev/null)
  say target-sum "${sum%% *}"
  say target-version "$(version_of "$dir/nbackup")"
fi
# One that is this user's alone is none for the system.
found=$(if [ "$1" = system ]; then PATH=/usr/local/sbin:$dir:/usr/sbin:/usr/bin:/sbin:/bin; else PATH=$far_path; fi
  command -v nbackup)
if [ -n "$found" ]; then
  say found "$found"
  say found-version "$(version_of "$found")"
fi
say dpkg "$(dpkg --print-architecture 2>/dev/null)"
say nssh-package "$(dpkg-query -W -f '${db:Status-Status} ${Version}' nssh 2>/dev/null)"
[ -e /opt/nssh/sbin/sshd ] && say nssh-sshd yes
echo end

IFS= read -r length || exit 0
receive=$(head -c "$length")
exec $as sh -c "$receive" nbackup-deploy "$dir" "$far_path"
)sh";

constexpr std::string_view k_receive = R"sh(
# $1: the directory, $2: where a command over SSH is looked for.
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH
umask 022
dir=$1 far_path=$2
nl='
'
temporary=
trap '[ -z "$temporary" ] || rm -f "$temporary"' EXIT
trap 'exit 1' HUP INT TERM
say() {
  said=${2-}
  printf '%s %s\n' "$1" "${said%%"$nl"*}"
}
failed() {
  [ -z "$temporary" ] || rm -f "$temporary"
  temporary=
  say failed "$1"
}

# content SIZE SHA256: what follows, whole, to $temporary. It is read to its end even where it cannot be written.
content() {
  if ! head -c "$1" | { cat >"$temporary" || { cat >/dev/null; false; }; }; then
    failed "cannot be written to $temporary"
    return 1
  fi
  sum=$(sha256sum "$temporary")
  if [ "$(wc -c <"$temporary")" -eq "$1" ] && [ "${sum%% *}" = "$2" ]; then return 0; fi
  failed "arrived damaged or cut off"
  return 1
}

start_program() {
  mkdir -p "$dir" || return
  find "$dir" -maxdepth 1 -name '.nbackup-deploy.*' -mmin +60 -exec rm -f {} +
  temporary=$(mktemp "$dir/.nbackup-deploy.XXXXXX")
}

missing_libraries() { ldd "$1" 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | tr '\n' ' '; }

# What its --version prints, as two lines; or why it does not.
try_program() {
  if text=$("$temporary" --version 2>&1 </dev/null); then
    say runs "$text"
    say protocol "${text#*"$nl"}"
    return
  fi
  printf '%s\n' "$text" >&2
  say cannot-run "$(missing_libraries "$temporary")"
  return 1
}

program() {
  size=$1 sum=$2
  if ! start_program; then
    head -c "$size" >/dev/null
    failed "cannot make a file in $dir"
    return
  fi
  content "$size" "$sum" || return
  chmod 755 "$temporary" || { failed "cannot be made executable"; return; }
  try_program || { rm -f "$temporary"; temporary=; return; }
  IFS= read -r answer
  if [ "$answer" != keep ]; then
    failed "not kept"
  elif ! sync "$temporary"; then
    failed "could not be made durable"
  elif ! mv -f "$temporary" "$dir/nbackup"; then
    failed "cannot get its name in $dir"
  elif temporary= && sync "$dir"; then
    say done "$(PATH=$far_path; command -v nbackup)"
  else
    failed "$dir could not be made durable"
  fi
}

# A failed first installation leaves nothing behind. A configuration that is there stays.
package() {
  size=$1 sum=$2
  temporary=$(mktemp) || { head -c "$size" >/dev/null; failed "cannot make a temporary file"; return; }
  content "$size" "$sum" || return
  before=$(dpkg-query -W -f '${db:Status-Status}' nssh 2>/dev/null)
  if text=$(DEBIAN_FRONTEND=noninteractive dpkg --force-confold -i "$temporary" 2>&1 </dev/null); then
    rm -f "$temporary"
    temporary=
    say done
    return
  fi
  printf '%s\n' "$text" >&2
  case $before in
    '' | not-installed) dpkg --purge nssh >/dev/null 2>&1 </dev/null ;;
    config-files) dpkg --remove nssh >/dev/null 2>&1 </dev/null ;;
  esac
  failed "dpkg could not install it"
}

echo ready
while IFS=' ' read -r verb size sum; do
  case $verb in
    program) program "$size" "$sum" ;;
    package) package "$size" "$sum" ;;
    *) exit 1 ;;
  esac
done
)sh";

}  // namespace

std::string deploy_command(DeployPlace place) {
  const std::string program = fmt::format("S=$(head -c {}) && eval \"$S\"", deploy_facts_script().size());
  return ssh::shell_command({"sh", "-c", program, "nbackup-deploy", place == DeployPlace::user ? "user" : "system"});
}

std::string_view deploy_facts_script() {
  static const std::string text = fmt::format("far_path=\"{}\"{}", k_far_path, k_facts);
  return text;
}

std::string_view deploy_receive_script() { return k_receive; }

}  // namespace nb::cli
