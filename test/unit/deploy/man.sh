#!/bin/bash
# test/unit/deploy/man.sh - man pages and completions are made from what the program says of itself:
# they have every command of `boreside help`, every option, every key, all of WIRE.md; groff and
# mandoc find no fault; bash and zsh offer what there is.
set -u
: "${BORESIDE:?}"
here=$(cd "$(dirname "$0")/../../.." && pwd)
man=$here/board/deploy/man
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$here/test/support/said.bash"
none() { [ ! -s "$1" ] || { cat "$1"; false; }; } # a file has nothing in it

check "the pages are made" sh "$man/make.sh" "$BORESIDE" "$dir/man"
check "completion for bash is" sh -c "sh '$man/complete.sh' '$BORESIDE' bash >'$dir/bash'"
check "completion for zsh is" sh -c "sh '$man/complete.sh' '$BORESIDE' zsh >'$dir/zsh'"

# words PAGE: the page as a reader has it, hyphens as typed, in one line
words() { sed 's/\\f[BIR]//g; s/\\-/-/g; s/\\e/\\/g; s/\\&//g; s/\\(aq/'"'"'/g; s/\\(ti/~/g
	s/\\(ha/^/g; s/\\(ga/`/g' "$1" | tr -s '\n ' ' '; }

# missing: the lines of standard input that are not in the text of $dir/words
missing() {
	awk -v text="$dir/words" 'BEGIN { while ((getline line <text) > 0) all = all line }
		index(all, $0) == 0'
}

commands=$("$BORESIDE" help | sed -n 's/^  \([a-z][a-z0-9-]*\) .*/\1/p')
[ "$(echo "$commands" | wc -l)" -ge 12 ] || echo "not ok help lists only: $commands"
for c in $commands; do
	page=$dir/man/man1/boreside-$c.1
	check "$c has a page" test -s "$page"
	words "$page" >"$dir/words"
	"$BORESIDE" "$c" --help >"$dir/help"
	{
		"$BORESIDE" help | sed -n "s/^  $c  *//p"
		sed -n 's/^  \(-[a-zA-Z], \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p' "$dir/help"
		sed 's/^ *//; s/ *$//; s/  \+/\n/g' "$dir/help" | tail -n +2 | sed 's/:$//'
	} | missing >"$dir/lacks"
	check "all of its help is in it" none "$dir/lacks"
	check "boreside(1) names it" grep -q "boreside.*-$c.*(1)" "$dir/man/man1/boreside.1"
done

words "$dir/man/man5/boreside.cfg.5" >"$dir/words"
"$BORESIDE" check --keys | sed -n 's/^- `\([^`]*\)`.*/ \1 /p' | missing >"$dir/lacks"
check "boreside.cfg(5) has every key" none "$dir/lacks"
words "$dir/man/man7/boreside-wire.7" | sed 's/  *//g' >"$dir/words"
{
	grep -o '`[^`]*`' "$here/ipc/WIRE.md" | tr -d '`'
	sed -n 's/^- //p; s/^[0-9]*\. //p; s/^    //p' "$here/ipc/WIRE.md" | tr -d '*`'
	grep '^[A-Z]' "$here/ipc/WIRE.md" | grep -v '](' | tr -d '*`'
} | tr -d ' ' | missing >"$dir/lacks"
check "boreside-wire(7) has all of WIRE.md" none "$dir/lacks"

for tool in mandoc groff; do
	command -v $tool >/dev/null || { echo "skip pages by $tool: it is not here"; continue; }
	for page in "$dir"/man/man?/*; do
		if [ $tool = mandoc ]; then
			mandoc -T lint -W warning "$page"
		else
			groff -man -K utf8 -T utf8 -ww "$page" 2>&1 >/dev/null
		fi
	done >"$dir/lint" 2>&1
	check "$tool finds no fault" none "$dir/lint"
done

# examples: a command that there is, options that it has
grep -v '^#' "$man/examples" | while IFS=$'\t' read -r c _ call; do
	case $call in "boreside $c "*) ;; *) echo "$c: $call" ;; esac
	"$BORESIDE" "$c" --help >"$dir/help" 2>&1 || echo "no command $c"
	for word in $call; do
		[[ $word != -* ]] || grep -q -e "^  $word[, ]" -e ", $word[ ]" "$dir/help" ||
			echo "$c has no $word"
	done
done >"$dir/lacks"
check "examples call what there is" none "$dir/lacks"

options_of() { sed -n 's/^  \(-[a-zA-Z]\), \(--[a-z0-9-]*\).*/\1\n\2/p
	s/^  \(--[a-z0-9-]*\).*/\1/p' "$dir/help"; }

# bash: what it offers is what there is
# shellcheck disable=SC1091  # it was made above
source "$dir/bash"
offered() { # offered WORD...: completions of the last one
	COMP_WORDS=(boreside "$@") COMP_CWORD=$#
	_boreside
	printf '%s\n' "${COMPREPLY[@]}"
}
same() { diff "$dir/want" "$dir/got"; }
printf '%s\n' help --help --version "$commands" | tr ' ' '\n' | sort >"$dir/want"
offered '' | sort >"$dir/got"
check "bash offers the commands" same
for c in $commands; do
	"$BORESIDE" "$c" --help >"$dir/help"
	{ options_of; printf '%s\n' -h --help; } | sort >"$dir/want"
	offered "$c" - | sort >"$dir/got"
	check "bash offers the options of $c" same
done
cd "$dir" || exit 1
printf 'node: { name = "bay"; };\nprotocols = (\n\t{ name = "one"; },\n\t{ name = "two"; }\n);\n' \
	>'a site.cfg'
printf '%s\n' one two >want
offered replay -c 'a site.cfg' -p '' >got
check "bash offers the protocols of the site file" same
echo 'a site.cfg' >want
offered serve -c 'a s' >got
check "bash offers files" same
echo verify >want
offered log v >got
check "bash offers an action" same

if command -v zsh >/dev/null; then
	# what the shell's own functions are given
	cat >driver <<'END'
_arguments() { print -rl -- "$@"; }
_describe() { print -rl -- "${(P@)2}"; }
words=(boreside "${(@)argv[2,-1]}") CURRENT=$#argv
source $1
END
	zsh -f driver "$dir/zsh" '' | sed 's/:.*//' | sort >got
	printf '%s\n' help "$commands" | tr ' ' '\n' | sort >want
	check "zsh offers the commands" same
	for c in $commands; do
		"$BORESIDE" "$c" --help >help
		{ options_of; printf '%s\n' -h --help; } | sort >want
		zsh -f driver "$dir/zsh" "$c" '' | sed 's/^([^)]*)//' |
			sed -n 's/^\(-[a-zA-Z]\)+*\[.*/\1/p; s/^\(--[a-z0-9-]*\)=*\[.*/\1/p' |
			sort >got
		check "zsh offers the options of $c" same
	done
else
	echo "skip completion by zsh: it is not here"
fi
