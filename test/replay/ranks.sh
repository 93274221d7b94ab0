#!/bin/bash
# test/replay/ranks.sh - mpirun -n N boreside recon: the same bytes for 1, 2 and 4 ranks, of one
# recording and of a folder of them; a rank that is killed or fails ends the job with its name, what
# is finished stays, and a job that goes on makes the rest; another recording or other settings are
# refused. Needs Debian's openmpi-bin.
# Holds: C1
set -u
. "$(dirname "$0")/../support/await.bash"
. "$(dirname "$0")/../support/said.bash"
if ! command -v mpirun >/dev/null; then
	echo "skip ranks: no mpirun here (openmpi-bin)"
	exit 0
fi
dir=$(mktemp -d /tmp/boreside-test-XXXXXX)
job=
cleanup() { [ -z "$job" ] || kill "$job" 2>/dev/null; rm -rf "$dir"; }
trap cleanup EXIT
cd "$dir" || exit 1
# TMPDIR: files of mpirun's own; the other: DICOM notes when it was made
export TMPDIR=$dir SOURCE_DATE_EPOCH=1700000000
ranks() { # ranks N OPTIONS OF RECON...
	local n=$1
	shift
	mpirun --oversubscribe --allow-run-as-root -n "$n" "$BORESIDE" recon -c site.cfg "$@"
}
spokes='matrix = [48, 48]; coils = 2; samples = 96; readouts = 60;
	trajectory: { type = "radial2d"; };'
lines='method = "cartesian"; matrix = [48, 48]; encoded = [96, 48, 1]; coils = 4; samples = 96;'
cat >site.cfg <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 2; acq_slots = 64; };
protocols: (
	{ name = "ls"; method = "ls"; $spokes slices = 3; contrasts = 2;
	  ls: { lambda = 0.01; iterations = 5; }; },
	{ name = "slide"; method = "gridding"; $spokes frame: { step = 12; }; },
	{ name = "early"; method = "gridding"; $spokes frame: { preview_every = 25; }; },
	{ name = "late"; method = "gridding"; $spokes },
	{ name = "grappa"; $lines readouts = "header"; slices = 2; parallel = "grappa";
	  virtual_coils = 3; },
	{ name = "maps"; $lines readouts = "header";
	  image: { combine = "sense"; maps = "espirit"; }; },
	{ name = "slow"; method = "ls"; matrix = [96, 96]; coils = 2; samples = 192; readouts = 150;
	  trajectory: { type = "radial2d"; }; ls: { lambda = 1e-4; iterations = 60;
	  tolerance = 0.0; }; } );
CFG
mkdir cache
mkdir -m 750 run
if ! "$BORESIDE" check site.cfg >said 2>&1; then
	echo "not ok site.cfg: $(head -n 3 said)"
	exit 1
fi
phantom() { # phantom PROTOCOL OPTIONS...
	check "$1: a phantom" "$BORESIDE" phantom -c site.cfg -p "$@" -o "$1.h5"
}
phantom ls --repetitions 2 --echoes 2 --motion 0.4,2.5
phantom slide --repetitions 3 --motion 0.4,2.5
phantom early --repetitions 3 --motion 0.4,2.5
phantom grappa --repetitions 4 --motion 0.4,2.5 --accel 2 --calibration embedded,16 \
	--slice-order each-tr
phantom maps --repetitions 3 --motion 0.4,2.5
phantom slow --repetitions 16 --motion 0.4,2.5

# ---- the same bytes ----
same_h5() { # but for the seconds that HDF5 notes in each of its few objects
	[ "$(stat -c %s "$1")" = "$(stat -c %s "$2")" ] && [ "$(cmp -l "$1" "$2" | wc -l)" -le 12 ]
}
images() { (cd "$1" && printf '%s ' *[!b]); } # all but OUT.job
for p in ls slide early grappa maps; do
	mkdir "$p"0 "$p"1 "$p"2 "$p"4
	for f in i.cfl i.hdr i-0003.cfl i-0003.hdr; do echo "of an earlier run" >"$p"2/$f; done
	check "$p: without mpirun" "$BORESIDE" recon -c site.cfg -p $p $p.h5 -o "$p"0/i.cfl
	for n in 1 2 4; do
		check "$p: $n ranks" ranks $n -p $p $p.h5 -o $p$n/i.cfl
		grep -q 'images made.*all are there' said || echo "not ok $p: nobody ended the job"
		[ $p = early ] || check "$p: $n ranks, the files of one process" \
			[ "$(images $p$n)" = "$(images "$p"0)" ]
		good=0 files=0
		for f in "$p"0/*.cfl; do
			files=$((files + 1))
			cmp -s "$f" "$p$n/${f#*/}" && good=$((good + 1))
		done
		[ $p = early ] || check "$p: $n ranks, one process's bytes in $good of $files" \
			[ $good -eq $files ]
		check "$p: $n ranks, the bytes of one rank" diff -r "$p"1 $p$n
	done
