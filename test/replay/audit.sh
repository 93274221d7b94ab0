#!/bin/bash
# test/replay/audit.sh - a log of JSON: each line an object; each scan one audit line;
# the status has the last scans, too; nothing is said twice when processes are killed
set -u
cd "$(dirname "$0")/../.." || exit 1
. test/support/scratch.bash
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 1; log_format = "json";
	$patient };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = ( { name = "cart"; method = "cartesian"; matrix = [32, 32]; encoded = [64, 32, 1];
	coils = 2; samples = 64; readouts = 32; $quiet } );
CFG
cd "$dir" || exit 1
"$BORESIDE" phantom -c site.cfg -p cart --repetitions 3 -o cart.h5 >out.txt 2>&1
starts
check "a good scan" "$BORESIDE" replay -c site.cfg --asap $patience -p cart cart.h5
audits() { grep -c '"audit":' log.txt; }
are() { [ "$(audits)" -eq "$1" ]; }
check "has an audit line" await are 1
line=$(grep '"audit":' log.txt)
for part in '"scan":1,' '"protocol":"cart"' '"code":0,"name":"BS_OK"' '"acquisitions":96,' \
	'"images":3,' '"gaps":0,'; do
	check "with $part" grep -qF "$part" <<<"$line"
done

status() { "$BORESIDE" status -c site.cfg --json >status.txt; }
# emit and ingest are killed: what was said is not said again
pid() { status && sed -n "s/.*\"name\":\"$1\",\"pid\":\([0-9]*\).*/\1/p" status.txt; }
count=$(audits)
kill -KILL "$(pid ingest)" "$(pid emit)"
check "the service is ready again" "$BORESIDE" status -c site.cfg $ready
check "another good scan" "$BORESIDE" replay -c site.cfg --asap $patience -p cart cart.h5
check "has one more audit line, no other is repeated" await are $((count + 1))
check "numbers of audited scans rise by one" awk -v n=0 '/"audit":/ {
	match($0, /"scan":[0-9]+/); s = substr($0, RSTART + 7, RLENGTH - 7) + 0
	if (s != ++n) exit 1 }' log.txt
status
check "the status has them all" [ "$(grep -o '"ended":"2' status.txt | wc -l)" -eq $((count + 1)) ]
ends
bad=$(grep -cv '^{"time":"[0-9T:.-]*Z","process":"[a-z]*","level":"[a-z]*",".*}$' log.txt)
check "each of $(wc -l <log.txt) lines is an object" [ "$bad" -eq 0 ]
if python3 -c '' 2>/dev/null; then
	check "python reads each" python3 -c 'import json, sys
for line in open("log.txt"): json.loads(line)'
else
	echo "skip python3 is not installed: its reading of each line"
fi
