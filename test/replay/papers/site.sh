#!/bin/bash
# test/replay/papers/site.sh - board/doc/SITE.md says what a node leaves: a scan whose header names
# a study goes through a service as the package sets it up, with every kind of taker; each kind of
# file that is there then has its row in the page, with its mode and whether it has what the header
# says. The page says of the units what they say, and no port is open that the site file does not
# name.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/scratch.bash"
root=$(cd "$here/../../.." && pwd) page=$root/board/doc/SITE.md
marker=1.2.826.0.1.3680043.7777.1
umask 027 # the unit's
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 1; $patient };
log: { dir = "logs"; mode = "durable"; };
endpoints: { archive = ""; images = "ipc://run/images.ipc"; };
overload: { sinks = "spill"; spill_dir = "spill"; spill_mib = 16; };
sinks = ( { type = "mrd"; dir = "images"; }, { type = "nifti_4d"; dir = "images"; },
	{ type = "png"; dir = "images"; }, { type = "cfl"; dir = "images"; } );
protocols = ( { name = "cart"; method = "cartesian"; matrix = [32, 24]; encoded = [64, 24, 1];
	coils = 2; samples = 64; readouts = 24; $quiet },
	{ name = "spiral"; method = "ls"; matrix = [16, 16]; coils = 1; samples = 32; readouts = 26;
	trajectory: { type = "radial2d"; }; $quiet },
	{ name = "constrained"; method = "ls"; matrix = [16, 12]; coils = 1; samples = 32;
	  readouts = 26; trajectory: { type = "radial2d"; }; fov_mm = [32.0, 24.0, 1.0];
	  ls: { iterations = 5; w = "study"; w_protocol = "cart"; }; $quiet },
	{ name = "few"; method = "ls"; matrix = [16, 16]; coils = 1; samples = 32; readouts = 13;
	  trajectory: { type = "radial2d"; }; solve: { prior = "tv"; lambda = 0.1; };
	  budget: { image_ms = 0.001; on_miss = "shed"; admission = "trust"; }; $quiet } );
CFG
cd "$dir" || exit 1
mkdir logs images spill cache
check "a recording of a study" "$BORESIDE" phantom --traj cartesian --matrix 32,24 --encoded 64,24 \
	--coils 2 --name cart --study $marker --measurement m1 -o rec.h5
starts
check "a scan goes through it" "$BORESIDE" replay -c site.cfg -p cart --asap rec.h5
check "a recording of few spokes" "$BORESIDE" phantom -c site.cfg -p few --study $marker -o few.h5
check "one whose solve has steps" "$BORESIDE" replay -c site.cfg -p few --asap few.h5
check "an archive asks" "$BORESIDE" receive -c site.cfg --name pacs -o taken --once
"$BORESIDE" status -c site.cfg --json >status.json 2>&1
"$BORESIDE" status -c site.cfg --metrics >metrics.txt 2>&1

# KIND MODE yes|no of each file and socket: the rows of the page
found() {
	find logs images spill cache run log.txt status.json metrics.txt -type f -o -type s |
		while read -r f; do
		case $f in
		logs/*.bslog) kind='logs/*.bslog' ;;
		logs/*.kept) kind='logs/*.kept' ;;
		logs/*.steps) kind='logs/*.steps' ;;
		logs/*.spare) kind='logs/*.spare' ;;
		spill/images/*.bslog) kind='spill/images/*.bslog' ;;
		spill/images/*.spare) kind='spill/images/*.spare' ;;
		*/boreside.lock) kind='boreside.lock' ;;
		*.cursor) kind='*.cursor' ;;
		images/*) kind="images/*.${f#*.}" ;;
		cache/*) kind='cache/*' ;;
		run/*.ipc) kind='run/*.ipc' ;;
		log.txt) kind='the service'"'"'s log' ;;
		status.json | metrics.txt) kind='status and metrics' ;;
		*) kind=${f%%.[0-9]*} ;;
		esac
		has=no
		[ -S "$f" ] || ! grep -qaF "$marker" "$f" || has=yes
		case $f in */*) mode=$(stat -c %a "$f") ;; *) mode=- ;; esac
		echo "| \`$kind\` | $mode | $has |"
	done | sort -u
}
found >found.txt
while read -r row; do
	check "the page has $row" grep -qF "$row" "$page"
done <found.txt
check "there are enough of them" [ "$(wc -l <found.txt)" -ge 10 ]
grep -o '^| `[^|]*` | [-0-9]* | \(yes\|no\) |' "$page" | while read -r row; do
	check "there is what the page has: $row" grep -qxF "$row" found.txt
done

# What listens: nothing over TCP, as the package's site file has it
own() { # sockets of the service and its workers
	# shellcheck disable=SC2046 # a word each
	for p in $serve $(cat /proc/"$serve"/task/*/children 2>/dev/null); do
		find "/proc/$p/fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null
	done | sed 's/socket:\[\(.*\)\]/\1/' | sort -u
}
own >own.txt
awk '$4 == "0A" { print $10 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null | sort -u >tcp.txt
check "it has sockets" test -s own.txt
check "none listens over TCP" [ -z "$(comm -12 own.txt tcp.txt)" ]
"$BORESIDE" check "$root/config/site.cfg" >said.txt 2>&1
check "nor does the package's site file name a port" [ -z "$(grep 'tcp://' said.txt)" ]

# The units: a row each
for unit in boreside boreside-bridge boreside-web boreside-step@; do
	f=$root/board/deploy/$unit.service
	user=$(sed -n 's/^User=//p' "$f")
	grep -q '^DynamicUser=yes' "$f" && user='its own'
	ip=any
	grep -q '^IPAddressDeny=any' "$f" && ip=$(sed -n 's/^IPAddressAllow=//p' "$f")
	[ -n "$ip" ] || ip=none
	caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$f")
	row="| \`$unit.service\` | $user | $(sed -n 's/^UMask=//p' "$f") | ${caps:-none} | $ip |"
	check "the page has $row" grep -qF "$row" "$page"
done
ends
