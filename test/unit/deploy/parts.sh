#!/bin/bash
# test/unit/deploy/parts.sh - the list of parts (SPDX) beside a package: each library that the
# program is linked with is in it, with version, license, supplier and checksum, and PyPI's
# spdx-tools finds no fault; the package has the same bytes when another user makes it elsewhere,
# and the program does not say where it was made. test/package/same.sh builds the program twice.
# PYTHON: an interpreter that has spdx-tools; without it one is made where pip may.
set -u
: "${BORESIDE:?}"
here=$(cd "$(dirname "$0")/../../.." && pwd)
case $BORESIDE in
*-address* | *-thread* | *-covered*) echo "skip parts: not of this kind of program"; exit 0 ;;
esac
for tool in dh git readelf; do
	command -v $tool >/dev/null || { echo "skip parts: no $tool here"; exit 0; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
. "$here/test/support/said.bash"
export DEB_BUILD_OPTIONS=noautodbgsym
unset SOURCE_DATE_EPOCH
stamp=$(git -C "$here" log -1 --format=%ct)

check "a package is made" sh "$here/board/deploy/debian/build.sh" boreside "$BORESIDE" "$dir/out"
deb=$(tail -n 1 "$dir/said") json=${deb%.deb}.spdx.json
[ -f "$deb" ] || exit 1

# parts: ID NAME VERSION SUPPLIER LICENSE FILE SHA256 of each, by tabs
members='SPDXID\|name\|versionInfo\|supplier\|licenseDeclared\|packageFileName'
sed -n 's/^ *"\('"$members"'\)": "\(.*\)",$/\1\t\2/p
	s/.*"checksumValue": "\([0-9a-f]*\)".*/sum\t\1/p' "$json" | awk -F '\t' '
	$1 == "SPDXID" { if (id) out(); id = $2; delete has; next }
	{ has[$1] = $2 }
	function out() {
		print id "\t" has["name"] "\t" has["versionInfo"] "\t" has["supplier"] "\t" \
			has["licenseDeclared"] "\t" has["packageFileName"] "\t" has["sum"]
	}
	END { out() }' >"$dir/parts"
lacks() { # lacks: libraries of the program that are no part, or not told whole
	readelf -d "$BORESIDE" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r name; do
		row=$(awk -F '\t' -v name="/$name" '
			substr($6, length($6) - length(name) + 1) == name' "$dir/parts")
		[ -n "$row" ] || { echo "$name is no part"; continue; }
		echo "$row" | awk -F '\t' '!$3 || $4 !~ /^Organization: / || $5 == "NOASSERTION" ||
			length($7) != 64 { print "not told whole: " $0 }'
	done
	awk -F '\t' '$6 ~ /^\// { print $7 "  " $6 }' "$dir/parts" | sha256sum --quiet -c 2>&1
}
lacks >"$dir/lacks"
check "each library is a part, with all that is asked of one" diff /dev/null "$dir/lacks"
check "they are those of the page" [ "$(wc -l <"$dir/parts")" -gt 12 ]
check "its checksum is the package's" grep -q "$(sha256sum "$deb" | cut -d ' ' -f 1)" "$json"
python=${PYTHON:-python3}
if ! "$python" -c 'import spdx_tools' 2>/dev/null; then
	python3 -m venv "$dir/venv" >"$dir/said" 2>&1 &&
		"$dir/venv/bin/pip" install -q spdx-tools >"$dir/said" 2>&1
	python=$dir/venv/bin/python3
fi
if "$python" -c 'import spdx_tools' 2>/dev/null; then
	valid() { "$python" -m spdx_tools.spdx.clitools.pyspdxtools -i "$1"; }
	check "spdx-tools finds no fault in it" valid "$json"
	sed 's/"licenseDeclared": "MIT"/"licenseDeclared": "no license"/' "$json" \
		>"$dir/bad.spdx.json"
	check "but in one whose license is none" refused valid "$dir/bad.spdx.json"
else
	echo "skip a validator of SPDX: no spdx-tools (PyPI) here"
fi

# What CUDA puts into a program: one of a line, linked as ours is
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
echo '__global__ void k(int *a) { *a = 1; } int main(void) { k<<<1, 1>>>(0); }' >"$dir/k.cu"
if [ -x "$nvcc" ]; then
	check "a program with CUDA" "$nvcc" -o "$dir/k" "$dir/k.cu"
	SOURCE_DATE_EPOCH=0 NVCC=$nvcc sh "$here/board/deploy/debian/sbom.sh" "$deb" "$dir/k" \
		>"$dir/cuda.json" 2>"$dir/said"
	check "has CUDA's runtime as a part" grep -q '"packageFileName": ".*/libcudart_static.a"' \
		"$dir/cuda.json"
	versioned() { grep -A 1 '"libcudart_static"' "$1" | grep -q '"versionInfo": "[1-9]'; }
	check "of a version" versioned "$dir/cuda.json"
else
	echo "skip what CUDA brings: no nvcc here"
fi

# The same bytes, elsewhere
at() { grep -aqF "$1" "$2"; }
check "the program does not say where it was built" refused at "$here" "$BORESIDE"
debug() { readelf --debug-dump=info --debug-dump=line "$BORESIDE" 2>/dev/null | at "$here" -; }
check "nor do its symbols for a debugger" refused debug
other=$dir/another/place
mkdir -p "$other"
git -C "$here" ls-files -z --cached --others --exclude-standard |
	tar -C "$here" --null -T - -cf - | tar -C "$other" -xf -
touch -d "@$stamp" "$other/CHANGELOG.md"
cp "$BORESIDE" "$other/boreside"
as=()
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
	chown -R nobody "$dir/another"
else
	echo "skip another user: only root may become one"
fi
elsewhere() {
	cd "$other" && umask 077 && "${as[@]}" env HOME=/nonexistent LC_ALL=C TZ=Asia/Tokyo \
		sh board/deploy/debian/build.sh boreside ./boreside "$other/out"
}
check "it is made elsewhere, too" elsewhere
check "the same package" cmp "$deb" "$other/out/${deb##*/}"
check "the same list of parts" cmp "$json" "$other/out/${json##*/}"
