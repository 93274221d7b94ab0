#!/bin/bash
# test/replay/asks.sh - without viewers the page asks for images as an archive does: each is there,
# and the last ones are there again when the page was killed and replaced
set -u
cd "$(dirname "$0")/../.." || exit 1
. test/support/scratch.bash
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 1; $patient };
endpoints: { viewers = ""; images = "ipc://run/images.ipc"; };
web: { listen = "127.0.0.1:0"; };
protocols = ( { name = "cart"; method = "cartesian"; matrix = [32, 32]; encoded = [64, 32, 1];
	coils = 2; samples = 64; readouts = 32; $quiet } );
CFG
cd "$dir" || exit 1
"$BORESIDE" phantom -c site.cfg -p cart --repetitions 3 -o cart.h5 >out.txt 2>&1
starts
get() { # get PATH: the answer, headers and all
	local url port
	url=$(cat run/web.url 2>/dev/null) || return 1
	port=${url##*:}
	exec 3<>"/dev/tcp/127.0.0.1/${port%/}" || return 1
	printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$1" >&3
	timeout 10 cat <&3
	exec 3<&-
}
shows() { get /pictures.json 2>/dev/null | grep -q "\"image\":$1,"; }
check "a scan of 3 images" "$BORESIDE" replay -c site.cfg --asap $patience -p cart cart.h5
for i in 1 2 3; do check "the page has image $i" await shows $i; done
pid() { "$BORESIDE" status -c site.cfg --json | sed -n 's/.*"name":"web","pid":\([0-9]*\).*/\1/p'; }
before=$(pid)
check "it is killed" kill -KILL "$before"
another() { local now; now=$(pid) && [ "${now:-0}" -gt 0 ] && [ "$now" != "$before" ]; }
check "another takes its place" await another
check "and has the last image again" await shows 3
ends
