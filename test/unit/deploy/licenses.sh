#!/bin/bash
# test/unit/deploy/licenses.sh - every library that the program is linked with has its license in
# board/doc/LICENSES.md, none is under the GPL, and FFTW is not drawn in by another either.
set -u
: "${BORESIDE:?}"
here=$(cd "$(dirname "$0")/../../.." && pwd)
page=$here/board/doc/LICENSES.md
for tool in readelf ldd; do
	command -v $tool >/dev/null || { echo "skip the licenses: no $tool here"; exit 0; }
done
check() { # check WHAT LINES: holds where there are none
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "not ok $1: $(echo "$2" | tr '\n' ' ')"
	fi
}

# rows of the table of what is linked: "name license"
rows=$(awk -F'|' '/^## / { linked = /is linked with/ }
	linked && $2 ~ /^ (lib|ld-)/ {
		n = split($2, name, ","); gsub(/^ +| +$/, "", $4)
		for (i = 1; i <= n; i++) { gsub(/ /, "", name[i]); print name[i], $4 } }' "$page")
# libraries of the program by their names without versions; a sanitizer's are not the program's
linked=$(readelf -d "$BORESIDE" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
	sed 's/\.so.*//; s/-linux-.*/-linux/' | grep -vE '^lib(asan|ubsan|tsan|gcov)$' | sort -u)

[ "$(echo "$linked" | wc -l)" -ge 10 ] || echo "not ok only these are linked: $linked"
check "each library has a row in LICENSES.md" \
	"$(echo "$linked" | while read -r l; do
		echo "$rows" | grep -q "^$l " || echo "$l"
	done)"
check "none is under the GPL without an exception" \
	"$(echo "$rows" | grep -w GPL | grep -v "WITH GCC-exception")"
check "FFTW is not drawn in" "$(ldd "$BORESIDE" | grep -i fftw)"
