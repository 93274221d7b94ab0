#!/bin/bash
# test/replay/window.sh - images while the scan runs, through the service and through `boreside
# recon`: the same bytes; a sliding window at a pass's end is the plain frame; previews lead to
# the frame that would have come without them, in a series of their own.
# Holds: W36, W43
set -u
. "$(dirname "$0")/../support/scratch.bash"
close_to() { # A B BOUND: relative difference
	"$BORESIDE" compare "$1" "$2" |
		awk -v bound="$3" '{ print } /^unscaled/ { good = $3 <= bound } END { exit !good }'
}
nth() { # NAME I: the I-th image of `boreside recon -o NAME.cfl`
	if [ "$2" -eq 1 ]; then echo "$1.cfl"; else printf '%s-%04d.cfl' "$1" "$2"; fi
}

quiet="$quiet"' backend = "host";'
spokes="$quiet"' coils = 2; samples = 96; readouts = 60; trajectory: { type = "radial2d"; };'
volume="$quiet"' matrix = [24, 24, 24]; coils = 2; samples = 48; readouts = 400;
	trajectory: { type = "radial3d"; };'
# a preview's successor is never due before it is made: there are fewer slots than preview_every
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 2; acq_slots = 64;
  image_slots = 16; $patient };
sinks = ( { type = "cfl"; dir = "images"; }, { type = "mrd"; dir = "mrd"; } );
protocols = (
	{ name = "slide"; method = "gridding"; matrix = [48, 48]; $spokes frame: { step = 12; }; },
	{ name = "slide_ls"; method = "ls"; matrix = [48, 48]; $spokes frame: { step = 20; };
	  ls: { lambda = 0.01; iterations = 5; }; },
	{ name = "plain"; method = "gridding"; matrix = [48, 48]; $spokes },
	{ name = "volume"; method = "gridding"; $volume frame: { preview_every = 100; }; },
	{ name = "volume_ls"; method = "ls"; $volume frame: { preview_every = 150; };
	  ls: { lambda = 0.01; iterations = 5; }; },
	{ name = "hasty"; method = "gridding"; $volume frame: { preview_every = 3; }; },
	{ name = "quiet"; method = "gridding"; $volume },
	{ name = "quiet_ls"; method = "ls"; $volume ls: { lambda = 0.01; iterations = 5; }; } );
CFG
cd "$dir" || exit 1
for p in slide slide_ls plain; do
	check "$p: a phantom that beats" "$BORESIDE" phantom -c site.cfg -p $p --repetitions 3 \
		--motion 0.4,2.5 -o $p.h5
done
for p in volume volume_ls hasty quiet quiet_ls; do
	check "$p: a phantom" "$BORESIDE" phantom -c site.cfg -p $p --repetitions 2 -o $p.h5
done
starts
scan=0
frames_left() { ls images/*-s00"$scan"-*.cfl 2>/dev/null; } # the files of this scan
previews_left() { ls images/*-s$((scan + 32768))-*.cfl 2>/dev/null; }
left() { # FRAMES PREVIEWS: at least
	[ "$(frames_left | wc -l)" -ge "$1" ] && [ "$(previews_left | wc -l)" -ge "$2" ]
}
same() { # PROTOCOL FRAMES PREVIEWS (of a scan) PERIOD (previews that lead to one frame)
	local p=$1 frames=$2 previews=$3 lead=$4 i f=0 v=0 good=0
	scan=$((scan + 1))
	check "$p: through the service" "$BORESIDE" replay -c site.cfg --asap $patience \
		-p "$p" "$p.h5"
	check "$p: in one process" "$BORESIDE" recon -c site.cfg -p "$p" "$p.h5" -o "$p.cfl"
	await left "$frames" "$previews"
	mapfile -t ours < <(frames_left)
	mapfile -t early < <(previews_left)
	check "$p: $frames frames (${#ours[@]}) and $previews previews (${#early[@]}) left" \
		[ "${#ours[@]}" -eq "$frames" -a "${#early[@]}" -eq "$previews" ]
	for ((i = 1; i <= frames + previews; i++)); do
		if [ "$previews" -gt 0 ] && [ $((i % (lead + 1))) -ne 0 ]; then
			cmp -s "${early[$v]:-none}" "$(nth "$p" $i)" && good=$((good + 1))
			v=$((v + 1))
		else
			cmp -s "${ours[$f]:-none}" "$(nth "$p" $i)" && good=$((good + 1))
			f=$((f + 1))
		fi
	done
	check "$p: $good of $((frames + previews)) are the same in both, bit for bit" \
		[ "$good" -eq $((frames + previews)) ]
}
same slide 11 0 0
same slide_ls 7 0 0
same volume 2 6 3
same volume_ls 2 4 2
for p in plain quiet quiet_ls; do
	check "$p: in one process" "$BORESIDE" recon -c site.cfg -p $p $p.h5 -o $p.cfl
done
for i in 0 1 2; do # a window over one pass is that pass
	check "slide: frame $((5 * i + 1)) is the plain frame $((i + 1)), to 1e-6" \
		close_to "$(nth slide $((5 * i + 1)))" "$(nth plain $((i + 1)))" 1e-6
done
check "slide: what beats is seen between them" \
	sh -c "! cmp -s $(nth slide 1) $(nth slide 4)"
for i in 1 2; do
	check "volume: frame $i has the bytes that it has without previews" \
		cmp "$(nth volume $((4 * i)))" "$(nth quiet $i)"
	check "volume_ls: frame $i has the bytes that it has without previews" \
		cmp "$(nth volume_ls $((3 * i)))" "$(nth quiet_ls $i)"
done
await "$BORESIDE" status -c site.cfg --json >status.json
check "status counts previews by themselves" \
	grep -q '"images_made":2,.*"previews_made":4,"previews_skipped":0,"images_left":2,' \
		status.json
said() { # SERIES-INDEX NAME: an attribute of one image
	cat mrd/*-s"$1".h5 | grep -a -o "<name>boreside_$2</name><value>[^<]*" | sed 's/.*>//' |
		head -n 1
}
# more previews than there is time for: some are left out, the frames are what they are
check "hasty: as fast as it goes" "$BORESIDE" replay -c site.cfg --asap $patience -p hasty hasty.h5
scan=5
await left 2 0
await "$BORESIDE" status -c site.cfg --json >status.json
made=$(sed 's/.*"previews_made":\([0-9]*\).*/\1/' status.json)
skipped=$(sed 's/.*"previews_skipped":\([0-9]*\).*/\1/' status.json)
check "hasty: $made previews and $skipped left out are the 266 that were due" \
	[ $((made + skipped)) -eq 266 ]
for i in 1 2; do
	check "hasty: frame $i has the bytes that it has without previews" \
		cmp "$(ls images/*-s005-i0000$i.cfl)" "$(nth quiet $i)"
done
words() { # SERIES-INDEX: what that image says of itself
	for n in engine quality preview readouts missing iterations; do said "$1" $n; done | xargs
}
check "a preview of ls says what it is: $(words 32772-i00003)" \
	[ "$(words 32772-i00003)" = "gridding/host partial 3 150 250" ]
check "and its frame: $(words 004-i00002)" \
	[ "$(words 004-i00002)" = "ls/host complete 400 0 5" ]
ends
