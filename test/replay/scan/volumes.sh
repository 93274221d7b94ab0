#!/bin/bash
# test/replay/scan/volumes.sh - image.volume: slices in the order of their positions whatever the
# order of acquisition, the pixels of slices that leave alone, the same bytes by the service, also
# with a recon and an emit that are killed meanwhile; a series as one file; a slice that does not
# come; what is no stack is refused
# Holds: C6
set -u
cd "$(dirname "$0")/../../.." || exit 1
. test/support/scratch.bash
shifted=$BUILD/test/support/recording/shifted
cd "$dir" || exit 1
: >out.txt
: >log.txt
scan=0
refused() { ! "$@"; }
says() { # says WHAT WORDS FILE
	grep -aqF "$2" "$3" && echo "ok $1: $2" || echo "not ok $1, not $2: $(tail -n 9 "$3")"
}
attribute() { # attribute NAME FILE: its values, image by image
	local name=$1
	shift
	grep -a -h -o "<name>$name</name><value>[^<]*" "$@" | sed 's/.*>//' | xargs
}
site() { # site FILE KEYS...: what init wrote, with these keys of the protocol
	local file=$1
	shift
	sed "s/^node: {/node: { $patient/; s/^\t\tmatrix = /\t\t$quiet $*\n&/
		s/{ type = \"png\"; dir = \"images\"; }/{ type = \"cfl\"; dir = \"images\"; }/
		s/{ type = \"mrd\"; dir = \"images\"; }/{ type = \"mrd\"; dir = \"mrd\"; }/" \
		init.cfg >"$file"
}
phantom() { # phantom OUT OPTIONS...
	local out=$1
	shift
	"$BORESIDE" phantom -o "$out" --traj cartesian --scanner --matrix 40,36 --slices 7 \
		--coils 2 --snr 30 --fov-mm 160,144,3.2 --spacing-mm 4 --oblique 20,10 "$@"
}
# slices NAME ORDER...: those of one.h5 that left alone, in this order, as NAME
slices() {
	local name=$1 i
	shift
	for i in "$@"; do
		cat "$(printf 'one%s.cfl' "$([ "$i" = 1 ] || printf -- '-%04d' "$i")")"
	done >"$name"
}

# ---- by one process
for order in ascending interleaved each-tr; do
	check "$order: a recording" phantom $order.h5 --repetitions 2 --slice-order $order
	check "$order: a site by init" "$BORESIDE" init --force --from $order.h5 -o init.cfg
	site one.cfg
	site volume.cfg 'image: { volume = true; };'
	check "$order: each slice alone" "$BORESIDE" recon -c one.cfg -o one.cfl $order.h5
	check "$order: joined" "$BORESIDE" recon -c volume.cfg -o $order.cfl $order.h5
	case $order in
	ascending) slices want.cfl 1 2 3 4 5 6 7 && slices want-0002.cfl 8 9 10 11 12 13 14 ;;
	*) slices want.cfl 1 5 2 6 3 7 4 && slices want-0002.cfl 8 12 9 13 10 14 11 ;;
	esac
	check "$order: by position" cmp $order.cfl want.cfl
	check "$order: by position, the second repetition" cmp $order-0002.cfl want-0002.cfl
	check "$order: no third image" test ! -e $order-0003.cfl
done
check "what it says" "$BORESIDE" recon -c volume.cfg -o volume.h5 interleaved.h5
is() { # is WHAT WANTED FOUND
	[ "$2" = "$3" ] && echo "ok $1: $2" || echo "not ok $1: $3, not $2"
}
is "both volumes" "complete complete" "$(attribute boreside_quality volume.h5)"
is "its slices" "7 7" "$(attribute boreside_slices volume.h5)"
is "by position" "0-6 0-6" "$(attribute boreside_slice_numbers volume.h5)"
is "their thickness" "3.2 3.2" "$(attribute boreside_slice_thickness volume.h5)"
says "gaps between them" "boreside_header</name><value>slices of 3.2 mm lie 4 mm apart<" volume.h5
"$BORESIDE" check volume.cfg >check.txt 2>&1
says "the plan" "lines > combine, join" check.txt
says "the memory" "slices to join" check.txt
check "two echoes" phantom echoes.h5 --slice-order each-tr --echoes 2 --te-ms 3,8
check "a site by init" "$BORESIDE" init --force --from echoes.h5 -o init.cfg
site one.cfg
site echoes.cfg 'image: { volume = true; };'
check "each slice alone" "$BORESIDE" recon -c one.cfg -o one.cfl echoes.h5
check "a volume an echo" "$BORESIDE" recon -c echoes.cfg -o echoes.cfl echoes.h5
slices want.cfl 1 9 3 11 5 13 7
slices want-0002.cfl 2 10 4 12 6 14 8
check "the first echo" cmp echoes.cfl want.cfl
check "the second echo" cmp echoes-0002.cfl want-0002.cfl

