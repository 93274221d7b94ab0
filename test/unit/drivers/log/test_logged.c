/*
 * test/unit/drivers/log/test_logged.c - a log as a recording: readouts in the order of their
 * numbers, what is no scan refused, a scan that was not closed said; and a folder of logs
 */
/* Holds: L7 */
#define _GNU_SOURCE
#include "test/unit/drivers/log/scanlog.h"

#include "drivers/log/folder.h"
#include "drivers/tool/load/logged.h"
#include "drivers/tool/load/recording.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"

#define XML "<ismrmrdHeader/>"

static struct bs_fail why;
static char path[1200];

static int append(struct bs_log_writer *w, unsigned kind, uint64_t seq, const void *payload,
		  size_t len)
{
	_Alignas(8) unsigned char msg[2048];
	struct bs_wire wire = { .kind = (uint16_t)kind, .session = SCANLOG_SESSION, .seq = seq };

	memcpy(msg + BS_WIRE_BYTES, payload, len);
	bs_wire_encode(msg, &wire, msg + BS_WIRE_BYTES, len);
	return bs_log_writer_append(w, msg, BS_WIRE_BYTES + len, 0, &why);
}

static int append_acq(struct bs_log_writer *w, uint64_t seq)
{
	struct bs_mrd_acq head = { .version = 1,
				   .scan_counter = (uint32_t)seq,
				   .number_of_samples = 5,
				   .available_channels = 3,
				   .active_channels = 3,
				   .trajectory_dimensions = 2 };
	_Alignas(8) unsigned char payload[BS_MRD_ACQ_BYTES + 10 * 4 + 30 * 4];
	float value[40];

	for (unsigned i = 0; i < 40; i++)
		value[i] = (float)(seq * 100 + i);
	bs_mrd_put_acq(payload, &head);
	memcpy(payload + BS_MRD_ACQ_BYTES, value, sizeof(value));
	return append(w, BS_WIRE_ACQ, seq, payload, sizeof(payload));
}

static int append_open(struct bs_log_writer *w)
{
	unsigned char payload[BS_WIRE_OPEN_NAME + sizeof(XML) - 1];

	(void)bs_wire_put_open(payload, "brain", NULL);
	memcpy(payload + BS_WIRE_OPEN_NAME, XML, sizeof(XML) - 1);
	return append(w, BS_WIRE_OPEN, 0, payload, sizeof(payload));
}

static int append_close(struct bs_log_writer *w, uint64_t seq, uint64_t count)
{
	unsigned char payload[8];

	bs_wire_put_u64(payload, count);
	return append(w, BS_WIRE_CLOSE, seq, payload, sizeof(payload));
}

/* OPEN, and these readouts in this order; closed: and CLOSE, sealed. */
static bool write_scan(const uint64_t *seq, unsigned n, bool closed)
{
	struct bs_log_writer w;
	bool good;

	(void)scanlog_clean();
	good = scanlog_open(&w, &why) == 0 && append_open(&w) == 0;
	(void)snprintf(path, sizeof(path), "%s/%s", w.dir, w.name);
	for (unsigned i = 0; good && i < n; i++)
		good = append_acq(&w, seq[i]) == 0;
	good = good && (!closed || append_close(&w, n + 1, n) == 0) &&
	       bs_log_writer_commit(&w, &why) == 0 &&
	       (!closed || bs_log_writer_seal(&w, &why) == 0);
	bs_log_writer_close(&w);
	return good;
}

static void test_order(void)
{
	static const uint64_t seq[] = { 1, 4, 2, 3, 6, 5, 7 };
	struct bs_recording *r = NULL;
	struct bs_recorded a;
	bool good = true;

	CHECK(write_scan(seq, 7, true), "seven readouts, out of order: %s", why.text);
	CHECK(bs_recording_open(&r, path, &why) == 0 && bs_recording_count(r) == 7 &&
		      strcmp(bs_recording_xml(r), XML) == 0 && bs_recording_note(r)[0] == '\0',
	      "a recording of seven: %s", why.text);
	for (uint32_t i = 0; i < 7; i++)
		good = good && bs_recording_read(r, i, &a, &why) == 0 &&
		       a.head.scan_counter == i + 1 && a.head.number_of_samples == 5 &&
		       a.traj[0] == (float)(100 * (i + 1)) && a.traj[9] == a.traj[0] + 9 &&
		       a.data[0] == a.traj[0] + 10 && a.data[29] == a.traj[0] + 39;
	CHECK(good, "each as it was, in the order of its number: %s", why.text);
	CHECK(bs_recording_read(r, 7, &a, &why) == BS_ERR_INDEX, "no eighth: %s", why.text);
	(void)bs_recording_close(r, NULL);
}

