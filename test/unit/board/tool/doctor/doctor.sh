#!/bin/bash
# test/unit/board/tool/doctor/doctor.sh - boreside doctor, as a command: a line for each thing, a
# sum, exit status 1 where something fails. What it finds on made-up machines: test_doctor.c
set -u
: "${BORESIDE:?}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
mkdir -m 750 run logs
mkdir -p root/proc/self root/sys
lines() { # each but the last: health, what, figure; where it is not ok a remedy, too
	! sed '$d' out | grep -vE '^(ok   [^:]+: .+|(warn|FAIL) [^:]+: .+: .+)$'
}
sums() {
	local ok warn fail
	ok=$(grep -c '^ok   ' out) warn=$(grep -c '^warn ' out) fail=$(grep -c '^FAIL ' out)
	[ "$(tail -n 1 out)" = "$ok ok, $warn warn, $fail FAIL" ]
}
looks() { # looks STATUS WORDS OPTIONS...
	local want=$1 words=$2 rc
	shift 2
	"$BORESIDE" doctor "$@" >out 2>err
	rc=$?
	if { [ "$want" = any ] || [ $rc -eq "$want" ]; } && [ ! -s err ] && lines && sums &&
		grep -q -e "$words" out; then
		echo "ok doctor $*: $(tail -n 1 out)"
	else
		echo "not ok doctor $*: ended with $rc, no '$words': $(cat out err)"
	fi
}
site() { # site LOGS SINK
	cat >site.cfg <<END
node: { run_dir = "run"; cache_dir = ""; };
log: { dir = "$1"; keep_mib = 1L; };
sinks = ( { type = "png"; dir = "$2"; } );
protocols = ( { name = "p"; method = "cartesian"; backend = "host"; matrix = [32, 32];
	encoded = [64, 32]; coils = 1; samples = 64; readouts = 32; } );
END
}
looks any '^.... priorities: '
site logs images
looks any '^\(ok  \|warn\) log.dir, written: 256 KiB are on the disk after' -c site.cfg
looks 0 '^warn memory: cannot be told' -c site.cfg --root root
[ -z "$(ls -A logs)" ] && echo "ok the log's folder is left as it was" ||
	echo "not ok files are left: $(ls -A logs)"
site logs imgs/of/today
looks 1 '^FAIL sinks.\[0\].dir: .*is not there' -c site.cfg --root root
site lgos/of images
looks 1 '^FAIL log.dir: .*did you mean .*/logs?' -c site.cfg --root root
echo 'node: {};' >bad.cfg
"$BORESIDE" doctor -c bad.cfg >out 2>err
[ $? -eq 1 ] && [ ! -s out ] && [ -s err ] && echo "ok a site file that is not valid" ||
	echo "not ok a site file that is not valid: $(cat out)"
