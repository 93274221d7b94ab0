/*
 * test/fault/peers/players.h - the senders and archives of the campaign of kills: the project's own
 * and peers that know ipc/WIRE.md alone (test/peers), each a process, its words in a file
 *
 * players_make once the service is there; players_start, and players_read once it has ended.
 */
#ifndef BS_TEST_FAULT_PEERS_PLAYERS_H
#define BS_TEST_FAULT_PEERS_PLAYERS_H

#include "test/peers/play.h"
#include "test/support/book.h"

#define PLAY_PY "test/peers/play.py" /* from the tree's root, where tests run */

enum player { REPLAY, PEER, PYTHON, PLAYERS };
static const char *const player_names[PLAYERS] = { "boreside replay", "test/peers in C",
						   "test/peers in Python" };

/* What a sender says that it was told. */
struct words {
	bool ended; /* the scan's end stands there */
	int code;   /* 0: BS_OK */
	unsigned long long acquisitions, held, durable, unprotected, undelivered;
	unsigned long long held_back, durable_back, wrong; /* test/peers/play.h; of REPLAY 0 */
};

struct players {
	const struct service *service;
	const char
		*exe; /* the campaign itself, which is also the peer in C and the first archive */
	unsigned frames, lines, tr_us;
	bool python; /* it is here */
	char header[160];
	unsigned archives; /* so many were started */
};

static inline bool players_make(struct players *p)
{
	static char xml[SERVICE_XML_MAX];
	FILE *f;

	(void)setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
	p->python = access(PLAY_PY, R_OK) == 0 && system("python3 -c '' 2>/dev/null") == 0;
	(void)snprintf(p->header, sizeof(p->header), "%s/header.xml", p->service->dir);
	(void)peer_xml(xml, "cart", true);
	f = fopen(p->header, "w");
	if (f == NULL || fputs(xml, f) < 0)
		return false;
	return fclose(f) == 0;
}

static inline void players_words(const struct players *p, char path[160], uint64_t session)
{
	(void)snprintf(path, 160, "%s/words-%llu", p->service->dir, (unsigned long long)session);
}

/* Protocol "cart" of the service; REPLAY plays scan.h5 of its folder. */
static inline pid_t players_start(const struct players *p, enum player who, uint64_t session)
{
	char path[160], scan[160], number[32], frames[16], lines[16], tr[16];
	const char *url = p->service->kspace;
	char *replay[] = { getenv("BORESIDE"), "replay", "--url",     (char *)url, "-p", "cart",
			   "--patience",       "60",     "--session", number,      scan, NULL };
	char *peer[] = { "python3", PLAY_PY, "send", (char *)url, "cart", (char *)p->header,
			 number,    frames,  lines,  "64",        "2",    tr,
			 NULL };

	players_words(p, path, session);
	(void)snprintf(scan, sizeof(scan), "%s/scan.h5", p->service->dir);
	(void)snprintf(number, sizeof(number), "%llu", (unsigned long long)session);
	(void)snprintf(frames, sizeof(frames), "%u", p->frames);
	(void)snprintf(lines, sizeof(lines), "%u", p->lines);
	(void)snprintf(tr, sizeof(tr), "%u", p->tr_us);
	if (who == REPLAY)
		return process_start(path, replay);
	if (who == PYTHON)
		return process_start(path, peer);
	peer[1] = (char *)p->exe;
	return process_start(path, peer + 1);
}

/* What the peer in C is called with, from argv[1] == "send" on. */
static inline int players_play(char **argv)
{
	static char xml[SERVICE_XML_MAX];
	const int fd = open(argv[4], O_RDONLY);
	const struct play p = { .url = argv[2],
				.protocol = argv[3],
				.header = xml,
				.session = strtoull(argv[5], NULL, 10),
				.frames = (unsigned)atoi(argv[6]),
				.lines = (unsigned)atoi(argv[7]),
				.samples = (unsigned)atoi(argv[8]),
				.channels = (unsigned)atoi(argv[9]),
				.tr_us = (unsigned)atoi(argv[10]) };

	if (fd < 0 || read(fd, xml, sizeof(xml) - 1) <= 0 || close(fd) != 0)
		return 1;
	return play_scan(&p);
}

/* One that asks for images and writes a book, in C and in Python by turns. */
static inline pid_t players_archive(struct players *p, const char *url, const char *book)
{
	char *c[] = { (char *)p->exe, "archive", (char *)url, (char *)book, NULL };
	char *python[] = { "python3", PLAY_PY, "archive", (char *)url, "book", (char *)book, NULL };

	return process_start("/dev/null", p->archives++ % 2 != 0 && p->python ? python : c);
}

static inline void players_read_line(struct words *w, const char *line)
{
	unsigned long long images;
	unsigned long long rest[5];
	char name[64];

	(void)sscanf(line,
		     "  acknowledged: held up to number %llu, durable up to %llu, %llu messages "
		     "of them in no log",
		     &w->held, &w->durable, &w->unprotected);
	(void)sscanf(line,
		     "  service: acquisitions %llu, images %llu, gaps %llu, duplicates %llu, "
		     "rejected %llu, late %llu, undelivered %llu",
		     &w->acquisitions, &images, &rest[0], &rest[1], &rest[2], &rest[3],
		     &w->undelivered);
	w->ended |= sscanf(line,
			   "peer: code %d acquisitions %llu undelivered %llu held %llu durable "
			   "%llu unprotected %llu back %llu %llu wrong %llu",
			   &w->code, &w->acquisitions, &w->undelivered, &w->held, &w->durable,
			   &w->unprotected, &w->held_back, &w->durable_back, &w->wrong) == 9;
	if (sscanf(line, "  outcome: %63[A-Z_0-9]", name) != 1 &&
	    sscanf(line, "  refused: %63[A-Z_0-9]", name) != 1)
		return;
	w->ended = true;
	for (w->code = 0; w->code > -64 && strcmp(bs_err_name(w->code), name) != 0;)
		w->code--;
}

static inline void players_read(const struct players *p, uint64_t session, struct words *w)
{
	char path[160], line[700];
	FILE *f;

	players_words(p, path, session);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		players_read_line(w, line);
	if (f != NULL)
		(void)fclose(f);
}

#endif
