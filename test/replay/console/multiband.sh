#!/bin/bash
# test/replay/console/multiband.sh - slices that were excited at once come apart: by boreside init
# alone each slice is an image of its own, complete, in its place, within the bounds of an
# independent slice-GRAPPA and equal to it; the service gives recon's bytes, as 1, 2 and 7 threads
# do. References with and without their bands' phases, of fewer lines, flagged or as the first
# repetition. No image of two slices is complete: without references, or where these do not fit.
# Holds: W58, C10
set -u
. "$(dirname "$0")/console.bash"
begin "slices at once"
multiband=$BUILD/test/support/recording/multiband

file_of() { # file_of NAME N: recon's image N
	[ "$2" -eq 1 ] && echo "$1.cfl" || printf '%s-%04d.cfl' "$1" "$2"
}
# part NAME I: slice I of a reference as part.cfl, of image $x x $y
part() {
	local bytes=$((8 * x * y))
	tail -c +$((bytes * $2 + 1)) "$ref/$1.cfl" | head -c $bytes >part.cfl
	printf '# Dimensions\n%d %d 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n' "$x" "$y" >part.hdr
}
near() { # near WORDS IMAGE REFERENCE SLICE MOST
	part "$3" "$4"
	check "$1: at most $5 of $3, slice $4" "$BORESIDE" compare --max-unscaled "$5" "$2" part.cfl
}
# partial NAME CONFIG: the number of recon's images of NAME.h5 that are partial
partial() {
	"$BORESIDE" recon -c "$2.cfg" -o "$1.o.h5" "$1.h5" >"$1.log" 2>&1
	strings -n 8 "$1".o*.h5 | grep -c "quality</name><value>partial<"
}
meta() { sed -n "s/.*boreside_$2<\/name><value>\([^<]*\).*/\1/p" "$1.text"; } # meta NAME WHAT
# row NAME X Y MOST LEAKAGE SLICE...: bounds; its images' slices in the order of their making
row() {
	local name=$1 most=$4 leakage=$5 n=0 slice
	x=$2 y=$3
	shift 5
	made "$name" || return
	says "$name" 'parallel = "slice_grappa"'
	served "$name"
	is "$name" complete
	for slice in "$@"; do
		n=$((n + 1))
		near "$name: image $n" "$(file_of "$name" $n)" "${name}_true" "$slice" "$most"
		near "$name: image $n" "$(file_of "$name" $n)" "${name}_slicegrappa" "$slice" 1e-5
	done
	check "$name: $n images" test "$(ls "$name".cfl "$name"-0*.cfl | wc -l)" -eq "$n"
	check "$name: none is partial" sh -c "! grep -q partial $name.log $name.out"
	check "$name: leakage of at most $leakage, and some" awk -v most="$leakage" '
		{ for (i = 1; i <= NF; i++) if ($i > most) exit 1; else some += $i; n++ }
		END { exit n == 0 || some < 0.005 * n }' <(meta "$name" leakage)
	for threads in 1 7; do
		sed "s/^\tname = \"boreside\";.*/&\n\tthreads = $threads;/" "$name.cfg" >threads.cfg
		rm -f threads*.cfl
		"$BORESIDE" recon -c threads.cfg -o threads.cfl "$from/$name.h5" >log 2>&1
		for n in $(seq $#); do
			cmp "$(file_of threads "$n")" "$(file_of "$name" "$n")" || break
		done >cmp.out 2>&1
		check "$name: $threads threads, the same bytes" test ! -s cmp.out
	done
}
row sms_mb2 30 36 0.020 0.024 0 1
row sms_mb2_blipped_ref 30 36 0.020 0.024 0 1
row sms_mb2_groups 20 24 0.033 0.036 0 2 1 3
row sms_mb3 30 30 0.036 0.038 0 1 2

check "which references these are" test "$(meta sms_mb2 references | sort -u)" = \
	"without their bands' phases, 0.0349 of the lines left"
check "and those with phases" grep -q "^with their bands' phases, 0.03" \
	<(meta sms_mb2_blipped_ref references)
check "how many slices" test "$(meta sms_mb3 bands | xargs)" = "3 3 3"
"$BORESIDE" recon -c sms_mb2_groups.cfg -o place.nii "$from/sms_mb2_groups.h5" >log 2>&1
for image in place.nii place-000[234].nii; do
	od -A n -t f4 -j 276 -N 4 "$image"
done | tr -d ' ' | xargs >places
check "each slice in its place" test "$(cat places)" = "0 30 15 45"

# split kernels keep the other slices out
sed 's/factor = 3;/& split = true;/' sms_mb3.cfg >split.cfg
"$BORESIDE" recon -c split.cfg -o split.cfl "$from/sms_mb3.h5" >log 2>&1
x=30 y=30
near "split" split.cfl sms_mb3_true 0 0.0201
near "split" split-0002.cfl sms_mb3_true 1 0.0306
near "split" split-0003.cfl sms_mb3_true 2 0.0201

# fewer virtual coils, the same of all slices of a group
sed 's/coils = 8;/& virtual_coils = 7;/' sms_mb3.cfg >virtual.cfg
"$BORESIDE" recon -c virtual.cfg -o virtual.cfl "$from/sms_mb3.h5" >log 2>&1
near "7 virtual coils" virtual.cfl sms_mb3_true 0 0.036
near "7 virtual coils" virtual-0002.cfl sms_mb3_true 1 0.036
near "7 virtual coils" virtual-0003.cfl sms_mb3_true 2 0.036

# accelerated in plane: GRAPPA behind it, by the same references, if these are known to be fit
for name in sms_mb2 sms_mb2_blipped_ref sms_mb3; do
	"$multiband" "$from/$name.h5" "half_$name.h5" every 2 >log 2>&1
	"$BORESIDE" recon -c $name.cfg -o half_$name.cfl half_$name.h5 >half_$name.log 2>&1
done
check "every second line does not tell of half a field of view" grep -q \
	"lines do not tell whether they have their bands' phases" half_sms_mb2.log
check "and so refused" test ! -e half_sms_mb2.cfl -a ! -e half_sms_mb2_blipped_ref.cfl
x=30 y=30
near "3 bands x 2" half_sms_mb3.cfl sms_mb3_true 0 0.15
near "3 bands x 2" half_sms_mb3-0002.cfl sms_mb3_true 1 0.15
near "3 bands x 2" half_sms_mb3-0003.cfl sms_mb3_true 2 0.15
check "too much for 8 coils: partial, and said" grep -q \
	"image 1 is partial: the slices are not kept apart: 0.41 of another one" half_sms_mb3.log
sed 's/factor = 2;/& shift = 1.0;/' sms_mb2.cfg >none.cfg
"$BORESIDE" recon -c none.cfg -o none.cfl half_sms_mb2.h5 >none.log 2>&1
x=30 y=36
near "2 bands x 2, said to be not moved" none.cfl sms_mb2_true 0 0.030
near "2 bands x 2, said to be not moved" none-0002.cfl sms_mb2_true 1 0.030


# a full center has weights of its own, and tells what every second line does not
"$multiband" "$from/sms_mb2.h5" center.h5 every 2 center >log 2>&1
"$BORESIDE" recon -c sms_mb2.cfg -o center.cfl center.h5 >center.log 2>&1
check "every second line and a full center: no zeros" sh -c "! grep -q zeros center.log"
# of every second line alone it is 0.0219 and more
near "every second line and a full center" center.cfl sms_mb2_true 0 0.0215
near "every second line and a full center" center-0002.cfl sms_mb2_true 1 0.0215
sed 's/factor = 2;/& kernel = [5, 15, 1];/' sms_mb2.cfg >wide.cfg
check "a center of fewer lines than the kernel: none complete" test "$(partial center wide)" -eq 2
check "in words" grep -q "is partial: lines between those that came are zeros" center.log

# lines of several slices that are flagged as calibration, and embedded, are no references
"$multiband" "$from/sms_mb2.h5" flagged.h5 every 2 flagged >log 2>&1
for name in center flagged; do
	"$multiband" $name.h5 embeds_$name.h5 header "<calibrationMode>separate" \
		"<calibrationMode>embedded" >>log 2>&1
	"$BORESIDE" recon -c sms_mb2.cfg -o embeds_$name.cfl embeds_$name.h5 >>log 2>&1
done
for n in "" -0002; do
	check "an embedded center, flagged as calibration: the same bytes$n" \
		cmp embeds_center$n.cfl embeds_flagged$n.cfl
done

# what a frame lacks is its own loss: the references make the weights
"$multiband" "$from/sms_mb2.h5" cut.h5 again 2 cut >log 2>&1
"$BORESIDE" recon -c sms_mb2.cfg -o cut.cfl cut.h5 >cut.log 2>&1
check "a first frame of 8 lines is partial" grep -q \
	"image 1 is partial: 28 of 36 readouts did not come$" cut.log
for n in 1 2; do
	check "the next one is as without it" cmp "cut-000$((2 * n)).cfl" \
		"$(file_of sms_mb2 $n)"
done
"$multiband" "$from/sms_mb2.h5" few.h5 again 2 few >log 2>&1
check "references of 5 lines: none complete" test "$(partial few sms_mb2)" -eq 4
check "in words" grep -q "is partial: the slices are not kept apart: 0.40 of another" few.log

# the first repetition has the slices one by one, and neither header nor flags say anything
"$multiband" "$from/sms_mb2_groups.h5" first.h5 references 2 >log 2>&1
"$BORESIDE" recon -c sms_mb2_groups.cfg -o first.cfl first.h5 >first.log 2>&1
check "references as the first repetition: 12 images" grep -q "^12 images" first.log
check "none partial" sh -c "! grep -q partial first.log"
for n in 1 2 3 4; do
	for again in 4 8; do
		check "image $((n + again)) is the one by flagged references" "$BORESIDE" compare \
			--max-unscaled 1e-5 "$(file_of first $((n + again)))" \
			"$(file_of sms_mb2_groups $n)"
	done
done
for counter in set back; do
	"$multiband" "$from/sms_mb2_groups.h5" other.h5 references 2 $counter >log 2>&1
	rm -f other*.cfl
	"$BORESIDE" recon -c sms_mb2_groups.cfg -o other.cfl other.h5 >other.log 2>&1
	check "by $counter: 12 images" grep -q "^12 images" other.log
	check "by $counter: the same" cmp other-0012.cfl first-0012.cfl
done
"$multiband" "$from/sms_mb2_groups.h5" nothing.h5 references 2 nothing >log 2>&1
check "no counter tells: all but the references are partial" test \
	"$(partial nothing sms_mb2_groups)" -eq 4
check "in words" grep -q \
	"the image may hold 2 slices: an image with its counters was whole before it" nothing.log
"$multiband" "$from/sms_mb2_groups.h5" moved.h5 again 2 moved >log 2>&1
"$BORESIDE" recon -c sms_mb2_groups.cfg -o moved.nii moved.h5 >log 2>&1
for image in moved-000[5678].nii; do
	od -A n -t f4 -j 276 -N 4 "$image"
done | tr -d ' ' | xargs >places
check "a slice moves as its group's lines do" test "$(cat places)" = "10 40 25 55"
x=20 y=24
near "a reference is an image" first-0002.cfl sms_mb2_groups_true 1 0.026

# nothing to take slices apart by: refused, or partial, and never complete
"$multiband" "$from/sms_mb2.h5" bands.h5 bands 2 >log 2>&1
lacks="needs 5 lines in a row of each slice alone, its references; 0 have come"
sed 's/factor = 2;/& references = "flagged";/' sms_mb2.cfg >flagged.cfg
"$BORESIDE" recon -c flagged.cfg -o refused.cfl bands.h5 >log 2>&1
check "no references: recon refuses" test $? -ne 0
check "in words" grep -q "BS_ERR_CALIBRATION: .*group 0 of 2 slices: slice-GRAPPA $lacks" log
check "and writes no image" test ! -e refused.cfl
sed 's/multiband:/grappa: { lacking = "zeros"; };\n&/' flagged.cfg >zeros.cfg
"$BORESIDE" recon -c zeros.cfg -o zeros.h5 bands.h5 >log 2>&1
check "or all its images are partial" grep -q "image 1 is partial: .*its slices lie on each" log
check "all four" test "$(strings -n 8 zeros*.h5 | grep -c 'quality</name><value>partial')" -eq 4
"$multiband" "$from/sms_mb2.h5" once.h5 bands 1 >log 2>&1
"$BORESIDE" recon -c sms_mb2.cfg -o alone.h5 once.h5 >log 2>&1
check "one repetition alone may hold two slices" grep -q \
	"image 1 is partial: .*the image may hold 2 slices: no single-band references" log

# references that are not those of the lines: another shift of the bands
sed 's/factor = 2;/& shift = 0.3;/' sms_mb2.cfg >shift.cfg
"$BORESIDE" recon -c shift.cfg -o shift.h5 "$from/sms_mb2.h5" >log 2>&1
check "references that do not fit" grep -q \
	"image 1 is partial: the slices' references do not add up to the lines, of which 0.65" log
check "in both images" test "$(strings -n 8 shift*.h5 | grep -c 'value>partial<')" -eq 2
sed 's/factor = 2;/factor = 3; /; s/slices = 2/slices = 3/' sms_mb2.cfg >three.cfg
"$BORESIDE" recon -c three.cfg -o three.cfl "$from/sms_mb2.h5" >log 2>&1
check "a header of another number is refused" grep -q \
	"parallelImaging/multiband is of 2 slices at once, multiband.factor of protocol" log
"$multiband" "$from/sms_mb2.h5" single.h5 header "<spacing>" "<!--" "<multiband_factor>2" \
	"--><multiband_factor>1" >log 2>&1
"$BORESIDE" recon -c sms_mb2.cfg -o single.cfl single.h5 >log 2>&1
check "one of single slices, too" grep -q \
	"parallelImaging/multiband is of 1 slice at once, multiband.factor of protocol" log
"$multiband" "$from/sms_mb2.h5" odd.h5 header "<multiband_factor>2" "<multiband_factor>3" >log 2>&1
"$BORESIDE" init --force --from odd.h5 -o odd.cfg >odd.log 2>&1
check "init: 2 slices are no groups of 3" grep -q \
	'(parallel = "slice_grappa" neither: the slices are no such groups)' odd.log
mode="<calibrationMode>"
"$multiband" "$from/sms_mb2.h5" external.h5 header "${mode}separate" "${mode}external" >log 2>&1
"$BORESIDE" recon -c sms_mb2.cfg -o external.cfl external.h5 >log 2>&1
check "calibration of another scan is refused" grep -q \
	"calibrationMode is 'external' at acceleration 1 x 1, slices at once: protocol" log

# recon and ingest are killed behind the first group's images: references and weights come again
sed 's/^sinks = (/log: { dir = "kept"; mode = "relaxed"; };\n&/' sms_mb2_groups.cfg >again.cfg
start again
json() { "$BORESIDE" status -c again/site.cfg --json >again.json; }
pid() { json && sed -n "s/.*\"name\":\"$1\",\"pid\":\([0-9]*\).*/\1/p" again.json; }
lines() { json && [ "$(sed -n 's/.*"acquisitions":\([0-9]*\).*/\1/p' again.json)" -ge 124 ]; }
for n in 124 125 126 127; do echo "at $n stall 2500 ms"; done >pause # the kill falls into it
"$BORESIDE" replay -c again/site.cfg -p scan $patience --faults pause \
	"$from/sms_mb2_groups.h5" >again.out 2>&1 &
sender=$!
await lines
await come again 2
kill -KILL "$(pid recon)" "$(pid ingest)"
wait $sender
await come again 4
stop
check "after a kill: its readouts came again" grep -q "gets the scan's readouts again" again/log
n=0
for image in again/images/*.cfl; do
	n=$((n + 1))
	check "after a kill: image $n bit for bit" cmp "$image" "$(file_of sms_mb2_groups $n)"
done
check "after a kill: four images" test $n -eq 4
