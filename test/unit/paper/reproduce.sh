# test/unit/paper/reproduce.sh - the papers' experiments in small: what must hold at any size
PAPER=$BUILD/test/paper/paper
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$PAPER" reproduce -o >/dev/null 2>&1
[ $? -eq 2 ] && echo "ok -o without a folder: usage" || echo "not ok -o without a folder"
"$PAPER" reproduce --only 1999 -o "$dir" >/dev/null 2>&1
[ $? -eq 2 ] && echo "ok no such experiment: usage" || echo "not ok --only 1999"
"$PAPER" reproduce --small -o "$dir/none/report" >"$dir/log" 2>&1
[ $? -eq 1 ] && grep -q "none/report" "$dir/log" && echo "ok a folder that cannot be made: named" ||
	echo "not ok $(cat "$dir/log")"
case $BUILD in
*address* | *thread*) # the operators' own tests run there, and these figures would take minutes
	echo "skip the experiments: under a sanitizer only the command line is tested"
	exit 0
	;;
esac
if ! "$PAPER" reproduce --small -o "$dir/report" >"$dir/log" 2>&1; then
	echo "not ok reproduce --small: $(cat "$dir/log")"
	exit 1
fi

figure() { sed -n "s/^$1 //p" "$dir/report/figures.txt"; }
# holds WHAT NAME OPERATOR LIMIT: a figure against its limit
holds() {
	value=$(figure "$2")
	held=$(echo "$value $3 $4" | sed 's/e\([-+]*[0-9]*\)/*10^(\1)/g; s/+//g' | bc -l)
	if [ -n "$value" ] && [ "$held" = 1 ]; then
		echo "ok $1: $value $3 $4"
	else
		echo "not ok $1: '$value' is not $3 $4"
	fi
}

holds "F^H d, single against double precision" 2008.single.off "<=" 0.00001
holds "F^H d, NUFFT at 1e-5 against double precision" 2008.nufft.off "<=" 0.00001
holds "gridding's error over least squares', undersampled" 2008.ratio ">=" 2
holds "least squares against the true image cut to what was measured" 2008.ls.nufft.percent "<=" \
	"$(echo "$(figure 2008.cut.percent) * 1.05" | bc -l)"
holds "noise: least squares with W against gridding" 2008.noise.best.percent "<=" \
	"$(echo "$(figure 2008.noise.gridding.percent) / 3" | bc -l)"
holds "noise: W against none" 2008.noise.best.percent "<=" "$(figure 2008.noise.ls.percent)"
holds "cones: least squares against gridding" 2008.cones.ls.percent "<=" \
	"$(figure 2008.cones.pipe.percent)"
holds "2007: NUFFT against exact" 2007.nufft.off "<=" 0.00001
holds "2007: least squares" 2007.ls.percent "<=" 15
holds "echoes: noise variance at equal resolution" echoes.variance.ratio ">=" 3
holds "echoes: resolution" echoes.kept.shared ">=" "$(figure echoes.kept.gridding)"
for f in REPORT.md 2008.png 2007.png echoes.png; do
	[ -s "$dir/report/$f" ] && echo "ok $f" || echo "not ok $f is missing"
done
