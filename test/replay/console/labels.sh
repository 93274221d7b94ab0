#!/bin/bash
# test/replay/console/labels.sh - a noise scan and a scan of coil maps whose channels stand in
# another order than those of the scan that takes them: matched by coilLabel, in the service and in
# `boreside recon`, to the same bytes; other names are refused in words, or left out and said
# Holds: W56
set -u
. "$(dirname "$0")/console.bash"
begin "the names of channels"
from=$DATA/console/channel_order
grid='method = "cartesian"; matrix = [40, 40, 1]; encoded = [40, 40, 1]; coils = 4; samples = 40;
  readouts = "header";'
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "images"; }, { type = "mrd"; dir = "images"; } );
endpoints: { archive = ""; };
protocols = (
	{ name = "white"; $grid $quiet noise: { whiten = "require"; };
	  image: { combine = "none"; output = "complex"; }; },
	{ name = "auto"; $grid $quiet noise: { whiten = "auto"; };
	  image: { combine = "none"; output = "complex"; }; },
	{ name = "raw"; $grid $quiet image: { combine = "none"; output = "complex"; }; },
	{ name = "makes"; $grid $quiet image: { combine = "sense"; maps = "espirit"; }; },
	{ name = "fast"; $grid $quiet parallel = "sense"; image: { maps = "study"; };
	  ls: { lambda = 1e-6; iterations = 60; }; } );
CFG
# Of an image of noise alone in four channels: deviations, and how far the covariance is from 1
white() {
	od -A n -t f4 -w8 -v "$1" | awk '
		{ c = int((NR - 1) / 1600); i = (NR - 1) % 1600; re[c, i] = $1; im[c, i] = $2 }
		END {
			for (a = 0; a < 4; a++)
				for (b = 0; b < 4; b++) {
					x = y = 0
					for (i = 0; i < 1600; i++) {
						x += re[a, i] * re[b, i] + im[a, i] * im[b, i]
						y += im[a, i] * re[b, i] - re[a, i] * im[b, i]
					}
					x /= 1600
					y /= 1600
					if (a == b) {
						d = sqrt(x)
						printf "%.3f ", d
						bad = bad || d < 0.95 || d > 1.05
						x--
					}
					sum += x * x + y * y
				}
			printf "off %.4f\n", sqrt(sum) / 2
			exit bad || NR != 6400 || sqrt(sum) / 2 > 0.10
		}'
}
recon() { "$BORESIDE" recon -c site.cfg "$@" >log 2>&1; }

check "noise by name" recon -p white --before white=${from}_noise.h5 ${from}_scan.h5 -o white.cfl
check "every channel is white: deviations 1 within 0.05, covariance within 0.10" white white.cfl
check "by --noise, too" recon -p white --noise ${from}_noise.h5 ${from}_scan.h5 -o noise.cfl
check "the same bytes" cmp white.cfl noise.cfl
check "other names are refused" sh -c "! '$BORESIDE' recon -c site.cfg -p white \
	--noise ${from}_noise.h5 ${from}_other.h5 -o no.cfl 2>&1 | tee no.txt | grep -v BS_ERR"
others="channels of scan 'n1' (HE1, HE2, HE3 and 1 more) are not those of this scan 's2' (NE1, NE2"
check "in words" grep -q "BS_ERR_CALIBRATION: noise.whiten of protocol 'white': $others" no.txt
check "or left out" recon -p auto --noise ${from}_noise.h5 ${from}_other.h5 -o other.cfl
check "in words, too" grep -q "not whitened: $others" log
check "as without noise" recon -p raw ${from}_other.h5 -o raw.cfl
check "bit for bit" cmp other.cfl raw.cfl
check "maps by name" recon -p fast --before makes=${from}_maps.h5 ${from}_fast.h5 -o fast.cfl
check "unfolded" "$BORESIDE" compare --max-nrmse 0.01 fast.cfl \
	"$DATA/console/ref/channel_order_fast.cfl"

starts
scan=0
replay() { # protocol, recording; the last line is the outcome
	scan=$((scan + 1))
	"$BORESIDE" replay -c site.cfg -p "$1" --asap $patience "${from}_$2.h5" >$1.txt 2>&1
}
image() { ls images/*s00$scan-*."$1" 2>/dev/null; }
same() { # the last scan's image
	await image cfl && cmp "$(image cfl)" "$1"
}
said() { strings -n 8 "$(image h5)" | grep -q -F "$1"; }
replay auto noise
replay white scan
check "the service: noise by name" same white.cfl
check "and its image says so" said "boreside_noise_channels</name><value>by name<"
replay white other
check "other names end the scan" grep -q "outcome: BS_ERR_CALIBRATION: .*$others" white.txt
replay auto other
check "or are left out" same other.cfl
check "the outcome says it" grep -q "outcome: BS_OK.*not whitened: $others" auto.txt
check "the image says that it is not white" said "boreside_whitened</name><value>no<"
check "and why" said "boreside_not_whitened</name><value>$others"
replay makes maps
replay fast fast
check "maps by name" same fast.cfl
check "and the image says so" said "boreside_maps_channels</name><value>by name<"
ends
