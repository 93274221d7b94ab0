#!/bin/bash
# test/replay/header.sh - readouts = "header": nobody counts by hand. Each recording gives the
# images that it holds, each with its own number of readouts and in plain words what it lacks or
# what of it is zeros, by recon and by serve + replay, the same bytes; what was not sent is missed.
# Holds: W40, C2
set -u
. "$(dirname "$0")/../support/scratch.bash"
needs "$DATA/scan" "readouts by the header"
prisma='method = "cartesian"; matrix = [64, 64, 1]; encoded = [128, 64, 1]; coils = 20;'
file() { # name, matrix, coils, samples, recording, its readouts
	echo "{ name = \"$1\"; method = \"gridding\"; matrix = [$2, $2]; coils = $3; samples = $4;
	  readouts = \"header\"; readouts_max = $6; $quiet gridding: { density = \"none\"; };
	  trajectory: { type = \"file\"; file = \"$DATA/scan/$5.h5\"; }; }"
}
cat >"$dir/site.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
sinks: ( { type = "cfl"; dir = "out"; } );
protocols: (
  { name = "prisma"; $prisma samples = 128; contrasts = 2; readouts = "header"; $quiet },
  { name = "solved"; ${prisma/cartesian/sense} samples = 128; contrasts = 2;
    readouts = "header"; $quiet trajectory: { type = "cartesian"; };
    image: { maps = "espirit"; }; ls: { lambda = 0.01; }; },
  { name = "asym"; $prisma samples = 96; readouts = "header"; $quiet },
  { name = "few"; $prisma samples = 128; contrasts = 2; readouts = "header"; readouts_max = 47;
    $quiet },
  { name = "shepp"; method = "cartesian"; matrix = [256, 256, 1];
    encoded = [512, 256, 1]; coils = 8;
    samples = 512; readouts = "header"; $quiet },
  { name = "brain"; method = "cartesian"; matrix = [128, 128, 1]; encoded = [128, 128, 1];
    coils = 8; samples = 128; readouts = "header"; $quiet },
  $(file spiral 128 8 2694 spiral2d_b0_8shot_8ch 100),
  $(file radial 128 8 256 radial2d_delay_8ch 256)
);
END
mkdir "$dir/one"
starts

names() { find "$dir/$1" -name '*.cfl' | sort -V; }
written() { [ "$(names out | wc -l)" -ge "$1" ]; }
while IFS='|' read -r recording protocol images readouts lacks; do
	rm -f "$dir"/out/* "$dir"/one/* "$dir"/one.h5
	"$BORESIDE" recon -c "$dir/site.cfg" -p "$protocol" "$DATA/$recording.h5" \
		-o "$dir/one/0.cfl" >"$dir/recon.log" 2>&1
	check "$recording: $images images" grep -q "^$images image" "$dir/recon.log"
	"$BORESIDE" recon -c "$dir/site.cfg" -p "$protocol" "$DATA/$recording.h5" \
		-o "$dir/one.h5" >"$dir/recon.log" 2>&1
	strings -n 40 "$dir/one.h5" >"$dir/text"
	check "$recording: $readouts readouts, none missing" grep -q \
		"boreside_readouts</name><value>$readouts</.*boreside_missing</name><value>0<" \
		"$dir/text"
	if [[ $lacks == *\) ]]; then # the protocol asks for zeros: nothing lacks
		check "$recording: $lacks" grep -q "boreside_zeros</name><value>$lacks and are ze" \
			"$dir/text"
		check "$recording: is complete" grep -q '<value>complete<' "$dir/text"
	elif [ -n "$lacks" ]; then
		check "$recording: $lacks" grep -q "boreside_lacks</name><value>$lacks<" "$dir/text"
		check "$recording: is partial" grep -q '<value>partial<' "$dir/text"
	else
		check "$recording: is complete" grep -q '<value>complete<' "$dir/text"
	fi
	"$BORESIDE" replay -c "$dir/site.cfg" -p "$protocol" --asap $patience \
		"$DATA/$recording.h5" \
		>"$dir/replay.log" 2>&1
	check "$recording: outcome" grep -q "outcome: BS_OK: .*$lacks" "$dir/replay.log"
	await written "$images"
	mapfile -t ours < <(names out)
	mapfile -t one < <(names one)
	same=0
	for i in "${!one[@]}"; do
		cmp -s "${one[$i]}" "${ours[$i]}" && same=$((same + 1))
	done
	check "$recording: the service's images are the same" [ "$same ${#ours[@]}" \
		= "$images $images" ]
done <<'END'
scan/prisma2d_dual_20ch|prisma|2|64|
scan/prisma2d_R2_acs16|prisma|2|32|accelerated 2 x 1, and this protocol does not unfold it
scan/prisma2d_R3_acs24|prisma|2|21|accelerated 3 x 1, and this protocol does not unfold it
scan/prisma2d_R3_acs24|solved|2|21|accelerated 3 x 1, and this protocol does not unfold it
scan/prisma2d_noise_20ch|solved|1|64|
scan/prisma2d_R3_sep|prisma|2|21|accelerated 3 x 1, and this protocol does not unfold it
scan/prisma2d_pf6_8|prisma|2|48|lines 48 to 63 of 64 were not measured (partial Fourier)
scan/prisma2d_pf6_8_early|prisma|1|48|lines 0 to 15 of 64 were not measured (partial Fourier)
scan/prisma2d_asym|asym|1|64|samples 0 to 31 of 128 were not measured (asymmetric echo)
scan/prisma2d_reversed|prisma|1|64|
scan/prisma2d_nav|prisma|2|64|
scan/prisma2d_navdrift|prisma|1|64|
scan/prisma2d_noise_20ch|prisma|1|64|
scan/shepp2d_R4_acs24_8ch|shepp|2|64|accelerated 4 x 1, and this protocol does not unfold it
scan/brain2d_pf6_8_8ch|brain|1|96|lines 0 to 31 of 128 were not measured (partial Fourier)
scan/spiral2d_b0_8shot_8ch|spiral|1|8|
scan/radial2d_delay_8ch|radial|1|256|
cart2d_8ch|shepp|3|256|
END

replay() { "$BORESIDE" replay -c "$dir/site.cfg" -p "$1" --asap $patience "${@:3}" \
	"$DATA/scan/$2.h5" >"$dir/replay.log" 2>&1; }
replay prisma prisma2d_R3_acs24 --limit 40
check "a scan that ends early" grep -q \
	"outcome: BS_ERR_LENGTH: 20 readouts did not come; 2 images are partial" "$dir/replay.log"
replay few prisma2d_pf6_8
check "readouts_max" grep -q \
	"refused: BS_ERR_SIZE: the header promises 48 lines a frame, readouts_max .* is 47" \
	"$dir/replay.log"
sed 's/readouts_max = 256/readouts_max = 255/' "$dir/site.cfg" >"$dir/short.cfg"
"$BORESIDE" recon -c "$dir/short.cfg" -p radial "$DATA/scan/radial2d_delay_8ch.h5" \
	-o "$dir/none.cfl" >"$dir/recon.log" 2>&1
check "readouts_max of a file" grep -q "BS_ERR_SIZE: .*more than readouts_max 255" "$dir/recon.log"
