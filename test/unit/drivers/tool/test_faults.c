/*
 * test/unit/drivers/tool/test_faults.c - plans of faults: their words, refusals, draws; and what of
 * a message arrives under each
 */
#define _GNU_SOURCE
#include "drivers/tool/replay/faults.h"

#include <string.h>
#include <unistd.h>

#include "ipc/wire/wire.h"
#include "test/support/await.h"
#include "test/support/check.h"

static char folder[] = "/tmp/boreside-faults-XXXXXX";
static char path[64], url[80];
static struct bs_endpoint service, sender;

static int read_text(struct bs_faults *f, const char *text, struct bs_fail *why)
{
	FILE *file = fopen(path, "w");

	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
		exit(1);
	return bs_faults_read(f, path, why);
}

/* ---- plans ---- */

static void test_words(void)
{
	static const char *const lines[] = {
		"at 0 duplicate",
		"at 3 reorder by 4",
		"at 5 corrupt bit 100",
		"at 7 drop for good",
		"at 9 truncate to 70 bytes",
		"at 11 stall 250 ms",
		"at 12 disconnect 0 ms",
		"at 13 kill 50 ms",
		"at 14 corrupt bit 8 for good",
	};
	char text[1024] = "# all of them\n\n";
	char words[BS_FAULTS_WORDS];
	struct bs_faults f;
	struct bs_fail why = { 0 };

	for (size_t i = sizeof(lines) / sizeof(lines[0]); i-- > 0;) {
		(void)strcat(text, " ");
		(void)strcat(text, lines[i]);
		(void)strcat(text, "\t# said\r\n");
	}
	CHECK(read_text(&f, text, &why) == 0 && f.count == sizeof(lines) / sizeof(lines[0]),
	      "a file of every kind is read: %s", why.text);
	for (uint32_t i = 0; i < f.count; i++)
		CHECK(strcmp(bs_fault_words(words, &f.fault[i]), lines[i]) == 0,
		      "in the order of numbers, and said as it was: %s", words);
	bs_faults_free(&f);
	CHECK(read_text(&f,
			"at 1 reorder\nat 2 disconnect\nat 3 kill\nat 4 corrupt\n"
			"at 5 truncate for good",
			&why) == 0 &&
		      f.count == 5 && f.fault[0].by == 1 && f.fault[1].by == 0 &&
		      f.fault[2].by == 0 && f.fault[3].by < 100000 && f.fault[4].for_good,
	      "figures may be left out %s", why.text);
	bs_faults_free(&f);
}

static void test_refusals(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "drop 3", "line 1: 'drop' where a line begins" },
		{ "\nat x drop", "line 2: 'x' is no number" },
		{ "at -1 drop", "'-1' is no number" },
		{ "at 3 lose", "'lose' is no fault: drop," },
		{ "at 3", "'' is no fault" },
		{ "at 3 stall", "stall needs a time" },
		{ "at 3 stall 0 ms", "'0' is no number from 1 to 600000" },
		{ "at 3 stall 20", "'' after the figure, not 'ms'" },
		{ "at 3 stall 20 s", "'s' after the figure, not 'ms'" },
		{ "at 3 stall 99999999999999999999 ms", "is no number from" },
		{ "at 3 drop 4", "'4' after 'drop'" },
		{ "at 3 drop for now", "'now' after 'drop'" },
		{ "at 3 kill for good", "'for' after 'kill'" },
		{ "at 3 duplicate for good", "'for' after 'duplicate'" },
		{ "at 3 reorder 4", "'4' where 'reorder by N ' was to come" },
		{ "at 3 truncate to 4 kb", "'kb' after the figure, not 'bytes'" },
	};
	struct bs_faults f;
	struct bs_fail why = { 0 };
	char text[400];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(read_text(&f, bad[i].text, &why) == BS_ERR_CONFIG &&
			      strstr(why.text, bad[i].says) != NULL && f.count == 0,
		      "%s", why.text);
		bs_faults_free(&f);
	}
	memset(text, ' ', sizeof(text));
	memcpy(text + 300, "at 1 drop", 10);
	CHECK(read_text(&f, text, &why) == BS_ERR_CONFIG && strstr(why.text, "longer than") != NULL,
	      "a long line: %s", why.text);
	(void)unlink(path);
	CHECK(bs_faults_read(&f, path, &why) == BS_ERR_IO, "no file: %s", why.text);
	CHECK(read_text(&f, "at 34 drop", &why) == 0 && bs_faults_fit(&f, 32, &why) != 0 &&
		      strstr(why.text, "CLOSE, is 33") != NULL && bs_faults_fit(&f, 33, &why) == 0,
	      "a message that the scan does not have: %s", why.text);
	bs_faults_free(&f);
	for (int i = 0; i < 2; i++) {
		CHECK(read_text(&f, i == 0 ? "at 0 drop for good" : "at 33 truncate for good",
				&why) == 0 &&
			      bs_faults_fit(&f, 32, &why) != 0,
		      "OPEN or CLOSE for good: %s", why.text);
		bs_faults_free(&f);
	}
}

