#!/bin/sh
# Makes a Debian package of what was built, with dpkg-deb alone. `make deb` sets what it needs, the same as for install_files.sh.
#   tools/make_deb.sh able   succeeds when packages can be made here; else says why not
#   tools/make_deb.sh        makes $BUILD/windrow_VERSION_ARCHITECTURE.deb; COMPRESSION: options for dpkg-deb (-Zgzip -z1)
set -eu
here=$(dirname "$0")
if ! command -v dpkg-deb >/dev/null || ! command -v dpkg >/dev/null; then
  echo 'deb: no dpkg-deb here; Debian packages are made on Debian and its like' >&2
  exit 1
fi
[ "${1:-}" != able ] || exit 0

tree=$BUILD/deb
architecture=$(dpkg --print-architecture)
package=$BUILD/windrow_${VERSION}_$architecture.deb

# The package that a library of this machine belongs to.
package_of() { # library's path
  for path in "$1" "/usr$1" "${1#/usr}"; do
    if owner=$(dpkg-query -S "$path" 2>/dev/null); then
      echo "${owner%%:*}"
      return
    fi
  done
  basename "$1" >>"$tree/homeless"
}

# The newest version of glibc that something here asks for.
needed_symbols() { objdump -T "$tree/usr/bin/"* "$tree/usr/lib/"*.so | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -n 1; }

libraries() { # paths of those that the programs and the library name
  for file in "$tree/usr/bin/"* "$tree/usr/lib/"*.so; do
    objdump -p "$file" | awk '$1 == "NEEDED" { print $2 }' | while read -r name; do
      ldd "$file" | awk -v name="$name" '$1 == name && $3 ~ /^\// { print $3 }'
    done
  done | sort -u
}

depends() {
  : >"$tree/homeless"
  glibc=$(needed_symbols)
  libraries | while read -r path; do package_of "$path"; done | sort -u |
    sed "s/^libc6\$/libc6 (>= ${glibc#GLIBC_})/" | paste -sd, - | sed 's/,/, /g'
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
  [ ! -s "$tree/homeless" ] || echo " Needed besides, and of no package where this one was made: $(sort -u "$tree/homeless" | paste -sd ' ' -)"
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
depends=$(depends)
control >"$tree/DEBIAN/control"
rm "$tree/homeless"
echo 'activate-noawait ldconfig' >"$tree/DEBIAN/triggers"
# shellcheck disable=SC2086
dpkg-deb --root-owner-group ${COMPRESSION:-} --build "$tree" "$package" >/dev/null
echo "$package"
