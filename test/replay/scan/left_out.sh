#!/bin/bash
# test/replay/scan/left_out.sh - what scans on the grid leave out: accelerated lines by SENSE, an
# end of k-space by projections; through the service and in one process the same bytes, with one set
# of defaults within the errors that the recordings' README gives
set -u
. "$(dirname "$0")/../../support/scratch.bash"
needs "$DATA/scan" "what scans leave out"
ref=$DATA/scan/ref
grid='method = "cartesian"; matrix = [64, 64, 1]; encoded = [128, 64, 1];
  coils = 20; contrasts = 2;'
maps() { echo "image: { maps_file = \"$ref/prisma2d_maps_$1.cfl\"; output = \"complex\"; $2 };"; }
pics='ls: { lambda = 1e-4; iterations = 100; };'
cat >"$dir/site.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 2; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "out"; } );
protocols: (
  { name = "R2"; $grid samples = 128; readouts = 40; $quiet parallel = "sense"; $(maps acs16 '') },
  { name = "R3"; $grid samples = 128; readouts = 37; $quiet parallel = "sense"; $(maps acs24 '') },
  { name = "sep"; $grid samples = 128; readouts = 21; $quiet parallel = "sense"; $(maps acs24 '') },
  { name = "R2_pics"; $grid samples = 128; readouts = 40; $quiet parallel = "sense";
    $(maps acs16 '') $pics },
  { name = "R3_pics"; $grid samples = 128; readouts = 37; $quiet parallel = "sense";
    $(maps acs24 '') $pics },
  { name = "sep_pics"; $grid samples = 128; readouts = 21; $quiet parallel = "sense";
    $(maps acs24 '') $pics },
  { name = "R3_wavelet"; $grid samples = 128; readouts = 37; $quiet parallel = "sense";
    backend = "host"; $(maps acs24 '') ls: { iterations = 40; };
    solve: { prior = "wavelet"; lambda = 2.0e-6; }; },
  { name = "full16"; $grid samples = 128; readouts = 64; $quiet
    $(maps acs16 'combine = "sense";') },
  { name = "full24"; $grid samples = 128; readouts = 64; $quiet
    $(maps acs24 'combine = "sense";') },
  { name = "full"; $grid samples = 128; readouts = 64; $quiet },
  { name = "pf"; $grid samples = 128; readouts = 48; $quiet partial_fourier = "pocs"; },
  { name = "asym"; $grid samples = 96; readouts = 64; $quiet partial_fourier = "pocs"; },
  { name = "asym_pocs"; $grid samples = 96; readouts = 64; $quiet partial_fourier = "pocs";
    pocs: { taper = 0.25; }; },
  { name = "brain"; method = "cartesian"; matrix = [128, 128, 1]; encoded = [128, 128, 1];
    coils = 8; samples = 128; readouts = 96; $quiet partial_fourier = "pocs"; },
  { name = "brain_pocs"; method = "cartesian"; matrix = [128, 128, 1]; encoded = [128, 128, 1];
    coils = 8; samples = 128; readouts = 96; $quiet partial_fourier = "pocs";
    pocs: { iterations = 20; taper = 0.5; }; }
);
END
starts

# Image i (from 0) of the files that one recording gave, in the order of their numbers.
made() { find "$dir/$1" -name "*.cfl" | sort | sed -n "$(($2 + 1))p"; }
recon() { # protocol, recording, folder
	rm -rf "${dir:?}/$3"
	mkdir "$dir/$3"
	"$BORESIDE" recon -c "$dir/site.cfg" -p "$1" "$DATA/scan/$2.h5" -o "$dir/$3/i-0001.cfl" \
		>"$dir/recon.log" 2>&1
	[ ! -e "$dir/$3/i-0001-0002.cfl" ] || for e in cfl hdr; do
		mv "$dir/$3/i-0001-0002.$e" "$dir/$3/i-0002.$e"
	done
}
# One contrast of a reference, of so many bytes.
part() { # name, contrast, bytes
	tail -c +$(($2 * $3 + 1)) "$ref/$1.cfl" | head -c "$3" >"$dir/part.cfl"
	awk 'dims { $6 = 1; dims = 0 } /^# Dim/ { dims = 1 } { print }' "$ref/$1.hdr" \
		>"$dir/part.hdr"
}
near() { # words, image, reference, bound, options
	local words=$1 a=$2 b=$3 most=$4
	shift 4
	if "$BORESIDE" compare --max-unscaled "$most" "$@" "$a" "$b" >"$dir/compare.log" 2>&1; then
		echo "ok $words: $(grep -m 1 unscaled "$dir/compare.log"), at most $most"
	else
		echo "not ok $words: wanted $most: $(tail -n 3 "$dir/compare.log" "$dir/recon.log")"
	fi
}

