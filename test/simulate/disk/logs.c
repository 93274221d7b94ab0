/* test/simulate/disk/logs.c - see logs.h */
#define _GNU_SOURCE /* renameat2 */
#include "test/simulate/disk/logs.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/log/finish.h"
#include "drivers/log/folder.h"
#include "drivers/log/reader.h"
#include "drivers/tool/load/proof.h"
#include "test/simulate/answers.h"
#include "test/simulate/books.h"
#include "test/simulate/disk/disk.h"
#include "test/simulate/process.h"
#include "test/simulate/service.h"
#include "test/simulate/totals.h"

void logs_make_spare(uint64_t bytes)
{
	static unsigned char buffer[32u << 10];
	unsigned char msg[BS_WIRE_BYTES + 400] = { 0 };
	struct bs_log_writer w;
	struct bs_fail why;
	int rc = bs_log_writer_open(
		&w, &(struct bs_log_room){ DISK_DIR, bytes, buffer, sizeof(buffer) }, 7, sim_now,
		&why);

	for (uint64_t seq = 0; rc == 0 && seq < 2000; seq++) {
		struct bs_wire wire = { .kind = BS_WIRE_WAVEFORM, .session = 7, .seq = seq };

		if (w.at + w.used + 4 * 4096 > bytes)
			break;
		bs_wire_encode(msg, &wire, msg + BS_WIRE_BYTES, 400);
		rc = bs_log_writer_append(&w, msg, sizeof(msg), sim_now, &why);
		if (rc == 0 && sim_chance(300))
			rc = bs_log_writer_commit(&w, &why);
	}
	if (rc != 0 || renameat2(w.dir_fd, w.name, w.dir_fd, "0.spare", 0) != 0 ||
	    fsync(w.fd) != 0 || fsync(w.dir_fd) != 0)
		sim_broken("no spare segment can be made");
	bs_log_writer_close(&w);
}

static void take_logged(const unsigned char *msg, size_t len)
{
	const unsigned char *payload;
	struct bs_fail why;
	struct bs_wire w;
	struct book *b;

	if (bs_wire_decode(&w, msg, len, &payload, &why) != 0) {
		sim_broken("a message in a log is none: %s", why.text);
		return;
	}
	b = books_find(w.session);
	if (b == NULL) {
		sim_broken("a log has a message of a scan that nobody sent");
		return;
	}
	if (w.kind == BS_WIRE_ANSWER)
		answers_logged(b, payload, (size_t)w.payload_len);
	if (w.kind == BS_WIRE_OPEN || w.seq == 0 || w.seq > b->numbers)
		return;
	if (b->mark[w.seq] & MARK_LOGGED)
		sim_broken("number %llu is twice in a log", (unsigned long long)w.seq);
	b->mark[w.seq] |= MARK_LOGGED;
}

/* The key of all nodes. */
static const struct bs_signer *node_key(void)
{
	static struct bs_signer s;
	static const uint8_t seed[32] = { 1 };

	(void)crypto_sign_seed_keypair(s.pub, s.secret, seed);
	return &s;
}

int __wrap_bs_signer_read(struct bs_signer *s, const char *path, struct bs_fail *why);
int __wrap_bs_signer_read(struct bs_signer *s, const char *path, struct bs_fail *why)
{
	(void)path;
	(void)why;
	*s = *node_key();
	return 0;
}

/*
 * What can be read whole, and has its end, is what the node signed. A segment may have no seal yet:
 * its writer was killed, or its disk failed, and no start has come since.
 */
static void prove_log(const char *path)
{
	struct bs_log_proof sum;
	struct bs_fail why;
	const int rc = bs_log_prove(path, node_key()->pub, &sum, &why);

	if (rc == 0) {
		sim_saw(SEEN_PROVEN);
		if (sum.recovered > 0)
			sim_saw(SEEN_RECOVERED);
	} else if (strstr(why.text, "has no seal") == NULL) {
		sim_broken("%s", why.text);
	}
}

/* Is there a file of the same log with a smaller index? */
static bool is_first(const char *name, size_t stem, uint32_t index)
{
	const char *other;

	for (unsigned i = 0; (other = disk_name(i)) != NULL; i++) {
		size_t its_stem;
		uint32_t its_index;

		if (bs_log_split(other, &its_stem, &its_index) && its_stem == stem &&
		    its_index < index && memcmp(other, name, stem) == 0)
			return false;
	}
	return true;
}

static void read_log(const char *name)
{
	char path[200];
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_fail why;
	int rc;

	(void)snprintf(path, sizeof(path), DISK_DIR "/%s", name);
	if (bs_log_open(&r, path, &why) != 0) {
		sim_broken("%s cannot be read: %s", name, why.text);
		return;
	}
	while ((rc = bs_log_next(r, &m, &why)) == 1)
		take_logged(m.bytes, m.len);
	if (rc != 0 && !(service_relaxed() && disk_lost_relaxed()) &&
	    strstr(why.text, "all messages could be read") == NULL) /* a seal was torn */
		sim_broken("%s is damaged: %s", name, why.text);
	if (rc == 0 && bs_log_end(r) == BS_LOG_END_SEALED)
		prove_log(path);
	bs_log_close(r);
}

