#!/bin/sh
# Makes a Debian package of what was built, with dpkg-deb alone. `make deb` sets what it needs, the same as for install_files.sh.
#   tools/make_deb.sh able   succeeds when packages can be made here; else says why not
#   tools/make_deb.sh        makes $BUILD/windrow_VERSION_ARCHITECTURE.deb; COMPRESSION: options for dpkg-deb (-Zgzip -z1)
set -eu
here=$(dirname "$0")
if ! command -v dpkg-deb >/dev/null || ! command -v dpkg >/dev/null; then
  echo 'deb: no dpkg-deb here; Debian packages are made on Debian and its like' >&2
  exit 1
elif ! command -v dpkg-shlibdeps >/dev/null; then
  echo "deb: no dpkg-shlibdeps here, which finds the packages that a program needs: $(sh "$here/deps.sh" --hint dpkg-dev)" >&2
  exit 1
fi
[ "${1:-}" != able ] || exit 0

tree=$BUILD/deb
architecture=$(dpkg --print-architecture)
package=$BUILD/windrow_${VERSION}_$architecture.deb
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The package that a library of this machine belongs to.
package_of() { # library's path
  for path in "$1" "/usr$1" "${1#/usr}"; do
    if owner=$(dpkg-query -S "$path" 2>/dev/null); then
      echo "${owner%%:*}"
      return
    fi
  done
  return 1
}

libraries() { # paths of those that the programs and the library name
  for file in "$tree/usr/bin/"* "$tree/usr/lib/"*.so; do
    objdump -p "$file" | awk '$1 == "NEEDED" { print $2 }' | while read -r name; do
      ldd "$file" | awk -v name="$name" '$1 == name && $3 ~ /^\// { print $3 }'
    done
  done | sort -u
}

# Of a package that does not say which of its versions has which symbols, the installed version or a newer one is asked for. A
# library of no package is noted in homeless.
undescribed() {
  libraries | while read -r path; do
    if ! owner=$(package_of "$path"); then
      basename "$path" >>"$work/homeless"
    elif [ -z "$(dpkg-query --control-path "$owner" shlibs)$(dpkg-query --control-path "$owner" symbols)" ]; then
      dpkg-query -W -f "$owner (>= \${Version})\n" "$owner"
    fi
  done | sort -u
}

# dpkg-shlibdeps must run in a folder with a debian/control.
described() {
  mkdir "$work/debian"
  printf 'Source: windrow\n\nPackage: windrow\nArchitecture: any\n' >"$work/debian/control"
  case $tree in /*) full=$tree ;; *) full=$PWD/$tree ;; esac
  if ! (cd "$work" && dpkg-shlibdeps --ignore-missing-info -O "$full/usr/bin/"* "$full/usr/lib/"*.so) \
    >"$work/depends" 2>"$work/said"; then
    cat "$work/said" >&2
    return 1
  fi
  sed -n 's/^shlibs:Depends=//p' "$work/depends" | sed 's/, /\n/g'
}

control() {
  cat <<TXT
Package: windrow
Version: $VERSION
Architecture: $architecture
Maintainer: ${DEBFULLNAME:-Windrow} <${DEBEMAIL:-windrow@localhost}>
Installed-Size: $(du -sk "$tree/usr" | cut -f 1)
Depends: $depends
Section: math
Priority: optional
Description: iterative solvers for sparse systems and graphs
 pagerank ranks the nodes of a graph, bicgstab solves a nonsymmetric linear
 system; both check their answer independently. With the library, its
 headers, manual pages and completion for bash and zsh.
TXT
  [ ! -s "$work/homeless" ] ||
    echo " Also needed, and in no package of the machine where this one was made: $(sort -u "$work/homeless" | paste -sd ' ' -)"
}

rm -rf "$tree"
DESTDIR=$tree PREFIX=/usr sh "$here/install_files.sh" install >/dev/null
doc=$tree/usr/share/doc/windrow
rm "$doc/folders"
mv "$doc/LICENSE" "$doc/copyright"
strip "$tree/usr/bin/"* && strip --strip-unneeded "$tree/usr/lib/libwindrow.so.$VERSION" && strip -g "$tree/usr/lib/libwindrow.a"
gzip -9n "$tree"/usr/share/man/man1/*.1
chmod -R u=rwX,go=rX "$tree"
mkdir "$tree/DEBIAN"
(cd "$tree" && find usr -type f | sort | xargs md5sum) >"$tree/DEBIAN/md5sums"
described >"$work/packages"
undescribed >>"$work/packages"
depends=$(paste -sd, "$work/packages" | sed 's/,/, /g')
control >"$tree/DEBIAN/control"
echo 'activate-noawait ldconfig' >"$tree/DEBIAN/triggers"
# shellcheck disable=SC2086
dpkg-deb --root-owner-group ${COMPRESSION:-} --build "$tree" "$package" >/dev/null
echo "$package"
