#!/bin/bash
# test/replay/first_hour.sh - the first hour of a new user, from the README alone: a site file made
# from a recording, the machine looked at, the service, an MRD client in Python, the page in a
# browser, a PACS. Each step is a command that a user types; there are at most ten. What is not on
# this machine is skipped in words. PYTHON: an interpreter with PyPI's ismrmrd (python3). DEB: the
# package, installed by the first command, and the service run by systemd
# (test/package/booted.sh).
set -u
deb=${DEB:-}
[ -z "$deb" ] || BORESIDE=boreside
: "${BORESIDE:?}"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/await.bash"
python=${PYTHON:-python3}
dir=$(mktemp -d /tmp/boreside-test-XXXXXX)
serve= pacs=
end() {
	for p in $serve $pacs; do
		kill "$p" 2>/dev/null
		wait "$p" 2>/dev/null
	done
	rm -rf "$dir"
}
trap end EXIT
cd "$dir" || exit 1
site=site.cfg run=run images=images
[ -z "$deb" ] ||
	site=/etc/boreside/site.cfg run=/run/boreside images=/var/lib/boreside/images
commands=0
begun=$SECONDS
ok() { echo "ok $*"; }
bad() {
	echo "not ok $*"
	[ -z "$deb" ] || journalctl -o cat -u boreside >log
	tail -n 8 out log 2>/dev/null | sed 's/^/# /'
}
typed() { # typed WORDS COMMAND...: what a user types, and is told
	local words=$1
	shift
	commands=$((commands + 1))
	if "$@" >out 2>&1; then ok "$commands. $words"; else bad "$commands. $words [$*]"; fi
}
get() { # get PORT PATH: by HTTP, the body to standard output
	exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
	printf 'GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n' "$2" >&3
	timeout 20 sed '1,/^\r$/d' <&3
	exec 3<&- 3>&-
} 2>/dev/null

[ -z "$deb" ] || typed "the package is installed" apt-get install -y "$deb"

# What a site has before: a recording of a scan, and a PACS.
"$BORESIDE" phantom --traj cartesian --matrix 64,48 --encoded 128,48 --coils 4 --scanner \
	--object marker --repetitions 3 --fov-mm 256,192,5 --study 1.2.3.4 --measurement first \
	--te-ms 5 --name first_hour -o scan.h5 >out 2>&1 || bad "a recording"
start_pacs() {
	local try
	for program in Orthanc storescu dump2dcm; do
		command -v $program >/dev/null && continue
		echo "skip a PACS: $program is not installed"
		return 1
	done
	for try in 1 2 3 4 5 6 7 8; do
		port=$((RANDOM % 20000 + 10000)) http=$((RANDOM % 20000 + 30000))
		mkdir -p pacs
		cat >orthanc.json <<END
{ "Name": "first-$$-$port", "StorageDirectory": "$dir/pacs", "IndexDirectory": "$dir/pacs",
  "HttpPort": $http, "DicomPort": $port, "DicomAet": "ORTHANC", "DicomAlwaysAllowStore": true,
  "DicomServerEnabled": true, "HttpServerEnabled": true, "RemoteAccessAllowed": false,
  "AuthenticationEnabled": false, "Plugins": [] }
END
		Orthanc orthanc.json >orthanc.log 2>&1 &
		pacs=$!
		await pacs_settled
		pacs_answers && return
		kill "$pacs" 2>/dev/null
		wait "$pacs" 2>/dev/null
		pacs=
	done
	echo "skip a PACS: Orthanc does not start: $(tail -n 1 orthanc.log)"
	return 1
}
pacs_answers() { get "$http" /system | grep -q "\"first-$$-$port\""; }
pacs_settled() { pacs_answers || ! kill -0 "$pacs" 2>/dev/null; }
around=(--mrd 0 --web 0)
start_pacs && around+=(--pacs "ORTHANC@127.0.0.1:$port")
[ -z "$deb" ] || around+=(--system --force)

typed "a site file is made from the recording" \
	"$BORESIDE" init --from scan.h5 "${around[@]}" -o $site
grep -q "protocol 'first_hour', method cartesian" out || bad "with the recording's protocol"
# patience for a machine that tests under a sanitizer; no user needs it
sed -i "s/^node: {/node: { $patient/; s/^\t\tname = /\t\t$quiet\n&/" $site
typed "the site file is valid" "$BORESIDE" check $site
commands=$((commands + 1)) # what it finds is this machine's matter
"$BORESIDE" doctor -c $site >out 2>&1
grep -q '^[0-9]* ok, [0-9]* warn, [0-9]* FAIL$' out &&
	ok "$commands. the machine: $(tail -n 1 out)" ||
	bad "$commands. the machine"
