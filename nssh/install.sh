# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What nssh/build does with a built tree (an archive with paths from /): puts it somewhere, installs it, makes a Debian
# package of it, removes it. To be sourced by nssh/build after source.sh; uses its messages and the directory, source
# directory and log file of that script (work, here, log).
#
# An installation knows its files (PREFIX/share/nssh/manifest) and what else it has made there: directories, the
# configuration, the host key (PREFIX/share/nssh/made). An uninstall removes nothing else, whatever the prefix was.

nssh_files=$(cd "$(dirname "${BASH_SOURCE[0]}")/files" && pwd)
nssh_unit=/etc/systemd/system/nssh.service

# nssh_fill NAME PREFIX: the file of that name from files/, for the prefix.
nssh_fill() { sed "s|@PREFIX@|$2|g" "$nssh_files/$1.in"; }

# nssh_stage ARCHIVE PREFIX DIR: unpacks below DIR, with the configuration.
nssh_stage() {
  local archive=$1 prefix=$2 dir=$3
  mkdir -p "$dir" || nssh_die "cannot make $dir"
  tar -C "$dir" --no-same-owner --no-overwrite-dir -xf "$archive" || nssh_die "cannot unpack to $dir"
  nssh_fill sshd_config "$prefix" >"$dir$prefix/etc/sshd_config"
  nssh_say "staged in $dir$prefix"
}

# nssh_install ARCHIVE PREFIX: installs to PREFIX. A configuration and a host key that are there stay. Starts nothing.
nssh_install() {
  local archive=$1 prefix=$2
  nssh_absent "$archive" "$prefix" >"$work/made"
  mkdir -p "$prefix" || nssh_die "cannot make $prefix"
  # A running sshd keeps the file that it runs from.
  tar -C / --no-same-owner -xf "$archive" --no-overwrite-dir ".$prefix" ||
    nssh_die "cannot unpack to $prefix"
  nssh_write_manifest "$archive" "$prefix/share/nssh"
  if [ -e "$prefix/etc/sshd_config" ]; then
    nssh_say "$prefix/etc/sshd_config is there and stays as it is"
  else
    nssh_fill sshd_config "$prefix" >"$prefix/etc/sshd_config"
  fi
  if [ "$(id -u)" -eq 0 ] && [ -d "$(dirname $nssh_unit)" ]; then nssh_fill nssh.service "$prefix" >$nssh_unit; fi
  nssh_fill postinst "$prefix" | sh -s configure || nssh_die "cannot finish the installation, see above"
  nssh_say "installed to $prefix; $(nssh_how_to_start "$prefix")"
}

# nssh_absent ARCHIVE PREFIX: of what an installation makes beside the files of the archive, what is not there yet, one
# path a line, directories before what is in them.
nssh_absent() {
  local path
  {
    echo "$2"
    tar -tf "$1" | sed -n "s|^\\.\\($2/.*\\)/\$|\\1|p"
    printf '%s\n' "$2/share/nssh" "$2/etc/sshd_config" "$2/etc/ssh_host_ed25519_key" "$2/etc/ssh_host_ed25519_key.pub"
  } | LC_ALL=C sort -u | while IFS= read -r path; do
    if [ ! -e "$path" ]; then printf '%s\n' "$path"; fi
  done
}

# nssh_write_manifest ARCHIVE DIRECTORY: also removes what an older version had installed and this one has not.
nssh_write_manifest() {
  local archive=$1 manifest=$2/manifest made=$2/made
  mkdir -p "$2"
  touch "$made"
  LC_ALL=C sort -u "$made" "$work/made" >"$made.new"
  mv "$made.new" "$made"
  tar -tf "$archive" | sed -n 's|^\./\(.*[^/]\)$|/\1|p' | LC_ALL=C sort >"$manifest.new"
  if [ -f "$manifest" ]; then
    LC_ALL=C comm -23 "$manifest" "$manifest.new" | while IFS= read -r file; do rm -f "$file"; done
  fi
  mv "$manifest.new" "$manifest"
}

