# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Debian source packages for nssh/build and the libssh build: fetched, checked, unpacked. To be sourced by bash.
#
# apt runs with lists, sources and state of its own below $NSSH_CACHE, so that no root is needed and the system's
# configuration stays as it is (its proxy settings do hold). Authenticity: apt checks the Release files against Debian's
# keyring and each file against them; dpkg-source checks the .dsc's sums again when it unpacks.
#
# Environment:
#   NSSH_CACHE            what was downloaded and built [${XDG_CACHE_HOME:-~/.cache}/nbackup/nssh]
#   NSSH_MIRROR           a Debian mirror [http://deb.debian.org/debian]
#   NSSH_SECURITY_MIRROR  a mirror of Debian's security archive [http://deb.debian.org/debian-security]

nssh_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

nssh_say() { printf 'nssh: %s\n' "$*" >&2; }

nssh_die() {
  nssh_say "$*"
  exit 1
}

# The end with exit code 3: the source cannot be had now, which may be the network's fault.
nssh_unavailable() {
  nssh_say "$*"
  exit 3
}

# Sets NSSH_CACHE to an absolute path and makes the directory.
nssh_cache() {
  NSSH_CACHE=${NSSH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nbackup/nssh}
  mkdir -p "$NSSH_CACHE" || nssh_die "cannot make the cache directory $NSSH_CACHE; name another in NSSH_CACHE"
  NSSH_CACHE=$(cd "$NSSH_CACHE" && pwd)
}

# nssh_need COMMAND PACKAGE: ends with a hint if the command is missing.
nssh_need() { command -v "$1" >/dev/null || nssh_die "no $1 here: run scripts/install-deps nssh (package $2)"; }

