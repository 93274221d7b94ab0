#!/bin/sh
# board/deploy/debian/build.sh PACKAGE PROGRAM OUT: OUT/PACKAGE_VERSION_ARCHITECTURE.deb of a
# program that make has built, and beside it its parts, .spdx.json (sbom.sh); the package's path is
# the last line printed. PACKAGE: boreside, or boreside-cuda for a program with CUDA. Needs
# debhelper. Of the environment: MAINTAINER ("Name <address>"), MAKE, NVCC; for a program of another
# machine DEB_HOST_ARCH (that machine's name) and TELLS (one that runs here). The same program and
# commit give the same bytes, wherever, whenever and by whomever.
set -eu
unset MAKEFLAGS MAKELEVEL MFLAGS # of a make that called us: this is a build of its own
PACKAGE=$1
PROGRAM=$(realpath "$2")
mkdir -p "$3"
out=$(realpath "$3")
here=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$here/../../.." && pwd)
TELLS=${TELLS:-$PROGRAM}
MAINTAINER=${MAINTAINER:-Boreside maintainers <maintainers@boreside.invalid>}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$TOP" log -1 --format=%ct 2>/dev/null ||
	stat -c %Y "$TOP/CHANGELOG.md")}
export TOP PACKAGE PROGRAM TELLS SOURCE_DATE_EPOCH
[ -x "$PROGRAM" ] || { echo "deb: $PROGRAM is not there: make, first" >&2; exit 1; }
for tool in dh dpkg-gencontrol; do
	command -v $tool >/dev/null ||
		{ echo "deb: no $tool here: apt-get install debhelper" >&2; exit 1; }
done

# A release has the version alone; what comes before it sorts before it.
version=$(sed -n 's/^#define BS_VERSION "\(.*\)"$/\1/p' "$TOP/core/version.h")
! grep -q "^## $version, not released" "$TOP/CHANGELOG.md" ||
	version=$version~pre$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M)

work=$out/tree/$PACKAGE
rm -rf "$work"
mkdir -p "$work/debian"
cd "$work"
cp "$here/rules" debian
for script in postinst prerm; do
	cp "$here/$script" "debian/$PACKAGE.$script"
done
[ ! -f "$here/$PACKAGE.lintian-overrides" ] || cp "$here/$PACKAGE.lintian-overrides" debian
awk -v RS= -v ORS='\n\n' -v package="$PACKAGE" '/^Source:/ || $2 == package' "$here/control" |
	sed "s|@MAINTAINER@|$MAINTAINER|" >debian/control
awk -v license="$TOP/LICENSE" '
	/^@COPYRIGHT@$/ {
		while ((getline line <license) > 0)
			if (sub(/^Copyright \(c\)/, "Copyright:", line))
				print line
		close(license)
		next
	}
	/^@LICENSE@$/ {
		while ((getline line <license) > 0)
			if (line ~ /^Permission/ || begun++)
				print line == "" ? " ." : " " line
		next
	}
	{ print }' "$here/copyright" >debian/copyright
cat >debian/changelog <<END
boreside ($version-1) unstable; urgency=medium

  * See /usr/share/doc/boreside/CHANGELOG.md.

 -- $MAINTAINER  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
DEB_RULES_REQUIRES_ROOT=no debian/rules binary >"$out/$PACKAGE.log" 2>&1 ||
	{ tail -n 30 "$out/$PACKAGE.log" >&2; echo "deb: see $out/$PACKAGE.log" >&2; exit 1; }
set -- "$PACKAGE" "$(sed -n "s/^dpkg-deb: building package '$PACKAGE' in '\(.*\)'\.$/\1/p" \
	"$out/$PACKAGE.log")"
mv "$2" "$out"
find "$out/tree" -maxdepth 1 -name '*.deb' -exec mv {} "$out" \; # symbols for a debugger
set -- "$out/${2##*/}"
sh "$here/sbom.sh" "$1" "$PROGRAM" >"${1%.deb}.spdx.json"
echo "$1"
