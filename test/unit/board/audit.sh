#!/bin/bash
# test/unit/board/audit.sh - boreside log audit --promises is the list of board/doc/LOG.md; each of
# its promises has a break in test/fault/audit/breaks.h
set -u
here=$(cd "$(dirname "$0")/../../.." && pwd)
promises=$("$BORESIDE" log audit --promises)
names=$(sed -n 's/^- `\([a-z]*\.[a-z]*\)`:.*/\1/p' <<<"$promises")
rows=$(wc -w <<<"$names")
[ "$rows" -gt 30 ] && echo "ok --promises has $rows" || echo "not ok --promises: $rows rows"
[[ $(<"$here/board/doc/LOG.md") == *"$promises"* ]] && echo "ok LOG.md has this list" ||
	echo "not ok the list of board/doc/LOG.md is not what boreside log audit --promises prints"
for name in $names; do
	grep -q "{ \"$name\"," "$here/test/fault/audit/breaks.h" || echo "not ok no break of $name"
done
[ "$(sort -u <<<"$names" | wc -l)" -eq "$rows" ] && echo "ok no name twice" ||
	echo "not ok a name twice"
