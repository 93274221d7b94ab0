/*
 * test/unit/board/test_taker.c - a taker that is quick, slow, stuck or gone: it gets images in
 * order, those that it does not get are counted, and push never waits
 */
#define _GNU_SOURCE
#include "board/emit/taker.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/service/realtime.h"
#include "test/support/await.h"
#include "test/support/check.h"

#define MESSAGE 500u

static struct bs_taker_record record;
static struct bs_fail why;
static char dir[] = "/tmp/boreside-taker-XXXXXX";

/* The taker: holds its image until the gate is open. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static bool gate;
static unsigned got[200], gots, entered;
static int answer;
static unsigned said, refusals, misses;

static int take(void *arg, struct bs_taker *c, const unsigned char *msg, size_t len,
		struct bs_fail *fail)
{
	unsigned number;
	int rc;

	(void)arg;
	(void)pthread_mutex_lock(&lock);
	entered++;
	(void)pthread_cond_broadcast(&change);
	while (!gate && !bs_taker_quits(c)) {
		(void)pthread_mutex_unlock(&lock);
		await_pause_ms(1);
		(void)pthread_mutex_lock(&lock);
	}
	memcpy(&number, msg, sizeof(number));
	for (size_t i = sizeof(number); i < len; i++)
		number = msg[i] == (unsigned char)(number + i) ? number : 9999;
	rc = gate ? answer : BS_ERR_ABORTED;
	if (rc != 0)
		(void)bs_fail(fail, rc, "%s", why.text);
	if (rc == 0 && gots < 200)
		got[gots++] = len == MESSAGE ? number : 8888;
	(void)pthread_cond_broadcast(&change);
	(void)pthread_mutex_unlock(&lock);
	return rc;
}

static char last_said[200];

static void say(void *arg, const char *line)
{
	(void)arg;
	said++;
	refusals += strstr(line, "read-only") != NULL;
	(void)snprintf(last_said, sizeof(last_said), "%s", line);
	printf("# %s\n", line);
}

static void set_gate(bool open)
{
	(void)pthread_mutex_lock(&lock);
	gate = open;
	(void)pthread_mutex_unlock(&lock);
}

static bool push(struct bs_taker *c, unsigned number)
{
	_Alignas(64) unsigned char raw[MESSAGE + 64];
	unsigned char *msg = raw + 14; /* where an image's message starts is not aligned */

	memcpy(msg, &number, sizeof(number));
	for (size_t i = sizeof(number); i < MESSAGE; i++)
		msg[i] = (unsigned char)(number + i);
	return bs_taker_push(c, msg, MESSAGE);
}

static bool await(bool (*what)(void))
{
	AWAIT(what());
	return what();
}

static bool one_in_hand(void)
{
	bool yes;

	(void)pthread_mutex_lock(&lock);
	yes = entered > 0;
	(void)pthread_mutex_unlock(&lock);
	return yes;
}

static uint64_t accounted(void)
{
	return atomic_load(&record.handed) + atomic_load(&record.failed) +
	       atomic_load(&record.shed) + atomic_load(&record.lost) +
	       atomic_load(&record.waiting) + atomic_load(&record.spill_waiting);
}

static bool nothing_waits(void)
{
	return atomic_load(&record.waiting) == 0 && atomic_load(&record.spill_waiting) == 0;
}

static bool all_spilled(void)
{
	return atomic_load(&record.spill_waiting) >= 18;
}

static void missed(void *arg, const unsigned char *msg, size_t len)
{
	(void)arg;
	misses += len >= MESSAGE && msg != NULL;
}

static struct bs_taker *open_one(enum bs_policy policy, uint32_t queue, bool fresh)
{
	struct bs_taker_spec spec = { .name = "taker",
				      .file = "taker",
				      .policy = policy,
				      .queue = queue,
				      .image_bytes = MESSAGE,
				      .spill_dir = dir,
				      .spill_bytes = 1u << 20,
				      .deliver = take,
				      .missed = missed,
				      .say = say };
	struct bs_taker *c;

