# test/replay/console/console.bash - sourced by the tests beside it: recordings of DATA/console, by
# boreside init alone, then by recon and through the service
#
# begin WORDS: a folder to work in; without the recordings the test is skipped, in these words.
# made NAME: init's protocol and recon's images of it. NAME.cfg, NAME.err, NAME.log, NAME.cfl
# served NAME: the service by that site file, bit for bit recon's images, as many as these are.
#   NAME.out: what replay says; NAME.json: the status; NAME.text: the images' words
here=$(dirname "${BASH_SOURCE[0]}")
from=$DATA/console ref=$DATA/console/ref
begin() {
	. "$here/../init/init.bash"
	needs "$from" "$1"
}
bound() { # bound NAME REFERENCE MOST: unscaled
	check "$1: at most $3 of $2" "$BORESIDE" compare --max-unscaled "$3" "$1.cfl" "$ref/$2.cfl"
}
scaled() { # scaled NAME REFERENCE MOST
	check "$1: at most $3 of $2" "$BORESIDE" compare --max-nrmse "$3" "$1.cfl" "$ref/$2.cfl"
}
made() {
	init "$1" "$from/$1.h5" && mv recon.log "$1.log"
}
start() { # start NAME: the service
	mkdir "$1"
	sed -e "s/^\tname = \"boreside\";.*/&\n\t$patient/" \
		-e 's/^sinks = (/&\n\t{ type = "cfl"; dir = "images"; },/' "$1.cfg" >"$1/site.cfg"
	"$BORESIDE" serve -c "$1/site.cfg" 2>"$1/log" &
	serve=$!
	"$BORESIDE" status -c "$1/site.cfg" $ready >/dev/null
}
stop() {
	kill -TERM $serve
	wait $serve
	serve=
}
come() { [ "$(find "$1/images" -name '*.cfl' 2>/dev/null | wc -l)" -ge "$2" ]; }
served() {
	local n made of
	start "$1"
	"$BORESIDE" replay -c "$1/site.cfg" -p scan --asap $patience "$from/$1.h5" >"$1.out" 2>&1
	mapfile -t made < <(echo "$1.cfl"; ls "$1"-0*.cfl 2>/dev/null)
	await come "$1" ${#made[@]}
	"$BORESIDE" status -c "$1/site.cfg" --json >"$1.json"
	stop
	mapfile -t of < <(ls "$1"/images/*.cfl)
	for n in "${!made[@]}"; do
		check "$1 through the service: image $((n + 1)) bit for bit" \
			cmp "${of[n]}" "${made[n]}"
	done
	strings -n 8 "$1"/images/*.h5 | sed "s/&apos;/'/g" >"$1.text"
}
is() { # is NAME QUALITY: its images
	check "$1: $2" grep -q "boreside_quality</name><value>$2<" "$1.text"
}