done
check "early: no previews under mpirun, and the frames" \
	[ "$(images early4)" = "i-0002.cfl i-0002.hdr i-0003.cfl i-0003.hdr i.cfl i.hdr " ]
check "early: the bytes of a protocol without previews" "$BORESIDE" recon -c site.cfg -p late \
	early.h5 -o late.cfl
for i in '' -0002 -0003; do
	check "early: image $i" cmp "late$i.cfl" "early4/i$i.cfl"
done
mkdir one four
for ending in png nii.gz dcm; do
	if [ $ending = dcm ] && ! command -v dump2dcm >/dev/null; then
		echo "skip dcm: no dump2dcm here (dcmtk)"
		continue
	fi
	check "$ending: 1 rank" ranks 1 -p ls ls.h5 -o one/i.$ending
	check "$ending: 4 ranks" ranks 4 -p ls ls.h5 -o four/i.$ending
done
check "png, nii.gz, dcm: the same bytes, and no others" diff -r one four
check "h5: 1 rank" ranks 1 -p grappa grappa.h5 -o one/i.h5
check "h5: 4 ranks" ranks 4 -p grappa grappa.h5 -o four/i.h5
check "h5: all images in one file, the same" same_h5 one/i.h5 four/i.h5
check "h5: no pieces are left" [ ! -e four/i.h5.pieces ]
check "h5: without mpirun" "$BORESIDE" recon -c site.cfg -p grappa grappa.h5 -o grappa0/i.h5
check "h5: the images of one process" sh -c \
	'"$BORESIDE" compare grappa0/i.h5 four/i.h5 | grep -q "^unscaled *NRMSE 0.0*e"'

# ---- a folder ----
mkdir in out1 out2 out4
for f in a b c; do cp ls.h5 in/$f.h5; done
"$BORESIDE" record -c site.cfg -o in --message 1 --segment 2 2>record.txt &
job=$!
await test -S run/kspace.ipc
check "a scan is recorded as a log" "$BORESIDE" replay -c site.cfg --asap $patience -p ls ls.h5
kill -TERM "$job"
wait "$job"
job=
log=$(basename in/*-00000.bslog -00000.bslog)
for n in 1 2 4; do
	check "a folder of four: $n ranks" ranks $n -p ls in -o out$n/i.cfl
	check "a folder of four: $n ranks, the bytes of one" diff -r out1 out$n
done
check "a folder: each recording has its own" \
	[ "$(cd out4 && echo *)" = "$(printf '%s\n' a b c "$log" | sort | xargs)" ]
for f in b "$log"; do
	good=0
	for i in ls0/*.cfl; do cmp -s "$i" "out4/$f/${i#*/}" && good=$((good + 1)); done
	check "a folder: the bytes of one recording in $good of $f's 12 images" [ $good -eq 12 ]
done
check "a folder: without mpirun" "$BORESIDE" recon -c site.cfg -p ls in -o out2/i.cfl
check "a folder: nothing was made again" [ "$(grep -c 'all 12 images are there' said)" -eq 4 ]

