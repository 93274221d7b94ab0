#!/bin/bash
# test/replay/rank_devices.sh - two ranks of boreside recon, two GPUs: each has its own, the images
# of a recording and of a folder are those of one process on one GPU, byte for byte; and the times
# beside each other, for people to read
#
# Without mpirun the ranks are started with the environment that Open MPI gives them.
set -u
if [ "$(nvidia-smi -L 2>/dev/null | wc -l)" -lt 2 ]; then
	echo "skip ranks on two GPUs: they are not here"
	exit 0
fi
dir=$(mktemp -d /tmp/boreside-test-XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export TMPDIR=$dir
mkdir cache many
cat >site.cfg <<'CFG'
node: { name = "ranks"; run_dir = "run"; cache_dir = "cache"; memory_mib = 16000; };
protocols = ( { name = "ls"; backend = "auto"; method = "ls"; matrix = [256, 256]; coils = 8;
	samples = 512; readouts = 256; trajectory: { type = "radial2d"; };
	ls: { lambda = 0.01; iterations = 30; tolerance = 0.0; }; } );
CFG
how=mpirun
command -v mpirun >/dev/null || how=environment
ranks() { # ranks N WHAT OUT
	local i pids=() rc=0
	if [ $how = mpirun ]; then
		mpirun --oversubscribe --allow-run-as-root --bind-to none -n "$1" \
			"$BORESIDE" recon -c site.cfg -p ls "$2" -o "$3" >said 2>&1
		return
	fi
	for ((i = 0; i < $1; i++)); do
		OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=$1 OMPI_COMM_WORLD_LOCAL_RANK=$i \
			OMPI_COMM_WORLD_LOCAL_SIZE=$1 "$BORESIDE" recon -c site.cfg -p ls "$2" \
			-o "$3" >"said.$i" 2>&1 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || rc=1; done
	cat said.[0-9]* >said
	return $rc
}
same() { # same A B: each image of A is in B, and no other
	local f n=0
	[ "$(cd "$1" && find . -name '*.cfl' | sort)" = \
		"$(cd "$2" && find . -name '*.cfl' | sort)" ] ||
		return 1
	for f in $(cd "$1" && find . -name '*.cfl'); do
		cmp -s "$1/$f" "$2/$f" || return 1
		n=$((n + 1))
	done
	[ $n -gt 1 ]
}
ms() { echo $(($(date +%s%N) / 1000000)); }
"$BORESIDE" phantom -c site.cfg -p ls --snr 30 --repetitions "${REPETITIONS:-100}" -o one.h5 \
	>/dev/null 2>&1 || echo "not ok a phantom"
for i in 1 2 3 4; do
	"$BORESIDE" phantom -c site.cfg -p ls --snr $((20 + i)) --repetitions \
		$((${REPETITIONS:-100} / 4)) -o many/$i.h5 >/dev/null 2>&1 ||
		echo "not ok a phantom"
done
"$BORESIDE" recon -c site.cfg -p ls one.h5 -o warm.cfl >/dev/null 2>&1 # the cache is filled
for what in one.h5 many; do
	declare -A took=()
	for run in 1 2 3; do
		for n in 1 2; do
			rm -rf "$what-$n"
			mkdir "$what-$n"
			from=$(ms)
			ranks $n $what "$what-$n/i.cfl" || {
				echo "not ok $what: $n ranks: $(tail -n 1 said)"
				continue
			}
			took[$n]="${took[$n]:-} $(($(ms) - from))"
			[ $n = 1 ] || cp said said.two
		done
	done
	if same "$what-1" "$what-2"; then
		echo "ok $what: two ranks' images are those of one:${took[1]} ms," \
			"on two:${took[2]} ms ($how)"
	else
		echo "not ok $what: two ranks' images are not those of one"
	fi
	if grep -q "GPU 0" said.two && grep -q "GPU 1" said.two; then
		echo "ok $what: each rank on a GPU of its own"
	else
		echo "not ok $what: not a GPU each: $(grep -m 2 GPU said.two | tr '\n' ' ')"
	fi
done