	gots = entered = said = refusals = misses = 0;
	why.text[0] = '\0';
	answer = 0;
	if (fresh)
		memset(&record, 0, sizeof(record));
	CHECK(bs_taker_open(&c, &spec, &record, &why) == 0, "a taker with a queue of %u %s", queue,
	      why.text);
	return c;
}

static bool in_order(unsigned from, unsigned n)
{
	bool good = gots == n;

	for (unsigned i = 0; i < gots && i < n; i++)
		good = good && got[i] == from + i;
	if (!good)
		for (unsigned i = 0; i < gots; i++)
			printf("# number %u is %u\n", i, got[i]);
	return good;
}

static void test_quick(void)
{
	struct bs_taker *c = open_one(BS_POLICY_KEEP_NEWEST, 4, true);

	set_gate(true);
	for (unsigned i = 0; i < 100; i++) {
		(void)push(c, i);
		(void)await(nothing_waits);
	}
	CHECK(in_order(0, 100) && atomic_load(&record.handed) == 100 &&
		      atomic_load(&record.shed) == 0,
	      "a quick one gets all, whole and in order");
	CHECK(bs_taker_quiet(c), "then nothing waits");
	bs_taker_close(c);
}

static void test_stuck(void)
{
	struct bs_taker *c = open_one(BS_POLICY_KEEP_NEWEST, 4, true);
	unsigned i = 0;

	set_gate(false);
	(void)push(c, i++);
	CHECK(await(one_in_hand), "the first is in its hand");
	for (; i < 50; i++)
		(void)push(c, i);
	CHECK(atomic_load(&record.shed) == 45 && atomic_load(&record.waiting) == 5,
	      "of 50, one in hand and four that wait, %llu are shed",
	      (unsigned long long)atomic_load(&record.shed));
	CHECK(said >= 1 && said <= 45, "it was said, %u times", said);
	CHECK(misses == 45, "and each of them was named: %u", misses);
	AWAIT(bs_taker_quiet(c));
	CHECK(bs_taker_quiet(c), "after a second nobody waits for it any more");
	set_gate(true);
	(void)await(nothing_waits);
	CHECK(gots == 5 && got[0] == 0 && got[1] == 46 && got[4] == 49,
	      "when it goes on it gets the newest: %u images, the last %u", gots, got[4]);
	CHECK(accounted() == 50, "%llu of 50 are accounted for", (unsigned long long)accounted());
	bs_taker_close(c);
}

static void test_refuses(void)
{
	struct bs_taker *c = open_one(BS_POLICY_KEEP_NEWEST, 4, true);
	unsigned char huge[MESSAGE + 1] = { 0 };

	set_gate(true);
	answer = bs_fail(&why, BS_ERR_IO, "no room");
	(void)push(c, 1);
	(void)await(nothing_waits);
	CHECK(atomic_load(&record.failed) == 1 && said == 1, "a refusal is counted and said");
	CHECK(!bs_taker_push(c, huge, sizeof(huge)) && atomic_load(&record.shed) == 1,
	      "a message too long for its memory is shed");
	CHECK(accounted() == 2, "both are accounted for");
	said = 0;
	bs_taker_pass(c, huge, MESSAGE);
	CHECK(atomic_load(&record.shed) == 2 && accounted() == 3 && misses == 3,
	      "what nobody is there for is shed, and all three are named");
	bs_taker_close(c);
	CHECK(said == 1, "and said, at the end at the latest");
}

static void test_spill(void)
{
	struct bs_taker *c = open_one(BS_POLICY_SPILL, 4, true);
	unsigned i = 0;

	set_gate(false);
	(void)push(c, i++);
	CHECK(await(one_in_hand), "the first is in its hand");
	for (; i < 20; i++) {
		(void)push(c, i);
		await_pause_ms(2); /* for the mover; without a turn it sheds more, spills less */
	}
	CHECK(atomic_load(&record.spilled) + atomic_load(&record.shed) >= 14,
	      "%llu of 20 went to disk, %llu were shed",
	      (unsigned long long)atomic_load(&record.spilled),
	      (unsigned long long)atomic_load(&record.shed));
	uint64_t shed = atomic_load(&record.shed);

	set_gate(true);
	(void)await(nothing_waits);
	bool rising = gots == 20 - shed;

	for (unsigned n = 1; n < gots; n++)
		rising = rising && got[n] > got[n - 1];
	CHECK(rising && got[gots - 1] == 19, "when it goes on it gets the other %u in order", gots);
	CHECK(accounted() == 20, "all 20 are accounted for");
	bs_taker_close(c);
}

