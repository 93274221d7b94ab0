/*
 * test/unit/core/study/test_labels.c - which channel of an earlier scan is which of this one: by
 * name, by number, not at all, and the words
 */
/* Holds: W56 */
#include "core/study/labels.h"

#include <stdio.h>
#include <string.h>

#include "test/support/check.h"

static struct bs_labels a, b;
static struct bs_match m;

/* Names, one letter each; numbers: NULL: 0, 1, 2, ... */
static void labels(struct bs_labels *l, const char *letters, const uint32_t *numbers)
{
	memset(l, 0, sizeof(*l));
	for (; letters[l->count] != '\0'; l->count++) {
		(void)snprintf(l->name[l->count], BS_LABEL_BYTES, "HE%c", letters[l->count]);
		l->number[l->count] = numbers != NULL ? numbers[l->count] : l->count;
	}
}

static enum bs_matched match(uint32_t channels)
{
	bs_match_channels(&m, (struct bs_named){ &a, "n1" }, (struct bs_named){ &b, "s1" },
			  channels);
	return m.by;
}

static void by_name(void)
{
	static const uint8_t of[4] = { 1, 3, 0, 2 };

	labels(&a, "1234", NULL);
	labels(&b, "3142", NULL);
	CHECK(match(4) == BS_MATCHED_NAME && memcmp(m.of, of, sizeof(of)) == 0 &&
		      m.words[0] == '\0' && bs_match_moves(&m, 4),
	      "HE1 is the second, HE2 the last, HE3 the first");
	labels(&b, "1234", NULL);
	CHECK(match(4) == BS_MATCHED_NAME && !bs_match_moves(&m, 4), "as they stood");
	labels(&a, "1234", (uint32_t[]){ 50, 49, 38, 37 });
	labels(&b, "3142", (uint32_t[]){ 38, 50, 37, 49 });
	CHECK(match(4) == BS_MATCHED_NAME && memcmp(m.of, of, sizeof(of)) == 0,
	      "plugs with gaps say nothing");
	labels(&a, "1234", (uint32_t[]){ 2, UINT32_MAX, UINT32_MAX, 7 });
	CHECK(match(4) == BS_MATCHED_NAME && memcmp(m.of, of, sizeof(of)) == 0,
	      "nor do those that are not there");
}

/* HE3 is the first element, and has number 2: is it the first channel or the third? */
static void contradict(void)
{
	labels(&a, "1234", NULL);
	labels(&b, "3142", (uint32_t[]){ 2, 0, 3, 1 });
	CHECK(match(4) == BS_MATCHED_NONE && strstr(m.words, "contradict each other") != NULL &&
		      strstr(m.words, "scan 'n1' is which of this scan 's1'") != NULL,
	      "%s", m.words);
	labels(&b, "3142", (uint32_t[]){ 3, 1, 4, 2 });
	CHECK(match(4) == BS_MATCHED_NONE, "the same, from 1");
	labels(&a, "3142", (uint32_t[]){ 2, 0, 3, 1 });
	labels(&b, "3142", (uint32_t[]){ 2, 0, 3, 1 });
	CHECK(match(4) == BS_MATCHED_NAME && !bs_match_moves(&m, 4),
	      "where both scans are alike it does not matter");
}

static void others(void)
{
	labels(&a, "1234", NULL);
	labels(&b, "1254", NULL);
	CHECK(match(4) == BS_MATCHED_NONE &&
		      strcmp(m.words, "channels of scan 'n1' (HE3) are not those of this scan "
				      "'s1' (HE5)") == 0,
	      "%s", m.words);
	labels(&a, "123456", NULL);
	labels(&b, "abcdef", NULL);
	CHECK(match(6) == BS_MATCHED_NONE && strstr(m.words, "(HE1, HE2, HE3 and 3 more)") != NULL,
	      "%s", m.words);
}

static void by_number(void)
{
	labels(&a, "1234", NULL);
	labels(&b, "", NULL);
	CHECK(match(4) == BS_MATCHED_NUMBER && !bs_match_moves(&m, 4) &&
		      strcmp(m.words, "this scan 's1' has 0 coilLabel for 4 channels") == 0,
	      "%s", m.words);
	labels(&b, "31425", NULL);
	CHECK(match(4) == BS_MATCHED_NUMBER && strstr(m.words, "5 coilLabel for 4") != NULL, "%s",
	      m.words);
	labels(&b, "3141", NULL);
	CHECK(match(4) == BS_MATCHED_NUMBER && strstr(m.words, "another one's, too") != NULL, "%s",
	      m.words);
	labels(&b, "3142", NULL);
	b.name[2][0] = '\0';
	CHECK(match(4) == BS_MATCHED_NUMBER && strstr(m.words, "is empty") != NULL, "%s", m.words);
	labels(&b, "3142", NULL);
	a.cut[1] = 1;
	CHECK(match(4) == BS_MATCHED_NUMBER &&
		      strcmp(m.words, "scan 'n1' has a coilLabel whose name is longer than 47 "
				      "bytes") == 0,
	      "%s", m.words);
	a.count = b.count = 70;
	CHECK(match(70) == BS_MATCHED_NUMBER, "more than are kept");
}

/* The longest names and ids end within the words. */
static void bounded(void)
{
	char scan[64];

	memset(scan, 's', 63);
	scan[63] = '\0';
	labels(&a, "1234", NULL);
	labels(&b, "5678", NULL);
	for (int i = 0; i < 4; i++) {
		memset(a.name[i] + 3, 'x', BS_LABEL_BYTES - 4);
		memset(b.name[i] + 3, 'x', BS_LABEL_BYTES - 4);
	}
	bs_match_channels(&m, (struct bs_named){ &a, scan }, (struct bs_named){ &b, scan }, 4);
	CHECK(m.by == BS_MATCHED_NONE && strlen(m.words) < sizeof(m.words) && m.words[0] == 'c',
	      "%s", m.words);
}

int main(void)
{
	by_name();
	contradict();
	others();
	by_number();
	bounded();
	return check_done();
}
