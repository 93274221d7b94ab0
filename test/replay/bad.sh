#!/bin/bash
# test/replay/bad.sh - recordings that must be refused, each with its coded error, through the real
# socket; the service stays up and a good scan right after each succeeds.
set -u
. "$(dirname "$0")/../support/scratch.bash"
needs "$DATA/bad" "bad recordings"
cat >"$dir/site.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 32; $patient };
sinks: ( { type = "cfl"; dir = "out"; } );
protocols: (
  { name = "spiral"; method = "gridding"; matrix = [220, 220, 1]; coils = 1; samples = 4940;
    readouts = 15;
    $quiet trajectory: { type = "file"; file = "$DATA/spiral2d_bonn_clean_slc30.h5"; };
    gridding: { density = "none"; }; },
  { name = "uninitialised"; method = "gridding"; matrix = [220, 220, 1]; coils = 1;
    samples = 4940; readouts = 3;
    $quiet trajectory: { type = "file"; unit = "cycles/fov";
      file = "$DATA/bad/jemris_uninitialised_data_3acq.h5"; };
    gridding: { density = "none"; }; },
  { name = "pulseq"; method = "gridding"; matrix = [220, 220, 1]; coils = 1; samples = 974;
    readouts = 110;
    $quiet trajectory: { type = "spiral2d"; }; },
  { name = "pypulseq"; method = "gridding"; matrix = [192, 192, 1]; coils = 1; samples = 1211;
    readouts = 9;
    $quiet trajectory: { type = "spiral2d"; }; }
);
END
starts

replay() { "$BORESIDE" replay -c "$dir/site.cfg" -p "$1" --asap $patience "$2" \
	>"$dir/replay.log" 2>&1; }

while read -r protocol file code words; do
	[ -n "$protocol" ] || continue
	if replay "$protocol" "$DATA/bad/$file.h5"; then
		echo "not ok $file was accepted"
	elif grep -q "$code" "$dir/replay.log" && grep -qi -- "$words" "$dir/replay.log"; then
		echo "ok $file: $(grep -m 1 "$code" "$dir/replay.log")"
	else
		echo "not ok $file: wanted $code with '$words': $(tail -n 2 "$dir/replay.log")"
	fi
	await grep -q "$code" "$dir/log.txt" && echo "ok $file: $code is in the log" ||
		echo "not ok $file: $code is not in the log: $(tail -n 3 "$dir/log.txt")"
	replay spiral "$DATA/spiral2d_bonn_clean_slc30.h5" && echo "ok a good scan after $file" ||
		echo "not ok a good scan after $file: $(tail -n 2 "$dir/replay.log")"
done <<END
spiral        jemris_units_cycles_per_fov             BS_ERR_TRAJECTORY unit
uninitialised jemris_uninitialised_data_3acq          BS_ERR_VALUE      limit
pulseq        pulseq7T_gradient_traj_1ch              BS_ERR_TRAJECTORY readout
pypulseq      pypulseq_gradient_traj_malformed_xml_1ch BS_ERR_XML       parameter
END

# The same gradient waveforms named as a protocol's trajectory: refused when it is armed.
gradient=$DATA/bad/pulseq7T_gradient_traj_1ch.h5
sed 's|type = "spiral2d"; }; },|type = "file"; file = "'"$gradient"'"; }; },|' \
	"$dir/site.cfg" >"$dir/gradient.cfg"
if "$BORESIDE" recon -c "$dir/gradient.cfg" -p pulseq "$gradient" \
	-o "$dir/x.cfl" >"$dir/recon.log" 2>&1; then
	echo "not ok gradient waveforms were taken for a trajectory"
else
	grep -qE 'BS_ERR_(TRAJECTORY|SIZE|FORMAT)' "$dir/recon.log" &&
		echo "ok gradient waveforms as trajectory file: $(tail -n 1 "$dir/recon.log")" ||
		echo "not ok gradient waveforms as trajectory file: $(tail -n 2 "$dir/recon.log")"
fi
