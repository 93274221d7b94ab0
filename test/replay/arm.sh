#!/bin/bash
# test/replay/arm.sh - boreside arm fills the cache that recon then reads; what is wrong is said
set -u
. "$(dirname "$0")/../support/scratch.bash"
mkdir -m 750 "$dir/run"
protocol() { # protocol NAME METHOD MORE
	echo "{ name = \"$1\"; method = \"$2\"; matrix = [33, 30]; coils = 2; samples = 66;
	    readouts = 51; trajectory: { type = \"radial2d\"; }; $3 }"
}
exact='ls: { lambda = 0.1; iterations = 10; fhd = "exact"; q = "exact"; };'
nufft='ls: { lambda = 0.1; iterations = 10; fhd = "nufft"; q = "nufft"; };'
cat >"$dir/site.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 2; $patient };
protocols: ( $(protocol exact ls "$exact"), $(protocol nufft ls "$nufft"),
	$(protocol grid gridding "") );
END
refuse() { # refuse STATUS TEXT WHAT COMMAND...
	status=$1 text=$2 what=$3
	shift 3
	"$@" >"$dir/log" 2>&1
	rc=$?
	[ $rc -eq "$status" ] && grep -q "$text" "$dir/log" && echo "ok $what" ||
		echo "not ok $what: status $rc, $(tail -n 2 "$dir/log" | tr '\n' ' ')"
}
arm() { "$BORESIDE" arm -c "$dir/site.cfg" "$@"; }
says() { arm -p "$1" | grep -q "$2"; }

check "a phantom" "$BORESIDE" phantom -c "$dir/site.cfg" -p exact -o "$dir/scan.h5"
check "arm all protocols" arm
n=$(find "$dir/cache" -name 'q-*.bsq' | wc -l)
[ "$n" -eq 2 ] && echo "ok two protocols that solve, two files" ||
	echo "not ok $n files in the cache"
check "the second time Q is there" says exact "is in the cache"
check "a method without Q" says grid "method gridding keeps nothing"
"$BORESIDE" recon -c "$dir/site.cfg" -p exact "$dir/scan.h5" \
	-o "$dir/with.cfl" >/dev/null 2>&1
check "recon leaves the cache as it is" test "$(find "$dir/cache" -name 'q-*.bsq' | wc -l)" -eq 2
rm -rf "$dir/cache"
mkdir "$dir/cache"
"$BORESIDE" recon -c "$dir/site.cfg" -p exact "$dir/scan.h5" \
	-o "$dir/without.cfl" >/dev/null 2>&1
check "recon with and without the cache: the same bytes" cmp "$dir/with.cfl" "$dir/without.cfl"
check "recon fills the cache too" says exact "is in the cache"
sed 's/{ name = "exact";/& backend = "cuda";/' "$dir/site.cfg" >"$dir/cuda.cfg"
n=$(find "$dir/cache" | wc -l)
refuse 1 "'exact'.*\(cuda\|CUDA\)" "backend cuda where no GPU answers is refused" \
	env -i CUDA_VISIBLE_DEVICES= "$BORESIDE" arm -c "$dir/cuda.cfg" -p exact
[ "$(find "$dir/cache" | wc -l)" -eq "$n" ] && echo "ok and nothing was kept" ||
	echo "not ok something was kept"
refuse 1 "no protocol 'none'" "an unknown protocol is refused" arm -p none
refuse 2 "FILE is missing" "no site file is refused" "$BORESIDE" arm
refuse 1 "" "a missing site file is refused" "$BORESIDE" arm -c "$dir/none.cfg"
