#!/bin/bash
# test/replay/scan/bands.sh - several slices in one image (multiband): none leaves as complete where
# the header says so, or the scan has shown it; images that left before that are named in the
# outcome. `boreside init`, recon and the service say the same of each recording. Of protocols that
# take them apart: test/replay/console/multiband.sh.
# Holds: C9
set -u
cd "$(dirname "$0")/../../.." || exit 1
. test/support/scratch.bash
make=$BUILD/test/support/recording/multiband
scans=$DATA/console
needs "$scans/sms_mb2.h5" "multiband"
cd "$dir" || exit 1
: >out.txt

# qualities FILE...: those of their images, in the order of the images
qualities() { grep -a -h -o 'boreside_quality</name><value>[a-z]*' "$@" | sed 's/.*>//' | xargs; }
written() { [ "$(qualities images/*.h5 | wc -w)" -eq "$1" ]; } 2>/dev/null
is() { # is WHAT WANTED FOUND
	[ "$2" = "$3" ] && echo "ok $1: $2" || echo "not ok $1: $3, not $2"
}
says() { # says WHAT WORDS FILE
	grep -qF "$2" "$3" && echo "ok $1: $2" || echo "not ok $1, not $2: $(tail -n 9 "$3")"
}
# bands NAME RECORDING "QUALITY ..." WORDS: the qualities of its images; what is said of the scan
bands() {
	local name=$1 recording=$2 want=$3 words=$4
	mkdir "$name"
	cd "$name" || exit 1
	if ! "$BORESIDE" init --from "$recording" >init.txt 2>&1; then
		echo "not ok $name: init: $(cat init.txt)"
		cd ..
		return
	fi
	if grep -q slice_grappa site.cfg; then # as a protocol that does not take slices apart
		sed -i '/slice_grappa/d; /multiband: {/,/}/d' site.cfg
	else
		says "$name: init" "$words" init.txt
	fi
	"$BORESIDE" recon -c site.cfg -o one.h5 "$recording" >recon.txt 2>&1
	says "$name: recon" "$words" recon.txt
	is "$name: recon" "$want" "$(qualities one.h5)"
	sed -i "s/^node: {/node: { $patient/; s/^\t\tname = /\t\t$quiet\n&/" site.cfg
	"$BORESIDE" serve -c site.cfg 2>"$dir/log.txt" &
	serve=$!
	"$BORESIDE" status -c site.cfg $ready >/dev/null
	"$BORESIDE" replay -c site.cfg --asap $patience "$recording" >replay.txt 2>&1
	says "$name: the outcome" "$words" replay.txt
	await written "$(wc -w <<<"$want")"
	is "$name: the service" "$want" "$(qualities images/*.h5)"
	kill -TERM $serve
	wait $serve
	check "$name: the service ends with 0" [ $? -eq 0 ]
	serve=
	cd ..
}

# the header says it
said='and this protocol does not take slices apart'
for name in sms_mb2 sms_mb2_blipped_ref sms_radial_mb2; do
	bands $name "$scans/$name.h5" partial "the header says multiband 2, $said"
done
bands sms_mb2_groups "$scans/sms_mb2_groups.h5" 'partial partial' \
	"the header says multiband 2, $said"
bands sms_mb3 "$scans/sms_mb3.h5" partial "the header says multiband 3, $said"

# neither header nor flags say it
from() { # from RECORDING references|bands N: $dir/RECORDING_..._N.h5
	check "$1, $2, $3 times" "$make" "$scans/$1.h5" "$dir/$1_$2_$3.h5" "$2" "$3"
}
few="later repetitions have 1 of the first one's 2 slices"
from sms_mb2 references 1
bands twice "$dir/sms_mb2_references_1.h5" 'complete complete partial' "$few"
check "twice: no image left before that" sh -c '! grep -q "left before" twice/*.txt'
from sms_mb2 references 3
bands often "$dir/sms_mb2_references_3.h5" 'complete complete complete partial partial' \
	"image 3 left before it was known: $few"
from sms_mb2_groups references 1
bands groups "$dir/sms_mb2_groups_references_1.h5" \
	'complete complete complete complete complete partial' \
	"image 5 left before it was known: later repetitions have 2 of the first one's 4 slices"
from sms_mb3 references 1 # of fewer lines
bands three "$dir/sms_mb3_references_1.h5" 'partial partial partial partial' \
	"6 of 30 readouts did not come"
says "three: the last image" "is partial: later repetitions have 1 of the first one's 3 slices" \
	three/recon.txt

# maps of several slices are nobody's
radial="method = \"gridding\"; matrix = [48, 48]; coils = 8; samples = 48; readouts = 34; $quiet
	trajectory: { type = \"file\"; file = \"$scans/sms_radial_mb2.h5\"; };"
cat >maps.cfg <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; study_scans = 2; };
protocols = (
	{ name = "makes"; $radial image: { combine = "sense"; maps = "espirit"; }; },
	{ name = "takes"; $radial image: { combine = "sense"; maps = "study"; }; } );
CFG
"$BORESIDE" recon -c maps.cfg -p takes --before "makes=$scans/sms_radial_mb2.h5" -o maps.cfl \
	"$scans/sms_radial_mb2.h5" >maps.txt 2>&1
says "maps of several slices are not kept" "has left any" maps.txt

# and no references: slices that the limits promise do not come
from sms_mb2 bands 1
bands alone "$dir/sms_mb2_bands_1.h5" complete \
	"image 1 left before it was known: of slices 0 to 1, which the header promises, slice 1 did"
