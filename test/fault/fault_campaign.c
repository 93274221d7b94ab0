/*
 * test/fault/fault_campaign.c - kill -9 over all that takes part in a scan: ingest, recon, emit,
 * supervisor, sender and archive, each a real process, while scans run. Senders are boreside replay
 * and the peers of test/peers in C and in Python, by turns; archives one in C and one in Python
 *
 * usage: BORESIDE=path fault_campaign [kills [seed]]; make kill KILLS=1000 SEED=1
 * A round is a scan and one kill at a random moment of it; each six rounds kill each once, in an
 * order of their own. Seed and round decide whom and when; what the moment hits is the machine's.
 * Judged by the sender's words and the archive's book alone, once all rounds are over. The table of
 * what is promised says which kills may cost what today; what it does not promise is counted. Logs
 * and stored images are judged by boreside log audit, beside the service, before the oldest go.
 */
/* Holds: W1, W5, W12, W35, W60, W63, L4 */
#define _GNU_SOURCE
#include "test/fault/peers/players.h"

#define FRAMES     6u
#define LINES      32u
#define TR_US      400u /* a scan takes 77 ms */
#define ROUNDS_MAX 20000u
#define ASK_MS     200    /* a question whose answer does not come is asked again */
#define READ_LATER 12u    /* rounds after its own a scan's log is read, and goes */
#define FIRST_SCAN 10u    /* session of a scan that nobody disturbs */
#define READY_MS   2000.0 /* 99 of 100 successors are ready by then, on the host */
#define BEYOND_MS  1000.0 /* and on a GPU so long after what arming takes */
#define SHORT      24u    /* kills of make test */

enum victim { INGEST, RECON, EMIT, SUPERVISOR, SENDER, ARCHIVE, VICTIMS };
static const char *const names[VICTIMS] = { "ingest",     "recon",  "emit",
					    "supervisor", "sender", "archive" };

enum promise {
	WORDS,  /* a scan whose sender lives ends, and in words */
	SAME,   /* an image that says it is complete is the same bytes as undisturbed */
	ONCE,   /* no image is in the archive's book twice */
	COUNTS, /* what a scan of code 0 does not count as undelivered is in the archive's book */
	LOGGED, /* what its sender was told is durable is in the scan's log, or told as in none */
	WHOLE,  /* a scan whose sender lives has code 0, and all its readouts */
	ACKS,   /* no ACK says less durable than one before, or more than there is; nor less held */
	PROMISES
};
static const char *const promises[PROMISES] = {
	"every scan of a sender that lives ends in words",
	"a complete image is the same bytes as undisturbed",
	"no image comes twice",
	"an image of a scan of code 0 is in the archive or counted as undelivered",
	"what was acknowledged as durable is in the log, or told as in none",
	"the scan is whole all the same",
	"no ACK goes back, but held after a new start, or beyond what was sent",
};
static const bool promised[PROMISES][VICTIMS] = {
	[WORDS] = { true, true, true, true, true, true },
	[SAME] = { true, true, true, true, true, true },
	[ONCE] = { true, true, true, true, true, true },
	[COUNTS] = { true, true, true, true, true, true },
	[LOGGED] = { true, true, true, true, true, true },
	[WHOLE] = { true, true, true, true, true, true },
	[ACKS] = { true, true, true, true, true, true },
};

struct round {
	enum victim victim;
	int64_t moment_ns;
	uint64_t session; /* of the sender that lived to the end */
	bool hit;         /* the scan had not ended */
	enum player player;
	struct words words;        /* of that sender */
	unsigned long long logged; /* messages of its log */
	double ready_ms;
	unsigned images[FRAMES], wrong; /* of the archive's book */
};

static struct service service;
static struct round *rounds;
static unsigned kills;
static pid_t archive, sender;
static char book[160], exe[160], asked[160];
static struct players players = {
	.service = &service, .exe = exe, .frames = FRAMES, .lines = LINES, .tr_us = TR_US
};
static uint64_t state;
/* The kill comes within, after the sender was started. */
static const double moment_ms[PLAYERS] = { 110.0, 110.0, 250.0 };
static uint32_t good[PLAYERS][FRAMES]; /* CRC-32C of the images of scans that nobody disturbs */

static unsigned senders(void)
{
	return players.python ? PLAYERS : PLAYERS - 1;
}

