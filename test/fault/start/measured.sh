#!/bin/bash
# test/fault/start/measured.sh - a protocol that is refused for its budget since the machine had no
# time when it was armed is measured again once there is some, and served; log and status say both.
# Needs a cgroup of its own for that.
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
	echo "skip a starved measurement: no cgroup with a limit of processor time may be made here"
	exit 0
fi
cd "$dir" || exit 1
mkdir -m 750 run
# site IMAGE_MS: a solve of 15 to 300 ms
site() {
	cat >site.cfg <<END
node: { run_dir = "run"; cache_dir = ""; threads = 2; };
sinks = ( { type = "cfl"; dir = "out"; } );
protocols = ( { name = "ls"; method = "ls"; matrix = [128, 128]; coils = 4; samples = 256;
  readouts = 201; trajectory: { type = "radial2d"; }; ls: { iterations = 20; lambda = 0.1; };
  budget: { image_ms = $1; }; } );
END
}
# The budget is what this build takes on this machine, six times: the refusal of a budget that
# nothing can keep names it. With 3 % of a processor it takes thirty times as long.
site 0.01
"$BORESIDE" serve -c site.cfg >alone 2>&1
own=$(sed -n 's/.*the estimate \([0-9]*\).*/\1/p' alone | head -n 1)
check "how long the solve takes here" test "$own" -gt 0
site $((6 * own + 6)).0
check "a recording" "$BORESIDE" phantom -c site.cfg -p ls -o s.h5
limit 3000
(
	echo $BASHPID >"$starve_group/cgroup.procs"
	exec "$BORESIDE" serve -c site.cfg
) 2>log &
server=$!
said() { grep -q "$1" log; }
await said 'BS_ERR_BUDGET.*busy machine'
check "it is refused for its budget" said 'busy machine.*measured again once there is time$'
await said ' ms after the start$'
check "the service is there all the same" said ' ms after the start$'
limit -1
status() { "$BORESIDE" status -c site.cfg 2>&1; }
told() { status | grep -q "$1"; }
check "the status says so" told '^refused.*measured again once there is time'
await said "protocol 'ls' is served: measured again"
check "once there is time it comes in" said "protocol 'ls' is served: measured again"
check "and the status says no more of it" refused told '^refused'
# shellcheck disable=SC2086 # two words each
check "a scan goes through it" "$BORESIDE" replay -c site.cfg -p ls $patience s.h5
check "and its image is there" test "$(find out -name '*.cfl' | wc -l)" = 1
