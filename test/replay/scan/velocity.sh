#!/bin/bash
# test/replay/scan/velocity.sh - two sets of a flow that is known: velocities against a
# double-precision reference, set 0 as magnitude, phases; by recon, and the same bytes by the
# service; series, units and files; what is no velocity says so
# Holds: C7
set -u
cd "$(dirname "$0")/../../.." || exit 1
. test/support/scratch.bash
make=$BUILD/test/support/recording/flow
cd "$dir" || exit 1
: >out.txt
: >log.txt
refused() { ! "$@"; }

says() { # says WHAT WORDS FILE
	grep -qF "$2" "$3" && echo "ok $1: $2" || echo "not ok $1, not $2: $(tail -n 9 "$3")"
}
# site FILE KEYS...: what init writes of after.h5, with these keys of image
site() {
	local file=$1
	shift
	sed "s/^\t\tmatrix = /\t\timage: { $*; };\n&/" init.cfg >"$file"
}
recon() { # recon SITE OUT RECORDING
	"$BORESIDE" recon -c "$1" -o "$2" "$3" >recon.txt 2>&1
}
attribute() { # attribute NAME FILE: its values, image by image
	grep -a -o "<name>$1</name><value>[^<]*" "$2" | sed 's/.*>//' | xargs
}

check "two sets, one after the other" "$make" after.h5 truth.cfl after
check "a site by init" "$BORESIDE" init --from after.h5 -o init.cfg
site v.cfg 'output = "velocity"'
check "it is valid" "$BORESIDE" check v.cfg
"$BORESIDE" check v.cfg >check.txt 2>&1
says "the plan" "lines > combine, velocity" check.txt
says "what is kept is planned" "coil images of set 0" check.txt
check "recon" recon v.cfg v.cfl after.h5
check "set 0 is a magnitude" "$BORESIDE" compare --max-unscaled 1e-6 v.cfl truth_0.cfl
check "set 1 a velocity" "$BORESIDE" compare --max-unscaled 3e-6 v-0002.cfl truth.cfl
check "no image of a third kind" test ! -e v-0003.cfl

# set innermost; set 1 whole before set 0 has begun: the same bytes, by init's own `sets`
for order in turn before; do
	check "sets: $order" "$make" $order.h5 t.cfl $order
	check "$order: a site by init" "$BORESIDE" init --from $order.h5 -o $order.cfg
	sed -i "s/^\t\tmatrix = /\t\timage: { output = \"velocity\"; };\n&/" $order.cfg
	check "$order: recon" recon $order.cfg $order.cfl $order.h5
	check "$order: set 0" cmp $order.cfl v.cfl
	check "$order: the velocity" cmp $order-0002.cfl v-0002.cfl
	check "$order: no third image" test ! -e $order-0003.cfl
done
turns=$DATA/console/flow_sets_in_turn.h5
if [ -f "$turns" ]; then # of another object in each set, without a VENC
	check "a console's sets in turn" "$BORESIDE" init --from "$turns" -o turns.cfg
	sed -i "s/^\t\tmatrix = /\t\timage: { output = \"velocity\"; venc = 100.0; };\n&/" turns.cfg
	check "recon" recon turns.cfg turns.h5 "$turns"
	check "both whole" test "$(attribute boreside_quality turns.h5)" = "complete complete"
	check "one velocity" test "$(attribute boreside_venc turns.h5)" = 100
fi

# the key, where the header has none; the header's counts where both are there
check "another VENC" "$make" fast.h5 fast.cfl after 220
check "recon of it" recon v.cfg f.cfl fast.h5
check "is the header's" "$BORESIDE" compare --max-unscaled 3e-6 f-0002.cfl fast.cfl
check "no VENC" "$make" bare.h5 bare.cfl after -
check "is refused" refused recon v.cfg n.cfl bare.h5
says "in words" "neither userParameterDouble VENC_0 of the header nor image.venc" recon.txt
site k.cfg 'output = "velocity"; venc = 150.0'
check "with the key" recon k.cfg n.cfl bare.h5
check "the same velocity" cmp n-0002.cfl v-0002.cfl
check "which the header's beats" sh -c "
	'$BORESIDE' recon -c k.cfg -o h.cfl fast.h5 >>out.txt 2>&1 &&
	cmp h-0002.cfl f-0002.cfl"

# coils by maps, another matrix: the phase difference is that of all coils
site m.cfg 'output = "velocity"; combine = "sense"; maps = "walsh"'
check "with maps for set 0" recon m.cfg m.cfl after.h5
check "the same velocity" cmp m-0002.cfl v-0002.cfl
site r.cfg 'output = "velocity"; matrix = [48, 40]'
check "on another matrix" recon r.cfg r.cfl after.h5
check "an image of that" test -e r-0002.cfl

# what lacks
check "a line of set 0 lacks" "$make" hole.h5 hole.cfl after 150 7
check "recon" recon v.cfg o.h5 hole.h5
says "is partial, and the velocity with it" \
	"image 2 is partial: of set 0, the reference: 1 of 20 readouts did not come" recon.txt
check "twice partial" test "$(attribute boreside_quality o.h5)" = "partial partial"

# a phase: of the coils together, without another key
site p.cfg 'output = "phase"'
check "phase" recon p.cfg p.h5 after.h5
check "in radians" test "$(attribute boreside_unit p.h5)" = "rad rad"
site c.cfg 'output = "complex"; combine = "sense"; maps = "walsh"'
check "phase of one channel" recon p.cfg p.cfl after.h5
check "of the complex image" recon c.cfg c.cfl after.h5
check "its argument" "$make" argument c-0002.cfl p-0002.cfl
site q.cfg 'output = "phase"; combine = "rss"'
check "a root of squares has none" refused "$BORESIDE" check q.cfg

# files: unit, series, picture
check "velocity in .h5" recon v.cfg v.h5 after.h5
check "its unit" test "$(attribute boreside_unit v.h5)" = cm/s
check "its VENC" test "$(attribute boreside_venc v.h5)" = 150
check "and .png" recon v.cfg v.png after.h5
check "and .nii" recon v.cfg v.nii after.h5
check "which says the unit" grep -qa "cm/s" v-0002.nii

# the service, byte by byte
mkdir out
sed -e "s/^node: {/node: { $patient/; s/^\t\tname = /\t\t$quiet\n&/" \
	-e 's/^sinks = (/&\n\t{ type = "cfl"; dir = "out"; },/' v.cfg >serve.cfg
"$BORESIDE" serve -c serve.cfg 2>log.txt &
serve=$!
"$BORESIDE" status -c serve.cfg $ready >/dev/null
check "the service takes it" "$BORESIDE" replay -c serve.cfg --asap $patience after.h5
await sh -c '[ $(ls out/*.cfl 2>/dev/null | wc -l) -eq 2 ]'
check "set 0: recon's bytes" cmp out/*-i00001.cfl v.cfl
check "velocity: recon's bytes" cmp out/*-i00002.cfl v-0002.cfl
check "and a series of its own" sh -c "ls out/*-s16385-i00002.cfl"
ends
