# board/deploy/man/md.awk - a document of this project (the Markdown that it uses) as the sections of
# a man page. Its first heading is left out: the caller has said .TH and NAME. A table becomes one
# paragraph a row: its first column the tag, the last one the text, those between them in brackets
# with their headings. An item that begins with `code` or **words** has these as its tag.
function flush() {
	if (text != "") {
		put(inline(text))
		text = ""
	}
}
function paragraph(macro) {
	flush()
	if (!fresh)
		print macro
	fresh = 0
}
function literal(on) {
	if (on == within)
		return
	flush()
	if (on) {
		print fresh ? ".RS 4" : ".PP\n.RS 4"
		print ".nf"
	} else {
		print ".fi"
		print ".RE"
	}
	fresh = 0
	within = on
}
function cells(line,   n, i) {
	gsub(/^ *\| *| *\| *$/, "", line)
	gsub(/\\\|/, "\001", line)
	n = split(line, cell, / *\| */)
	for (i = 1; i <= n; i++)
		gsub(/\001/, "|", cell[i])
	return n
}
function table_row(line,   n, i, between) {
	n = cells(line)
	if (!in_table) {
		for (i = 1; i <= n; i++)
			title[i] = cell[i]
		in_table = 1
		return
	}
	if (line ~ /^[|: -]*$/)
		return
	flush()
	print ".TP"
	print guard(cell[1] == "" ? "\\&" : "\\fB" plain(cell[1]) "\\fR")
	fresh = 0
	for (i = 2; i < n; i++)
		if (cell[i] != "")
			between = between (between == "" ? "" : "; ") \
				(title[i] == "" ? "" : title[i] " ") cell[i]
	put((between == "" ? "" : "(" inline(between) ") ") \
		(n > 1 && cell[n] != "" ? inline(cell[n]) : "\\&"))
}
# A tag is bold as a whole.
function plain(s) {
	s = inline(s)
	gsub(/\\f[BIR]/, "", s)
	return s
}
/^```/ { literal(!within); fenced = within; next }
fenced { print guard(escape($0)); next }
/^    / && (within || text == "") { literal(1); print guard(escape(substr($0, 5))); next }
within && /^$/ { held++; next }
within { literal(0); held = 0 }
/^\|/ { flush(); table_row($0); next }
in_table { in_table = 0; after_table = 1 }
/^$/ { flush(); ended = 1; next }
/^# / { next }
/^##+ / {
	flush()
	line = $0 ~ /^### / ? ".SS " : ".SH "
	sub(/^#+ /, "")
	gsub(/`/, "")
	print line escape(line == ".SH " ? toupper($0) : $0)
	fresh = 1
	begun = 1
	ended = 0
	next
}
/^- / && match($0, /^- (`[^`]*`|\*\*[^*]*\*\*):?/) {
	long = RLENGTH
	flush()
	print ".TP"
	print guard("\\fB" plain(substr($0, 3, long - 2)) "\\fR")
	fresh = ended = 0
	text = substr($0, long + 1)
	sub(/^ +/, "", text)
	next
}
/^- / {
	flush()
	print ".IP \\(bu 3"
	fresh = ended = 0
	text = substr($0, 3)
	next
}
/^  - / {
	flush()
	print ".br"
	fresh = ended = 0
	text = "- " substr($0, 5)
	next
}
/^[0-9]+\. / {
	flush()
	print ".IP " $1 " 4"
	fresh = ended = 0
	sub(/^[0-9]+\. +/, "")
	text = $0
	next
}
{
	if (!begun && !fresh) {
		print ".SH DESCRIPTION"
		fresh = 1
	}
	begun = 1
	if (ended || after_table)
		paragraph(".PP")
	ended = after_table = fresh = 0
	sub(/^ +/, "")
	text = text (text == "" ? "" : " ") $0
}
END { flush(); literal(0) }