nssh_apt_configure() {
  local apt=$NSSH_CACHE/apt main=${NSSH_MIRROR:-http://deb.debian.org/debian}
  local security=${NSSH_SECURITY_MIRROR:-http://deb.debian.org/debian-security} suite
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/empty"
  # The system's hooks are for the system's lists. No change of user: the directories belong to the caller.
  cat >"$apt/apt.conf" <<CONF
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "$apt/empty";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
APT::Sandbox::User "";
Acquire::Retries "3";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
CONF
  for suite in bookworm bookworm-updates trixie; do
    printf 'deb-src [signed-by=%s] %s %s main\n' "$nssh_keyring" "$main" "$suite"
  done >"$apt/sources.list"
  for suite in bookworm-security trixie-security; do
    printf 'deb-src [signed-by=%s] %s %s main\n' "$nssh_keyring" "$security" "$suite"
  done >>"$apt/sources.list"
}

nssh_apt() { LC_ALL=C apt-get -q -c "$NSSH_CACHE/apt/apt.conf" "$@"; }

# Renews the lists once a day. A mirror that does not answer is told; what an earlier run has left may be enough.
nssh_apt_update() {
  local stamp=$NSSH_CACHE/apt/updated log=$NSSH_CACHE/apt/update.log
  [ -r "$nssh_keyring" ] || nssh_die "no $nssh_keyring to check Debian's sources with: install debian-archive-keyring"
  nssh_apt_configure
  # The stamp holds the sources that were read: other mirrors are read at once.
  if [ -n "$(find "$stamp" -mmin -1440 2>/dev/null)" ] && cmp -s "$NSSH_CACHE/apt/sources.list" "$stamp"; then
    return
  fi
  nssh_say "reading Debian's source lists (log: $log)"
  if nssh_apt update >"$log" 2>&1 && ! grep -q '^W: Failed' "$log"; then
    cp "$NSSH_CACHE/apt/sources.list" "$stamp"
  else
    nssh_say "not all source lists could be read: $(grep -m 1 '^[WE]: ' "$log" || echo "see $log")"
  fi
}

# nssh_versions PACKAGE VERSION: the package versions that are VERSION or package it, the newest first.
nssh_versions() {
  local version
  # Debian's version comparison, as a sort: dpkg knows it, sort(1) only nearly.
  LC_ALL=C apt-cache -c "$NSSH_CACHE/apt/apt.conf" showsrc --only-source "$1" 2>/dev/null |
    sed -n 's/^Version: //p' | sort -u | while read -r version; do
    case "$version" in
      "$2" | "$2"-* | *:"$2" | *:"$2"-*) printf '%s\n' "$version" ;;
    esac
  done | nssh_sort_versions
}

nssh_sort_versions() {
  local sorted=() version i
  while read -r version; do
    for ((i = 0; i < ${#sorted[@]}; i++)); do
      if dpkg --compare-versions "$version" gt "${sorted[i]}"; then break; fi
    done
    sorted=("${sorted[@]:0:i}" "$version" "${sorted[@]:i}")
  done
  if [ ${#sorted[@]} -gt 0 ]; then printf '%s\n' "${sorted[@]}"; fi
}

# nssh_download PACKAGE VERSION: prints the path of the .dsc. A mirror may list a version whose files it has no more
# (404): then the next older one with the same upstream version is taken, and that is said.
nssh_download() {
  local package=$1 wanted=$2 versions version dir log dsc
  log=$NSSH_CACHE/sources/$package.log
  nssh_apt_update
  versions=$(nssh_versions "$package" "$wanted")
  [ -n "$versions" ] || nssh_unavailable "Debian's source lists have no $package $wanted (lists: $NSSH_CACHE/apt/lists)"
  for version in $versions; do
    dir=$NSSH_CACHE/sources/${package}_${version#*:}
    dsc=$dir/${package}_${version#*:}.dsc
    mkdir -p "$dir"
    # Files that are here already are compared with the signed lists, not fetched again.
    if (cd "$dir" && nssh_apt source --download-only --only-source "$package=$version") >"$log" 2>&1 &&
      [ -f "$dsc" ]; then
      printf '%s\n' "$dsc"
      return
    fi
    nssh_say "$package $version cannot be had: $(grep -m 1 '^E: ' "$log" || echo "see $log")"
  done
  nssh_unavailable "no version of $package $wanted could be fetched (log: $log)"
}

# nssh_tree_sums DIR: a line for each file of a source tree: a user's has no version that says what is in it.
nssh_tree_sums() {
  (cd "$1" && find . -type f -not -path './.git/*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
}

nssh_cc_version() { ${CC:-cc} --version 2>/dev/null | head -n 1; }

# nssh_patch DIR WHAT LOG: applies the patches whose files are named on standard input, without fuzz, to DIR, the tree
# of WHAT.
nssh_patch() {
  local patch
  while IFS= read -r patch; do
    patch --directory="$1" -p1 --fuzz=0 --force --silent <"$patch" >"$3" 2>&1 ||
      nssh_die "$(basename "$patch") does not apply to $2: $(head -n 1 "$3")"
  done
}

# nssh_source PACKAGE VERSION DIR: unpacks the newest Debian source package of PACKAGE, with Debian's patches applied,
# to DIR, which must not exist. VERSION is an upstream version (9.2p1) or a whole one (1:9.2p1-2+deb12u10). Prints the
# package version that it was. Ends the shell with one line on standard error if it cannot be unpacked (exit code 1) or
# cannot be had (3).
nssh_source() {
  local package=$1 version=$2 dir=$3 dsc log
  [ ! -e "$dir" ] || nssh_die "$dir exists already"
  nssh_need dpkg-source dpkg-dev
  nssh_need patch patch
  nssh_cache
  mkdir -p "$NSSH_CACHE/sources"
  log=$NSSH_CACHE/sources/$package.unpack.log
  # One at a time: the lists and downloads are shared by all who build with this cache.
  {
    flock 9
    dsc=$(nssh_download "$package" "$version") || exit $?
    dpkg-source --require-strong-checksums --no-copy -x "$dsc" "$dir" >"$log" 2>&1 ||
      nssh_die "cannot unpack $dsc: $(tail -n 1 "$log") (log: $log)"
  } 9>"$NSSH_CACHE/lock"
  sed -n 's/^Version: //p' "$dsc"
}