static void judge_book(struct book *b)
{
	uint64_t lacks = 0;
	uint64_t missing = 0;

	answers_judge_log(b);
	for (uint64_t seq = 1; seq <= b->numbers; seq++) {
		const unsigned m = b->mark[seq];

		b->mark[seq] &= (uint8_t)~MARK_LOGGED;
		if (m & (MARK_LOGGED | MARK_GAP | MARK_BAD))
			continue;
		missing++;
		lacks += seq <= b->durable;
		if (seq <= b->durable && seq > b->excused && lacks > b->unprotected)
			sim_broken("number %llu of scan %016llx was durable and is in no log",
				   (unsigned long long)seq, (unsigned long long)b->session);
		if (b->whole && (m & MARK_ACQ) && service_records())
			sim_broken("readout %llu is not in the log of a scan that is whole",
				   (unsigned long long)seq);
	}
	if (b->says_log && !service_relaxed() && missing > b->lacks)
		sim_broken("OUTCOME of scan %016llx says that its log lacks %llu messages: it "
			   "lacks %llu",
			   (unsigned long long)b->session, (unsigned long long)b->lacks,
			   (unsigned long long)missing);
}

/* Counts the logs that were begun after this one. */
static unsigned newer_than(const char *name, size_t stem)
{
	unsigned n = 0;
	const char *other;

	for (unsigned i = 0; (other = disk_name(i)) != NULL; i++) {
		size_t its;
		uint32_t index;

		n += bs_log_split(other, &its, &index) && is_first(other, its, index) &&
		     strcmp(other, name) > 0 && memcmp(other, name, stem) != 0;
	}
	return n;
}

void logs_judge_ends(void)
{
	const char *name;

	for (unsigned i = 0; (name = disk_name(i)) != NULL; i++) {
		const struct book *b;
		size_t stem;
		uint32_t index;

		if (!bs_log_split(name, &stem, &index) || !is_first(name, stem, index) ||
		    newer_than(name, stem) < 2)
			continue;
		b = books_find(strtoull(strchr(name, '-') + 1, NULL, 16));
		if (service_relaxed() && disk_lost_relaxed())
			continue; /* the power took its end, which nobody had synced */
		if (b != NULL && b->told && b->says_log && strcmp(b->log, name) == 0 &&
		    !b->endless && !service_will_seal(name) && !bs_log_has_end(DISK_DIR, name))
			sim_broken("%s has no end, and an outcome names it", name);
	}
}

void logs_judge(void)
{
	const char *name;

	for (unsigned i = 0; (name = disk_name(i)) != NULL; i++) {
		size_t stem = 0;
		uint32_t index;

		SAY("the disk has %s", name);
		if (bs_log_split(name, &stem, &index) && is_first(name, stem, index))
			read_log(name);
		if (stem != 0)
			sim_saw(index == 0 ? SEEN_LOGS : SEEN_SEGMENTS);
	}
	for (unsigned i = 0; books_number(i) != NULL; i++)
		judge_book(books_number(i));
}

/* ---- the process's own reading ---- */

#define READERS 4u

static struct bs_log_reader *reading[READERS];

int __real_bs_log_open(struct bs_log_reader **r, const char *path, struct bs_fail *why);
int __wrap_bs_log_open(struct bs_log_reader **r, const char *path, struct bs_fail *why);
int __wrap_bs_log_open(struct bs_log_reader **r, const char *path, struct bs_fail *why)
{
	int rc;

	process_hold(true);
	rc = __real_bs_log_open(r, path, why);
	process_hold(false);
	for (unsigned i = 0; rc == 0 && process_inside() && i < READERS; i++)
		if (reading[i] == NULL) {
			reading[i] = *r;
			break;
		}
	return rc;
}

int __real_bs_log_next(struct bs_log_reader *r, struct bs_log_message *m, struct bs_fail *why);
int __wrap_bs_log_next(struct bs_log_reader *r, struct bs_log_message *m, struct bs_fail *why);
int __wrap_bs_log_next(struct bs_log_reader *r, struct bs_log_message *m, struct bs_fail *why)
{
	int rc;

	process_hold(true);
	rc = __real_bs_log_next(r, m, why);
	process_hold(false);
	return rc;
}

int __real_bs_log_again(struct bs_log_reader *r, struct bs_log_place at, struct bs_log_message *m,
			struct bs_fail *why);
int __wrap_bs_log_again(struct bs_log_reader *r, struct bs_log_place at, struct bs_log_message *m,
			struct bs_fail *why);
int __wrap_bs_log_again(struct bs_log_reader *r, struct bs_log_place at, struct bs_log_message *m,
			struct bs_fail *why)
{
	int rc;

	process_hold(true);
	rc = __real_bs_log_again(r, at, m, why);
	process_hold(false);
	return rc;
}

int __real_bs_log_folder_list(const char *dir, struct bs_log_entry **list, size_t *count,
			      struct bs_fail *why);
int __wrap_bs_log_folder_list(const char *dir, struct bs_log_entry **list, size_t *count,
			      struct bs_fail *why);
int __wrap_bs_log_folder_list(const char *dir, struct bs_log_entry **list, size_t *count,
			      struct bs_fail *why)
{
	int rc;

	process_hold(true);
	rc = __real_bs_log_folder_list(dir, list, count, why);
	process_hold(false);
	if (rc == 0 && process_inside())
		process_own(*list);
	return rc;
}

void __real_bs_log_close(struct bs_log_reader *r);
void __wrap_bs_log_close(struct bs_log_reader *r);
void __wrap_bs_log_close(struct bs_log_reader *r)
{
	for (unsigned i = 0; i < READERS; i++)
		if (reading[i] == r)
			reading[i] = NULL;
	process_hold(true);
	__real_bs_log_close(r);
	process_hold(false);
}

void logs_process_gone(void)
{
	for (unsigned i = 0; i < READERS; i++)
		if (reading[i] != NULL)
			__wrap_bs_log_close(reading[i]);
}
