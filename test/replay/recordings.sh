#!/bin/bash
# test/replay/recordings.sh - every real recording against its independent reference, through
# `boreside recon` and through `boreside serve` + `boreside replay --asap`; both give the same
# bytes.
# Holds: C1
set -u
. "$(dirname "$0")/site.bash"
needs "$DATA/ref" "recordings"
write_site "$dir"
starts

# the base name of the scan's first image in out/
first_image() { find "$dir/out" -name '*.cfl' | sort | head -n 1 | sed 's/\.cfl$//'; }
has_image() { [ -n "$(first_image)" ]; }

while read -r protocol recording reference bound; do
	[ -n "$protocol" ] || continue
	case $BUILD/$protocol in
	*address*/brain_sense | *thread*/brain_sense) # brain_sense_nufft goes the same way
		echo "skip $protocol: its exact sums take minutes under a sanitizer"
		continue
		;;
	esac
	name="$recording as $protocol"
	if ! "$BORESIDE" recon -c "$dir/site.cfg" -p "$protocol" "$DATA/$recording.h5" \
		-o "$dir/one.cfl" \
		>"$dir/recon.log" 2>&1; then
		echo "not ok recon $name: $(tail -n 1 "$dir/recon.log")"
		continue
	fi
	"$BORESIDE" compare --max-unscaled "$bound" "$dir/one.cfl" "$DATA/ref/$reference.cfl" \
		>"$dir/compare.log" 2>&1
	rc=$?
	error=$(grep -m 1 unscaled "$dir/compare.log")
	[ $rc -eq 0 ] && echo "ok recon $name: $error" ||
		echo "not ok recon $name: $(cat "$dir/compare.log")"

	rm -f "$dir"/out/*
	if ! "$BORESIDE" replay -c "$dir/site.cfg" -p "$protocol" \
		--asap $patience "$DATA/$recording.h5" >"$dir/replay.log" 2>&1; then
		echo "not ok service $name: $(cat "$dir/replay.log" "$dir/log.txt" | tail -n 4)"
		continue
	fi
	await has_image
	if cmp -s "$(first_image).cfl" "$dir/one.cfl"; then
		echo "ok service $name: the same bytes as recon"
	else
		echo "not ok service $name: differs from recon ($(ls "$dir/out"))"
	fi
done <<<"$RECORDINGS"
