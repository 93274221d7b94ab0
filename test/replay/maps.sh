#!/bin/bash
# test/replay/maps.sh - sensitivities made from the scan: the service and `boreside recon` give the
# same bytes, for each slice from its own calibration; a combination by them is one by the maps of
# BART from the same lines
set -u
. "$(dirname "$0")/../support/await.bash"
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
small='matrix = [32, 37, 1]; coils = 6; readouts = 37; slices = 3;'
prisma='method = "cartesian"; matrix = [64, 64, 1]; encoded = [128, 64, 1]; coils = 20;
  samples = 128; readouts = 64; contrasts = 2;'
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = (
	{ name = "espirit"; method = "cartesian"; $small encoded = [64, 37, 1]; samples = 64; $quiet
	  image: { combine = "sense"; maps = "espirit"; }; },
	{ name = "walsh"; method = "cartesian"; $small encoded = [64, 37, 1]; samples = 64; $quiet
	  image: { combine = "sense"; maps = "walsh"; }; },
	{ name = "virtual"; method = "cartesian"; $small encoded = [64, 37, 1]; samples = 64; $quiet
	  virtual_coils = 4; image: { combine = "sense"; maps = "espirit"; }; },
	{ name = "made"; $prisma $quiet image: { combine = "sense"; maps = "espirit"; }; },
	{ name = "given"; $prisma $quiet image: { combine = "sense";
	  maps_file = "${DATA:-none}/scan/ref/prisma2d_maps_acs24"; }; } );
CFG
cd "$dir" || exit 1
# without recordings the maps' file is not there, and its protocol is not needed
[ -d "${DATA:-none}/scan" ] || sed -i '/name = "given"/,/acs24/d; s/name = "made".*/& );/' site.cfg
check "a scan with lines of calibration before it" "$BORESIDE" phantom -c site.cfg -p espirit \
	--scanner --slice-order interleaved --calibration separate,16 --repetitions 2 --snr 50 \
	-o separate.h5
check "a scan without" "$BORESIDE" phantom -c site.cfg -p espirit --repetitions 2 --snr 50 \
	-o plain.h5
"$BORESIDE" serve -c site.cfg 2>log.txt &
serve=$!
"$BORESIDE" status -c site.cfg $ready >/dev/null
scan=0
written() { [ "$(ls images/*s00"$scan"-*.cfl 2>/dev/null | wc -l)" -ge "$1" ]; }
same() { # protocol, recording, images
	local n=$3
	scan=$((scan + 1))
	check "$1: $2 through the service" "$BORESIDE" replay -c site.cfg --asap $patience -p "$1" "$2"
	check "$1: in one process" "$BORESIDE" recon -c site.cfg -p "$1" "$2" -o one.cfl
	await written "$n"
	mapfile -t ours < <(ls images/*s00"$scan"-*.cfl)
	one=(one.cfl one-*.cfl)
	check "$1: $n images" [ ${#ours[@]} -eq "$n" ]
	for ((i = 0; i < n; i++)); do
		check "$1: image $((i + 1)), bit for bit" cmp "${ours[$i]}" "${one[$i]}"
	done
	rm -f one*.cfl one*.hdr
}
same espirit separate.h5 6
same espirit plain.h5 6
same walsh separate.h5 6
same virtual separate.h5 6
if [ -d "${DATA:-none}/scan" ]; then
	full=$DATA/scan/prisma2d_dual_20ch.h5
	same made "$full" 2
	check "with BART's maps" "$BORESIDE" recon -c site.cfg -p given "$full" -o given.cfl
	# maps differ by 2.5e-6 (test_maps); magnitudes do not depend on their phase
	check "the same but for roundings, over the phantom" "$BORESIDE" compare \
		--mask "$DATA/scan/ref/prisma2d_mask.cfl" --max-unscaled 1e-5 "${ours[0]}" given.cfl
else
	echo "skip maps of a real scan: no folder of recordings at ${DATA:-none}/scan"
fi
kill -TERM "$serve"
wait "$serve"
check "the service ends with 0" [ $? -eq 0 ]
serve=
[ $failed -eq 0 ] || sed 's/^/# /' log.txt out.txt
exit $failed
