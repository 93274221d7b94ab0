#!/bin/bash
# test/unit/deploy/deb.sh - the Debian package of the program at hand: what is in it, what lintian
# and systemd-analyze say of it, and a scan through the service as it was unpacked.
# test/package/bare.sh installs it in a bare Debian.
set -u
: "${BORESIDE:?}"
here=$(cd "$(dirname "$0")/../../.." && pwd)
. "$here/test/support/await.bash"
case $BORESIDE in
*-address* | *-thread*) echo "skip the package: not of a program under a sanitizer"; exit 0 ;;
esac
for tool in dh dpkg-deb dpkg-shlibdeps; do
	command -v $tool >/dev/null || { echo "skip the package: no $tool here"; exit 0; }
done
dir=$(mktemp -d)
server=
finish() {
	[ -z "$server" ] || { kill "$server"; wait "$server"; } 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
. "$here/test/support/said.bash"

DEB_BUILD_OPTIONS=noautodbgsym check "the package is built" \
	sh "$here/board/deploy/debian/build.sh" boreside "$BORESIDE" "$dir/out"
deb=$(tail -n 1 "$dir/said")
[ -f "$deb" ] || exit 1
dpkg-deb -I "$deb" >"$dir/info"
dpkg-deb -c "$deb" | awk '{ print $1, $2, $6 }' >"$dir/list"
dpkg-deb -x "$deb" "$dir/root"
dpkg-deb -e "$deb" "$dir/control"

# what is in it
version=$(sed -n 's/^#define BS_VERSION "\(.*\)"$/\1/p' "$here/core/version.h")
check "it is boreside $version" grep -q "^ Version: ${version:?}\(~pre[0-9]*\)\?-1$" "$dir/info"
for library in libnanomsg libconfig libhdf5 libismrmrd libpng libexpat \
	liblapack; do
	check "it depends on $library" grep -q "^ Depends:.* $library" "$dir/info"
done
holds() { check "$2 is there, $1" grep -q "^$1 root/root \./$2$" "$dir/list"; }
holds -rwxr-xr-x usr/bin/boreside
holds -rw-r--r-- etc/boreside/site.cfg
holds -rw-r--r-- lib/systemd/system/boreside.service
holds -rw-r--r-- lib/systemd/system/boreside-bridge.service
holds -rw-r--r-- lib/systemd/system/boreside-web.service
holds -rw-r--r-- lib/systemd/system/boreside-step@.service
holds -rw-r--r-- usr/include/boreside/step.h
holds -rw-r--r-- usr/share/doc/boreside/alerts.yml
holds -rw-r--r-- usr/lib/sysusers.d/boreside.conf
holds -rw-r--r-- usr/lib/tmpfiles.d/boreside.conf
holds -rw-r--r-- usr/share/doc/boreside/copyright
holds -rw-r--r-- usr/share/doc/boreside/README.md
holds -rw-r--r-- usr/share/doc/boreside/config/host.cfg
for page in man1/boreside.1 man1/boreside-serve.1 man5/boreside.cfg.5 man7/boreside-wire.7; do
	holds -rw-r--r-- usr/share/man/$page.gz
done
holds -rw-r--r-- usr/share/bash-completion/completions/boreside
holds -rw-r--r-- usr/share/zsh/vendor-completions/_boreside
check "nothing of another owner" refused grep -vq ' root/root ' "$dir/list"
check "nothing in /usr/local" refused grep -q usr/local "$dir/list"
check "its site file is a conffile" grep -qx /etc/boreside/site.cfg "$dir/control/conffiles"
check "its user is made when it is installed" grep -q "systemd-sysusers .*boreside.conf" \
	"$dir/control/postinst"
check "then its folders" grep -q "systemd-tmpfiles .*--create boreside.conf" \
	"$dir/control/postinst"
check "it is stopped before it is removed" grep -q "deb-systemd-invoke stop .*boreside.service" \
	"$dir/control/prerm"
check "an upgrade restarts nothing that runs" refused grep -qE \
	'deb-systemd-invoke|_dh_action|restart boreside.service' "$dir/control/postinst"
check "it waits for the drain" grep -q "kill --signal=USR1 .*boreside.service" \
	"$dir/control/postinst"
check "the service is neither enabled nor started then" grep -q \
	"deb-systemd-helper debian-installed 'boreside.service'" "$dir/control/postinst"
check "the license is in copyright" grep -q "WITHOUT WARRANTY OF ANY KIND" \
	"$dir/root/usr/share/doc/boreside/copyright"

# the units
for unit in "$dir"/root/lib/systemd/system/*.service; do
	name=${unit##*/}
	starts='/usr/bin/boreside '
	[ "$name" != boreside-step@.service ] || starts=/etc/boreside/steps/%i # a site's own
	check "$name starts $starts" grep -q "^ExecStart=$starts" "$unit"
	check "$name knows no other prefix" refused grep -q /usr/local "$unit"
	most=15
	[ "$name" != boreside.service ] || most=20
	if command -v systemd-analyze >/dev/null; then
		check "$name: exposure at most ${most%?}.${most#?}" systemd-analyze security \
			--no-pager --offline=true --threshold=$most "$unit"
	else
		echo "skip exposure of $name: no systemd-analyze here"
	fi
