#!/bin/bash
# test/replay/faults.sh - a sender with faults against the real service: with several seeds every
# image is the same, byte by byte, as without; what cannot heal ends in a gap that is named
# Holds: W8
set -u
: "${BORESIDE:?}"
. "$(dirname "$0")/../support/await.bash"
dir=$(mktemp -d /tmp/boreside-test-XXXXXX)
cleanup() { for f in "$dir"/*/pid; do [ ! -f "$f" ] || kill -KILL "$(<"$f")"; done; rm -rf "$dir"; }
trap cleanup EXIT
cd "$dir" || exit 1

site() { # in the folder at hand
	cat >site.cfg <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = ( { name = "cart"; method = "cartesian"; matrix = [64, 48]; encoded = [64, 48, 1];
	coils = 2; samples = 64; readouts = 48; $quiet } );
CFG
}
site
"$BORESIDE" phantom -c site.cfg -p cart --repetitions 4 --snr 20 -o scan.h5 >log 2>&1 ||
	echo "not ok a recording: $(tail -n 1 log)"

# play NAME STATUS ARGUMENTS...: a service of its own, one scan; NAME/out has replay's words
play() {
	local name=$1 want=$2 got
	shift 2
	mkdir "$name" && cd "$name" || return
	site
	"$BORESIDE" serve -c site.cfg 2>log &
	echo $! >pid
	"$BORESIDE" status -c site.cfg $ready >/dev/null
	"$BORESIDE" replay -c site.cfg --asap $patience -p cart "$@" ../scan.h5 >out 2>&1
	got=$?
	kill -TERM "$(<pid)"
	wait "$(<pid)" || echo "not ok $name: the service ends with $?"
	rm pid
	[ $got -eq "$want" ] && echo "ok $name: status $got" ||
		echo "not ok $name: status $got, not $want: $(tail -n 30 out | tr '\n' '|')"
}
# The images of a service's last scan, each with its sum.
images() {
	(cd "$1/images" && last=$(ls | sed -n 's/.*-\(s[0-9]*\)-.*/\1/p' | tail -n 1) &&
		for f in *-"$last"-*; do echo "${f##*-} $(sha256sum <"$f")"; done)
}
seeds="1 2 3"
printf 'at 5 drop for good\nat 60 truncate to 100 bytes for good # its beginning only\n' >lost.txt
printf 'at %s\n' '3 lose' >wrong
printf 'at 194 drop\n' >beyond
{
	play plain 0 &
	for s in $seeds; do play "seed-$s" 0 --faults "$s" & done
	play lost 1 --faults ../lost.txt &
	wait
} >results
cat results
[ "$(images plain | wc -l)" -eq 8 ] && echo "ok 4 images without faults, 2 files each" ||
	echo "not ok no images: $(images plain)"
for s in $seeds; do
	[ "$(images "seed-$s")" = "$(images plain)" ] &&
		echo "ok seed $s: every image is the same, byte by byte" ||
		echo "not ok seed $s: $(diff <(images "seed-$s") <(images plain) | tr '\n' '|')" \
			"$(tr '\n' '|' <"seed-$s/out")"
	grep -q ' 8 of 8 faults struck' "seed-$s/out" && ! grep -q never "seed-$s/out" &&
		echo "ok seed $s: all faults struck, all numbers acknowledged" ||
		echo "not ok seed $s: $(tr '\n' '|' <"seed-$s/out")"
done
grep -q 'gaps 2,' lost/out &&
	grep -q 'BS_ERR_SEQUENCE: 1 messages from sequence number 5' lost/out &&
	echo "ok two readouts lost for good: $(grep outcome: lost/out)" ||
	echo "not ok lost for good: $(tr '\n' '|' <lost/out)"

"$BORESIDE" replay --url "ipc://$dir/nowhere" --faults 2 scan.h5 --patience 0.1 | grep '^at' >drawn
[ -s drawn ] && diff <(grep '^at' seed-2/out) drawn && echo "ok the same seed, the same faults" ||
	echo "not ok another draw: $(tr '\n' '|' <drawn)"
for f in wrong beyond missing; do
	if "$BORESIDE" replay --url "ipc://$dir/nowhere" --faults $f scan.h5 >out 2>err; then
		echo "not ok plan $f is taken"
	else
		grep -q "$([ $f = beyond ] && echo 'message 194' || echo $f)" err &&
			echo "ok $(cat err)" || echo "not ok $f: $(cat err)"
	fi
done
