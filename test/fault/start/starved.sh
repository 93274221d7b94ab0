#!/bin/bash
# test/fault/start/starved.sh - a service that is given 1.5 % of a processor replaces no worker, as
# each only waits for it; once there is time it takes a scan, and the image is recon's. Needs a
# cgroup of its own for that.
# STARVED_S=600: so long it has no more, and is sent a scan after the other: each is whole, too.
set -u
: "${BORESIDE:?}"
here=$(cd "$(dirname "$0")/../../.." && pwd)
. "$here/test/support/await.bash"
. "$here/test/support/said.bash"
. "$here/test/fault/start/starve.bash"
dir=$(mktemp -d)
server=
finish() {
	[ -z "$server" ] || { kill "$server"; wait "$server"; } 2>/dev/null
	starve_end
	rm -rf "$dir"
}
trap finish EXIT
if ! starve_begin; then
	echo "skip a starved service: no cgroup with a limit of processor time may be made here"
	exit 0
fi
cd "$dir" || exit 1
mkdir -m 750 run
cat >site.cfg <<END
node: { run_dir = "run"; cache_dir = ""; threads = 2; };
sinks = ( { type = "cfl"; dir = "out"; } );
protocols = ( { name = "ls"; method = "ls"; matrix = [64, 64]; coils = 4; samples = 128;
  readouts = 101; trajectory: { type = "radial2d"; }; ls: { iterations = 10; lambda = 0.1; }; } );
END
check "a recording" "$BORESIDE" phantom -c site.cfg -p ls -o s.h5
check "and its image by recon" "$BORESIDE" recon -c site.cfg -p ls s.h5 -o truth.cfl
limit 1500
(
	echo $BASHPID >"$starve_group/cgroup.procs"
	exec "$BORESIDE" serve -c site.cfg
) 2>log &
server=$!
ready() { grep -q ' ms after the start$' log; }
await ready
check "it is ready at last" ready
scans=0 well=0
while [ $SECONDS -lt "${STARVED_S:-0}" ]; do
	"$BORESIDE" replay -c site.cfg -p ls --patience 600 s.h5 >>replays 2>&1 &&
		well=$((well + 1))
	scans=$((scans + 1))
done
[ $scans -eq 0 ] || check "$scans scans are whole meanwhile, in $SECONDS s" test $well -eq $scans
check "no worker was replaced" refused grep -qE 'makes no progress| died: ' log
limit -1
# shellcheck disable=SC2086 # two words each
check "then a scan goes through it" "$BORESIDE" replay -c site.cfg -p ls $patience s.h5
scans=$((scans + 1))
images() { [ "$(find out -name '*.cfl' | wc -l)" -eq $scans ]; }
await images
check "each scan has its image" images
same() { find out -name '*.cfl' -exec cmp -s {} truth*.cfl \; -print | wc -l; }
check "and it is recon's" test "$(same)" -eq $scans
