# board/deploy/man/roff.awk - text as man(7) has it, for the other scripts here (awk -f roff.awk -f ...)
function escape(s) {
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	gsub(/'/, "\\(aq", s)
	gsub(/`/, "\\(ga", s)
	gsub(/\^/, "\\(ha", s)
	gsub(/~/, "\\(ti", s)
	return s
}
# Of Markdown, on one line: `code`, **bold**, *emphasis*, [words](address)
function inline(s,   out, at, n, part) {
	while (match(s, /\[[^]]*\]\([^)]*\)/)) {
		part = substr(s, RSTART, RLENGTH)
		at = index(part, "](")
		n = substr(part, at + 2, length(part) - at - 2)
		part = substr(part, 2, at - 2)
		s = substr(s, 1, RSTART - 1) part (n ~ /^http/ ? " <" n ">" : "") \
			substr(s, RSTART + RLENGTH)
	}
	while (match(s, /`[^`]*`|\*\*[^*]*\*\*|\*[^* ][^*]*\*/)) {
		part = substr(s, RSTART, RLENGTH)
		n = part ~ /^`/ ? 1 : part ~ /^\*\*/ ? 2 : 1
		out = out escape(substr(s, 1, RSTART - 1)) \
			(part ~ /^[`]|^\*\*/ ? "\\fB" : "\\fI") \
			escape(substr(part, n + 1, length(part) - 2 * n)) "\\fR"
		s = substr(s, RSTART + RLENGTH)
	}
	return out escape(s)
}
# Words in lines of at most 76 columns; none begins with a control character.
function put(s,   word, n, i, line) {
	n = split(s, word, / +/)
	line = ""
	for (i = 1; i <= n; i++) {
		if (word[i] == "")
			continue
		if (line != "" && length(line) + length(word[i]) > 75) {
			print line
			line = ""
		}
		line = line (line == "" ? guard(word[i]) : " " word[i])
	}
	if (line != "")
		print line
}
function guard(s) { return s ~ /^[.']/ ? "\\&" s : s }
