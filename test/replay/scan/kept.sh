#!/bin/bash
# test/replay/scan/kept.sh - the image that W is made of (ls.w study) outlives a kill -9 of the
# whole service between the two scans: the later image has the same bytes, also where a kill comes
# in the middle of that scan; a damaged file is said, and its image is not used; boreside forget
# removes it with its study, and what a killed writer left of one
set -u
. "$(dirname "$0")/../../support/scratch.bash"
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient
  study_scans = 2; drain_s = 0.2; };
log: { dir = "logs"; resume_s = 60.0; };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = (
	{ name = "proton"; method = "cartesian"; matrix = [40, 40, 40]; encoded = [40, 40, 40];
	  coils = 1; samples = 40; readouts = 1600; $quiet },
	{ name = "sodium"; method = "ls"; matrix = [20, 20, 20]; coils = 1; samples = 40;
	  readouts = 400; $quiet fov_mm = [40.0, 40.0, 40.0];
	  trajectory: { type = "radial3d"; }; image: { output = "complex"; };
	  ls: { iterations = 30; w = "study"; w_protocol = "proton"; }; },
	{ name = "few"; method = "ls"; matrix = [16, 16]; coils = 1; samples = 32; readouts = 13;
	  $quiet trajectory: { type = "radial2d"; }; solve: { prior = "tv"; lambda = 0.1; };
	  budget: { image_ms = 0.001; on_miss = "shed"; admission = "trust"; }; } );
CFG
cd "$dir" || exit 1
mkdir logs
phantom() { # protocol, file, more
	local p=$1 id=$2
	shift 2
	check "a phantom: $id" "$BORESIDE" phantom -c site.cfg -p "$p" --measurement "$id" -o \
		"$id.h5" --study 1.2.3 --oblique 20,10 --position-mm 3,-2,5 "$@"
}
phantom proton p1 --snr 100
phantom proton p2 --snr 100 --seed 2
phantom sodium n1 --snr 40 --tr-us 3000
check "both scans in one process" "$BORESIDE" recon -c site.cfg -p sodium --before proton=p1.h5 \
	n1.h5 -o want.cfl
whole() { [ "$(ls images/*.cfl 2>/dev/null | wc -l)" -ge 1 ]; }
replay() { # protocol, recording, more
	"$BORESIDE" replay -c site.cfg $patience -p "$1" "${@:3}" "$2.h5" >replay.txt 2>&1
	cat replay.txt >>out.txt
}
killed() { kill -KILL "$serve"; wait "$serve" 2>/dev/null; }
kept() { [ "$(ls logs/*.kept 2>/dev/null | wc -l)" -ge "$1" ]; }

starts
replay proton p1 --asap
check "the proton scan" grep -q 'outcome: BS_OK' replay.txt
await kept 1
check "its file is for the group alone" [ "$(stat -c %a logs/0.kept)" = 640 ]
killed
starts
check "its image is there after the start" grep -q "1 images of earlier scans are kept" log.txt
rm -f images/*
replay sodium n1 --asap
check "the sodium scan" grep -q 'outcome: BS_OK' replay.txt
await whole
check "the same bytes as in one process" cmp images/*.cfl want.cfl
rm -f images/*
replay sodium n1 &
sender=$!
going() { [ "$(stat -c %b logs/*-00000.bslog 2>/dev/null | tail -n 1)" != "" ] &&
	"$BORESIDE" status -c site.cfg --json | grep -q '"state":"scanning"'; }
await going
killed
starts
wait "$sender"
check "killed within the scan, which goes on" grep -q 'outcome: BS_OK' replay.txt
await whole
check "the same bytes again" cmp images/*.cfl want.cfl
replay proton p2 --asap
await kept 2
killed
printf x | dd of=logs/0.kept bs=1 seek=5000 conv=notrunc 2>>out.txt
printf x | dd of=logs/1.kept bs=1 seek=100000 conv=notrunc 2>>out.txt
starts
check "damage is said" grep -q "an image of an earlier scan is lost: .*kept: it is damaged" log.txt
replay sodium n1 --asap
check "and the image is not used" grep -q "no scan of study '1.2.3' has left any" replay.txt
check "a phantom: another study's" "$BORESIDE" phantom -c site.cfg -p proton --measurement q1 \
	-o q1.h5 --study 7.8.9
replay proton q1 --asap
check "a phantom with a prior" "$BORESIDE" phantom -c site.cfg -p few -o few.h5 --study 1.2.3
replay few few --asap
of() { grep -laF "$1" logs/*.kept | wc -l; }
another() { [ "$(of 7.8.9)" = 1 ]; }
await another
ends
rm -f images/*
check "one damaged file is there, and the other study's" [ "$(of 1.2.3) $(of 7.8.9)" = "1 1" ]
check "steps of a solve are there" ls logs/*.steps
cp logs/0.kept logs/0.kept.part-4194305-0
"$BORESIDE" forget -c site.cfg --list 1.2.3 >said.txt 2>&1
check "what would go is said" grep -q "would remove .*/logs/[01]\.kept" said.txt
check "and is there" [ "$(of 1.2.3)" = 1 ]
check "the study is forgotten" "$BORESIDE" forget -c site.cfg 1.2.3
cat out.txt >said.txt
check "with its kept image" grep -q "image files, 1 kept for W" said.txt
check "its text is in no file" eval "! grep -rlaF 1.2.3 logs images"
check "nor is a half-written file of anybody" eval "! ls logs/*.part-* 2>/dev/null"
check "nor the steps of its solves" eval "! ls logs/*.steps 2>/dev/null"
check "the other study's is there" [ "$(of 7.8.9)" = 1 ]
starts
check "and the service has it" grep -q "1 images of earlier scans are kept" log.txt
ends
