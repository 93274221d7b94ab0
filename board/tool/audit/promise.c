/* board/tool/audit/promise.c - see promise.h */
#include "board/tool/audit/promise.h"

#include <stdarg.h>
#include <string.h>

#define PRINTED 3u   /* most printed findings of one promise and one log, file or folder */
#define COLUMNS 116u /* columns of a line in the list of promises */

static const struct {
	const char *name, *page, *rule;
} promises[BS_PROMISES] = {
	[BS_PROMISE_NAME] = { "file.name", "LOG.md",
			      "a file is called by its head: UTC-SESSION-INDEX.bslog" },
	[BS_PROMISE_MODE] = { "file.mode", "LOG.md", "mode 0640: nobody else may read it" },
	[BS_PROMISE_HEAD] = { "file.head", "LOG.md",
			      "block 0 is a head whose checksum holds; "
			      "behind its fields are zeros" },
	[BS_PROMISE_SEAL] = { "file.seal", "LOG.md",
			      "a seal has its head's fields, the offset behind the last record and "
			      "the number that follows it" },
	[BS_PROMISE_SEGMENTS] = { "log.segments", "LOG.md",
				  "segments are of one scan, counted from 0, with ids of "
				  "their own; "
				  "one begins with the number due, or after an error" },
	[BS_PROMISE_RECORDS] = { "log.records", "LOG.md",
				 "what was committed can be read, each number once: "
				 "only the end of a log without a seal may be torn" },
	[BS_PROMISE_PADDING] = { "log.padding", "LOG.md",
				 "what was committed together ends with zeros up to a block's end, "
				 "a record with zeros up to a multiple of 8" },
	[BS_PROMISE_DURABLE] = { "log.durable", "LOG.md",
				 "a record says how many before it were on the disk: not more than "
				 "there are, never fewer than one before it said" },
	[BS_PROMISE_SPARE] = { "folder.spare", "LOG.md",
			       "spare files: at most four, of whole blocks" },
	[BS_PROMISE_PART] = { "folder.part", "LOG.md",
			      "the next start removes a spare file that was not finished" },
	[BS_PROMISE_CURSOR] = { "folder.cursor", "LOG.md",
				"a cursor's file is one number of 20 digits" },
	[BS_PROMISE_SIGNED] = { "log.signed", "LOG.md",
				"with --key: a log that has its end is what that key signed" },
	[BS_PROMISE_MESSAGE] = { "log.message", "LOG.md",
				 "each record is one good message: OPEN, ACQ, WAVEFORM, CLOSE or "
				 "ANSWER" },
	[BS_PROMISE_SESSION] = { "log.session", "WIRE.md 1",
				 "every message of a scan carries its session, which is not 0" },
	[BS_PROMISE_OPEN] = { "log.open", "WIRE.md 2",
			      "a log begins with OPEN, number 0, whose header can be read; no "
			      "other message is one" },
	[BS_PROMISE_ONCE] = { "log.once", "LOG.md", "each number of the wire is logged once" },
	[BS_PROMISE_ORDER] = { "log.order", "WIRE.md 8",
			       "numbers are out of order by a window at most" },
	[BS_PROMISE_READOUT] = { "log.readout", "WIRE.md, ACQ",
				 "an ACQ is as long as its header says" },
	[BS_PROMISE_CLOSE] = { "log.close", "WIRE.md 10", "no number is beyond that of CLOSE" },
	[BS_PROMISE_COUNT] = { "log.count", "WIRE.md 10",
			       "CLOSE counts the ACQs that are there, "
			       "and no more than are missing" },
	[BS_PROMISE_GAPS] = { "log.gaps", "WIRE.md 8",
			      "numbers that a closed scan's log lacks are named: "
			      "as gaps, rejected, or lacking" },
	[BS_PROMISE_OUTCOME_SIGNED] = { "outcome.signed", "WEB.md",
					"with --key: each line audit is signed by that key, and "
					"none is missing between two of one start" },
	[BS_PROMISE_OUTCOME_LOG] = { "outcome.log", "WIRE.md 5",
				     "the log that an outcome names is there and has an end" },
	[BS_PROMISE_OUTCOME_SCAN] = { "outcome.scan", "LOG.md",
				      "the log's head has the number of the scan" },
	[BS_PROMISE_OUTCOME_WHOLE] = { "outcome.whole", "WIRE.md, Outcome",
				       "a scan of code 0 is in its log from OPEN to CLOSE, or told "
				       "as lacking" },
	[BS_PROMISE_OUTCOME_READOUTS] = { "outcome.readouts", "WIRE.md 5",
					  "the log has the acquisitions that the outcome counts, "
					  "but those that it says the log lacks" },
	[BS_PROMISE_OUTCOME_IMAGES] = { "outcome.images", "WIRE.md, Outcome",
					"the store has the images that the outcome counts, "
					"less those undelivered; "
					"where all is well no number is missing" },
	[BS_PROMISE_OUTCOME_LATE] = { "outcome.late", "WIRE.md, Outcome",
				      "no more images say that they missed their budget than the "
				      "outcome counts" },
	[BS_PROMISE_STORE_FILE] = { "store.file", "LOG.md",
				    "a file of images is a log of one segment, its session the "
				    "number of its first image" },
	[BS_PROMISE_STORED] = { "store.message", "WIRE.md, STORED",
				"each record is a STORED message with one good IMAGE of the same "
				"session and time" },
	[BS_PROMISE_NUMBERS] = { "store.numbers", "WIRE.md, STORED",
				 "numbers rise over all files, and none comes twice" },
	[BS_PROMISE_BEFORE] = { "store.before", "WIRE.md, STORED",
				"each image says the number of the one before it, which is there" },
	[BS_PROMISE_TAKERS] = { "store.takers", "WIRE.md, images socket",
				"at most 8 archives that ask and 9 takers of the site, of good "
				"names" },
	[BS_PROMISE_TAKEN] = { "store.taken", "WIRE.md, NEXT",
			       "an archive's number is that of an image, and not beyond the last" },
	[BS_PROMISE_BOUND] = { "store.bound", "WIRE.md, images socket",
			       "a store is about as large as spill_mib at most" },
	[BS_PROMISE_IMAGE_HEAD] = { "image.head", "WIRE.md, IMAGE",
				    "head, attributes and pixels are as long as the head says, its "
				    "index the image's number" },
	[BS_PROMISE_IMAGE_ONCE] = { "image.once", "WIRE.md, IMAGE",
				    "each image of a scan is stored once" },
	[BS_PROMISE_IMAGE_ORDER] = { "image.order", "WIRE.md, IMAGE",
				     "images are in the order of their numbers, from 1; another "
				     "scan's follow a scan's last" },
	[BS_PROMISE_IMAGE_SERIES] = { "image.series", "WIRE.md, IMAGE",
				      "the series is the scan's number, of velocities 16384 and of "
				      "previews 32768 more" },
	[BS_PROMISE_IMAGE_QUALITY] = { "image.quality", "WIRE.md, attributes",
				       "quality, rung, budget and what is missing say the same in "
				       "head and attributes" },
	[BS_PROMISE_IMAGE_LOG] = { "image.log", "LOG.md",
				   "where logs are kept, each scan has one: those that are removed "
				   "are the oldest" },
	[BS_PROMISE_IMAGE_SCAN] = { "image.scan", "WIRE.md, IMAGE",
				    "an image is of the protocol, the measurement and a readout's "
				    "time that are in its scan's log" },
	[BS_PROMISE_IMAGE_READOUTS] = { "image.readouts", "WIRE.md, attributes",
					"an image has seen no more readouts than its scan's log" },
};

