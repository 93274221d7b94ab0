#!/bin/bash
# test/unit/config/check.sh - boreside check: the example site files are valid and print as valid
# ones; a faulty one ends with 1 and every fault on stderr; --keys is the whole table.
set -u
here=$(cd "$(dirname "$0")/../../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/config" "$dir/state" # systemd makes the state directory
cp "$here"/config/*.cfl "$here"/config/*.hdr "$dir/config"
for name in demo host workstation jetson; do
	sed "s|/var/lib/boreside|$dir/state|" "$here/config/$name.cfg" >"$dir/config/$name.cfg"
	if "$BORESIDE" check "$dir/config/$name.cfg" >"$dir/$name.cfg" 2>"$dir/err"; then
		echo "ok config/$name.cfg is valid"
	elif [ -s "$dir/err" ] && ! grep -qv -e 'has no [A-Za-z]* engine here$' \
		-e ': Permission denied$' "$dir/err"; then
		echo "skip config/$name.cfg: $(head -n 1 "$dir/err" | sed 's/^[^ ]* //')"
	else
		echo "not ok config/$name.cfg: $(head -n 5 "$dir/err")"
		continue
	fi
	grep -q '^# Memory plan' "$dir/$name.cfg" && echo "ok $name: a memory plan" ||
		echo "not ok $name: no memory plan"
	[ "$(grep -c '^# protocol ' "$dir/$name.cfg")" = \
		"$(grep -c '^#   plan: ' "$dir/$name.cfg")" ] && echo "ok $name: its plans" ||
		echo "not ok $name: plans: $(grep '^#   plan: ' "$dir/$name.cfg")"
	"$BORESIDE" check "$dir/$name.cfg" 2>"$dir/err" | sed 's/^# .* is valid.*//' >"$dir/again"
	sed 's/^# .* is valid.*//' "$dir/$name.cfg" | cmp -s - "$dir/again" &&
		echo "ok $name: what check prints is the same site" ||
		echo "not ok $name: check of its own output: $(head -n 3 "$dir/again")"
done
printf 'node: { threads = 1.5;\nnam = "x"; };\nprotocols = ( );\n' >"$dir/bad.cfg"
"$BORESIDE" check "$dir/bad.cfg" >"$dir/out" 2>"$dir/err"
rc=$?
if [ $rc -eq 1 ] && [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/err")" -eq 3 ] &&
	[ "$(cut -d: -f2 "$dir/err" | tr -d '\n')" = 123 ]; then
	echo "ok three faults, one a line, exit status 1"
else
	echo "not ok a faulty file ended with $rc: $(cat "$dir/err")"
fi
cat >"$dir/part.cfg" <<END
node: { threads = 1; run_dir = "$dir/run"; cache_dir = ""; };
protocols = ( { name = "a"; method = "gridding"; matrix = [32, 32]; coils = 4; samples = 64;
	readouts = 32; trajectory: { type = "radial2d"; }; },
	{ name = "b"; method = "gridding"; matrix = [32, 32]; coils = 4; samples = 64;
	readouts = 32; trajectory: { type = "radial2d"; }; virtual_coils = 2; } );
END
"$BORESIDE" check "$dir/part.cfg" 2>"$dir/err" | grep '^# self-test of' >"$dir/out"
[ "$(cat "$dir/out")" = "# self-test of 'b': not tested: compress" ] &&
	echo "ok what a self-test leaves out is said, and nothing of one that is whole" ||
	echo "not ok what a self-test leaves out: $(cat "$dir/out" "$dir/err")"
"$BORESIDE" check >/dev/null 2>&1
[ $? -eq 2 ] && echo "ok no file: usage" || echo "not ok no file is not a usage error"
rows=$("$BORESIDE" check --keys | grep -c '^- `')
keys=$(cat "$here/config/keys.c" "$here/config/keys_solve.h" |
	grep -c '^\(S\|K\|L\|A\|E\|M\|P\|STAGE\)("')
[ "$rows" -eq "$keys" ] && [ "$keys" -gt 50 ] && echo "ok --keys prints all $keys keys" ||
	echo "not ok --keys prints $rows rows of $keys keys"
"$BORESIDE" check --keys | cmp -s - "$here/config/KEYS.md" &&
	echo "ok config/KEYS.md is what it prints" ||
	echo "not ok config/KEYS.md is not what boreside check --keys prints: write it anew"