static void start_archive(void)
{
	archive = players_archive(&players, asked, book);
}

static void start_sender(enum player who, uint64_t session)
{
	sender = players_start(&players, who, session);
}

/* The messages of its log, as boreside log verify counts them; of several the longest. */
static void read_log(struct round *r)
{
	char command[500], line[500];
	FILE *f;

	(void)snprintf(command, sizeof(command),
		       "'%s' log verify %s/logs/*-%016llx-00000.bslog 2>&1", getenv("BORESIDE"),
		       service.dir, (unsigned long long)r->session);
	f = popen(command, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		const char *at = strstr(line, ": ");
		unsigned long long n = 0;

		if (at != NULL && sscanf(at, ": %llu messages", &n) == 1 && n > r->logged)
			r->logged = n;
	}
	if (f != NULL)
		(void)pclose(f);
}

/* What lies there keeps its promises, as far as the files and the service's log can show. */
static void audit(unsigned done)
{
	static char said[1 << 14];
	char command[500];
	FILE *f;
	size_t n;
	int status;

	(void)snprintf(command, sizeof(command), "'%s' log audit -c %s --events %s 2>&1",
		       getenv("BORESIDE"), service.site, service.log);
	f = popen(command, "r");
	if (f == NULL)
		return;
	n = fread(said, 1, sizeof(said) - 1, f);
	said[n] = '\0';
	status = pclose(f);
	CHECK(status == 0, "after %u kills the audit of logs and images finds nothing", done);
	if (status != 0)
		printf("# %s\n", said);
}

/*
 * A log takes 64 MiB where nobody came to seal it: all of a scan go once they are read, the oldest
 * first, as the service would remove them.
 */
static void settle(unsigned number)
{
	char command[300];

	read_log(&rounds[number]);
	if (number == 0) {
		for (unsigned k = 0; k < PLAYERS; k++) {
			(void)snprintf(command, sizeof(command), "rm -f %s/logs/*-%016x-*.bslog",
				       service.dir, FIRST_SCAN + k);
			(void)!system(command);
		}
	}
	for (uint64_t first = 1000 + 10 * (uint64_t)number, k = 0; k < 2; k++) {
		(void)snprintf(command, sizeof(command), "rm -f %s/logs/*-%016llx-*.bslog",
			       service.dir, (unsigned long long)(first + k));
		if (system(command) != 0)
			printf("# the logs of round %u stay\n", number);
	}
}

/* ---- a round ---- */

/* The status document says that this worker is ready: its pid; else -1. */
static pid_t pid_in(const char *doc, const char *worker)
{
	char where[64];
	const char *at;
	const char *phase;

	(void)snprintf(where, sizeof(where), "\"name\":\"%s\",\"pid\":", worker);
	if ((at = strstr(doc, where)) == NULL || (phase = strstr(at, "\"phase\":")) == NULL ||
	    strncmp(phase + 8, "\"ready\"", 7) != 0)
		return -1;
	return (pid_t)strtol(at + strlen(where), NULL, 10);
}

static const char *ask(void)
{
	static char doc[200000];

	return service_ask_for(&service, "json", doc, sizeof(doc), ASK_MS) ? doc : "";
}

static pid_t ready_pid(const char *worker)
{
	return pid_in(ask(), worker);
}

static bool all_ready(void)
{
	const char *doc = ask();

	return pid_in(doc, "ingest") > 0 && pid_in(doc, "recon") > 0 && pid_in(doc, "emit") > 0;
}

static void await_successor(struct round *r, const char *worker, pid_t old)
{
	pid_t next = -1;
	int64_t now = bs_now_ns();

	if (old <= 0) {
		r->ready_ms = -1.0;
		return;
	}
	(void)kill(old, SIGKILL);
	AWAIT((next = ready_pid(worker)) > 0 && next != old);
	r->ready_ms = next > 0 && next != old ? (double)(bs_now_ns() - now) * 1e-6 : -1.0;
}

static void strike(struct round *r, pid_t old)
{
	int64_t now = bs_now_ns();
	bool up = false;

	switch (r->victim) {
	case SUPERVISOR:
		(void)process_end(service.pid);
		(void)service_spawn(&service, NULL);
		AWAIT((up = all_ready()));
		r->ready_ms = up ? (double)(bs_now_ns() - now) * 1e-6 : -1.0;
		break;
	case SENDER:
		(void)process_end(sender);
		start_sender(r->player, ++r->session);
		break;
	case ARCHIVE:
		(void)process_end(archive);
		start_archive();
		break;
	default:
		await_successor(r, names[r->victim], old);
	}
}

