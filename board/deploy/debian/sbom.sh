#!/bin/sh
# board/deploy/debian/sbom.sh DEB PROGRAM: the parts of a package as SPDX 2.3 (JSON) on standard
# output: the package, each library that its program draws in (dpkg says whose it is), LAPACK, what
# CUDA put into the program, the compiler. A part is one file, whose SHA-256 is its checksum.
# Licenses are those of board/doc/LICENSES.md; of a library that another one draws in, none is said.
# Of the environment: SOURCE_DATE_EPOCH, the package's time; NVCC, whose toolkit was linked.
set -eu
export LC_ALL=C.UTF-8
deb=$1 program=$2
page=$(cd "$(dirname "$0")/../../.." && pwd)/board/doc/LICENSES.md
NVCC=${NVCC:-/usr/local/cuda/bin/nvcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tab=$(printf '\t')
machine=$(dpkg-architecture -q DEB_HOST_MULTIARCH)
fail() { echo "sbom: $*" >&2; exit 1; }
field() { dpkg-deb -f "$deb" "$1"; }
sum() { sha256sum "$1" | cut -d ' ' -f 1; }
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u; }

# license NAME: the SPDX expression in the page's table, of libm.so.6 in the row of libm
license() {
	awk -F '|' -v name="$(echo "$1" | sed 's/\.so.*//; s/-linux-.*/-linux/')" '
		$2 ~ /^ [a-z]/ {
			sub(/:.*/, "", $2)
			n = split($2, row, ","); gsub(/^ +| +$/, "", $4)
			for (i = 1; i <= n; i++) {
				gsub(/ |\.so.*/, "", row[i])
				if (row[i] == name) said = $4
			}
		}
		END { print said == "" ? "NOASSERTION" : said }' "$page"
}

# part ID NAME VERSION SUPPLIER LICENSE FILE SHA256 PURL: a row of what becomes an SPDX package
part() {
	[ -n "$3" ] || fail "$2 ($6) has no version"
	printf '%s\t' "$@" >>"$work/parts"
	echo >>"$work/parts"
}
id() { echo "SPDXRef-$1" | tr -c 'a-zA-Z0-9.\n-' -; }
relate() { printf '%s\t%s\t%s\n' "$@" >>"$work/relations"; }

