#!/bin/bash
# test/replay/console/frames.sh - frames whose lines come in turns: flow, segmented cine,
# repetitions line by line, all of it with averages and slices; what does not lack: fewer lines as
# the limits say, an elliptical shutter, a flag that stands in mid-frame. By boreside init alone
# each image is exact and complete, they leave as they become whole, and the service gives recon's
# bytes.
# Holds: W44
set -u
. "$(dirname "$0")/console.bash"
begin "frames in turns"
# part NAME X Y Z I: the reference's image I, which lie one behind the other, as part.cfl
part() {
	local bytes=$((8 * $2 * $3 * $4))
	tail -c +$((bytes * $5 + 1)) "$ref/$1.cfl" | head -c $bytes >part.cfl
	printf '# Dimensions\n%d %d %d 1 1 1 1 1 1 1 1 1 1 1 1 1\n' "$2" "$3" "$4" >part.hdr
}
file_of() { # file_of NAME N: recon's image N
	[ "$2" -eq 1 ] && echo "$1.cfl" || printf '%s-%04d.cfl' "$1" "$2"
}
serve() { # serve NAME
	mkdir "$1"
	sed -e "s/^\tname = \"boreside\";.*/&\n\t$patient/" \
		-e 's/^sinks = (/&\n\t{ type = "cfl"; dir = "images"; },/' \
		-e 's/^sinks = (/log: { dir = "log"; mode = "relaxed"; };\n&/' \
		"$1.cfg" >"$1/site.cfg"
	"$BORESIDE" serve -c "$1/site.cfg" 2>"$1/serve.log" &
	serve=$!
	"$BORESIDE" status -c "$1/site.cfg" $ready >/dev/null
}
same() { # same NAME N: the service's images are recon's
	local name=$1 i=0 image
	check "$name: the outcome" grep -q "outcome: BS_OK.*" "$name.out"
	for image in "$name"/images/*.cfl; do
		i=$((i + 1))
		cmp "$image" "$(file_of "$name" $i)" >cmp.out 2>&1 || break
	done
	check "$name: $2 images through the service, bit for bit" \
		test "$i.$(wc -c <cmp.out)" = "$2.0"
}
through() { # through NAME N [RECORDING]
	local name=$1
	serve "$name"
	"$BORESIDE" replay -c "$name/site.cfg" -p scan --asap $patience \
		"$DATA/console/${3:-$name}.h5" >"$name.out" 2>&1
	stop
	same "$name" "$2"
}
# row NAME REFERENCE X Y Z I...: images as they become whole, the reference's I
row() {
	local name=$1 reference=$2 x=$3 y=$4 z=$5 n=0 i
	shift 5
	init "$name" "$DATA/console/$name.h5" || return
	for i in "$@"; do
		n=$((n + 1))
		part "$reference" "$x" "$y" "$z" "$i"
		check "$name: image $n is exact" "$BORESIDE" compare --max-unscaled 1e-6 \
			"$(file_of "$name" $n)" part.cfl
	done
	check "$name: $n images" test "$(ls "$name"*.cfl | wc -l)" -eq "$n"
	check "$name: none is partial" sh -c "! grep -q partial recon.log"
	through "$name" "$n"
}
row flow_sets_in_turn flow_sets_in_turn 48 40 1 0 1
says flow_sets_in_turn "sets = 2"
row cine_phases_segmented cine_phases_segmented 32 48 1 0 1 2 3 4
says cine_phases_segmented "phases = 5"
row repetitions_in_turn repetitions_in_turn 48 40 1 0 1 2
says repetitions_in_turn "repetitions = 3"
row mixed_in_turn mixed_in_turn 24 18 1 0 4 1 5 2 6 3 7
says mixed_in_turn "averages = 2" "phases = 2" "sets = 2"
row last_in_slice_misplaced small 24 20 1 0
row reduced_resolution reduced_resolution 48 64 1 0
check "fewer lines: it says so" grep -q "(lower resolution) and are zeros" reduced_resolution.out
row elliptical_shutter elliptical_shutter 16 32 12 0
check "a shutter: it says so" grep -q "93 lines outside of an ellipse" elliptical_shutter.out

# averages apart: 16 images, of which two have the mean of one
sed '/averages = 2/d' mixed_in_turn.cfg >apart.cfg
"$BORESIDE" recon -c apart.cfg -o apart.cfl "$DATA/console/mixed_in_turn.h5" >recon.log 2>&1
check "averages apart: 16 images" grep -q "^16 images" recon.log
check "of which none is partial" sh -c "! grep -q partial recon.log"
through apart 16 mixed_in_turn

# recon is killed while all frames are open, ingest with it: their lines come again from the log
cp mixed_in_turn.cfg again.cfg
for image in mixed_in_turn*.cfl; do cp "$image" "again${image#mixed_in_turn}"; done
serve again
json() { "$BORESIDE" status -c again/site.cfg --json >again.json; }
pid() { json && sed -n "s/.*\"name\":\"$1\",\"pid\":\([0-9]*\).*/\1/p" again.json; }
came() { json && [ "$(sed -n 's/.*"acquisitions":\([0-9]*\).*/\1/p' again.json)" -gt 200 ]; }
for n in 220 221 222 223; do echo "at $n stall 2500 ms"; done >pause # the kill falls into it
"$BORESIDE" replay -c again/site.cfg -p scan $patience --faults pause \
	"$DATA/console/mixed_in_turn.h5" >again.out 2>&1 &
sender=$!
await came
kill -KILL "$(pid recon)" "$(pid ingest)"
wait $sender
stop
same again 8
check "its frames were read again" grep -q "gets the scan's readouts again" again/serve.log

# too few places: every image says why it is partial, and the sender is told at once
sed '/phases = 5/d' cine_phases_segmented.cfg >few.cfg
"$BORESIDE" recon -c few.cfg -o few.cfl "$DATA/console/cine_phases_segmented.h5" >recon.log 2>&1
early="40 of 48 readouts did not come while it was open, since more frames began than may be"
promises="the header promises 5 phases x 1 sets x 1 averages, and 2 frames"
check "too few places: partial, and why" grep -q "image 1 is partial: $early" recon.log
check "and it was said before" grep -q "$promises" recon.log
n=$(ls few*.cfl | wc -l)
serve few
"$BORESIDE" replay -c few/site.cfg -p scan --asap $patience \
	"$DATA/console/cine_phases_segmented.h5" >few.out 2>&1
stop
check "the service: as many" test "$(ls few/images/*.cfl | wc -l)" -eq "$n"
check "in its log" grep -q "$promises" few/serve.log
check "in the outcome" grep -q "outcome: BS_OK: .*$early" few.out
"$BORESIDE" check cine_phases_segmented.cfg >check.log
check "check says how many may be open, and their bytes" grep -q \
	"frames open at once: 10 (1 slices x 1 contrasts x 5 phases x 1 sets x 2 rep.* bytes each" \
	check.log
