#!/bin/bash
# test/unit/board/status.sh - boreside status --fields is the table of board/doc/STATUS.md
set -u
here=$(cd "$(dirname "$0")/../../.." && pwd)
fields=$("$BORESIDE" status --fields)
rows=$(grep -c '^| `' <<<"$fields")
[ "$rows" -gt 200 ] && echo "ok --fields has $rows members" || echo "not ok --fields: $rows members"
[[ $(<"$here/board/doc/STATUS.md") == *"$fields"$'\n\n'* ]] && echo "ok STATUS.md has this table" ||
	echo "not ok the table of board/doc/STATUS.md is not what boreside status --fields prints"
