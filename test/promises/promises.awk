# test/promises/promises.awk - what pages promise: ID <tab> PAGE <tab> WORDS of each id that stands
# at the end of a sentence, [W7]. Words are that sentence, after the bold words that begin its
# paragraph or item. awk -f promises.awk PAGE...
function flush(  rest, lead, at, id, before, n, part) {
	rest = text
	lead = match(rest, /^\*\*[^*]*\*\*/) ? substr(rest, 3, RLENGTH - 4) : ""
	sub(/[.:]$/, "", lead)
	while (match(rest, / \[[A-Z][0-9]+\]/)) {
		id = substr(rest, RSTART + 2, RLENGTH - 3)
		before = substr(rest, 1, RSTART - 1)
		rest = substr(rest, RSTART + RLENGTH)
		gsub(/[.!?]["*)]* /, "&\001", before)
		n = split(before, part, /\001/)
		before = part[n]
		sub(/^[.:;,)]+ */, "", before)
		gsub(/\*\*/, "", before)
		if (lead != "" && index(before, lead) != 1)
			before = lead ": " before
		print id "\t" page "\t" before
	}
	text = ""
}
FNR == 1 { flush(); fenced = 0; page = FILENAME }
/^ *```/ { flush(); fenced = !fenced; next }
fenced || /^#/ || /^ *$/ { flush(); next }
/^ *([-*]|[0-9]+\.) / { flush(); sub(/^ *([-*]|[0-9]+\.) +/, "") }
{
	sub(/^ +/, "")
	text = text (text == "" ? "" : " ") $0
}
END { flush() }
