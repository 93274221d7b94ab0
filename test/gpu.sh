#!/bin/bash
# test/gpu.sh [BUILD] [REPORT]: what CI cannot run, on a machine with a GPU.
#   BUILD   a folder built with GPU=1 (default build/gcc-gpu1; made here when nvcc is found)
#   REPORT  where the report goes (default gpu-report.md)
# Twin tests, compute-sanitizer (memcheck and racecheck, small sizes) and the benches; ends non-zero
# when a twin test or the sanitizer found something.
set -u
build=${1:-build/gcc-gpu1}
report=${2:-gpu-report.md}
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

if [ ! -d "$build/test/twin" ]; then
	make -j"$(nproc)" GPU=1 all tests tools >"$log" 2>&1 || { tail -n 20 "$log"; exit 1; }
fi

{
	echo "# GPU report"
	echo
	echo "$(date -u +%Y-%m-%d), $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1), \`test/gpu.sh\`"
	echo
	echo '## Twin tests'
	echo
	echo '| test | passed | failed | skipped |'
	echo '|---|---|---|---|'
} >"$report"
for t in "$build"/test/twin/twin_*; do
	case $t in *.o | *.d) continue ;; esac
	timeout -k 10 300 "$t" >"$log" 2>&1
	rc=$?
	p=$(grep -c '^ok ' "$log") f=$(grep -c '^not ok ' "$log") s=$(grep -c '^skip ' "$log")
	[ "$rc" -eq 0 ] || [ "$f" -ne 0 ] || f=1
	failed=$((failed + f))
	echo "| ${t##*/} | $p | $f | $s |" >>"$report"
	grep -E '^(not ok|skip) ' "$log" | sed 's/^/    /'
	[ "$f" -eq 0 ] || tail -n 5 "$log"
done

{ echo; echo '## compute-sanitizer (BORESIDE_SMALL=1)'; echo; } >>"$report"
if command -v compute-sanitizer >/dev/null 2>&1; then
	for tool in memcheck racecheck; do
		for t in "$build"/test/twin/twin_*; do
			case $t in *.o | *.d) continue ;; esac
			BORESIDE_SMALL=1 timeout -k 10 "${SANITIZER_SECONDS:-120}" \
				compute-sanitizer --tool "$tool" --error-exitcode 99 "$t" >"$log" 2>&1
			rc=$?
			case $rc in
			0) what=clean ;;
			124 | 137) what="not finished in time" ;;
			*) what="FAILED ($rc)" failed=$((failed + 1)); grep -E '=========|^not ok' "$log" | head -n 20 ;;
			esac
			echo "- $tool ${t##*/}: $what; $(grep 'SUMMARY' "$log" | tail -n 1 | sed 's/^=* *//')" >>"$report"
		done
	done
else
	echo '- not installed here' >>"$report"
fi

{ echo; echo '## Times'; echo; } >>"$report"
for b in "$build"/test/bench/bench_gpu_*; do
	case $b in *.o | *.d) continue ;; esac
	"$b" >>"$report" 2>&1 || failed=$((failed + 1))
	echo >>"$report"
done
cat "$report"
[ "$failed" -eq 0 ]
