# test/unit/board/tool/prior.sh - boreside prior: a constraint from the phantom's true images, and
# refusals
. "$(dirname "$0")/../../../support/scratch.bash"
command=prior

"$BORESIDE" phantom --matrix 32x24 --echoes 3 -o "$dir/a.h5" >/dev/null 2>&1 ||
	echo "not ok phantom"
"$BORESIDE" phantom --matrix 16x24 -o "$dir/b.h5" >/dev/null 2>&1 || echo "not ok phantom"
expect 2 "-o W.mtx is missing" -- "$dir/a_true.cfl"
expect 2 "REFERENCE" -- -o "$dir/w.mtx"
expect 2 "not a number above 0" -- --edge 0 -o "$dir/w.mtx" "$dir/a_true.cfl"
expect 2 "not a whole number" -- --neighbors 4.5 -o "$dir/w.mtx" "$dir/a_true.cfl"
expect 1 "5 neighbors in 2 dim" -- --neighbors 5 -o "$dir/w.mtx" "$dir/a_true.cfl"
expect 1 "none.hdr\|none.cfl" -- -o "$dir/w.mtx" "$dir/none.cfl"
expect 1 "16 x 24 x 1 voxels, the first reference 32 x 24 x 1" -- -o "$dir/w.mtx" \
	"$dir/a_true.cfl" "$dir/b_true.cfl"
expect 1 "no valid site file" -- --scan "$dir/a.h5" -o "$dir/w.mtx" "$dir/a_true.cfl"
expect 1 "a mask is one image" -- --mask "$dir/a_true.cfl" -o "$dir/w.mtx" "$dir/a_true.cfl"
[ ! -e "$dir/w.mtx" ] && echo "ok nothing refused left a file" || echo "not ok w.mtx exists"
# 31 x 24 + 32 x 23 pairs of neighbors; with 8 neighbors 2 x 31 x 23 more
expect 0 "1480 rows of 768 voxels from 3 images, 4 neighbors" -- -o "$dir/w.mtx" "$dir/a_true.cfl"
expect 0 "2906 rows of 768 voxels from 6 images, 8 neighbors" -- --neighbors 8 --edge 0.1 \
	-o "$dir/w8.mtx" "$dir/a_true.cfl" "$dir/a_true.cfl"
[ "$(sed -n '/^%/!{p;q}' "$dir/w.mtx")" = "1480 768 2960" ] && echo "ok sizes in the file" ||
	echo "not ok sizes: $(sed -n '/^%/!{p;q}' "$dir/w.mtx")"
