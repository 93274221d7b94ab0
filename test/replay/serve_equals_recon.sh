#!/bin/bash
# test/replay/serve_equals_recon.sh - a recording through the service, and through `boreside recon` in
# one process: the same images, bit for bit; a sender that is interrupted and begins again
set -u
dir=$(mktemp -d /tmp/boreside-test-XXXXXX)
serve=
cleanup() { [ -z "$serve" ] || kill -KILL "$serve" 2>/dev/null; rm -rf "$dir"; }
trap cleanup EXIT
failed=0
check() { # words, then a command
	local words=$1
	shift
	if "$@" >>"$dir/out.txt" 2>&1; then echo "ok $words"; else
		echo "not ok $words [$*]"
		failed=1
	fi
}

cat >"$dir/site.cfg" <<'CFG'
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 2; };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = (
	{ name = "radial"; method = "gridding"; matrix = [64, 64]; coils = 3; samples = 128;
	  readouts = 101; image: { output = "complex"; combine = "none"; }; trajectory: { type = "radial2d"; }; },
	{ name = "cart"; method = "cartesian"; matrix = [64, 64]; encoded = [128, 64, 1]; coils = 3;
	  samples = 128; readouts = 64; } );
CFG
cd "$dir" || exit 1
for p in radial cart; do
	check "$p: a phantom recording of 5 frames" "$BORESIDE" phantom -c site.cfg -p $p \
		--repetitions 5 --snr 20 -o $p.h5
done
"$BORESIDE" serve -c site.cfg 2>log.txt &
serve=$!
for _ in $(seq 200); do
	"$BORESIDE" status -c site.cfg --json 2>/dev/null | grep -q '"state":"idle"' && break
	sleep 0.05
done
scan=0
for p in radial cart; do
	scan=$((scan + 1))
	check "$p: as fast as it goes" "$BORESIDE" replay -c site.cfg --asap -p $p $p.h5
	check "$p: in one process" "$BORESIDE" recon -c site.cfg -p $p $p.h5 -o $p-one.cfl
	n=$(ls images/ | grep -c "s00$scan-.*cfl")
	check "$p: the service wrote $n images" [ "$n" -eq 5 ]
	mapfile -t ours < <(ls images/*s00$scan-*.cfl)
	one=("$p-one.cfl" "$p"-one-*.cfl) # the first one has no number
	for i in 0 1 2 3 4; do
		check "$p: image $((i + 1)) is the same in both, bit for bit" cmp "${ours[$i]}" "${one[$i]}"
	done
done
# A sender that is killed half-way: the service goes on with the next one.
"$BORESIDE" replay -c site.cfg -p cart cart.h5 >/dev/null 2>&1 &
sender=$!
sleep 0.4
kill -KILL $sender
wait $sender 2>/dev/null
check "after a sender was killed, another one's scan is good" \
	"$BORESIDE" replay -c site.cfg --asap -p cart cart.h5
kill -TERM "$serve"
wait "$serve"
check "the service ends with 0" [ $? -eq 0 ]
serve=
[ $failed -eq 0 ] || sed 's/^/# /' log.txt out.txt
exit $failed
