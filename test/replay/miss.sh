#!/bin/bash
# test/replay/miss.sh - what a missed budget does, through the service: flag marks the image, shed
# steps down the ladder rung by rung, stop ends the scan with its code once the late image was sent.
# Images are late by a budget that nothing can meet (a nanosecond), in time by one of ten minutes.
# Holds: D2, D4
set -u
. "$(dirname "$0")/../support/scratch.bash"
protocol() { # protocol NAME METHOD BUDGET ON_MISS [MORE]
	cat <<END
  { name = "$1"; method = "$2"; matrix = [32, 32]; coils = 2; samples = 64; readouts = 24;
    $quiet trajectory: { type = "radial2d"; }; gridding: { accuracy = 1e-3; };
    ls: { lambda = 0.01; iterations = 4; };
    budget: { image_ms = $3; on_miss = "$4"; admission = "trust"; ${5:-} }; }
END
}
never=1e-6
always=600000.0
cat >"$dir/site.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 1; acq_slots = 48;
	image_slots = 2; $patient };
sinks: ( { type = "mrd"; dir = "out"; } );
protocols: ( $(protocol flag gridding $never flag), $(protocol flag_ls ls $never flag),
$(protocol shed ls $never shed), $(protocol shed_gridding gridding $never shed),
$(protocol shed_ample ls $always shed \
	'receive_ms = 600000.0; solve_ms = 1e-6; combine_ms = 600000.0; emit_ms = 1e-6;'),
$(protocol stop gridding $never stop), $(protocol stop_ls ls $never stop),
$(protocol stop_ample gridding $always stop) );
END
cd "$dir" || exit 1
starts
make() { # make RECORDING REPETITIONS
	"$BORESIDE" phantom --traj radial2d --matrix 32,32 --coils 2 --samples 64 --readouts 24 \
		--repetitions "$2" -o "$1.h5" >/dev/null
}
make six 6
make forty 40

is() { # is WHAT VALUE WANTED
	[ "$2" = "$3" ] && echo "ok $1: $2" ||
		echo "not ok $1: '$2', not '$3' ($(tail -n 1 replay.log))"
}
send() { # send PROTOCOL RECORDING; the scan's file is complete when its outcome was said
	rm -f out/*
	"$BORESIDE" replay -c site.cfg -p "$1" --asap $patience "$2.h5" >replay.log 2>&1
	rc=$?
}
values() { # values NAME: of the images' attribute, in order, each as often as it follows itself
	cat out/*.h5 | grep -a -o "<name>boreside_$1</name><value>[^<]*" | sed 's/.*>//' | uniq -c |
		awk '{ printf "%s%s x%d", (NR > 1 ? ", " : ""), $2, $1 }'
}
saying() { # saying NAME: how many images have the attribute
	cat out/*.h5 | grep -a -o "<name>boreside_$1</name>" | wc -l
}
status() { # status PROTOCOL: its budget in the status document
	"$BORESIDE" status -c site.cfg --json | tr -d '\n' |
		grep -o "\"name\":\"$1\",\"method\".*" |
		grep -o '"budget":{.*' | sed 's/"estimate".*//; s/"refused".*//'
}
counted() { # counted WHAT PROTOCOL WANTED
	case $(status "$2") in
	*"$3"*) echo "ok $1" ;;
	*) echo "not ok $1: no $3 in $(status "$2")" ;;
	esac
}

send flag six
is "flag: the scan is as good as ever" $rc 0
is "flag: images are marked" "$(values quality)" "late x6"
is "flag: the budget's word" "$(values budget)" "missed x6"
is "flag: nothing is left out" "$(values rung)" "full x6"
counted "flag: six of six counted" flag '"handed":6,"missed":6,"scans_stopped":0,"rung":"full"'
send flag_ls six
is "flag, ls: all iterations" "$(values iterations)" "4 x6"
is "flag, ls: none was stopped" "$(values deadline_stop)" "0 x6"

send shed six
is "shed: the scan is as good as ever" $rc 0
is "shed: rung by rung" "$(values rung)" "full x1, fewer x1, gridding x1, late x3"
is "shed: by gridding in the end" "$(values engine | sed 's,/[a-z]* , ,g')" "ls x2, gridding x4"
is "shed: one iteration is always made" "$(values iterations)" "1 x2, 0 x4"
is "shed: each is marked" "$(values quality)" "late x6"
counted "shed: the ladder stands on late" shed '"rung":"late"'
rung() { # rung NAME IMAGES STEPS_DOWN
	printf '{"name":"%s","images":%d,"steps_down":%d,"steps_up":0}' "$@"
}
counted "shed: steps and images of each rung" shed \
	"[$(rung full 1 0),$(rung fewer 1 1),$(rung gridding 1 1),$(rung late 3 1),$(rung \
		quadratic 0 0)]"
for step in "full -> fewer" "fewer -> gridding" "gridding -> late"; do
	await grep -q "protocol 'shed': $step" log.txt
	is "shed: the log names $step" "$(grep -c "protocol 'shed': $step" log.txt)" 1
done
send shed six
is "shed: the next scan begins on full" "$(values rung)" "full x1, fewer x1, gridding x1, late x3"
send shed_gridding six
is "shed, gridding: nothing can be left out, so it is late" "$(values rung)" "full x1, late x5"

send shed_ample six
is "shed, ample: in time" "$(values budget)" "met x6"
is "shed, ample: whole" "$(values quality)" "complete x6"
is "shed, ample: all iterations" "$(values iterations)" "4 x6"
both="solve x1, emit x1"
is "stages that missed their own budget" "$(values stage_missed)" \
	"$both, $both, $both, $both, $both, $both"
stage() { # stage NAME MS MISSED
	printf '{"name":"%s","ms":%s,"missed":%d}' "$@"
}
counted "stages: counted by name" shed_ample "\"stages\":[$(stage receive 600000 0),\
$(stage solve 1e-06 6),$(stage combine 600000 0),$(stage emit 1e-06 6)]"
counted "stages: an image in time stays so" shed_ample '"handed":6,"missed":0'
for name in received_ns at_handed_us at_taken_us at_added_us at_begun_us at_made_us at_passed_us \
	stage_receive_us stage_accumulate_us stage_solve_us stage_combine_us stage_emit_us \
	residual gaps; do
	is "every image says $name" "$(saying $name)" 6
done

# 40 frames of 24 readouts: at most 48 + 24 readouts and two images are under way when it is stopped
for p in stop stop_ls; do
	send $p forty
	[ $rc -ne 0 ] &&
		grep -q "BS_ERR_BUDGET.*image 1 was late.*protocol '$p' stops then" replay.log &&
		echo "ok $p: $(tail -n 1 replay.log)" || echo "not ok $p: $(tail -n 2 replay.log)"
	n=$(saying quality)
	[ "$n" -ge 1 ] && [ "$n" -lt 40 ] && echo "ok $p: the late image left, $n of 40 did" ||
		echo "not ok $p: $n images of 40 left"
	counted "$p: counted" $p '"scans_stopped":1'
done
send stop_ample six
is "stop, ample: the service goes on, and this scan to its end" \
	"$rc $(values quality)" "0 complete x6"

"$BORESIDE" recon -c site.cfg -p shed_ample six.h5 -o recon.h5 >/dev/null 2>replay.log
rm -f out/*
mv recon.h5 out
is "recon: images say the same" "$(values quality); $(values rung); $(values budget)" \
	"complete x6; full x6; met x6"
for name in received_ns latency_us at_taken_us at_made_us \
	stage_accumulate_us stage_solve_us stage_combine_us; do
	is "recon: every image says $name" "$(saying $name)" 6
done