/* The files that were set aside; how many. */
static unsigned remove_bad(void)
{
	struct dirent *d;
	DIR *folder = opendir(dir);
	unsigned n = 0;

	while (folder != NULL && (d = readdir(folder)) != NULL)
		n += strstr(d->d_name, ".bad") != NULL &&
		     unlinkat(dirfd(folder), d->d_name, 0) == 0;
	if (folder != NULL)
		(void)closedir(folder);
	return n;
}

static void give(int code)
{
	(void)pthread_mutex_lock(&lock);
	answer = code;
	entered = 0;
	(void)pthread_mutex_unlock(&lock);
}

/* A disk that refuses for a while costs no image, neither the one in hand nor those on disk, not
 * even over the end of the process; an image that is refused for what it is is set aside. */
static void test_refused_spill(void)
{
	struct bs_taker *c = open_one(BS_POLICY_SPILL, 4, true);

	give(bs_fail(&why, BS_ERR_IO, "read-only"));
	set_gate(true);
	for (unsigned i = 0; i < 20; i++) {
		(void)push(c, i);
		await_pause_ms(2);
	}
	CHECK(await(one_in_hand), "the sink is asked, and refuses");
	uint64_t shed = atomic_load(&record.shed);

	CHECK(atomic_load(&record.failed) == 0 && accounted() == 20 && bs_taker_quiet(c),
	      "none of 20 is given up, %llu are shed", (unsigned long long)shed);
	CHECK(refusals == 1, "it is said once: %u", refusals);
	give(0);
	(void)await(nothing_waits);
	CHECK(in_order(0, 20 - (unsigned)shed) || (shed > 0 && gots == 20 - shed),
	      "when it takes them again it gets %u, in order", gots);
	give(bs_fail(&why, BS_ERR_IO, "read-only"));
	for (unsigned i = 0; i < 3; i++)
		(void)push(c, 50 + i);
	CHECK(await(one_in_hand), "it refuses again");
	bs_taker_close(c);
	CHECK(atomic_load(&record.spill_waiting) == 3, "at the end all three are on disk");
	set_gate(false);
	c = open_one(BS_POLICY_SPILL, 4, true);
	give(BS_ERR_FORMAT);
	set_gate(true);
	(void)await(nothing_waits);
	CHECK(atomic_load(&record.failed) == 3 && gots == 0 && remove_bad() == 3,
	      "refused for what they are they are set aside");
	bs_taker_close(c);
}