static void run(struct round *r, unsigned number)
{
	pid_t old = r->victim <= EMIT ? ready_pid(names[r->victim]) : 0;

	r->session = 1000 + 10 * (uint64_t)number;
	if (r->victim <= EMIT)
		AWAIT((old = ready_pid(names[r->victim])) > 0);
	start_sender(r->player, r->session);
	bs_sleep_ns(r->moment_ns);
	r->hit = !process_ended(sender);
	strike(r, old);
	AWAIT(process_ended(sender));
	(void)process_end(sender);
	players_read(&players, r->session, &r->words);
}

/* ---- the books ---- */

/* Takes the images of the scans that nobody disturbed, one of each sender, from session first on,
 * and those of all rounds. False: not all of the former are there. */
static bool read_book(uint64_t first)
{
	unsigned long long session;
	unsigned long long image;
	unsigned repetition;
	unsigned sum;
	unsigned found = 0;
	int quality;
	FILE *f = fopen(book, "r");

	for (unsigned i = 0; i < kills; i++) {
		memset(rounds[i].images, 0, sizeof(rounds[i].images));
		rounds[i].wrong = 0;
	}
	while (f != NULL && fscanf(f, "%llu %llu %u %d %x", &image, &session, &repetition, &quality,
				   &sum) == 5) {
		struct round *r = session >= 1000 ? &rounds[(session - 1000) / 10] : NULL;

		if (repetition >= FRAMES)
			continue;
		if (session - first < PLAYERS && quality != 1) {
			good[session - first][repetition] = sum;
			found++;
		}
		if (r == NULL || (session - 1000) / 10 >= kills || r->session != session)
			continue;
		r->images[repetition]++;
		r->wrong += quality != 1 && sum != good[r->player][repetition];
	}
	if (f != NULL)
		(void)fclose(f);
	return found == senders() * FRAMES;
}

/* A scan of each sender, from session first on, that nobody disturbs. */
static bool good_scans(uint64_t first)
{
	bool good_ends = true;

	for (enum player who = 0; who < senders(); who++) {
		struct words w = { 0 };

		start_sender(who, first + who);
		AWAIT(process_ended(sender));
		(void)process_end(sender);
		players_read(&players, first + who, &w);
		good_ends = good_ends && w.ended && w.code == 0 && w.held == FRAMES * LINES + 1;
	}
	AWAIT(read_book(first));
	return good_ends && read_book(first);
}

static void say_broken(unsigned number, unsigned there, unsigned twice)
{
	const struct round *r = &rounds[number];
	const struct words *w = &r->words;

	printf("# round %u, %s: %s killed after %.1f ms: %s, %llu acquisitions, held %llu, "
	       "durable %llu, unprotected %llu, %llu in the log, %u images, %u twice, undelivered "
	       "%llu, back %llu %llu, wrong %llu\n",
	       number, player_names[r->player], names[r->victim], (double)r->moment_ns * 1e-6,
	       w->ended ? bs_err_name(w->code) : "no words", w->acquisitions, w->held, w->durable,
	       w->unprotected, r->logged, there, twice, w->undelivered, w->held_back,
	       w->durable_back, w->wrong);
}

