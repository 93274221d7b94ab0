#!/bin/bash
# test/replay/console/answers.sh - numbers back to the sender: those that it is told, those in the
# scan's log and those that recon writes are the same bytes; who does not ask hears none; too late
# they are dropped, counted and said; a step's numbers are answers, too
# Holds: W70, W71, W73, W75
set -u
. "$(dirname "$0")/../../support/scratch.bash"
cd "$dir" || exit 1
unruly=$BUILD/test/support/step/unruly
cart='method = "cartesian"; matrix = [64, 64]; encoded = [128, 64, 1]; coils = 3; samples = 128;'
cart+=" readouts = 64; $quiet"
site() { # FILE, what stands before the protocols
	cat >"$1" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 2; $patient };
endpoints: { archive = ""; viewers = ""; ${kspace-} };
log: { dir = "logs"; mode = "relaxed"; };
sinks = ( { type = "cfl"; dir = "out"; } );
$2
protocols = ( { name = "cart"; $cart }, { name = "plain"; $cart } );
CFG
}
row() { echo "{ on = \"cart\"; what = \"$1\"; of = \"$2\"; deadline_ms = $3; }"; }
two="$(row phase navigation 60000.0), $(row shift navigation 60000.0)"
step="steps = ( { name = \"s\"; on = \"cart\"; budget_ms = 30000.0;
	command = \"$unruly identity\"; } );"
site site.cfg "answers = ( $two );"
site late.cfg "answers = ( $(row phase navigation 0.001) );"
site step.cfg "$step answers = ( $(row gate image 60000.0), $(row phase navigation 60000.0) );"
free=$((RANDOM % 20000 + 10000)) # a port that is free now
while (exec 3<>/dev/tcp/127.0.0.1/$free) 2>/dev/null; do free=$((free + 1)); done
for k in node mr; do "$BORESIDE" key new $k.key >$k.pub; done
kspace="kspace = \"tcp://127.0.0.1:$free\";"
site sealed.cfg "keys: { own = \"node.key\"; peers = ( { name = \"mr\"; key = \"$(cat mr.pub)\";
	roles = [ \"scanner\" ]; } ); }; answers = ( $two );"
kspace=
check "a recording with a navigator each 8 lines, 0.1 rad further each time" "$BORESIDE" phantom \
	-c site.cfg -p cart --repetitions 3 --navigators 8 --drift 0.1 -o cart.h5

play() { # SITE, PROTOCOL, arguments of replay: plays the scan; log and said have the words
	rm -rf run logs out said told.txt
	"$BORESIDE" serve -c "$1" 2>log &
	server=$!
	# shellcheck disable=SC2154 # of await.bash
	"$BORESIDE" status -c "$1" $ready
	"$BORESIDE" replay -c "$1" -p "$2" --asap $patience "${@:3}" cart.h5 >said 2>&1
	status=$?
	"$BORESIDE" status -c "$1" --json >status.json
	kill $server
	wait $server
}
count() { grep -o "\"$1\":[0-9]*" status.json | head -n 1 | cut -d: -f2; }

"$BORESIDE" recon -c site.cfg -p cart cart.h5 -o one.cfl --answers recon.txt >recon.log 2>&1
check "recon writes two answers of each of 24 navigators" [ "$(wc -l <recon.txt)" = 48 ]
check "the phases are the navigators', the shifts are none" awk '
	$1 == "phase" { want = 0.1 * n++; off = $5 - want
		while (off < -3.14159265) off += 6.283185307
		if (off > 1e-5 || off < -1e-5) wrong = 1 }
	$1 == "shift" && ($5 > 1e-4 || $5 < -1e-4) { wrong = 1 }
	END { exit n != 24 || wrong }' recon.txt
play site.cfg cart --answers told.txt
check "the scan is well" [ $status = 0 ]
check "the sender is told the same bytes" cmp told.txt recon.txt
"$BORESIDE" log answers logs >logged.txt
check "and the log has them" cmp logged.txt recon.txt
check "the status counts them" [ "$(count answers) $(count answers_late)" = "48 0" ]
check "the log is whole, and keeps what it promises" "$BORESIDE" log audit -c site.cfg
cp -r logs kept
"$BORESIDE" recon -c site.cfg -p cart kept/*.bslog -o log.cfl --answers again.txt >recon.log 2>&1
check "recon of the log makes them once more" cmp again.txt recon.txt
check "and the same images" bash -c 'for f in one*.cfl; do cmp "$f" "log${f#one}" || exit 1; done'

play sealed.cfg cart --answers told.txt
check "over a sealed connection it is told the same" cmp told.txt recon.txt
check "which was sealed" grep -q '"sessions":[1-9]' status.json
play site.cfg cart
check "who does not ask is told none" [ "$status $(count answers) $(count answers_late)" = "0 0 0" ]
"$BORESIDE" log answers logs >logged.txt
check "and none is in the log" [ ! -s logged.txt ]
play site.cfg plain --answers none.txt
check "a protocol without answers has none" [ "$status $(wc -c <none.txt)" = "0 0" ]

play late.cfg cart --answers told.txt
late=$(count answers_late)
check "within 1 us: most are too late, and dropped ($late)" [ "${late:-0}" -gt 0 ]
told=$((24 - late))
check "the others were told" [ "$(wc -l <told.txt) $(count answers)" = "$told $told" ]
check "the outcome says so" grep -q "$late of 24 answers were too late, and dropped" said
"$BORESIDE" log answers logs >logged.txt
check "all are in the log" [ "$(wc -l <logged.txt)" = 24 ]

"$BORESIDE" recon -c step.cfg -p cart cart.h5 -o s.cfl --answers recon.txt >recon.log 2>&1
play step.cfg cart --answers told.txt
check "a step's numbers of 3 images" [ "$(grep -c '^gate 0 [123] -1' told.txt)" = 3 ]
check "are those that recon writes" cmp <(sort told.txt) <(sort recon.txt)

says() { "$BORESIDE" check wrong.cfg 2>&1 | grep -q -- "$1"; }
refuses() {
	site wrong.cfg "$2"
	says "$3" && ! "$BORESIDE" check wrong.cfg >/dev/null 2>&1
	check "refused: $1" [ $? -eq 0 ]
}
refuses "a protocol that is not there" \
	'answers = ( { on = "none"; what = "phase"; deadline_ms = 1.0; } );' "no protocol 'none'"
refuses "a step's numbers without a step" "answers = ( $(row motion image 1.0) );" "no step"
refuses "a motion of a navigator" "answers = ( $(row motion navigation 1.0) );" "are of images"
refuses "a phase of an image" "$step answers = ( $(row phase image 1.0) );" "motion, gate or step"
refuses "five answers" "answers = ( $two, $two, $(row phase feedback 1.0) );" "at most 4"