/* What waits when the process ends goes to disk, and the next process delivers it. */
static void test_restart(void)
{
	struct bs_taker *c = open_one(BS_POLICY_SPILL, 32, true);

	set_gate(false);
	for (unsigned i = 0; i < 18; i++)
		(void)push(c, 100 + i);
	(void)await(one_in_hand);
	bs_taker_close(c);
	CHECK(all_spilled() && atomic_load(&record.waiting) == 0 && accounted() == 18,
	      "at the end all 18 are on disk");
	set_gate(true);
	c = open_one(BS_POLICY_SPILL, 32, true);
	(void)await(nothing_waits);
	CHECK(in_order(100, 18) && atomic_load(&record.taken) == 18 && accounted() == 18,
	      "the next start delivers %u", gots);
	bs_taker_close(c);
	/* a process that died before it could count them is succeeded by one that does */
	c = open_one(BS_POLICY_SPILL, 32, true);
	set_gate(false);
	for (unsigned i = 0; i < 3; i++)
		(void)push(c, i);
	bs_taker_close(c);
	memset(&record, 0, sizeof(record));
	set_gate(true);
	c = open_one(BS_POLICY_SPILL, 32, false);
	(void)await(nothing_waits);
	CHECK(atomic_load(&record.taken) == 3 && accounted() == 3 &&
		      atomic_load(&record.handed) == 3,
	      "what the folder holds is counted by whoever finds it first: %llu taken",
	      (unsigned long long)atomic_load(&record.taken));
	bs_taker_close(c);
	memset(&record, 0, sizeof(record));
	atomic_store(&record.handed, 18);
	/* a successor in the same service: what was only in memory is lost, and that is counted */
	atomic_store(&record.taken, 25);
	c = open_one(BS_POLICY_SPILL, 32, false);
	CHECK(atomic_load(&record.lost) == 7 && said == 1 && strstr(last_said, " 7 images") != NULL,
	      "%llu are lost with a process that died",
	      (unsigned long long)atomic_load(&record.lost));
	bs_taker_close(c);
	/* a successor that may not spill: what the record says is in the folder counts as lost */
	atomic_store(&record.taken, 35);
	atomic_store(&record.spill_waiting, 6);
	c = open_one(BS_POLICY_KEEP_NEWEST, 32, false);
	CHECK(atomic_load(&record.lost) == 17 && said == 2 && accounted() == 35 &&
		      strstr(last_said, " 6 images were on disk") != NULL,
	      "of ten that it has not, four are lost, six on disk: %s", last_said);
	bs_taker_close(c);
}

/* Cuts the n-th file of the folder off. */
static bool cut(int n, off_t bytes)
{
	struct dirent **list;
	char path[300];
	int found = scandir(dir, &list, NULL, alphasort);
	bool done = false;

	for (int i = 0; i < found; i++) {
		(void)snprintf(path, sizeof(path), "%s/%.200s", dir, list[i]->d_name);
		done = done || (i == n + 2 && truncate(path, bytes) == 0); /* behind . and .. */
		free(list[i]);
	}
	if (found >= 0)
		free(list);
	return done;
}

/* After a crash of the machine pieces are cut off: they fail, the others arrive, each once. */
static void test_torn(void)
{
	struct bs_taker *c = open_one(BS_POLICY_SPILL, 32, true);

	set_gate(false);
	for (unsigned i = 0; i < 6; i++)
		(void)push(c, 10 + i);
	(void)await(one_in_hand);
	bs_taker_close(c);
	CHECK(cut(1, 0) && cut(3, 100), "of six pieces one is emptied, one is cut off");
	set_gate(true);
	c = open_one(BS_POLICY_SPILL, 32, true);
	(void)await(nothing_waits);
	CHECK(gots == 4 && got[0] == 10 && got[1] == 12 && got[2] == 14 && got[3] == 15,
	      "the whole ones arrive once, in order (%u)", gots);
	CHECK(atomic_load(&record.failed) == 2 && said == 2 && accounted() == 6,
	      "the torn ones are counted as failed, and said");
	bs_taker_close(c);
	CHECK(remove_bad() == 2, "and set aside");
}

/* The folder is gone: shed, said, and nobody waits. */
static void test_folder(void)
{
	struct bs_taker *c = open_one(BS_POLICY_SPILL, 4, true);

	CHECK(rmdir(dir) == 0, "every spilled image was taken out of the folder");
	set_gate(false);
	(void)push(c, 0);
	(void)await(one_in_hand);
	for (unsigned i = 1; i < 30; i++) {
		(void)push(c, i);
		await_pause_ms(1);
	}
	CHECK(atomic_load(&record.shed) >= 20 && atomic_load(&record.spilled) == 0 && said >= 1,
	      "a folder that is gone: %llu shed", (unsigned long long)atomic_load(&record.shed));
	set_gate(true);
	(void)await(nothing_waits);
	CHECK(gots >= 2 && got[gots - 1] == 29 && accounted() == 30,
	      "the newest still arrive, all 30 are accounted for");
	bs_taker_close(c);
}

int main(void)
{
	if (mkdtemp(dir) == NULL)
		return 1;
	test_quick();
	test_stuck();
	test_refuses();
	test_spill();
	test_refused_spill();
	test_restart();
	test_torn();
	test_folder();
	return check_done();
}
