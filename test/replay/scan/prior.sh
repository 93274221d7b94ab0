#!/bin/bash
# test/replay/scan/prior.sh - solvers with a prior: through the service and in one process the same
# bytes; an image says its prior, the weight, the iterations, the objective and why it ended; priors
# come nearer to the image of all spokes than least squares alone
set -u
. "$(dirname "$0")/../../support/scratch.bash"
sense='method = "sense"; matrix = [64, 64, 1]; coils = 8; samples = 128; backend = "host";
  trajectory: { type = "radial2d"; };'
sense=${sense/host/${BACKEND:-host}} # BACKEND=cuda: on a GPU
image="image: { maps_file = \"$dir/scan_maps.cfl\"; output = \"complex\"; };"
cat >"$dir/site.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 2; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "out"; } );
protocols: (
  { name = "all"; $sense readouts = 156; $quiet $image ls: { iterations = 30; }; },
  { name = "cg"; $sense readouts = 26; $quiet $image ls: { iterations = 20; }; },
  { name = "wavelet"; $sense readouts = 26; $quiet $image ls: { iterations = 30; };
    solve: { prior = "wavelet"; lambda = 0.1; }; },
  { name = "grid"; $sense readouts = 26; $quiet $image ls: { iterations = 300; tolerance = 1e-5; };
    solve: { prior = "wavelet"; lambda = 0.1; }; },
  { name = "tv"; $sense readouts = 26; $quiet $image ls: { iterations = 30; };
    solve: { prior = "tv"; lambda = 0.1; }; },
  { name = "follow"; $sense readouts = 26; $quiet $image ls: { iterations = 4; };
    solve: { prior = "tv"; lambda = 0.1; start = "last"; damp = 0.1; }; },
  { name = "frames"; $sense readouts = 78; frame: { step = 13; }; $quiet $image
    ls: { iterations = 20; lambda = 0.1; }; solve: { prior = "tv_frames"; lambda = 0.1; }; },
  { name = "low_rank"; $sense readouts = 78; frame: { step = 13; }; $quiet $image
    ls: { iterations = 20; lambda = 0.1; };
    solve: { prior = "low_rank"; lambda = 0.3; start = "last"; }; }
);
END
phantom() { # name, readouts, repetitions
	check "a recording of $2 x $3 spokes" "$BORESIDE" phantom --traj radial2d --matrix 64,64 \
		--coils 8 --samples 128 --readouts "$2" --repetitions "$3" --snr 20 -o "$dir/$1.h5"
}
phantom scan 156 1
phantom few 26 3
phantom window 78 2
starts
recon() { # protocol, recording, file
	"$BORESIDE" recon -c "$dir/site.cfg" -p "$1" "$dir/$2.h5" -o "$3" >"$dir/recon.log" 2>&1 ||
		echo "not ok recon of $1: $(tail -n 2 "$dir/recon.log")"
}
said() { # attribute, file
	grep -a -o "$1</name><value>[^<]*" "$2" | head -n 1 | sed 's/.*>//'
}
recon all scan "$dir/all.cfl"
while read -r protocol recording images; do
	rm -rf "${dir:?}"/out/* "${dir:?}/one"
	mkdir "$dir/one"
	"$BORESIDE" replay -c "$dir/site.cfg" -p "$protocol" --asap $patience \
		"$dir/$recording.h5" >"$dir/replay.log" 2>&1
	written() { [ "$(find "$dir/out" -name '*.hdr' | wc -l)" -ge "$images" ]; }
	await written
	recon "$protocol" "$recording" "$dir/one/i.cfl"
	for e in cfl hdr; do mv "$dir/one/i.$e" "$dir/one/i-0001.$e"; done
	same=0
	for ((i = 1; i <= images; i++)); do
		a=$(find "$dir/one" -name '*.cfl' | sort | sed -n "${i}p")
		b=$(find "$dir/out" -name '*.cfl' | sort | sed -n "${i}p")
		cmp -s "$a" "$b" && same=$((same + 1))
	done
	check "$protocol: $same of $images images are the same in both, bit for bit" \
		test "$same" -eq "$images"
	cp "$a" "$dir/$protocol.cfl"
	cp "${a%.cfl}.hdr" "$dir/$protocol.hdr"
done <<'END'
cg few 3
wavelet few 3
grid few 3
tv few 3
follow few 3
frames window 7
low_rank window 7
END
error() { # NRMSE of an image beside that of all spokes
	"$BORESIDE" compare "$dir/$1.cfl" "$dir/all.cfl" |
		sed -n 's/^unscaled *NRMSE \([^ ]*\).*/\1/p'
}
least=$(error cg)
for name in wavelet grid tv; do
	check "$name: $(error $name) of the image of all spokes, least squares $least" \
		awk -v a="$(error $name)" -v b="$least" 'BEGIN { exit !(a > 0 && a < b) }'
done
for name in wavelet grid follow low_rank; do
	recording=few
	[ $name != low_rank ] || recording=window
	recon $name $recording "$dir/$name.h5"
	words="$(said boreside_prior "$dir/$name.h5") $(said boreside_prior_lambda "$dir/$name.h5")"
	words="$words $(said boreside_iterations "$dir/$name.h5")"
	words="$words $(said boreside_stop "$dir/$name.h5") $(said boreside_start "$dir/$name.h5")"
	objective=$(said boreside_objective "$dir/$name.h5")
	case $name in
	wavelet) want='^wavelet 0.1 30 iterations $' ;;
	grid) want='^wavelet 0.1 [0-9]* tolerance $' ;;
	follow) want='^tv 0.1 4 iterations last$' ;;
	*) want='^low_rank 0.3 20 iterations last$' ;;
	esac
	check "$name: it says '$words', objective $objective" grep -q "$want" <<<"$words"
	check "$name: the objective is below that of an empty image" grep -q '^-' <<<"$objective"
done
ends