nssh_how_to_start() {
  if [ -d /run/systemd/system ] && systemctl is-active --quiet nssh; then
    echo "an older one is running: systemctl restart nssh"
  elif [ "$(id -u)" -ne 0 ]; then
    echo "start it: $1/sbin/sshd -f $1/etc/sshd_config"
  elif [ -d /run/systemd/system ]; then
    echo "start it: systemctl enable --now nssh"
  else
    echo "start it: mkdir -p -m 755 /run/nssh && $1/sbin/sshd -f $1/etc/sshd_config"
  fi
}

# nssh_uninstall PREFIX: removes what nssh_install has written there, and its unit.
nssh_uninstall() {
  local prefix=$1 manifest=$1/share/nssh/manifest made=$1/share/nssh/made file paths
  [ -f "$manifest" ] || nssh_die "no nssh that nssh/build has installed is at $prefix (no $manifest)"
  if grep -qsF "ExecStart=$prefix/sbin/sshd" $nssh_unit; then
    nssh_fill prerm "$prefix" | sh -s remove
    rm -f $nssh_unit
  fi
  while IFS= read -r file; do rm -f "$file"; done <"$manifest"
  paths=$(LC_ALL=C sort -r "$made")
  rm -f "$manifest" "$made"
  while IFS= read -r file; do
    if [ -d "$file" ]; then rmdir --ignore-fail-on-non-empty "$file"; else rm -f "$file"; fi
  done <<<"$paths"
  nssh_fill postrm "$prefix" | sh -s remove
  if [ -e "$prefix" ]; then
    nssh_say "uninstalled; what is left in $prefix is not nssh's"
  else
    nssh_say "uninstalled from $prefix"
  fi
}

# nssh_package ARCHIVE PREFIX RELEASE DIR: makes DIR/nssh_VERSION_ARCH.deb.
nssh_package() {
  local archive=$1 prefix=$2 release=$3 dir=$4 tree=$work/deb version arch script
  nssh_need dpkg-deb dpkg
  nssh_stage "$archive" "$prefix" "$tree"
  install -m 644 -D <(nssh_fill nssh.service "$prefix") "$tree/lib/systemd/system/nssh.service"
  mkdir -p "$tree/DEBIAN" "$dir"
  version=$release+nbackup$(sed -n 's/^project(nbackup VERSION \([0-9.]*\).*/\1/p' "$here/../CMakeLists.txt")
  arch=$(dpkg --print-architecture)
  nssh_control "$tree" "$version" "$arch" >"$tree/DEBIAN/control"
  echo "$prefix/etc/sshd_config" >"$tree/DEBIAN/conffiles"
  for script in postinst prerm postrm; do
    install -m 755 <(nssh_fill $script "$prefix") "$tree/DEBIAN/$script"
  done
  dpkg-deb --root-owner-group --build "$tree" "$dir/nssh_${version}_$arch.deb" >"$log" 2>&1 ||
    nssh_die "dpkg-deb failed: $(tail -n 1 "$log")"
  nssh_say "made $dir/nssh_${version}_$arch.deb"
}

nssh_control() {
  local tree=$1 version=$2 arch=$3 depends
  mkdir -p "$work/shlibs/debian"
  printf 'Source: nssh\n\nPackage: nssh\nArchitecture: any\n' >"$work/shlibs/debian/control"
  depends=$(cd "$work/shlibs" && find "$tree" -type f -perm -100 -path '*bin/*' -print0 |
    xargs -0 dpkg-shlibdeps -O 2>"$log" | sed -n 's/^shlibs:Depends=//p')
  [ -n "$depends" ] || nssh_die "dpkg-shlibdeps failed: $(tail -n 1 "$log")"
  cat <<CONTROL
Package: nssh
Version: $version
Architecture: $arch
Maintainer: the nbackup project <root@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f 1)
Depends: $depends, passwd
Recommends: openssh-server
Section: net
Priority: optional
Description: OpenSSH built for fast transfers, beside the system's
 An OpenSSH server on port 2222, below /opt/nssh, that may turn encryption off
 after authentication for users whom its configuration lets (PostAuthNone), has
 a larger channel window and a faster UMAC. The system's OpenSSH stays as it is.
CONTROL
}