# ---- a rank that dies ----
mkdir slow1 slow3
check "slow: 1 rank" ranks 1 -p slow slow.h5 -o slow1/i.cfl
rank_pid() { # of rank $1, a child of the job's mpirun
	local pid
	for pid in $(cat "/proc/$job/task"/*/children); do
		tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
			grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$pid" && return
	done
	return 1
}
begun() { # or over
	! kill -0 "$job" 2>/dev/null || compgen -G "$1" >/dev/null
}
killed() { # killed FILES OUT: rank 1 of 3, once one of the files is there
	mpirun --oversubscribe --allow-run-as-root -n 3 "$BORESIDE" recon -c site.cfg -p slow \
		slow.h5 -o "$2" >killed.txt 2>&1 &
	job=$!
	await rank_pid 1 >pid # first: it takes a while where the machine is busy
	await begun "$1"
	kill -KILL "$(cat pid)"
	wait "$job"
	local rc=$?
	job=
	check "$2: the job ends with $rc and names the rank" \
		sh -c "[ $rc -ne 0 ] && grep -q 'process rank 1' killed.txt"
}
killed 'slow3/*.hdr' slow3/i.cfl
left=$(ls slow3/*.hdr | wc -l)
check "some images are made ($left of 16)" [ "$left" -ge 1 -a "$left" -lt 16 ]
whole=0
for f in slow3/*.hdr; do
	cmp -s "${f%.hdr}.cfl" "slow1/$(basename "${f%.hdr}").cfl" && whole=$((whole + 1))
done
check "each of them whole ($whole)" [ $whole -eq "$left" ]
stat -c '%n %Y %Z %i' slow3/*.hdr >before.txt
check "the rest by 2 ranks" ranks 2 -p slow slow.h5 -o slow3/i.cfl
made=$(sed -n 's/.*: \([0-9]*\) of 16 images made.*/\1/p' said | paste -sd+ | bc)
check "no image is made again: $left and $made are 16" [ $((left + made)) -eq 16 ]
# shellcheck disable=SC2046 # names without blanks
stat -c '%n %Y %Z %i' $(cut -d' ' -f1 before.txt) >after.txt
check "what was finished is untouched" cmp before.txt after.txt
check "the same bytes, and no other file" diff -r slow1 slow3
mkdir half
check "h5: 1 rank" ranks 1 -p slow slow.h5 -o slow1/i.h5
killed 'half/i.h5.pieces/??????' half/i.h5
check "h5: no file yet" [ ! -e half/i.h5 ]
check "h5: the rest by 4 ranks" ranks 4 -p slow slow.h5 -o half/i.h5
check "h5: as if nothing had happened" same_h5 slow1/i.h5 half/i.h5
check "h5: nor is anything left" [ "$(ls half | tr '\n' ' ')" = "i.h5 i.h5.job " ]

# ---- what is refused, what is made anew ----
no() { # no WORDS COMMAND...
	local words=$1
	shift
	"$@" >said 2>&1 && echo "not ok not refused: $words"
	grep -q -- "$words" said && echo "ok refused: $words" ||
		echo "not ok refused, but not for '$words': $(head -n 3 said)"
}
cp -r slow3 kept
check "slow: another phantom" "$BORESIDE" phantom -c site.cfg -p slow --repetitions 16 \
	--motion 0.4,2.6 -o other.h5
no 'rank [01] of 2.*BS_ERR_STATE.*slow3/i.cfl.job.*of another recording' \
	ranks 2 -p slow other.h5 -o slow3/i.cfl
sed 's/lambda = 1e-4/lambda = 2e-4/' site.cfg >other.cfg
no 'of other settings' mpirun --oversubscribe --allow-run-as-root -n 2 "$BORESIDE" recon \
	-c other.cfg -p slow slow.h5 -o slow3/i.cfl
check "what is refused changes nothing" diff -r kept slow3
no 'rank [01] of 2.*--rounds' ranks 2 -p ls --rounds 1 ls.h5 -o no.cfl
no 'rank [01] of 2.*none.h5' ranks 2 -p ls none.h5 -o no.cfl
no 'PMI_RANK is 7' env PMI_RANK=7 PMI_SIZE=2 "$BORESIDE" recon -c site.cfg -p ls ls.h5 -o no.cfl
rm ls4/i-0005.hdr ls4/i-0009.cfl
check "images that are gone: 2 ranks" ranks 2 -p ls ls.h5 -o ls4/i.cfl
check "are made again, with the same bytes" diff -r ls1 ls4
check "all there: 2 ranks" ranks 2 -p ls ls.h5 -o ls4/i.cfl
check "nothing is made" [ "$(grep -c 'all 12 images are there' said)" -eq 2 ]
rm ls4/i.cfl.job
check "without its .job: 2 ranks" ranks 2 -p ls ls.h5 -o ls4/i.cfl
check "all are made anew" [ "$(grep -c '6 of 12 images made' said)" -eq 2 ]
check "the same bytes" diff -r ls1 ls4
