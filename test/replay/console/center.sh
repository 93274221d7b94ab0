#!/bin/bash
# test/replay/console/center.sh - partial Fourier whose header has the center of a whole scan, as
# converters write it: filled about the center that readouts say, by boreside init alone; where they
# say none and the strongest line is not the header's, zeros and words. The service gives recon's
# bytes, and its outcome the same words.
set -u
if [ ! -d "$DATA/console" ]; then
	echo "skip partial Fourier's center: no folder of recordings at $DATA/console"
	exit 0
fi
. "$(dirname "$0")/../../support/await.bash"
. "$(dirname "$0")/../init/init.bash"
serve=
trap '[ -z "$serve" ] || kill -KILL "$serve" 2>/dev/null; rm -rf "$dir"' EXIT
ref=$DATA/console/ref
moved="the center of k-space is line 16 by idx.user\[5\] of the readouts, not 32 as by the header"
moved3="line 8 by idx.user\[5\] of the readouts, not 16 as by the header; partition 4 by"
zeros="not filled, the center is not known (readouts say none that fits): line 32 by the header"
for name in pf_center_2d pf_center_2d_told pf_center_2d_untold pf_center_3d; do
	init $name "$DATA/console/$name.h5"
	mv recon.log $name.log
done
check() { # words, then a command
	local words=$1
	shift
	if "$@" >out 2>&1; then echo "ok $words"; else echo "not ok $words: $(tail -n 3 out)"; fi
}
bound() { # bound NAME REFERENCE MOST: unscaled
	check "$1: at most $3 of $2" "$BORESIDE" compare --max-unscaled "$3" "$1.cfl" "$ref/$2.cfl"
}
bound pf_center_2d pf_center_2d_full 0.010
bound pf_center_2d_told pf_center_2d_full 0.010
bound pf_center_3d pf_center_3d_full 0.060
check "which center it was changes nothing" cmp pf_center_2d.cfl pf_center_2d_told.cfl
# where lines of zeros lie is a phase
bound pf_center_2d_untold pf_center_2d_zeros 1e-6
bound pf_center_2d_untold pf_center_2d_full 0.0523
tells pf_center_2d "$moved"
tells pf_center_3d "$moved3"
tells pf_center_2d_untold "$zeros"
check "recon says it" grep -q "$moved" pf_center_2d.log
check "and of two axes" grep -q "$moved3" pf_center_3d.log
check "and what is not known" grep -q "is partial: .*$zeros, the strongest is 16" \
	pf_center_2d_untold.log
check "a header that is right needs no words" test ! -s pf_center_2d_told.err

# the service, by the site file that init made
for name in pf_center_2d pf_center_2d_untold pf_center_3d; do
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
	"$BORESIDE" status -c $name/site.cfg --json >$name.json
	kill -TERM $serve
	wait $serve
	serve=
done
check "its outcome says where the center is" grep -q "outcome: BS_OK.*$moved" pf_center_2d.out
check "and of two axes" grep -q "outcome: BS_OK.*$moved3" pf_center_3d.out
check "and what is not known" grep -q "outcome: BS_OK.*$zeros" pf_center_2d_untold.out
check "and so does its status" grep -q "\"remark\":\"$moved\"" pf_center_2d.json
strings -n 8 pf_center_2d/images/*.h5 >text
check "its image is whole" grep -q 'boreside_quality</name><value>complete<' text
check "and says it" grep -q "boreside_center</name><value>line 16 by idx.user" text
strings -n 8 pf_center_2d_untold/images/*.h5 >text
check "the other one's is not" grep -q 'boreside_quality</name><value>partial<' text
