#!/bin/bash
# test/replay/console/tap.sh - readouts with oversampling of which encodedSpace has none, as a live
# tap's header says it: the same bytes as by a converter's header, by boreside init alone and by
# the other's site file, too. The service gives recon's bytes, and its outcome says it.
set -u
. "$(dirname "$0")/console.bash"
begin "a tap's oversampling"
told="the samples, not encodedSpace, tell the oversampling of 2: lines have 80 for 40"
for name in tap_live tap_converter tap_live_R2 tap_converter_R2; do
	made $name
done
bound tap_live tap_oversampled 1e-6
bound tap_live_R2 tap_oversampled 0.02
for r in "" _R2; do
	check "the same bytes$r" cmp tap_live$r.cfl tap_converter$r.cfl
	check "recon says it$r" grep -q "$told" tap_live$r.log
	check "init says it$r" grep -q "$told" tap_live$r.err
	check "a converter's header needs no words$r" test -z "$(cat tap_converter$r.{log,err} |
		grep oversampling)"
	"$BORESIDE" recon -c tap_converter$r.cfg -o other.cfl "$DATA/console/tap_live$r.h5" \
		>out 2>&1
	check "by the other's site file$r" cmp other.cfl tap_live$r.cfl
	served tap_live$r
	check "its outcome says it$r" grep -q "outcome: BS_OK.*$told" tap_live$r.out
done
is tap_live complete
check "and says it" grep -q "boreside_readout</name><value>$told" tap_live.text
