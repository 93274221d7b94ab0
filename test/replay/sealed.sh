#!/bin/bash
# test/replay/sealed.sh - a service whose k-space, images and status cross tcp sealed: the images of
# a plain service, byte for byte; other keys and roles are refused in words; connections that break
# and a receiving process that is killed in mid-scan cost nothing; keys that others may read, and
# addresses that cannot be sealed, are refused before the start
# Holds: W23, W28, S4, S5
set -u
. "$(dirname "$0")/../support/scratch.bash"
refused() { # words, text that must be said, then a command that must fail
	local words=$1 text=$2 rc
	shift 2
	while "$@" >"$dir/said.txt" 2>&1; rc=$?; grep -qF 'no service answers' "$dir/said.txt"; do
		: # within 3 s: the machine is busy
	done
	if [ $rc -eq 0 ]; then
		echo "not ok $words: it was not refused"
	elif grep -qF -- "$text" "$dir/said.txt"; then
		echo "ok $words: $(head -n 1 "$dir/said.txt" | cut -c1-150)"
	else
		echo "not ok $words: $(head -n 3 "$dir/said.txt")"
	fi
}
cd "$dir" || exit 1
umask 022
for k in node scanner pacs viewer stranger; do "$BORESIDE" key new $k.key >$k.pub; done
check "a key's file is of mode 600" [ "$(stat -c %a node.key)" = 600 ]
check "show prints what new printed" [ "$("$BORESIDE" key show node.key)" = "$(cat node.pub)" ]
refused "a key is not overwritten" "never overwritten" "$BORESIDE" key new node.key

site() { # kspace images status [more]
	cat <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 2; acq_slots = 64;
  $patient };
endpoints: { kspace = "$1"; images = "$2"; status = "$3"; archive = "${4-}"; viewers = ""; };
keys: { own = "node.key"; peers = (
  { name = "mr1"; key = "$(cat scanner.pub)"; roles = [ "scanner" ]; },
  { name = "pacs"; key = "$(cat pacs.pub)"; roles = [ "archive", "status" ]; },
  { name = "reading"; key = "$(cat viewer.pub)"; roles = [ "viewer" ]; } ); };
protocols = ( { name = "radial"; method = "gridding"; matrix = [64, 64]; coils = 3; samples = 128;
  readouts = 101; $quiet image: { output = "complex"; combine = "none"; };
  trajectory: { type = "radial2d"; }; } );