static void test_unfinished(void)
{
	static const uint64_t seq[] = { 1, 2, 3 };
	static const uint64_t twice[] = { 1, 2, 2 };
	struct bs_fail damage;
	struct bs_recording *r;
	struct bs_logged *l = NULL;
	struct bs_log_writer w;

	CHECK(write_scan(seq, 3, false) && bs_logged_open(&l, path, &damage, &why) == 0 &&
		      damage.code == 0 && bs_logged_count(l) == 3 &&
		      bs_logged_sum(l)->session == SCANLOG_SESSION &&
		      strcmp(bs_logged_sum(l)->protocol, "brain") == 0 &&
		      strstr(bs_logged_note(l), "not closed") != NULL,
	      "a scan that was not closed: %s", bs_logged_note(l));
	bs_logged_close(l);
	CHECK(write_scan(twice, 3, true) && bs_recording_open(&r, path, &why) == BS_ERR_FORMAT &&
		      strstr(why.text, "number 2 is in it twice") != NULL,
	      "a number twice: %s", why.text);
	(void)scanlog_clean();
	CHECK(scanlog_open(&w, &why) == 0, "a log");
	(void)snprintf(path, sizeof(path), "%s/%s", w.dir, w.name);
	CHECK(bs_logged_open(&l, path, &damage, &why) == BS_ERR_STATE, "empty: %s", why.text);
	CHECK(append_acq(&w, 1) == 0 && bs_log_writer_commit(&w, &why) == 0 &&
		      bs_logged_open(&l, path, &damage, &why) == BS_ERR_FORMAT,
	      "no header: %s", why.text);
	bs_log_writer_close(&w);
	CHECK(scanlog_clean() == 1 && scanlog_open(&w, &why) == 0 && append_open(&w) == 0 &&
		      bs_log_writer_append(&w, "nonsense", 8, 0, &why) == 0 &&
		      bs_log_writer_seal(&w, &why) == 0 &&
		      bs_logged_open(&l, path, &damage, &why) == BS_ERR_FORMAT &&
		      strstr(why.text, "record 1") != NULL,
	      "a record that is no message: %s", why.text);
	bs_log_writer_close(&w);
}

/* ---- a folder ---- */

static char name[3][BS_LOG_NAME];

/* Three logs of two files each; the last is still being written. */
static bool three(struct bs_log_writer w[3])
{
	static unsigned char buffer[3][SCANLOG_CAP];
	unsigned char message[SCANLOG_LONGEST];

	(void)scanlog_clean();
	for (unsigned i = 0; i < 3; i++) {
		if (bs_log_writer_open(&w[i],
				       &(struct bs_log_room){ scanlog_dir, SCANLOG_SEGMENT,
							      buffer[i], SCANLOG_CAP },
				       i + 1, 1700000000000000000 + i * 1000000000, &why) != 0)
			return false;
		memcpy(name[i], w[i].name, BS_LOG_NAME);
		for (unsigned m = 0; w[i].head.index == 0; m++) {
			const size_t len = scanlog_message(message, m);

			if (bs_log_writer_append(&w[i], message, len, 0, &why) != 0)
				return false;
		}
		if (i < 2 && bs_log_writer_seal(&w[i], &why) != 0)
			return false;
		if (i < 2)
			bs_log_writer_close(&w[i]);
	}
	return true;
}

static size_t count(struct bs_log_entry **list)
{
	size_t n = 0;

	(void)bs_log_folder_list(scanlog_dir, list, &n, &why);
	return n;
}

static void test_folder(void)
{
	struct bs_log_writer w[3];
	struct bs_log_entry *list = NULL;
	struct bs_log_pruned done;
	struct bs_log_limits limits = { .oldest_ns = 1 };
	struct stat st;
	char spare[1200];
	size_t n;

	CHECK(three(w), "three logs: %s", why.text);
	n = count(&list);
	CHECK(n == 3 && strcmp(list[0].name, name[0]) == 0 && strcmp(list[2].name, name[2]) == 0 &&
		      list[0].segments == 2 && list[0].bytes > SCANLOG_SEGMENT &&
		      list[0].bytes < 2 * SCANLOG_SEGMENT && list[2].bytes == 2 * SCANLOG_SEGMENT,
	      "listed in their order, with their sizes");
	CHECK(bs_log_folder_prune(scanlog_dir, &limits, &done, &why) == 0 && done.logs == 0,
	      "none is from before 1970");
	limits.most_bytes = list[1].bytes + list[2].bytes;
	limits.segment_bytes = SCANLOG_SEGMENT;
	CHECK(bs_log_folder_prune(scanlog_dir, &limits, &done, &why) == 0 && done.logs == 1 &&
		      done.spares == 1 && done.bytes == list[0].bytes,
	      "the oldest goes, its full file becomes a spare: %u, %u", done.logs, done.spares);
	free(list);
	(void)snprintf(spare, sizeof(spare), "%s/0.spare", scanlog_dir);
	n = count(&list);
	CHECK(n == 2 && strcmp(list[0].name, name[1]) == 0 && stat(spare, &st) == 0 &&
		      st.st_size == SCANLOG_SEGMENT,
	      "the others stay");
	free(list);
	limits = (struct bs_log_limits){ .oldest_ns = INT64_MAX };
	CHECK(bs_log_folder_prune(scanlog_dir, &limits, &done, &why) == 0 && done.logs == 1 &&
		      done.spares == 0,
	      "by age all go, but the one that is being written");
	n = count(&list);
	CHECK(n == 1 && strcmp(list[0].name, name[2]) == 0, "that one");
	free(list);
	bs_log_writer_close(&w[2]);
	CHECK(bs_log_folder_prune(scanlog_dir, &limits, &done, &why) == 0 && done.logs == 1 &&
		      count(&list) == 0,
	      "once it is not");
	free(list);
	CHECK(bs_log_folder_list("/tmp/boreside-none", &list, &n, &why) == BS_ERR_IO &&
		      bs_log_folder_prune("/tmp/boreside-none", &limits, &done, &why) == BS_ERR_IO,
	      "no folder: %s", why.text);
}

int main(void)
{
	if (mkdtemp(scanlog_dir) == NULL)
		return 1;
	test_order();
	test_unfinished();
	test_folder();
	(void)scanlog_clean();
	(void)rmdir(scanlog_dir);
	return check_done();
}
