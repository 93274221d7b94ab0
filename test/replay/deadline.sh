#!/bin/bash
# test/replay/deadline.sh - a least-squares protocol through the service: the image says its method,
# lambda, iterations, residual, and whether the deadline stopped the solver; then it comes as well.
# Holds: D1
set -u
. "$(dirname "$0")/../support/scratch.bash"
needs "$DATA/ref" "deadline"
protocol() { # protocol NAME LAMBDA ITERATIONS BUDGET
	cat <<END
  { name = "$1"; method = "sense"; matrix = [64, 64, 16]; coils = 4; samples = 4162; readouts = 16;
    $quiet trajectory: { type = "file"; file = "$DATA/brain3d_sos_4ch.h5"; };
    gridding: { accuracy = 1e-4; };
    image: { maps_file = "$DATA/ref/brain3d_maps.cfl"; output = "complex"; };
    ls: { lambda = $2; iterations = $3; };
    budget: { image_ms = $4; on_miss = "shed"; admission = "trust"; }; }
END
}
# the second one is so badly conditioned that its 10,000 iterations would take minutes
cat >"$dir/site.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 2;
	acq_slots = 64; $patient };
sinks: ( { type = "mrd"; dir = "out"; } );
protocols: ( $(protocol ample 0.1 12 600000.0), $(protocol tight 1e-7 10000 500.0) );
END
starts

value() { # value NAME: of the one image's attribute
	cat "$dir"/out/*.h5 | grep -a -o "<name>boreside_$1</name><value>[^<]*" | sed 's/.*>//' |
		head -n 1
}
image_left() { [ -n "$(value residual 2>/dev/null)" ]; }
send() {
	rm -f "$dir"/out/*
	"$BORESIDE" replay -c "$dir/site.cfg" -p "$1" --asap $patience "$DATA/brain3d_sos_4ch.h5" \
		>"$dir/replay.log" 2>&1
	rc=$?
	await image_left
	[ $rc -eq 0 ] && echo "ok $1: the service takes the scan" ||
		echo "not ok $1: $(tail -n 1 "$dir/replay.log") $(tail -n 2 "$dir/log.txt")"
}
is() { # is WHAT VALUE WANTED
	[ "$2" = "$3" ] && echo "ok $1 is $2" || echo "not ok $1 is '$2', not '$3'"
}
below() { # below WHAT VALUE BOUND
	[ -n "$2" ] && awk -v a="$2" -v b="$3" 'BEGIN { exit !(a > 0 && a < b) }' &&
		echo "ok $1: 0 < $2 < $3" || echo "not ok $1: '$2' is not between 0 and $3"
}

send ample
case $(value engine) in
sense/*) echo "ok the image says its method" ;;
*) echo "not ok engine '$(value engine)'" ;;
esac
is lambda "$(value lambda)" 0.1
is iterations "$(value iterations)" 12
is "deadline stop" "$(value deadline_stop)" 0
is quality "$(value quality)" complete
below residual "$(value residual)" 0.05
residual=$(value residual)

send tight
is "deadline stop" "$(value deadline_stop)" 1
below iterations "$(value iterations)" 10000
below residual "$(value residual)" 1
echo "# latency $(value latency_us) us of a budget of 500 ms: $(value budget)," \
	"quality $(value quality), $(value iterations) steps"
is "rung" "$(value rung)" full
await grep -q "protocol 'tight': full -> fewer" "$dir/log.txt"
is "the ladder's step after it, in the log" \
	"$(grep -c "protocol 'tight': full -> fewer" "$dir/log.txt")" 1