const char *bs_promise_name(enum bs_promise p)
{
	return promises[p].name;
}

/* Prints an item of a list in lines of at most COLUMNS. */
static void print_item(FILE *to, const char *text)
{
	size_t column = 0;

	while (*text != '\0') {
		const size_t word = strcspn(text, " ");

		if (column > 0 && column + 1 + word > COLUMNS) {
			(void)fprintf(to, "\n  ");
			column = 2;
		} else if (column > 0) {
			column += fprintf(to, " ") > 0;
		}
		(void)fprintf(to, "%.*s", (int)word, text);
		column += word;
		text += word + strspn(text + word, " ");
	}
	(void)fprintf(to, "\n");
}

void bs_promise_print(FILE *to)
{
	char item[512];

	for (unsigned i = 0; i < BS_PROMISES; i++) {
		(void)snprintf(item, sizeof(item), "- `%s`: %s (%s)", promises[i].name,
			       promises[i].rule, promises[i].page);
		print_item(to, item);
	}
}

/* Replaces control characters: text from files must not drive a terminal. */
static void clean(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

void bs_found_begin(struct bs_findings *f)
{
	f->now = 0;
	f->lines = 0;
	memset(f->of, 0, sizeof(f->of));
}

void bs_judged(struct bs_findings *f, enum bs_promise p)
{
	f->judged[p] = true;
}

void bs_found(struct bs_findings *f, enum bs_promise p, const char *where, const char *fmt, ...)
{
	char words[BS_FOUND_LINE / 3];
	va_list ap;

	f->judged[p] = true;
	f->now++;
	if (f->of[p]++ >= PRINTED || f->lines == BS_FOUND_LINES)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	(void)snprintf(f->line[f->lines], BS_FOUND_LINE, "%s: %.280s: %s; promised: %s (%s)",
		       promises[p].name, where, words, promises[p].rule, promises[p].page);
	clean(f->line[f->lines++]);
}

void bs_note(struct bs_findings *f, const char *fmt, ...)
{
	char words[BS_FOUND_LINE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	clean(words);
	(void)fprintf(f->to, "note: %s\n", words);
}

void bs_found_keep(struct bs_findings *f)
{
	for (uint32_t i = 0; i < f->lines; i++)
		(void)fprintf(f->to, "%s\n", f->line[i]);
	if (f->now > f->lines)
		(void)fprintf(f->to, "... and %llu more of the same\n",
			      (unsigned long long)(f->now - f->lines));
	for (unsigned i = 0; i < BS_PROMISES; i++)
		f->broken[i] += f->of[i];
	f->found += f->now;
	bs_found_begin(f);
}

void bs_found_drop(struct bs_findings *f)
{
	bs_found_begin(f);
}