static void test_draws(void)
{
	uint32_t same = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct bs_faults f[3];
		uint32_t seen = 0;
		uint32_t n = 32 + 200 * (uint32_t)seed;

		CHECK(bs_faults_draw(&f[0], seed, n, NULL) == 0 &&
			      bs_faults_draw(&f[1], seed, n, NULL) == 0 &&
			      bs_faults_draw(&f[2], seed + 1, n, NULL) == 0 &&
			      f[0].count == BS_FAULT_KINDS + seed &&
			      bs_faults_fit(&f[0], n, NULL) == 0,
		      "seed %d: %u faults", (int)seed, f[0].count);
		for (uint32_t i = 0; i < f[0].count; i++)
			seen |= 1u << f[0].fault[i].kind;
		CHECK(seen == (1u << BS_FAULT_KINDS) - 1, "one of each kind");
		CHECK(memcmp(f[0].fault, f[1].fault, f[0].count * sizeof(*f[0].fault)) == 0,
		      "the same seed: the same faults");
		same += memcmp(f[0].fault, f[2].fault, f[0].count * sizeof(*f[0].fault)) == 0;
		for (int i = 0; i < 3; i++)
			bs_faults_free(&f[i]);
	}
	CHECK(same == 0, "another seed: others");
}

/* ---- what arrives ---- */

static void say(struct bs_faults *f, uint64_t seq, int expect)
{
	unsigned char msg[BS_WIRE_BYTES + 16];
	unsigned char payload[16];
	struct bs_wire w = { .kind = BS_WIRE_WAVEFORM, .session = 1, .seq = seq };
	struct bs_fail why = { 0 };
	int rc = BS_ENDPOINT_TIMEOUT;

	memset(payload, (int)seq, sizeof(payload));
	bs_wire_encode(msg, &w, payload, sizeof(payload));
	memcpy(msg + BS_WIRE_BYTES, payload, sizeof(payload));
	AWAIT((rc = bs_faults_send(f, &sender, msg, sizeof(msg), &why)) != BS_ENDPOINT_TIMEOUT);
	CHECK(rc == expect, "message %d: %d %s", (int)seq, rc, why.text);
}

/* Its number; 1000 + length of what does not decode; -1: nothing comes. */
static int hear(int ms)
{
	unsigned char msg[256];
	const unsigned char *payload;
	struct bs_wire w;
	size_t len;

	if (bs_endpoint_recv(&service, msg, sizeof(msg), &len, ms, NULL) != 0)
		return -1;
	if (bs_wire_decode(&w, msg, len, &payload, NULL) != 0)
		return 1000 + (int)len;
	return (int)w.seq;
}

/* A message is sent so many times; these numbers come, in this order, and nothing else. */
static void expect(struct bs_faults *f, uint64_t seq, int times, const char *what, const int *come,
		   int n)
{
	for (int i = 0; i < times; i++)
		say(f, seq, 0);
	for (int i = 0; i < n; i++) {
		int got = hear(AWAIT_MS);

		CHECK(got == come[i], "%s: %d came, %d expected", what, got, come[i]);
	}
}
#define EXPECT(seq, times, what, ...)                                                              \
	expect(&f, seq, times, what, (const int[]){ __VA_ARGS__ },                                 \
	       (int)(sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int)))

static void test_line(void)
{
	struct bs_faults f;
	struct bs_fail why = { 0 };

	CHECK(read_text(&f,
			"at 1 drop\nat 2 duplicate\nat 3 reorder by 2\nat 6 corrupt bit 700\n"
			"at 6 truncate to 7 bytes\nat 6 duplicate\nat 7 drop for good\n"
			"at 8 stall 1 ms\n"
			"at 8 corrupt bit 3 for good\nat 9 disconnect\nat 10 kill 1 ms\n",
			&why) == 0,
	      "a plan %s", why.text);
	bs_faults_start(&f);
	EXPECT(0, 1, "no fault", 0);
	say(&f, 1, 0);
	EXPECT(1, 1, "dropped once, and sent again", 1);
	EXPECT(2, 1, "twice", 2, 2);
	say(&f, 3, 0);
	EXPECT(4, 1, "one that is held passes later ones", 4);
	EXPECT(5, 1, "and comes behind the second", 5, 3);
	EXPECT(6, 4, "three faults of one message, one after the other", 1080, 1007, 6, 6, 6);
	for (int i = 0; i < 3; i++)
		say(&f, 7, 0);
	EXPECT(8, 2, "dropped and spoiled for good", 1080, 1080);
	CHECK(f.pending == 9, "%u numbers are not acknowledged", f.pending);
	bs_faults_heard(&f, 6, 100);
	CHECK(f.pending == 6 && f.fault[0].passed_ns == 100 && f.fault[3].passed_ns == 0,
	      "those below 6 are: %u are not", f.pending);
	say(&f, 9, BS_FAULTS_ANEW);
	EXPECT(9, 1, "another socket", 9);
	say(&f, 10, BS_FAULTS_KILLED);
	EXPECT(0, 1, "another sender", 0);
	CHECK(f.fault[6].struck == 3 && f.fault[8].struck == 2 && f.fault[7].struck == 1,
	      "counted: %u, %u, %u", f.fault[6].struck, f.fault[8].struck, f.fault[7].struck);
	bs_faults_start(&f);
	say(&f, 1, 0);
	EXPECT(1, 1, "another scan: all strike again", 1);
	bs_faults_free(&f);
}

int main(void)
{
	struct bs_fail why = { 0 };

	if (mkdtemp(folder) == NULL)
		return 1;
	(void)snprintf(path, sizeof(path), "%s/plan", folder);
	(void)snprintf(url, sizeof(url), "ipc://%s/line", folder);
	test_words();
	test_refusals();
	test_draws();
	CHECK(bs_endpoint_bind(&service, BS_ENDPOINT_KSPACE, url, 4096, &why) == 0 &&
		      bs_endpoint_connect(&sender, BS_ENDPOINT_KSPACE, url, 4096, &why) == 0,
	      "a line %s", why.text);
	test_line();
	bs_endpoint_close(&sender);
	bs_endpoint_close(&service);
	(void)unlink(path);
	(void)unlink(url + 6);
	(void)rmdir(folder);
	return check_done();
}
