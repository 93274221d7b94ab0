#!/bin/bash
# test/replay/devices.sh - boreside recon on two GPUs (gpu.devices) against the host and one GPU
#
# Gridding, ls, ls of one coil by the exact sum, sense. The system's largest eigenvalue is about
# the spokes times the voxels (all meet in the center of k-space); a ninth of it as lambda keeps
# its condition below ten, so that ten iterations carry float rounding on as it is: images within
# 1e-5. (At lambda = 1 the host's own two routes differ by 5e-4 then.) The same bytes twice.
# gpu.share auto: it says where it runs and what it measured there, keeps to it, and has the bytes
# of one GPU or of two.
set -u
if [ "$(nvidia-smi -L 2>/dev/null | wc -l)" -lt 2 ]; then
	echo "skip recon on two GPUs: they are not here"
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
site() { # name, backend, devices, gpu.share
	cat >"$dir/$1.cfg" <<END
node: { name = "$1"; run_dir = "$1"; cache_dir = "cache"; memory_mib = 16000; };
gpu: { devices = $3; share = "${4:-always}"; };
protocols = (
{ name = "grid"; backend = "$2"; method = "gridding"; matrix = [64, 64, 64]; coils = 8;
  samples = 512; readouts = 512;
  trajectory: { type = "stack"; interleaves = 8; }; gridding: { accuracy = 1e-6; }; },
{ name = "ls"; backend = "$2"; method = "ls"; matrix = [128, 128]; coils = 8; samples = 256;
  readouts = 200;
  trajectory: { type = "radial2d"; }; gridding: { accuracy = 1e-6; }; ls: { iterations = 10;
    lambda = 4e5; }; },
{ name = "one"; backend = "$2"; method = "ls"; matrix = [48, 48, 48]; coils = 1; samples = 96;
  readouts = 1000;
  trajectory: { type = "radial3d"; }; ls: { iterations = 10; lambda = 3e7; fhd = "exact";
    q = "exact"; }; },
{ name = "sense"; backend = "$2"; method = "sense"; matrix = [128, 128]; coils = 8; samples = 256;
  readouts = 100;
  trajectory: { type = "radial2d"; }; gridding: { accuracy = 1e-6; };
  image: { combine = "sense"; maps_file = "maps.cfl"; }; ls: { iterations = 10; lambda = 2e5; }; }
);
END
}
recon() { # site, protocol, image
	"$BORESIDE" recon -c "$dir/$1.cfg" -p "$2" "$dir/$2.h5" -o "$dir/$3" 2>&1 |
		grep -v "^  " | tail -n 1 # the files are named last
}
site host host "[0]"
site single cuda "[0]"
site two cuda "[0, 1]"
site choose cuda "[0, 1]" auto
site absent cuda "[0, 63]"
"$BORESIDE" phantom --traj radial2d --matrix 128,128 --coils 8 --samples 256 --readouts 100 \
	--name sense --snr 30 -o "$dir/sense.h5" >/dev/null
cp "$dir/sense_maps.cfl" "$dir/maps.cfl"
cp "$dir/sense_maps.hdr" "$dir/maps.hdr"
for p in grid ls one; do
	"$BORESIDE" phantom -c "$dir/host.cfg" -p $p --snr 30 -o "$dir/$p.h5" >/dev/null
done
for p in grid ls one sense; do
	recon host $p $p-host.cfl >/dev/null
	single=$(recon single $p $p-single.cfl)
	two=$(recon two $p $p-two.cfl)
	recon two $p $p-again.cfl >/dev/null
	case $two in
	*"GPUs 0, 1: "*) echo "ok $p: $two (one GPU: ${single##*, })" ;;
	*) echo "not ok $p on two GPUs: $two" ;;
	esac
	said=$("$BORESIDE" compare --max-unscaled 1e-5 "$dir/$p-two.cfl" "$dir/$p-host.cfl" 2>&1) &&
		echo "ok $p: $(echo "$said" | grep -m 1 unscaled)" ||
		echo "not ok $p against the host: $(echo "$said" | grep -m 1 unscaled)"
	cmp -s "$dir/$p-two.cfl" "$dir/$p-again.cfl" && echo "ok $p: the same bytes twice" ||
		echo "not ok $p: other bytes the second time"
	chosen=$(recon choose $p $p-choose.cfl)
	again=$(recon choose $p $p-choose-again.cfl)
	case $chosen in
	*"GPU 0 alone: "*" ms, "*" on 2, armed"*) like=single ;;
	*"GPUs 0, 1: "*", "*" ms, "*" alone, armed"*) like=two ;;
	*) like= ;;
	esac
	if [ -n "$like" ] && cmp -s "$dir/$p-choose.cfl" "$dir/$p-$like.cfl"; then
		echo "ok $p where it is faster: ${chosen#*, }"
	else
		echo "not ok $p: neither the bytes of one GPU nor of two, as it says: $chosen"
	fi
	where() { local w=${1%, armed*}; echo "${w#*, }"; }
	if [ "$(where "$chosen")" = "$(where "$again")" ] &&
		cmp -s "$dir/$p-choose.cfl" "$dir/$p-choose-again.cfl"; then
		echo "ok $p: the choice is kept"
	else
		echo "not ok $p: another choice the second time: $again"
	fi
done
said=$("$BORESIDE" check "$dir/absent.cfg" 2>&1)
case $said in
*"gpu.devices: GPU 63 was asked for"*) echo "ok a GPU that is not here is refused by its key" ;;
*) echo "not ok a GPU that is not here: $(echo "$said" | tail -n 1)" ;;
esac