CFG
}
# Three that are free now, and none that the kernel gives to who connects: others may take them,
# then it is tried again.
ports() {
	local p=() q
	while [ ${#p[@]} -lt 3 ]; do
		q=$((RANDOM % 20000 + 10000))
		(exec 3<>/dev/tcp/127.0.0.1/$q) 2>/dev/null || p+=("$q")
	done
	k="tcp://127.0.0.1:${p[0]}" i="tcp://127.0.0.1:${p[1]}" s="tcp://127.0.0.1:${p[2]}"
}
alive() { kill -0 "$serve" 2>/dev/null; }
status() { "$BORESIDE" status -c site.cfg "$@" 2>/dev/null; }
started() { ! alive || status --wait 1; }
start() {
	for _ in 1 2 3 4 5; do
		ports
		site "$k" "$i" "$s" >site.cfg
		"$BORESIDE" serve -c site.cfg >>log.txt 2>&1 &
		serve=$!
		for _ in 1 2 3 4 5 6 7 8 9 10; do await started && alive && break 2; done
		wait "$serve"
	done
	alive
}
ports
site "$k" "$i" "$s" >site.cfg
check "check takes a site with keys" "$BORESIDE" check site.cfg
site tcp://0.0.0.0:5555 tcp://10.0.0.1:5556 "$s" >beyond.cfg
check "check takes addresses beyond loopback, with keys" "$BORESIDE" check beyond.cfg
site "$k" "$i" "$s" tcp://10.0.0.1:5557 >archive.cfg
refused "PUSH beyond loopback" "cannot be sealed" "$BORESIDE" check archive.cfg
sed 's/^keys:.*/x: { peers = (/' beyond.cfg | sed '/^x:/,/^  { name = "reading"/d' >bare.cfg
refused "beyond loopback without keys" "beyond it with keys.own" "$BORESIDE" check bare.cfg
chmod 640 node.key
refused "a secret key that the group may read" "mode 640" "$BORESIDE" check site.cfg
chmod 600 node.key
"$BORESIDE" phantom -c site.cfg -p radial --repetitions 5 --snr 20 -o scan.h5 >>out.txt 2>&1
"$BORESIDE" recon -c site.cfg -p radial scan.h5 -o one.cfl >>out.txt 2>&1

check "the service starts" start
me=(--key scanner.key --service-key "$(cat node.pub)")
scan=(--asap $patience -p radial scan.h5)
check "a scan, sealed" "$BORESIDE" replay --url "$k" "${me[@]}" "${scan[@]}"
archive=(--key pacs.key --service-key "$(cat node.pub)")
check "the archive asks, sealed" "$BORESIDE" receive --url "$i" "${archive[@]}" --name pacs \
	--type cfl --once -o got
mapfile -t ours < <(ls got/*.cfl 2>/dev/null)
check "and has 5 images" [ ${#ours[@]} -eq 5 ]
one=(one.cfl one-*.cfl)
for n in 0 1 2 3 4; do
	check "image $((n + 1)) is that of a plain run, byte for byte" cmp "${ours[$n]}" \
		"${one[$n]}"
done
check "the node's own commands need no key but the site's" "$BORESIDE" replay -c site.cfg \
	"${scan[@]}"
check "nor does its archive" "$BORESIDE" receive -c site.cfg --name pacs --once --type cfl -o got
check "who has the role may ask for the status" await "$BORESIDE" status --url "$s" "${archive[@]}"

# A sender whose connections break in mid-scan makes others, with other keys, and sends again.
printf 'at 40 disconnect\nat 200 disconnect 20 ms\nat 333 disconnect\n' >cuts.plan
"$BORESIDE" replay --url "$k" "${me[@]}" --faults cuts.plan "${scan[@]}" >cuts.txt 2>&1
check "a sender's connection that breaks three times costs nothing" [ $? -eq 0 ]
check "it broke three times" grep -q ' 3 of 3 faults struck' cuts.txt
check "and nothing was lost" grep -q 'service: acquisitions 505, images 5, gaps 0' cuts.txt
its_images() {
	"$BORESIDE" receive --url "$i" "${archive[@]}" --name pacs --type cfl --once -o cut
	mapfile -t ours < <(ls cut/*-s00003-*.cfl 2>/dev/null)
	[ ${#ours[@]} -eq 5 ]
}
check "its images are asked for" await its_images
for n in 0 1 2 3 4; do
	check "image $((n + 1)) is that of a plain run" cmp "${ours[$n]-none}" "${one[$n]}"
done

refused "the archive's key does not send k-space" "key of 'pacs' has no role for kspace" \
	"$BORESIDE" replay --url "$k" "${archive[@]}" "${scan[@]}"
refused "the scanner's key does not see the status" "key of 'mr1' has no role for status" \
	"$BORESIDE" status --url "$s" "${me[@]}"
refused "a key that nobody knows" "does not know this key" "$BORESIDE" replay --url "$k" \
	--key stranger.key --service-key "$(cat node.pub)" "${scan[@]}"
refused "another key for the service" "does not know this key" "$BORESIDE" status --url "$s" \
	--key pacs.key --service-key "$(cat viewer.pub)"
"$BORESIDE" receive --url "$i" --key viewer.key --service-key "$(cat node.pub)" --name pacs \
	-o theft >theft.txt 2>&1 &
receive=$!
check "nobody asks in another's name" await grep -q \
	"'pacs' is asked for with the key of 'reading'" theft.txt
kill "$receive"
wait "$receive" 2>/dev/null
asked() { status >status.txt; }
await asked
check "status has the sessions" grep -q '^sealed kspace .*sessions [1-9][0-9]*' status.txt
check "and who was kept out, and why" grep -q \
	'of unknown keys, [1-9][0-9]* without the role.*: a key that is not known' status.txt

# A receiving process that is killed in mid-scan: its successor has other keys, and nothing is lost.
# On a machine that stands still a scan may be over before anybody saw it: then there is another.
taken() { grep -q '"scan":{"number":[0-9]*,"open":true[^{]*"acquisitions":[1-9]' seen.txt; }
taken_or_over() {
	{ status --json >seen.txt && taken; } || ! kill -0 "$sender" 2>/dev/null
}
gone() { ! kill -0 "$ingest" 2>/dev/null; }
for _ in 1 2 3 4 5 6 7 8; do
	"$BORESIDE" replay --url "$k" "${me[@]}" --speed 0.2 $patience -p radial scan.h5 \
		>slow.txt 2>&1 &
	sender=$!
	await taken_or_over && taken && break
	wait "$sender"
done
ingest=$(sed 's/.*"name":"ingest","pid":\([0-9]*\).*/\1/;t;d' seen.txt | head -n 1)
check "the receiving process is known, and is killed" kill -KILL "$ingest"
check "its scan goes on" wait "$sender"
check "with another one" await gone
check "nothing of it was lost" grep -q 'service: acquisitions 505, images 5, gaps 0' slow.txt
ends