recon full16 prisma2d_dual_20ch full16
recon full24 prisma2d_dual_20ch full24
recon full prisma2d_dual_20ch full
# protocol, recording, images, what it is near (a folder made above, or a reference), bound or that
# of each image, mask
while read -r protocol recording images near most mask; do
	recon "$protocol" "$recording" one
	rm -f "$dir"/out/*
	"$BORESIDE" replay -c "$dir/site.cfg" -p "$protocol" --asap $patience \
		"$DATA/scan/$recording.h5" >"$dir/replay.log" 2>&1
	[ "$protocol" != sep ] || for log in replay recon; do
		words="24 of 66 readouts are calibration and this protocol does not use them"
		if grep -q "$words" "$dir/$log.log"; then
			echo "ok $recording: $log, maps from a file: $words"
		else
			echo "not ok $recording: wanted '$words': $(tail -n 2 "$dir/$log.log")"
		fi
	done
	written() { [ "$(find "$dir/out" -name '*.hdr' | wc -l)" -ge "$images" ]; }
	await written
	IFS=, read -ra most <<<"$most"
	for ((i = 0; i < images; i++)); do
		if cmp -s "$(made one $i)" "$(made out $i)"; then
			echo "ok $protocol: $recording: image $i is the same in both, bit for bit"
		else
			echo "not ok $protocol: $recording: image $i: $(tail -n 2 "$dir"/re*.log)"
		fi
		if [ -d "$dir/$near" ]; then
			b=$(made "$near" $i)
		else
			part "$near" $i "$(stat -c %s "$(made one $i)")"
			b=$dir/part.cfl
		fi
		m=()
		[ "$mask" = - ] || m=(--mask "$ref/$mask.cfl")
		near "$recording, image $i, beside $near" "$(made one $i)" "$b" \
			"${most[i]:-$most}" "${m[@]}"
	done
done <<'END'
R2 prisma2d_R2_acs16 2 full16 6.8e-3 prisma2d_mask
R3 prisma2d_R3_acs24 2 full24 1.68e-2 prisma2d_mask
sep prisma2d_R3_sep 2 full24 1.94e-2 prisma2d_mask
R3_wavelet prisma2d_R3_acs24 2 full24 1.0e-2 prisma2d_mask
R2_pics prisma2d_R2_acs16 2 prisma2d_R2_acs16_pics 1e-5 -
R3_pics prisma2d_R3_acs24 2 prisma2d_R3_acs24_pics 1e-5 -
sep_pics prisma2d_R3_sep 2 prisma2d_R3_sep_pics 1e-5 -
pf prisma2d_pf6_8 2 prisma2d_pf6_8_pocs_rss 1e-5 -
pf prisma2d_pf6_8_early 1 prisma2d_pf6_8_early_pocs_rss 1e-5 -
pf prisma2d_pf6_8 2 full 2.8e-2,3.95e-2 prisma2d_mask
pf prisma2d_pf6_8_early 1 full 3.0e-2 prisma2d_mask
asym prisma2d_asym 1 full 2.6e-2 prisma2d_mask
asym_pocs prisma2d_asym 1 prisma2d_asym_pocs_rss 1e-5 -
brain_pocs brain2d_pf6_8_8ch 1 brain2d_pf6_8_pocs_rss 1e-3 -
brain brain2d_pf6_8_8ch 1 brain2d_pf6_8_true_rss 8e-3 brain128_mask
END
