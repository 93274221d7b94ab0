#!/bin/bash
# test/fault/peers/own.sh - board/doc/sender.py and archive.py, as SENDER.md has them, and a service
#
# They know ipc/WIRE.md alone. The site file is the page's; the image has the object's two
# rectangles where the sender put them; a receiving process that is killed costs nothing, and an
# archive that is started again goes on.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. test/support/scratch.bash
doc=$PWD/board/doc
command -v python3 >/dev/null || { echo "skip python3 is not here"; exit 0; }
export PYTHONDONTWRITEBYTECODE=1
sed -n '/^    # site.cfg/,/^$/s/^    //p' "$doc/SENDER.md" >"$dir/site.cfg"
cd "$dir" || exit 1
check "SENDER.md has a site file" grep -q '"first"' site.cfg
sed -i "s/^node: {/& $patient/; s/name = \"first\";/& $quiet/" site.cfg # for a busy machine alone
check "which is valid" "$BORESIDE" check site.cfg

send() { python3 "$doc/sender.py" ipc://run/kspace.ipc "$1"; }
archive() { timeout 300 python3 "$doc/archive.py" ipc://run/images.ipc "$@"; }
send first >early.txt 2>&1 &
early=$!
"$BORESIDE" serve -c site.cfg 2>log.txt &
serve=$!
check "a sender that was there before the service" wait $early
check "its outcome" grep -q '^outcome 0: 64 readouts taken, 1 image, 0 undelivered' early.txt
check "an archive has its image" archive mine kept 1
value() { # value X Y: the pixel's, 0 to 255
	tail -c 4096 "$1" | od -An -v -tu1 -w64 |
		awk -v x="$2" -v y="$3" 'NR == y + 1 { print $(x + 1) }'
}
looks() { # 3 in the small rectangle, 1 in the large one, 0 outside: to a hundredth of 3
	[ "$(value "$1" 23 19)" -ge 252 ] && [ "$(value "$1" 18 14)" -ge 252 ] &&
		[ "$(value "$1" 40 40)" -ge 82 ] && [ "$(value "$1" 40 40)" -le 88 ] &&
		[ "$(value "$1" 29 19)" -le 88 ] && [ "$(value "$1" 5 40)" -le 3 ] &&
		[ "$(value "$1" 40 60)" -le 3 ]
}
check "which has the object where the sender put it" looks kept/*.pgm

send first >killed.txt 2>&1 &
sender=$!
accepted() { grep -q '^accepted' killed.txt || ! kill -0 $sender; }
await accepted
"$BORESIDE" status -c site.cfg --json >status.json
pid=$(sed -n 's/.*"name":"ingest","pid":\([0-9]*\).*/\1/p' status.json)
check "the receiving process is killed" kill -KILL "$pid"
check "the sender goes on" wait $sender
check "its outcome is well" grep -q '^outcome 0: 64 readouts taken, 1 image' killed.txt
check "the archive, started again, has the second image" archive mine kept 1
check "and no other" [ "$(find kept -name '*.pgm' | wc -l)" -eq 2 ]
first=$(find kept -name '*.pgm' | sort | head -n 1)
for f in kept/*.pgm; do check "it is the same picture" cmp "$f" "$first"; done
check "an archive of another name has both" archive other others 2
check "the same bytes" diff -x cursor kept others

send unknown >refused.txt 2>&1
check "a refusal ends the sender" [ $? -eq 1 ]
said="^refused, code -14, message 0: the site has no protocol 'unknown'"
check "in words" grep -q "$said" refused.txt
kill "$serve"
check "the service ends" wait "$serve"
serve=
