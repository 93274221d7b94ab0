#!/bin/bash
# test/replay/again.sh - images that time made what they are: a deadline stopped their solves, the
# ladder took their prior or their solver. Made again they have the same bytes: by `boreside
# recon` from the log, and by a service that is started after a kill -9 in the middle of the scan.
set -u
. "$(dirname "$0")/../support/scratch.bash"
protocol() { # protocol NAME METHOD COILS BUDGET MORE
	cat <<END
  { name = "$1"; method = "$2"; matrix = [48, 48]; coils = $3; samples = 96; readouts = 24;
    $quiet trajectory: { type = "radial2d"; }; gridding: { accuracy = 1e-3; };
    ls: { lambda = 0.01; iterations = 10000; tolerance = 0.0; };
    budget: { image_ms = $4; on_miss = "shed"; admission = "trust"; };
    image: { output = "complex"; combine = "none"; }; $5 }${6-,}
END
}
site() { # site OUT
	cat >"$dir/site.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 96;
	image_slots = 4; $patient drain_s = 0.2; };
log: { dir = "logs"; resume_s = 60.0; };
sinks: ( { type = "cfl"; dir = "$1"; }, { type = "mrd"; dir = "$1-mrd"; } );
protocols: ( $(protocol coils ls 2 20.0 '') $(protocol never ls 2 1e-6 '')
$(protocol sparse ls 1 20.0 'solve: { prior = "wavelet"; lambda = 0.1; };')
$(protocol ladder ls 1 1e-6 'solve: { prior = "wavelet"; lambda = 0.1; };')
$(protocol follows ls 1 20.0 'solve: { start = "last"; damp = 0.5; };' ' ') );
END
}
cd "$dir" || exit 1
mkdir -p logs
site out
make() { # make RECORDING COILS
	"$BORESIDE" phantom --traj radial2d --matrix 48,48 --coils "$2" --samples 96 --readouts 24 \
		--repetitions 12 --snr 20 --tr-us 2000 -o "$1.h5" >/dev/null
}
make one 1
make two 2
values() { # values DIR NAME: of the images' attribute, in order
	cat "$1"/*.h5 | grep -a -o "<name>boreside_$2</name><value>[^<]*" | sed 's/.*>//' |
		tr '\n' ' '
}
images() { ls "$1"/*.cfl 2>/dev/null | wc -l; }
all_out() { [ "$(images out)" -eq 12 ]; }
alike() { # alike WORDS DIR A-FOLDER: the images of both, byte for byte
	local a b n=0 odd=0
	for a in "$2"/*.cfl; do
		b=$(ls "$3"/*-i"$(basename "$a" | sed 's/.*-i\([0-9]*\).*/\1/')"*.cfl 2>/dev/null)
		[ -n "$b" ] && n=$((n + 1)) && { cmp -s "$a" "$b" || odd=$((odd + 1)); }
	done
	[ "$n" -ge "${4:-12}" ] && [ "$odd" -eq 0 ] && echo "ok $1: $n images, the same bytes" ||
		echo "not ok $1: $odd of $n images differ"
}
filed() { [ "$(ls out-mrd/*.h5 2>/dev/null | wc -l)" -ge 1 ]; }

for p in coils sparse ladder never follows; do
	rec=one
	case $p in coils | never) rec=two ;; esac
	rm -rf out out-mrd logs && mkdir logs
	starts
	check "$p: through the service" "$BORESIDE" replay -c site.cfg -p $p $patience $rec.h5
	await all_out
	await filed
	ends
	echo "# $p: iterations $(values out-mrd iterations), rungs $(values out-mrd rung)"
	log=$(ls logs/*-00000.bslog)
	rm -rf again && mkdir again
	check "$p: its log" "$BORESIDE" recon -c site.cfg -p $p "$log" -o again/x.cfl
	mv again/x.cfl again/x-0001.cfl
	for f in again/x-*.cfl; do
		n=${f#again/x-}
		mv "$f" "again/u-i0${n%.cfl}-.cfl"
	done
	alike "$p: by recon from the log" out again
done

# killed in the middle of the scan: what had left, and what is made again after the start
for p in coils sparse follows; do
	rec=one
	[ $p = coils ] && rec=two
	rm -rf out out-mrd second second-mrd logs run && mkdir logs
	site out
	starts
	"$BORESIDE" replay -c site.cfg -p $p $patience $rec.h5 >replay.txt 2>&1 &
	sender=$!
	some() { [ "$(images out)" -ge 4 ]; }
	await some
	kill -KILL "$serve"
	wait "$serve" 2>/dev/null
	left=$(images out)
	site second
	starts
	wait "$sender"
	check "$p, killed after $left images: its sender goes on" \
		grep -q "outcome: BS_OK" replay.txt
	whole() { [ "$(images second)" -eq 12 ]; }
	await whole
	ends
	echo "# $p: $(for i in out-mrd second-mrd; do values $i iterations; echo /; done)"
	alike "$p: made again after a kill" out second "$left"
done