if [ -n "$deb" ]; then
	typed "the service is started, now and at each boot" systemctl enable --now boreside
else
	commands=$((commands + 1))
	"$BORESIDE" serve -c $site 2>log &
	serve=$!
fi
typed "the service is ready" "$BORESIDE" status -c $site $ready
spoken() { if [ -n "$deb" ]; then journalctl -o cat -u boreside; else cat log; fi; }
mrd_port() { spoken | sed -n 's/.*may connect to 127.0.0.1:\([0-9]*\).*/\1/p' | tail -n 1; }
mrd_listens() { [ -n "$(mrd_port)" ]; }
web_port() { sed -n 's|^http://127.0.0.1:\([0-9]*\)/*$|\1|p' $run/web.url 2>/dev/null; }
web_listens() { [ -n "$(web_port)" ] && get "$(web_port)" / | grep -q '<html'; }
await mrd_listens && ok "MRD clients may connect" || bad "MRD clients may not connect"
await web_listens && ok "the page answers" || bad "the page does not answer"
# it is a viewer, which connects in its own time: images before that are not for it. The service
# has met it when two more questions were answered.
viewing() { get "$(web_port)" /pictures.json | grep -q '"connected":true'; }
answers() { "$BORESIDE" status -c $site >/dev/null 2>&1; }
await viewing && await answers && await answers || bad "the page sees no images"

# the scan: from a client that the service knows nothing of
"$BORESIDE" recon -c $site -o one.cfl scan.h5 >out 2>&1 || bad "the images in one process"
commands=$((commands + 1))
timeout 120 "$python" "$here/bridge/client.py" "$(mrd_port)" anything scan.h5 one.cfl \
	one-0002.cfl one-0003.cfl >out 2>&1
rc=$?
if [ $rc -eq 0 ]; then
	ok "$commands. a Python client streams the scan, and has its three images"
elif [ $rc -eq 77 ] || ! "$python" -c '' 2>/dev/null; then # 77: the client's own
	echo "skip a Python client: $python has no ismrmrd with ProtocolSerializer (PyPI's 1.15)"
	commands=$((commands - 1))
	typed "the scan is replayed" "$BORESIDE" replay -c $site --asap $patience scan.h5
else
	bad "$commands. a Python client"
fi
files() { find $images -name "*.$1" 2>/dev/null | wc -l; }
have() { [ "$(files png)" -eq 3 ] && [ "$(files h5)" -eq 3 ]; }
await have && ok "the images are files, too" || bad "$(files png) .png, $(files h5) .h5"

# the page: its pictures, and, in a browser, the page as it is drawn
pictures() { get "$(web_port)" /pictures.json | grep -o '"number":' | wc -l; }
shown() { [ "$(pictures)" -ge 3 ]; }
await shown && ok "the page has the images" || bad "the page has $(pictures) images"
if command -v chromium >/dev/null; then
	commands=$((commands + 1))
	for _ in 1 2 3; do # what a busy machine has not drawn yet it draws later
		timeout -k 5 60 chromium --headless=new --no-sandbox --disable-gpu \
			--disable-dev-shm-usage --user-data-dir="$dir/chromium" \
			--virtual-time-budget=8000 --dump-dom \
			"http://127.0.0.1:$(web_port)/" >page.html 2>out
		[ -s page.html ] && ! grep -q 'first_hour' page.html || break
	done
	if grep -q 'first_hour' page.html; then
		ok "$commands. a browser shows the page, with the protocol"
	elif [ ! -s page.html ]; then
		echo "skip a browser: chromium does not run here: $(tail -n 1 out)"
	else
		bad "$commands. a browser shows the page: $(wc -c <page.html) bytes"
	fi
else
	echo "skip a browser: chromium is not installed"
fi

if [ -n "$pacs" ]; then
	instances() { get "$http" /instances | grep -o '"[0-9a-f-]\{30,\}"' | sort -u | wc -l; }
	stored() { [ "$(instances)" -eq 3 ]; }
	commands=$((commands + 1)) # curl http://.../instances, or Orthanc's own page
	await stored && ok "$commands. the PACS has the images" ||
		bad "$commands. the PACS has $(instances) images"
fi
typed "the service ends without loss" "$BORESIDE" drain -c $site
if [ -n "$deb" ]; then
	ended() { [ "$(systemctl is-active boreside)" = inactive ]; }
	await ended
	rc=$?
else
	wait "$serve"
	rc=$?
	serve=
fi
[ $rc -eq 0 ] && ok "and with 0" || bad "the service ended with $rc"
[ $commands -le 10 ] && ok "$commands commands, $((SECONDS - begun)) s" ||
	bad "$commands commands are more than 10"
