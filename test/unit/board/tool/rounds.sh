#!/bin/bash
# test/unit/board/tool/rounds.sh - boreside recon --rounds: three echoes of one anatomy,
# reconstructed with the edges that they share; the W that it keeps gives the same images as a
# protocol's file; refusals.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -m 750 "$dir/run"
protocol() { # protocol NAME METHOD LAMBDA MORE
	cat <<END
  { name = "$1"; method = "$2"; matrix = [40, 40, 16]; coils = 1; samples = 520;
    readouts = 48; contrasts = 3; trajectory: { type = "stack"; interleaves = 3; };
    gridding: { accuracy = 1e-4; }; image: { output = "complex"; }; $3 }
END
}
ls() { echo "ls: { lambda = $1; iterations = 40; fhd = \"nufft\"; q = \"nufft\"; $2 };"; }
cat >"$dir/site.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 2; acq_slots = 64; };
protocols: ( $(protocol weak ls "$(ls 0.1)"), $(protocol strong ls "$(ls 1.0)"),
	$(protocol large ls "$(ls 1.0)" | sed 's|output =|matrix = [60, 30, 21]; output =|'),
	$(protocol none ls "$(ls 0.0)"), $(protocol grid gridding "") );
END
"$BORESIDE" phantom -c "$dir/site.cfg" -p strong --echoes 3 --snr 6 -o "$dir/e.h5" >/dev/null ||
	echo "not ok phantom"
# the true image of each echo: a third of the file
bytes=$((40 * 40 * 16 * 8))
for e in 1 2 3; do
	dd if="$dir/e_true.cfl" of="$dir/true$e.cfl" bs=$bytes skip=$((e - 1)) count=1 2>/dev/null
	printf '# Dimensions\n40 40 16\n' >"$dir/true$e.hdr"
done
recon() { # recon OUT PROTOCOL OPTIONS...
	out=$1 protocol=$2
	shift 2
	"$BORESIDE" recon -c "$dir/site.cfg" -p "$protocol" "$@" "$dir/e.h5" -o "$dir/$out.cfl" \
		>"$dir/log" 2>&1
}
percent() { # percent FILE ECHO: error after the best scale
	"$BORESIDE" compare "$dir/$1.cfl" "$dir/true$2.cfl" |
		sed -n 's/^scaled.*percent error \([0-9.]*\).*/\1/p'
}
for job in "weak weak 0" "strong strong 0" "one strong 1" "three strong 3"; do
	set -- $job
	recon "$1" "$2" --rounds "$3" && echo "ok $2, $3 rounds" ||
		echo "not ok $2, $3 rounds: $(tail -n 1 "$dir/log")"
done
kept=$(find "$dir/cache" -type f 2>/dev/null | wc -l)
[ "$kept" -gt 0 ] && echo "ok what arming computes is kept where no folder was: $kept files" ||
	echo "not ok nothing that arming computes is kept"
grep -q 'round 3 of 3: 3 images' "$dir/log" && echo "ok it says each round" ||
	echo "not ok $(cat "$dir/log")"
i=0
for suffix in "" -0002 -0003; do
	i=$((i + 1))
	w=$(percent "weak$suffix" $i) s=$(percent "strong$suffix" $i) o=$(percent "one$suffix" $i) \
		t=$(percent "three$suffix" $i)
	[ "$(echo "$t < $o && $o < $s && $t < $w" | bc -l)" = 1 ] &&
		ok=ok || ok="not ok"
	echo "$ok echo $i: error $t % after three rounds, $o % after one, $w % and $s % without W"
done

recon kept strong --rounds 3 --w-out "$dir/W.mtx" || echo "not ok --w-out: $(tail -n 1 "$dir/log")"
sed -i "s|name = \"weak\"|name = \"file\"|; s|lambda = 0.1;|lambda = 1.0; w_file = \"W.mtx\";|" \
	"$dir/site.cfg"
recon file file && cmp -s "$dir/file.cfl" "$dir/three.cfl" &&
	cmp -s "$dir/file-0003.cfl" "$dir/three-0003.cfl" &&
	echo "ok the W that it keeps makes the same images as ls.w_file, bit for bit" ||
	echo "not ok W from the file: $(tail -n 1 "$dir/log")"

recon large large --rounds 1 &&
	[ "$(stat -c %s "$dir/large-0003.cfl")" -eq $((60 * 30 * 21 * 8)) ] &&
	echo "ok W is made on the matrix, the last images leave on their own" ||
	echo "not ok image.matrix: $(tail -n 1 "$dir/log")"

# refused STATUS WORDS PROTOCOL OPTIONS
refused() {
	status=$1 words=$2
	shift 2
	recon no "$@"
	rc=$?
	[ $rc -eq "$status" ] && grep -q -- "$words" "$dir/log" && echo "ok refused: $words" ||
		echo "not ok recon $*: $rc $(tail -n 1 "$dir/log")"
}
refused 1 "lambda of protocol 'none' is 0" none --rounds 1
refused 1 "not of method ls or sense" grid --rounds 1
refused 1 "neighbors" strong --rounds 1 --neighbors 8
refused 2 "not a whole number" strong --rounds 17
refused 2 "not a number above 0" strong --rounds 1 --edge 0
refused 2 "without --rounds" strong --w-out "$dir/x.mtx"
[ ! -e "$dir/no.cfl" ] && echo "ok what is refused leaves no image" || echo "not ok no.cfl exists"