# slices that were excited at once: 0 with 2, then 1 with 3
groups=$DATA/console/sms_mb2_groups.h5
if [ -f "$groups" ]; then
	check "multiband: a site by init" "$BORESIDE" init --force --from "$groups" -o init.cfg
	site one.cfg
	site bands.cfg 'image: { volume = true; };'
	check "multiband: each slice alone" "$BORESIDE" recon -c one.cfg -o one.cfl "$groups"
	check "multiband: joined" "$BORESIDE" recon -c bands.cfg -o bands.cfl "$groups"
	slices want.cfl 1 3 2 4
	check "multiband: by position" cmp bands.cfl want.cfl
else
	echo "skip multiband: no $groups"
fi

# ---- files: where the slices lie, one by one and joined
if command -v dump2dcm >/dev/null; then
	site one.cfg
	"$BORESIDE" init --force --from interleaved.h5 -o init.cfg >>out.txt 2>&1
	site one.cfg
	check "DICOM" "$BORESIDE" recon -c volume.cfg -o v.dcm interleaved.h5
	check "DICOM, slice by slice" "$BORESIDE" recon -c one.cfg -o s.dcm interleaved.h5
	element() { dcmdump +P "$1" "$2" | grep -o '\[[^]]*' | tr -d '['; }
	is "an instance a volume" 7 "$(element 0028,0008 v.dcm)"
	is "slices" 3.2 "$(element 0018,0050 v.dcm | sed 's/\(3\.2\)0*[0-9]$/\1/')"
	is "their distance" 4 "$(element 0018,0088 v.dcm | cut -c1-6 | sed 's/^4\.0000$/4/')"
	for i in 1 5 2 6 3 7 4; do # the first repetition's, by position
		element 0020,0032 "$(printf 's%s.dcm' "$([ $i = 1 ] || printf -- '-%04d' $i)")"
	done | cut -c1-60 | tr '\\' '\n' | awk '{ printf "%.3f\n", $1 }' >places.txt
	element 0020,0032 v.dcm | tr '\\' '\n' | awk '{ printf "%.3f\n", $1 }' >joined.txt
	check "21 coordinates" test "$(wc -l <joined.txt)" -eq 21
	check "the slices' places" cmp places.txt joined.txt
else
	echo "skip DICOM: no dump2dcm"
fi

# ---- what cannot be joined
site bad.cfg 'image: { volume = true; }; frame: { preview_every = 10; };'
check "previews are refused" refused "$BORESIDE" check bad.cfg
says "check" "image.volume: not with frame.preview_every: no slice leaves alone" out.txt
sed 's/slices = 7/slices = 6/' volume.cfg >few.cfg
check "fewer slices than the header promises" refused "$BORESIDE" recon -c few.cfg -o no.cfl \
	interleaved.h5
says "recon" "image.volume of protocol 'phantom' joins at most 6" out.txt

check "slice 3 lies 1 mm nearer to slice 4" "$shifted" ascending.h5 unequal.h5 3 1 0
check "that is no stack" refused "$BORESIDE" recon -c volume.cfg -o no.cfl unequal.h5
said="slices lie 3 to 5 mm apart: image.volume joins slices that lie equally far apart"
says "recon" "$said" out.txt
check "it moves in the second repetition" "$shifted" ascending.h5 moved.h5 3 1 1
check "recon" "$BORESIDE" recon -c volume.cfg -o moved.h5x.h5 moved.h5
is "the second volume is partial" "complete partial" "$(attribute boreside_quality moved.h5x.h5)"
says "it says so" ">slice 3 is moved against the others<" moved.h5x.h5

