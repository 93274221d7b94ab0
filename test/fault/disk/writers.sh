#!/bin/bash
# test/fault/disk/writers.sh - whoever writes a file gives it to its owner and group alone; to a
# full, a read-only or a vanishing disk says so and ends with 1, whatever the format and however
# much was written before
# Holds: L6, I1
set -u
: "${BORESIDE:?}" "${BUILD:?}"
. "$(dirname "$0")/../../support/await.bash"
gone_so=$BUILD/test/support/disk/gone_hook.so
dir=$(mktemp -d /tmp/boreside-writers-XXXXXX)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
mkdir out
cat >site.cfg <<END
node: { run_dir = "run"; cache_dir = ""; threads = 1; $patient };
protocols = ( { name = "p"; method = "cartesian"; matrix = [64, 64]; encoded = [64, 64]; coils = 2;
	samples = 64; readouts = 64; $quiet } );
END

cat >ls.cfg <<END
node: { run_dir = "run"; cache_dir = "out/x-cache"; threads = 1; $patient };
protocols = ( { name = "p"; method = "ls"; matrix = [32, 32]; coils = 2; samples = 64;
	readouts = 50; $quiet trajectory: { type = "radial2d"; };
	ls: { iterations = 4; lambda = 0.1; }; } );
END

# writer N TO: the Nth command that writes TO.*
writer() {
	local scan=(--matrix 64x64 --coils 2 --traj cartesian --repetitions 6)
	case $1 in
	1) "$BORESIDE" phantom "${scan[@]}" -o "$2.h5" ;;
	2) "$BORESIDE" log export "$log" "$2.h5" ;;
	9) "$BORESIDE" prior -o "$2.mtx" "$dir/scan_true.cfl" ;;
	10) "$BORESIDE" tune -c "$dir/ls.cfg" -p p --svg "$2.svg" ;;
	11) (cd "$dir" && "$BORESIDE" arm -c ls.cfg) ;;
	*)
		local types=(h5 cfl png nii nii.gz)
		command -v dump2dcm >/dev/null && types+=(dcm)
		"$BORESIDE" recon -c "$dir/site.cfg" -o "$2.${types[$1 - 3]:?}" "$dir/scan.h5"
		;;
	esac
}
writer 1 scan >/dev/null
"$BORESIDE" record -c site.cfg -o logs 2>record.log &
await test -S run/kspace.ipc
"$BORESIDE" replay -c site.cfg -p p --asap $patience scan.h5 >/dev/null
kill -TERM $!
wait $!
log=$(echo "$dir"/logs/*.bslog)

# fails DISK WORDS HOW...: every writer, run by HOW, ends with 1 and says WORDS
fails() {
	local disk=$1 words=$2 n rc
	shift 2
	for n in {1..11}; do
		[ "$n" -ne 8 ] || command -v dump2dcm >/dev/null || continue
		[ "$n $disk" != '10 gone after 2 writes' ] || continue # it has no third
		("$@" writer "$n" out/x) >said 2>&1
		rc=$?
		if [ $rc -eq 1 ] && grep -q "$words" said &&
			[ -z "$(find out -name '*.part-*' -o -name '*.h5')" ]; then
			echo "ok $disk: writer $n"
		else
			echo "not ok $disk: writer $n ends with $rc: $(tail -n 3 said; ls out)"
		fi
		rm -rf out/x*
	done
}
(
	umask 022
	for n in {1..11}; do
		[ "$n" -ne 8 ] || command -v dump2dcm >/dev/null || continue
		writer "$n" out/x >said 2>&1
		[ "$(find out -type f -printf '%m\n' | sort -u)" = 640 ] &&
			echo "ok writer $n: for owner and group alone" ||
			echo "not ok writer $n: $(ls -l out; cat said)"
		rm -rf out/x*
	done
)
# printed WORDS...: a command whose words go to a full disk
printed() {
	"$BORESIDE" "$@" >/dev/full 2>said
	[ $? -eq 1 ] && grep -q 'not all was printed' said &&
		echo "ok a full disk: what '$1 $2' prints" ||
		echo "not ok a full disk: what '$*' prints: $(cat said)"
}
printed help serve
printed check site.cfg
printed compare scan_true.cfl scan_true.cfl
printed log list logs
printed log verify logs
printed log audit --promises
printed recon -c site.cfg -o x.h5 scan.h5
limited() { # limited KIB COMMAND...: no file is larger
	trap '' XFSZ
	ulimit -f "$1"
	"${@:2}"
}
gone() { # gone WRITES COMMAND...: then the disk is
	GONE_AFTER=$1 LD_PRELOAD=$gone_so ASAN_OPTIONS=verify_asan_link_order=0 "${@:2}"
}
on_disks() {
	mount -t tmpfs -o size=64k none out || exit 1
	dd if=/dev/zero of=out/ballast bs=1k count=60 2>/dev/null
	fails full 'No space left on device' eval
	rm out/ballast
	mount -o remount,ro out
	fails read-only 'Read-only file system' eval
}
export -f writer fails on_disks
export BORESIDE dir log
for kib in 1 4; do
	fails "a limit of $kib KiB" 'File too large' limited $kib
done
for writes in 0 1 2; do
	fails "gone after $writes writes" 'Input/output error' gone $writes
done
if unshare -rm mount -t tmpfs -o size=64k none out 2>/dev/null; then
	unshare -rm bash -c on_disks
else
	echo "skip a full and a read-only disk: no private mounts here"
fi