done

# The other package, of the same files, takes this one's place.
DEB_BUILD_OPTIONS=noautodbgsym check "as boreside-cuda it is built, too" \
	sh "$here/board/deploy/debian/build.sh" boreside-cuda "$BORESIDE" "$dir/out"
other=$(tail -n 1 "$dir/said")
# CUDA's libraries are in it, or the loader's to find.
check "it has no search path of its own" refused grep -qE 'R(UN)?PATH' <(objdump -p "$BORESIDE")
if command -v lintian >/dev/null; then
	check "lintian has no error, or takes too long here" eval \
		'timeout -k 5 60 lintian --allow-root --fail-on error "$deb" || [ $? -ge 124 ]'
else
	echo "skip lintian: it is not here"
fi
dpkg-deb -f "$other" Package Conflicts Replaces Provides >"$dir/fields" 2>"$dir/said"
for field in 'Package: boreside-cuda' 'Conflicts: boreside' 'Replaces: boreside' \
	"Provides: boreside (= $(dpkg-deb -f "$deb" Version))"; do
	check "$field" grep -qxF "$field" "$dir/fields"
done
dpkg-deb -x "$other" "$dir/other"
check "and the same units" diff -r "$dir/root/lib/systemd" "$dir/other/lib/systemd"

# A scan, by what was unpacked: the site file as it is, in folders of ours.
program=$dir/root/usr/bin/boreside
mkdir -p "$dir/lib" "$dir/run" "$dir/cache"
sed -e "s|/var/lib/boreside|$dir/lib|" \
	-e "s|^node: {|node: { $patient run_dir = \"$dir/run\"; cache_dir = \"$dir/cache\";|" \
	-e "s|budget: {|$quiet& admission = \"trust\";|" \
	"$dir/root/etc/boreside/site.cfg" >"$dir/site.cfg"
check "the program runs" "$program" --version
check "its site file is valid" "$program" check "$dir/site.cfg"
check "a scan is made" "$program" phantom -c "$dir/site.cfg" -p radial_2d --repetitions 2 \
	-o "$dir/scan.h5"
"$program" serve -c "$dir/site.cfg" 2>"$dir/serve.log" &
server=$!
# shellcheck disable=SC2086 # two words each
check "the service is ready" "$program" status -c "$dir/site.cfg" $ready
# shellcheck disable=SC2086
check "the scan goes through it" "$program" replay -c "$dir/site.cfg" -p radial_2d --asap \
	$patience "$dir/scan.h5"
check "and ends with it" "$program" drain -c "$dir/site.cfg"
image=$(find "$dir/lib/images" -name '*.h5' | head -n 1)
check "the image is right" "$program" compare "${image:-none}" "$dir/scan_true.cfl" \
	--max-nrmse 0.3
check "its log is whole" "$program" log verify "$dir/lib/logs"