/* How often each promise was broken by a kill of each. */
static void judge(unsigned broken[PROMISES][VICTIMS])
{
	for (unsigned i = 0; i < kills; i++) {
		const struct round *r = &rounds[i];
		const struct words *w = &r->words;
		unsigned there = 0;
		unsigned twice = 0;
		bool bad[PROMISES];

		for (unsigned k = 0; k < FRAMES; k++) {
			there += r->images[k] > 0;
			twice += r->images[k] > 1;
		}
		bad[WORDS] = !w->ended;
		bad[SAME] = r->wrong > 0;
		bad[ONCE] = twice > 0;
		bad[COUNTS] = w->ended && w->code == 0 && there + w->undelivered < FRAMES;
		bad[LOGGED] =
			w->ended && w->held > 0 && r->logged + w->unprotected < w->durable + 1;
		/* a new start has no more than the log: what was told as unprotected may be gone */
		bad[WHOLE] = w->ended && (w->code != 0 || w->acquisitions != FRAMES * LINES) &&
			     !(r->victim == SUPERVISOR && w->unprotected > 0);
		bad[ACKS] = w->durable_back + w->wrong > 0 ||
			    (w->held_back > 0 && r->victim != SUPERVISOR);
		for (int p = 0; p < PROMISES; p++) {
			broken[p][r->victim] += bad[p];
			if (bad[p])
				say_broken(i, there, twice);
		}
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The service's words of its starts but the first: what arming takes, its caches warm. 0: none. */
static double arm_ms(void)
{
	static double ms[ROUNDS_MAX];
	unsigned n = 0;
	char line[1100];
	FILE *f = fopen(service.log, "r");

	while (f != NULL && n < ROUNDS_MAX && fgets(line, sizeof(line), f) != NULL) {
		const char *at = strstr(line, "ready ");

		n += at != NULL && strstr(at, " ms after the start") != NULL &&
		     sscanf(at, "ready %lf", &ms[n]) == 1;
	}
	if (f != NULL)
		(void)fclose(f);
	if (n < 2)
		return 0.0;
	qsort(ms + 1, n - 1, sizeof(ms[0]), by_value);
	printf("# all armed after a start, caches warm: p50 %.0f ms, max %.0f (N %u)\n",
	       ms[1 + (n - 1) / 2], ms[n - 1], n - 1);
	return ms[1 + (n - 1) / 2];
}

static double ready_limit_ms(bool host)
{
	const double arm = arm_ms();

	return host ? READY_MS : arm + BEYOND_MS;
}

/* How soon each part of the service was ready again; limit_ms: of 99 in 100, 0: none. */
static void print_ready(double limit_ms)
{
	static double ms[ROUNDS_MAX];

	for (int v = INGEST; v <= SUPERVISOR; v++) {
		unsigned n = 0;

		for (unsigned i = 0; i < kills; i++)
			if (rounds[i].victim == (enum victim)v)
				ms[n++] = rounds[i].ready_ms;
		if (n == 0)
			continue;
		qsort(ms, n, sizeof(ms[0]), by_value);
		printf("# %s ready again: p50 %.1f ms, p99 %.1f, max %.1f (N %u)\n", names[v],
		       ms[n / 2], ms[(n - 1) * 99 / 100], ms[n - 1], n);
		CHECK(ms[0] >= 0.0 && (limit_ms <= 0.0 || ms[(n - 1) * 99 / 100] <= limit_ms),
		      "%s: ready again after each kill, p99 within %.0f ms", names[v], limit_ms);
	}
}

static void print_table(void)
{
	unsigned broken[PROMISES][VICTIMS] = { 0 };
	unsigned count[VICTIMS] = { 0 };
	unsigned hits[VICTIMS] = { 0 };
	unsigned played[PLAYERS] = { 0 };

	judge(broken);
	for (unsigned i = 0; i < kills; i++) {
		played[rounds[i].player]++;
		count[rounds[i].victim]++;
		hits[rounds[i].victim] += rounds[i].hit;
	}
	printf("# %-74s", "rounds in which this did not hold, by who was killed");
	for (int v = 0; v < VICTIMS; v++)
		printf(" %10s", names[v]);
	printf("\n# %-74s", "kills");
	for (int v = 0; v < VICTIMS; v++)
		printf(" %10u", count[v]);
	printf("\n# %-74s", "kills before the scan's end");
	for (int v = 0; v < VICTIMS; v++)
		printf(" %10u", hits[v]);
	for (int p = 0; p < PROMISES; p++) {
		printf("\n# %-74s", promises[p]);
		for (int v = 0; v < VICTIMS; v++)
			printf(" %9u%c", broken[p][v], promised[p][v] ? ' ' : '*');
	}
	printf("\n# *: not promised; rounds of %s %u, %s %u, %s %u\n", player_names[REPLAY],
	       played[REPLAY], player_names[PEER], played[PEER], player_names[PYTHON],
	       played[PYTHON]);
	for (int p = 0; p < PROMISES; p++) {
		unsigned bad = 0;

		for (int v = 0; v < VICTIMS; v++)
			bad += promised[p][v] ? broken[p][v] : 0;
		CHECK(bad == 0, "%s, where it is promised: %u times not", promises[p], bad);
	}
}

/* Whom and when: each six rounds each of the six, of one sender. */
static void plan(void)
{
	for (unsigned i = 0; i < kills; i++) {
		struct round *r = &rounds[i];
		unsigned with =
			i - i % VICTIMS + (unsigned)(check_uniform(&state) * (i % VICTIMS + 1));

		r->victim = rounds[with].victim;
		rounds[with].victim = (enum victim)(i % VICTIMS);
		r->player = (enum player)(i / VICTIMS % senders());
		r->moment_ns = (int64_t)(check_uniform(&state) * moment_ms[r->player] * 1e6);
	}
}

static bool prepare(const char *backend)
{
	char command[700];
	char body[1200];

	(void)snprintf(body, sizeof(body),
		       "endpoints: { archive = \"\"; viewers = \"\"; images = "
		       "\"ipc://run/images.ipc\"; };\nlog: { dir = \"logs\"; };\n"
		       /* an archive that starts slowly finds all of its images */
		       "overload: { spill_dir = \"spill\"; };\n"
		       "protocols = ( { name = \"cart\"; " SERVICE_LINES
		       "silence_ms = 60000.0;\n    backend = \"%s\"; } );\n",
		       backend);
	if (!service_start_with(&service, SERVICE_PATIENT, body, NULL))
		return false;
	(void)snprintf(book, sizeof(book), "%s/book", service.dir);
	(void)snprintf(asked, sizeof(asked), "ipc://%s/run/images.ipc", service.dir);
	(void)snprintf(command, sizeof(command),
		       "'%s' phantom -c %s -p cart --repetitions %u --tr-us %u --snr 20 -o "
		       "%s/scan.h5 >>%s 2>&1",
		       getenv("BORESIDE"), service.site, FRAMES, TR_US, service.dir, service.log);
	if (system(command) != 0)
		return false;
	if (!players_make(&players))
		return false;
	start_archive();
	return good_scans(FIRST_SCAN);
}

/* All rounds; what of them was not read yet is then. */
static void strike_all(void)
{
	unsigned done = 0;

	for (; done < kills && check_failed == 0; done++) {
		run(&rounds[done], done);
		if (done % READ_LATER == READ_LATER - 1)
			audit(done + 1);
		if (done >= READ_LATER)
			settle(done - READ_LATER);
		if (rounds[done].ready_ms < 0.0)
			CHECK(false, "round %u: %s is ready again", done,
			      names[rounds[done].victim]);
	}
	CHECK(good_scans(20), "after %u kills a scan of each sender that nobody disturbs is good",
	      done);
	audit(done);
	for (unsigned i = done > READ_LATER ? done - READ_LATER : 0; i < done; i++)
		settle(i);
}

int main(int argc, char **argv)
{
	const char *backend = argc > 3 ? argv[3] : "host";
	const bool judged = argc > 1; /* how soon all is ready again; make test has no times */

	if (argc > 10 && strcmp(argv[1], "send") == 0)
		return players_play(argv);
	if (argc == 4 && strcmp(argv[1], "archive") == 0)
		return book_main(argv[2], argv[3], 5);
	kills = argc > 1 ? (unsigned)atoi(argv[1]) : SHORT;
	state = argc > 2 ? (uint64_t)atoll(argv[2]) : 20261123;
	kills = kills < ROUNDS_MAX ? kills : ROUNDS_MAX;
	state += state == 0;
	rounds = calloc(kills + VICTIMS, sizeof(*rounds));
	if (rounds == NULL || readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return 1;
	CHECK(prepare(backend), "a service (%s), an archive, and a scan of each of %u senders",
	      backend, senders());
	if (!players.python)
		SKIP("the sender and archive in Python: no python3, or no %s", PLAY_PY);
	plan();
	strike_all();
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0 &&
		      service_number(&service, "\"images\",\"slots\"", "in_use") == 0,
	      "no slot is lost");
	CHECK(read_book(FIRST_SCAN), "the archive's book is read");
	print_ready(judged ? ready_limit_ms(strcmp(backend, "host") == 0) : 0.0);
	print_table();
	CHECK(service_stop(&service) == 0, "the service ends with 0");
	(void)process_end(archive);
	service_remove(&service);
	free(rounds);
	return check_done();
}
