# test/promises/plant.awk - a source with the planted lines of one promise in the place of its own:
# awk -v id=W7 -f plant.awk planted.txt SOURCE. Fails where those lines are not there exactly once.
FNR == NR {
	if (/^[A-Z]/)
		ours = $1 == id
	else if (ours && /^-/)
		was[++lines] = substr($0, 2)
	else if (ours && /^\+/)
		becomes = becomes substr($0, 2) "\n"
	next
}
{ line[++n] = $0 }
END {
	for (i = 1; i + lines - 1 <= n; i++) {
		for (j = 1; j <= lines && line[i + j - 1] == was[j]; j++)
			;
		if (lines > 0 && j > lines) {
			at = i
			found++
		}
	}
	if (found != 1)
		exit 1
	for (i = 1; i <= n; i++) {
		if (i == at)
			printf "%s", becomes
		if (i < at || i >= at + lines)
			print line[i]
	}
}
