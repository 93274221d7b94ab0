#!/bin/sh
# board/deploy/man/complete.sh PROGRAM bash|zsh: that shell's completion of the program's
# commands and options on standard output, made from what PROGRAM itself says (help, --help).
set -eu
program=$1
here=$(cd "$(dirname "$0")" && pwd)
tab=$(printf '\t')
said=$("$program" help) # a program that does not run ends this
echo "$said" | sed -n 's/^  \([a-z][a-z0-9-]*\)  *\([^ ].*\)$/\1	\2/p' |
	while IFS=$tab read -r name summary; do
		printf 'command\t%s\t%s\n' "$name" "$summary"
		"$program" "$name" --help </dev/null |
			awk -v summary="$summary" -f "$here/help.awk"
	done | awk -v shell="$2" -f "$here/complete.awk"
