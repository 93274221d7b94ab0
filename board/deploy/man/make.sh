#!/bin/sh
# board/deploy/man/make.sh PROGRAM FOLDER: the man pages in FOLDER/man1, man5 and man7. Those of the
# commands are made from what PROGRAM itself says (help, --help), the site file's from its table of
# keys, the wire's from ipc/WIRE.md: none of them can drift. By hand: boreside.man and examples.
set -eu
program=$1
into=$2
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
version=$(sed -n 's/^#define BS_VERSION "\(.*\)"$/\1/p' "$top/core/version.h")
date=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(stat -c %Y "$program")}" +%Y-%m-%d)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$into/man1" "$into/man5" "$into/man7"

head() { # head NAME SECTION
	printf '.TH %s %s %s "Boreside %s" "Boreside"\n.nh\n.ad l\n' "$1" "$2" "$date" "$version"
}
see_also() { # see_also OWN PAGE...
	own=$1
	shift
	echo '.SH SEE ALSO'
	for page in "$@"; do
		[ "$page" = "$own" ] || echo "$page"
	done | sed 's/^\(.*\)(\(.\))$/.BR \1 (\2),/; s/-/\\-/g; $s/,$//'
}
more='boreside.cfg(5) boreside-wire(7)'

# name <tab> summary
"$program" help >"$tmp/help"
sed -n 's/^  \([a-z][a-z0-9-]*\)  *\([^ ].*\)$/\1	\2/p' "$tmp/help" >"$tmp/commands"
[ -s "$tmp/commands" ] || { echo "man: $program says no command" >&2; exit 1; }
tab=$(printf '\t')
while IFS=$tab read -r name summary; do
	{
		head "boreside-$name" 1
		"$program" "$name" --help </dev/null >"$tmp/help"
		awk -v summary="$summary" -f "$here/help.awk" "$tmp/help" >"$tmp/rows"
		sed -n "s/^$name	/example	/p" "$here/examples" >>"$tmp/rows"
		awk -v name="$name" -v summary="$summary" -f "$here/roff.awk" \
			-f "$here/command.awk" "$tmp/rows"
		# shellcheck disable=SC2086  # the list is meant to be split
		see_also "" "boreside(1)" $more
	} >"$into/man1/boreside-$name.1"
done <"$tmp/commands"

{
	echo '| command | does |'
	sed 's/^\([^	]*\)	\(.*\)/| boreside-\1(1) | \2 |/' "$tmp/commands"
} | awk -f "$here/roff.awk" -f "$here/md.awk" >"$tmp/list"
# shellcheck disable=SC2046,SC2086
see_also "" $(sed 's/^\([^	]*\).*/boreside-\1(1)/' "$tmp/commands") $more >"$tmp/also"
{
	head boreside 1
	sed -e "/^@COMMANDS@$/{r $tmp/list" -e 'd}' -e "/^@SEE_ALSO@$/{r $tmp/also" -e 'd}' \
		"$here/boreside.man"
} >"$into/man1/boreside.1"

{
	head boreside.cfg 5
	printf '.SH NAME\nboreside.cfg \\- site file of the reconstruction service boreside\n'
	"$program" check --keys >"$tmp/keys"
	awk -f "$here/roff.awk" -f "$here/md.awk" "$tmp/keys"
	{
		printf '## Example\n\n'
		sed 's/^/    /' "$top/config/site.cfg"
	} | awk -f "$here/roff.awk" -f "$here/md.awk"
	see_also "" "boreside(1)" "boreside-check(1)" "boreside-wire(7)"
} >"$into/man5/boreside.cfg.5"
{
	head boreside-wire 7
	printf '.SH NAME\nboreside\\-wire \\- how k\\-space reaches boreside, and images leave it\n'
	awk -f "$here/roff.awk" -f "$here/md.awk" "$top/ipc/WIRE.md"
	see_also "" "boreside(1)" "boreside-replay(1)" "boreside-receive(1)" "boreside.cfg(5)"
} >"$into/man7/boreside-wire.7"