# draw ID FILE RELATION: each library that FILE draws in, once, and what that draws in
draw() {
	for name in $(needed "$2"); do
		relate "$1" "$3" "$(id "$name")"
		! grep -qsxF "$name" "$work/names" || continue
		echo "$name" >>"$work/names"
		for at in "/lib/$machine" "/usr/lib/$machine"; do
			[ ! -e "$at/$name" ] || break
		done
		[ -e "$at/$name" ] || fail "$name is not in $at"
		printf '%s\t%s\n' "$name" "$at/$name" >>"$work/libraries"
		(draw "$(id "$name")" "$at/$name" DEPENDS_ON)
	done
}
# packaged: of the lines NAME FILE, each library is a part, of the package that dpkg says
packaged() {
	cut -f 1 "$work/libraries" | sed "s|^|*/$machine/|" |
		xargs dpkg -S 2>/dev/null >"$work/owners" || true
	# shellcheck disable=SC2016 # dpkg-query's
	purl='pkg:deb/debian/${Package}@${Version}?arch=${Architecture}'
	sed 's/: .*//' "$work/owners" | sort -u | xargs dpkg-query -W -f \
		"\${binary:Package}\t\${Package}\t\${Version}\t\${Maintainer}\t$purl\n" \
		>"$work/packages"
	while IFS=$tab read -r name file; do
		owner=$(sed -n "s|: .*/$machine/$name\$||p" "$work/owners" | head -n 1)
		row=$(grep -F "${owner:-none}$tab" "$work/packages") ||
			fail "$file is of no package"
		part "$(id "$name")" "$(echo "$row" | cut -f 2)" "$(echo "$row" | cut -f 3)" \
			"$(echo "$row" | cut -f 4)" "$(license "${name##*/}")" "$file" \
			"$(sum "$file")" "$(echo "$row" | cut -f 5)"
	done <"$work/libraries"
}

part SPDXRef-boreside "$(field Package)" "$(field Version)" "$(field Maintainer)" MIT \
	"$(basename "$deb")" "$(sum "$deb")" \
	"pkg:deb/boreside/$(field Package)@$(field Version)?arch=$(field Architecture)"
relate SPDXRef-DOCUMENT DESCRIBES SPDXRef-boreside
draw SPDXRef-boreside "$program" DYNAMIC_LINK
lapack=/usr/lib/$machine/lapack/liblapack.so.3
if [ -e "$lapack" ]; then
	printf 'lapack/liblapack.so.3\t%s\n' "$lapack" >>"$work/libraries"
	relate "$(id lapack/liblapack.so.3)" RUNTIME_DEPENDENCY_OF SPDXRef-boreside
fi
packaged
if grep -q __cudaRegisterFatBinary "$program"; then
	cuda=$(cd "$(dirname "$(command -v "$NVCC")")/.." && pwd)
	version=$(awk '$1 $2 == "#defineCUDART_VERSION" {
		print int($3 / 1000) "." int($3 % 1000 / 10) }' "$cuda/include/cuda_runtime_api.h")
	part SPDXRef-cudart libcudart_static "$version" 'NVIDIA Corporation' \
		LicenseRef-NVIDIA-CUDA-EULA "$cuda/lib64/libcudart_static.a" \
		"$(sum "$cuda/lib64/libcudart_static.a")" ''
	relate SPDXRef-boreside STATIC_LINK SPDXRef-cudart
	part SPDXRef-nvcc nvcc "$("$NVCC" --version | sed -n 's/.*, V\([0-9.]*\)$/\1/p')" \
		'NVIDIA Corporation' LicenseRef-NVIDIA-CUDA-EULA "$cuda/bin/nvcc" \
		"$(sum "$cuda/bin/nvcc")" ''
	relate SPDXRef-nvcc BUILD_TOOL_OF SPDXRef-boreside
fi
# The compiler says itself in what it made.
readelf -p .comment "$program" | sed -n 's/^ *\[ *[0-9a-f]*\] *//p' | sort -u >"$work/compilers"
while read -r said; do
	name=$(id "compiler-$said")
	part "$name" "${said%%:*}" "${said##* }" '' NOASSERTION '' '' ''
	relate "$name" BUILD_TOOL_OF SPDXRef-boreside
done <"$work/compilers"

awk -F '\t' -v relations="$work/relations" -v name="$(basename "$deb" .deb)" \
	-v sum="$(sum "$deb")" -v maintainer="$(field Maintainer)" \
	-v created="$(date -u -d "@${SOURCE_DATE_EPOCH:?}" +%Y-%m-%dT%H:%M:%SZ)" '
function text(s) {
	gsub(/\\/, "\\\\", s)
	gsub(/"/, "\\\"", s)
	return "\"" s "\""
}
function organization(s) { # "Name <address>" as SPDX has it
	if (s == "")
		return "NOASSERTION"
	gsub(/[()]/, "", s)
	sub(/ *</, " (", s)
	sub(/>$/, ")", s)
	return "Organization: " s
}
function reference(s) {
	if (s ~ /^LicenseRef-/ && !(s in seen)) {
		seen[s]
		order[++refs] = s
	}
	return s
}
BEGIN {
	print "{\n  \"spdxVersion\": \"SPDX-2.3\",\n  \"dataLicense\": \"CC0-1.0\","
	print "  \"SPDXID\": \"SPDXRef-DOCUMENT\",\n  \"name\": " text(name) ","
	print "  \"documentNamespace\": " text("https://boreside.invalid/spdx/" name "-" sum) ","
	print "  \"creationInfo\": {\n    \"created\": " text(created) ","
	print "    \"creators\": [" text("Tool: boreside-sbom") ", " \
		text(organization(maintainer)) "]\n  },"
	printf "  \"packages\": ["
}
{
	print (NR > 1 ? "," : "") "\n    {"
	print "      \"SPDXID\": " text($1) ",\n      \"name\": " text($2) ","
	print "      \"versionInfo\": " text($3) ","
	print "      \"supplier\": " text(organization($4)) ","
	print "      \"licenseConcluded\": " text(reference($5)) ","
	print "      \"licenseDeclared\": " text($5) ","
	print "      \"copyrightText\": \"NOASSERTION\","
	if ($6 != "") {
		print "      \"packageFileName\": " text($6) ","
		print "      \"checksums\": [{ \"algorithm\": \"SHA256\"," \
			" \"checksumValue\": " text($7) " }],"
	}
	if ($8 != "")
		print "      \"externalRefs\": [{ \"referenceCategory\": \"PACKAGE-MANAGER\"," \
			" \"referenceType\": \"purl\",\n        \"referenceLocator\": " \
			text($8) " }],"
	print "      \"filesAnalyzed\": false,"
	printf "      \"downloadLocation\": \"NOASSERTION\"\n    }"
}
END {
	printf "\n  ],\n  \"hasExtractedLicensingInfos\": ["
	for (i = 1; i <= refs; i++)
		printf "%s\n    { \"licenseId\": %s,\n      \"extractedText\": %s }", \
			(i > 1 ? "," : ""), text(order[i]), \
			text("The part brings its words; LICENSES.md says what they ask.")
	printf "\n  ],\n  \"relationships\": ["
	while ((getline line <relations) > 0) {
		split(line, r, "\t")
		printf "%s\n    { \"spdxElementId\": %s, \"relationshipType\": %s," \
			" \"relatedSpdxElement\": %s }", (n++ ? "," : ""), text(r[1]), text(r[2]), \
			text(r[3])
	}
	print "\n  ]\n}"
}' "$work/parts"
