# .ci/code.awk - C without its comments: for awk -f .ci/code.awk -f ANOTHER. bare(line) returns a
# line of the file that is read without comments and with "" for each string; .comment is true
# within a comment of several lines and begins anew with each file.
function bare(line,   out, at, sign, rest) {
	out = ""
	if (FNR == 1)
		comment = 0
	while (line != "") {
		if (comment) {
			if ((at = index(line, "*/")) == 0)
				return out
			line = substr(line, at + 2)
			comment = 0
		}
		if (!match(line, /\/\*|\/\/|"|'/))
			return out line
		sign = substr(line, RSTART, RLENGTH)
		out = out substr(line, 1, RSTART - 1)
		rest = substr(line, RSTART + RLENGTH)
		if (sign == "//")
			return out
		if (sign == "/*") {
			comment = 1
			out = out " "
		} else {
			out = out sign sign
			match(rest, sign == "'" ? /^(\\.|[^\\'])*'/ : /^(\\.|[^\\"])*"/)
			rest = RLENGTH > 0 ? substr(rest, RLENGTH + 1) : ""
		}
		line = rest
	}
	return out
}
