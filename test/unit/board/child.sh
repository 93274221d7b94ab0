#!/bin/bash
# test/unit/board/child.sh - the page and the bridge as a service starts them: a terminal's SIGINT,
# which reaches every process, is not theirs, SIGTERM is; they begin only beneath their service
set -u
: "${BORESIDE:?}"
dir=$(mktemp -d /tmp/boreside-child-XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
cat >site.cfg <<END
node: { run_dir = "run"; cache_dir = ""; };
endpoints: { images = "ipc://$dir/images.ipc"; };
overload: { spill_dir = "$dir"; };
web: { listen = "127.0.0.1:0"; };
bridges: { mrd: { listen = "tcp://127.0.0.1:0"; }; };
protocols = ( { name = "p"; method = "gridding"; matrix = [16, 16]; coils = 2; samples = 32;
	readouts = 8; trajectory: { type = "radial2d"; }; } );
END
mask() { # mask NAME: of signals, as the system has it of the program
	echo $((0x$(sed -n "s/^$1:\t*//p" "/proc/$child/status" 2>/dev/null || echo 0)))
}
try() { # try WHAT ARG..
	local what=$1
	shift
	"$BORESIDE" "$@" -c site.cfg --parent $$ 2>log &
	child=$!
	while kill -0 $child 2>/dev/null && [ $(($(mask SigCgt) & 1 << 14)) = 0 ]; do
		sleep 0.05
	done
	if [ $(($(mask SigIgn) & 1 << 1)) != 0 ] && [ $(($(mask SigCgt) & 1 << 1)) = 0 ]; then
		echo "ok $what: SIGINT is ignored"
	else
		echo "not ok $what takes SIGINT: $(cat log)"
	fi
	kill $child
	wait $child
	status=$?
	if [ $status = 0 ]; then
		echo "ok $what: SIGTERM ends it"
	else
		echo "not ok $what: SIGTERM: status $status: $(cat log)"
	fi
	"$BORESIDE" "$@" -c site.cfg --parent 1 2>log
	status=$?
	if [ $status = 1 ]; then
		echo "ok $what: its service has ended, it does not begin"
	else
		echo "not ok $what: beneath another process: status $status"
	fi
}
try page web
try bridge bridge mrd
