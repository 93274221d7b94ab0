#!/bin/bash
# test/replay/metrics.sh - a running service's metrics: a scan's counts are in them, every name is
# in board/doc/WEB.md, promtool finds nothing
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
. test/support/scratch.bash

cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 1; $patient };
endpoints: { images = "ipc://run/images.ipc"; };
log: { dir = "logs"; mode = "relaxed"; };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = ( { name = "cart"; method = "cartesian"; matrix = [32, 32]; encoded = [64, 32, 1];
	coils = 2; samples = 64; readouts = 32; $quiet
	budget: { image_ms = 600000.0; emit_ms = 600000.0; admission = "trust"; }; } );
CFG
cd "$dir" || exit 1
"$BORESIDE" phantom -c site.cfg -p cart --repetitions 5 -o cart.h5 >out.txt 2>&1
starts
check "a scan of 5 images" "$BORESIDE" replay -c site.cfg --asap $patience -p cart cart.h5
"$BORESIDE" receive -c site.cfg -o got --name pacs --once >>out.txt 2>&1

is() { # is NAME{LABELS} VALUE: waits, since counts of what was handed on follow it
	"$BORESIDE" status -c site.cfg --metrics >metrics.txt && grep -qxF "$1 $2" metrics.txt
}
for line in 'boreside_scans_total 1' 'boreside_images_total 5' 'boreside_gaps_total 0' \
	'boreside_state{state="idle"} 1' 'boreside_ready 1' \
	'boreside_worker_up{worker="recon"} 1' 'boreside_protocol_armed{protocol="cart"} 1' \
	'boreside_budget_images_total{protocol="cart"} 5' \
	'boreside_budget_missed_total{protocol="cart"} 0' \
	'boreside_budget_seconds{protocol="cart"} 600' \
	'boreside_stage_seconds_count{protocol="cart",stage="image"} 5' \
	'boreside_stage_seconds_bucket{protocol="cart",stage="image",le="+Inf"} 5' \
	'boreside_stage_seconds_count{protocol="cart",stage="add"} 160' \
	'boreside_taker_handed_total{taker="images"} 5' \
	'boreside_asker_missed_total{asker="pacs"} 0' \
	'boreside_log_failed 0'; do
	check "$line" await is "${line% *}" "${line##* }"
done

sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' metrics.txt | sort >names.txt
check "there are $(wc -l <names.txt) metrics" [ "$(wc -l <names.txt)" -gt 50 ]
unknown=
while read -r name; do
	grep -q "\`$name\`" "$root/board/doc/WEB.md" || unknown="$unknown $name"
done <names.txt
check "each is in board/doc/WEB.md${unknown:+, but$unknown}" [ -z "$unknown" ]
if command -v promtool >/dev/null; then
	check "promtool check metrics" promtool check metrics <metrics.txt
else
	echo "skip promtool is not installed: its check of the metrics"
fi
ends
