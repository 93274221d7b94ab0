#!/bin/bash
# test/package/same.sh - `make deb` in two folders, by two users of other umasks, locales, zones
# and homes, at other times: the same packages, symbols and lists of parts, to the byte. Two whole
# builds without a cache: for .ci/full. JOBS: of make.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
for tool in dh git setpriv; do
	command -v $tool >/dev/null || { echo "skip the same bytes: no $tool here"; exit 0; }
done
[ "$(id -u)" -eq 0 ] || { echo "skip the same bytes: only root may become another user"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
. "$here/test/support/said.bash"
stamp=$(git -C "$here" log -1 --format=%ct)

# tree FOLDER: the tree as an archive of its commit has it, with what is changed here
tree() {
	mkdir -p "$1"
	git -C "$here" ls-files -z --cached --others --exclude-standard |
	tar -C "$here" --null -T - -cf - | tar -C "$1" -xf -
	touch -d "@$stamp" "$1/CHANGELOG.md"
}
# made FOLDER COMMAND...: by COMMAND, from nothing
made() {
	local at=$1
	shift
	(cd "$at" && "$@" env -u SOURCE_DATE_EPOCH -u MAKEFLAGS CCACHE_DISABLE=1 \
		make "-j${JOBS:-$(nproc)}" CC=gcc GPU=0 deb)
}
first=$dir/first second=$dir/a/second/one
tree "$first"
tree "$second"
chown -R nobody "$second"
check "make deb in one folder" made "$first"
umask 077
check "and in another, as another user" made "$second" setpriv --reuid=nobody --regid=nogroup \
	--clear-groups env HOME=/nonexistent LC_ALL=C TZ=Asia/Tokyo
count=0
for one in "$first"/build/deb/*.deb "$first"/build/deb/*.json; do
	name=${one##*/} other=$second/build/deb/${one##*/}
	count=$((count + 1))
	check "$name is the same" cmp "$one" "$other"
	cmp -s "$one" "$other" || ! command -v diffoscope >/dev/null ||
		diffoscope --text-color never "$one" "$other" | head -n 60 | sed 's/^/# /'
done
check "a package, its symbols and its parts" [ $count -eq 3 ]
