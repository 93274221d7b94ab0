#!/bin/bash
# test/replay/console/tap.sh - readouts with oversampling of which encodedSpace has none, as a live
# tap's header says it: the same bytes as by a converter's header, by boreside init alone and by
# the other's site file, too. The service gives recon's bytes, and its outcome says it.
set -u
if [ ! -d "$DATA/console" ]; then
	echo "skip a tap's oversampling: no folder of recordings at $DATA/console"
	exit 0
fi
. "$(dirname "$0")/../../support/await.bash"
. "$(dirname "$0")/../init/init.bash"
serve=
trap '[ -z "$serve" ] || kill -KILL "$serve" 2>/dev/null; rm -rf "$dir"' EXIT
ref=$DATA/console/ref/tap_oversampled
told="the samples, not encodedSpace, tell the oversampling of 2: lines have 80 for 40"
check() { # words, then a command
	local words=$1
	shift
	if "$@" >out 2>&1; then echo "ok $words"; else echo "not ok $words: $(tail -n 3 out)"; fi
}
for name in tap_live tap_converter tap_live_R2 tap_converter_R2; do
	init $name "$DATA/console/$name.h5"
	mv recon.log $name.log
done
check "exact" "$BORESIDE" compare --max-unscaled 1e-6 tap_live.cfl $ref.cfl
check "accelerated" "$BORESIDE" compare --max-unscaled 0.02 tap_live_R2.cfl $ref.cfl
for r in "" _R2; do
	check "the same bytes$r" cmp tap_live$r.cfl tap_converter$r.cfl
	check "recon says it$r" grep -q "$told" tap_live$r.log
	check "init says it$r" grep -q "$told" tap_live$r.err
	check "a converter's header needs no words$r" test -z "$(cat tap_converter$r.{log,err} |
		grep oversampling)"
	"$BORESIDE" recon -c tap_converter$r.cfg -o other.cfl "$DATA/console/tap_live$r.h5" \
		>out 2>&1
	check "by the other's site file$r" cmp other.cfl tap_live$r.cfl
	name=tap_live$r
	mkdir $name
	sed -e "s/^\tname = \"boreside\";.*/&\n\t$patient/" \
		-e 's/^sinks = (/&\n\t{ type = "cfl"; dir = "images"; },/' $name.cfg \
		>$name/site.cfg
	"$BORESIDE" serve -c $name/site.cfg 2>log &
	serve=$!
	"$BORESIDE" status -c $name/site.cfg $ready >/dev/null
	"$BORESIDE" replay -c $name/site.cfg -p scan --asap $patience "$DATA/console/$name.h5" \
		>$name.out 2>&1
	await test -n "$(ls $name/images/*.cfl 2>/dev/null)"
	check "$name through the service: bit for bit" cmp $name/images/*.cfl $name.cfl
	kill -TERM $serve
	wait $serve
	serve=
	check "its outcome says it$r" grep -q "outcome: BS_OK.*$told" $name.out
done
strings -n 8 tap_live/images/*.h5 >text
check "its image is whole" grep -q 'boreside_quality</name><value>complete<' text
check "and says it" grep -q "boreside_readout</name><value>$told" text