# ---- by the service
mkdir logs
sed -i 's/{ type = "mrd"; dir = "mrd"; }/&, { type = "nifti_4d"; dir = "series"; }/' volume.cfg
echo 'log: { dir = "logs"; mode = "relaxed"; };' >>volume.cfg
"$BORESIDE" serve -c volume.cfg 2>log.txt &
serve=$!
"$BORESIDE" status -c volume.cfg $ready >/dev/null
images() { ls images | grep -c "s00$scan-.*cfl"; }
written() { [ "$(images)" -ge "$1" ]; } 2>/dev/null
for order in ascending interleaved each-tr; do
	scan=$((scan + 1))
	check "$order: the service" "$BORESIDE" replay -c volume.cfg --asap $patience $order.h5
	await written 2
	check "$order: two images" [ "$(images)" -eq 2 ]
	mapfile -t ours < <(ls images/*s00$scan-*.cfl)
	check "$order: the same bytes" cmp "${ours[0]}" $order.cfl
	check "$order: the second, too" cmp "${ours[1]}" $order-0002.cfl
done

# a recon that is killed, between slices of a volume and between volumes
check "a longer recording" phantom long.h5 --repetitions 12 --slice-order interleaved
check "in one process" "$BORESIDE" recon -c volume.cfg -o long.cfl long.h5
scan=$((scan + 1))
pid_of() { # pid_of WORKER
	"$BORESIDE" status -c volume.cfg --json |
		grep -o "\"name\":\"$1\"[^}]*" | grep -o '"pid":[0-9]*' | grep -o '[0-9]*'
}
"$BORESIDE" replay -c volume.cfg --speed 1 $patience long.h5 >replay.txt 2>&1 &
sender=$!
killed=0
for n in 2 5 9; do
	await written $n
	[ $n = 2 ] || kill -KILL "$(pid_of emit)"
	pid=$(pid_of recon)
	[ -n "$pid" ] && kill -KILL "$pid" && killed=$((killed + 1))
done
wait $sender
check "its scan is good all the same" [ $? -eq 0 ]
check "recon was killed three times, emit twice" [ $killed -eq 3 ]
await written 12
check "12 volumes" [ "$(images)" -eq 12 ]
mapfile -t ours < <(ls images/*s00$scan-*.cfl)
one=(long.cfl long-*.cfl)
for i in $(seq 0 11); do
	check "volume $((i + 1)) is the same in both" cmp "${ours[$i]}" "${one[$i]}"
done

check "in one process, as a series" "$BORESIDE" recon -c volume.cfg -o long.4d.nii long.h5
is "it lists the one file" "  long.4d.nii" "$(tail -n 1 out.txt)"
count() { od -An -t d2 -j 48 -N 2 "$1" | tr -d ' '; } # dim[4]
has_all() { [ "$(count series/uid00000001-s00$scan.4d.nii)" = 12 ]; }
await has_all
is "the series has each volume once" 12 "$(count series/uid00000001-s00$scan.4d.nii)"
bytes=$((12 * 7 * 40 * 36 * 4))
tail -c $bytes long.4d.nii >want.raw
tail -c $bytes series/uid00000001-s00$scan.4d.nii >found.raw
check "the same bytes" cmp want.raw found.raw
is "a line each" 12 "$(wc -l <series/uid00000001-s00$scan.4d.txt)"

# slice 2 of the first repetition does not come: 36 lines a slice, in ascending order
scan=$((scan + 1))
for n in $(seq 73 108); do echo "at $n drop for good"; done >faults.txt
"$BORESIDE" replay -c volume.cfg --asap $patience --faults faults.txt ascending.h5 >replay.txt 2>&1
says "the outcome" "36 messages from sequence number 73 on never came" replay.txt
await written 2
mapfile -t ours < <(ls images/*s00$scan-*.cfl)
slice=$((40 * 36 * 8))
await test -e mrd/uid00000001-s00$scan-i00002.h5
is "it is partial" "partial complete" "$(attribute boreside_quality mrd/*s00$scan-*.h5 | xargs)"
says "it says so" ">slice 2 is missing and zeros<" mrd/uid00000001-s00$scan-i00001.h5
check "the others are as before" cmp -n $((2 * slice)) "${ours[0]}" ascending.cfl
check "and behind it" cmp -i $((3 * slice)) "${ours[0]}" ascending.cfl
check "it is zeros" cmp -n $slice -i $((2 * slice)):0 "${ours[0]}" /dev/zero
check "the second volume is whole" cmp "${ours[1]}" ascending-0002.cfl
scan=$((scan + 1))
"$BORESIDE" replay -c volume.cfg --asap $patience unequal.h5 >refused.txt 2>&1
check "no stack is refused" [ $? -ne 0 ]
says "the outcome" "$said" refused.txt
check "it leaves no image" [ "$(images)" -eq 0 ]
check "the next scan is good" "$BORESIDE" replay -c volume.cfg --asap $patience ascending.h5
kill -TERM $serve
wait $serve
check "the service ends with 0" [ $? -eq 0 ]
serve=

# ---- two protocols: slots that had volumes have slices, and again volumes
sed -n '/^\t{$/,/^\t}$/p' one.cfg | sed 's/"phantom"/"one"/' >block
sed -e '/^\t}$/{s/$/,/;r block' -e '}' -e 's/^node: {/& image_slots = 2;/' volume.cfg >two.cfg
check "each slice alone" "$BORESIDE" recon -c one.cfg -o one.cfl ascending.h5
rm -f images/* series/* mrd/*
"$BORESIDE" serve -c two.cfg 2>log.txt &
serve=$!
"$BORESIDE" status -c two.cfg $ready >/dev/null
for turn in 1:phantom:2 2:one:14 3:phantom:2; do
	IFS=: read -r scan name wanted <<<"$turn"
	check "$name, scan $scan" "$BORESIDE" replay -c two.cfg -p $name --asap $patience \
		ascending.h5
	await written "$wanted"
	check "$name: $wanted images" [ "$(images)" -eq "$wanted" ]
done
for i in $(seq 1 14); do
	was=one$([ "$i" = 1 ] || printf -- '-%04d' "$i").cfl
	check "slice's image $i" cmp "$was" "images/uid00000001-s002-i$(printf %05d "$i").cfl"
done
await test -e mrd/uid00000001-s002-i00014.h5
check "14 files" [ "$(find mrd -name '*s002-*.h5' | wc -l)" -eq 14 ]
is "no slice says that it is a volume" "" "$(attribute boreside_slices mrd/*s002-*.h5)"
check "the last volume" cmp ascending-0002.cfl images/uid00000001-s003-i00002.cfl
kill -TERM $serve
wait $serve
check "the service of two protocols ends with 0" [ $? -eq 0 ]
serve=
