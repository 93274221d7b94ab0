/*
 * test/support/scanned.h - a scan of the phantom, recorded and read back into memory
 *
 * scanned_begin, any number of record and drop, scanned_end. A failure is a CHECK.
 */
#ifndef BS_TEST_SUPPORT_SCANNED_H
#define BS_TEST_SUPPORT_SCANNED_H

#include <string.h>
#include <unistd.h>

#include "drivers/tool/phantom/phantom.h"
#include "drivers/tool/load/recording.h"
#include "ipc/wire/xml.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#define COILS 3u

static char scanned_folder[] = "/tmp/boreside-lines-XXXXXX";
static struct bs_team *scanned_team;

/* A recording in memory. */
struct scan {
	uint32_t count;
	struct bs_scan_info info;
	struct bs_mrd_acq *head;
	float **data;
};

static inline const char *path(const char *name)
{
	static char text[3][64];
	static int turn;

	turn = (turn + 1) % 3;
	(void)snprintf(text[turn], sizeof(text[turn]), "%s/%s", scanned_folder, name);
	return text[turn];
}

/* 20 x ny x nz voxels, readouts of 40 samples. */
static inline struct bs_protocol protocol(uint32_t ny, uint32_t nz)
{
	return planned(lines_of(20, ny, nz, 40, COILS));
}

static inline struct bs_phantom_scan like_scanner(void)
{
	return (struct bs_phantom_scan){
		.repetitions = 1, .seed = 5, .dwell_us = 10.0, .plan.like_scanner = true
	};
}

static inline void drop(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->data[i]);
	free(s->data);
	free(s->head);
	*s = (struct scan){ 0 };
}

static inline void load(struct scan *s, struct bs_recording *r)
{
	const char *xml = bs_recording_xml(r);
	struct bs_fail why = { 0 };
	struct bs_recorded a;

	if (bs_mrdxml_read(&s->info, xml, strlen(xml), &why) != 0)
		CHECK(0, "the header: %s", why.text);
	s->count = bs_recording_count(r);
	s->head = calloc(s->count, sizeof(*s->head));
	s->data = calloc(s->count, sizeof(*s->data));
	for (uint32_t i = 0; i < s->count && s->head != NULL && s->data != NULL; i++) {
		size_t bytes;

		if (bs_recording_read(r, i, &a, &why) != 0) {
			CHECK(0, "acquisition %u: %s", i, why.text);
			return;
		}
		s->head[i] = a.head;
		bytes = (size_t)a.head.number_of_samples * a.head.active_channels * 8;
		s->data[i] = malloc(bytes);
		if (s->data[i] != NULL)
			memcpy(s->data[i], a.data, bytes);
	}
}

static inline struct scan record(struct bs_phantom_scan scan, const struct bs_protocol *p)
{
	struct bs_recording *r = NULL;
	struct bs_fail why = { 0 };
	struct scan s = { 0 };
	struct bs_traj t = { 0 };
	uint32_t written = 0;

	scan.protocol = p;
	scan.traj = &t;
	if (bs_traj_make(&t, p, &why) != 0 ||
	    bs_phantom_record(&scan, scanned_team, path("scan.h5"), &written, &why) != 0 ||
	    bs_recording_open(&r, path("scan.h5"), &why) != 0) {
		CHECK(0, "recording: %s", why.text);
	} else {
		load(&s, r);
		(void)bs_recording_close(r, NULL);
		CHECK(written == s.count, "%u acquisitions are written", written);
	}
	bs_traj_close(&t);
	return s;
}

static inline bool same_bytes(const float *a, const float *b, size_t floats)
{
	return memcmp(a, b, floats * sizeof(float)) == 0;
}

/* scan is refused with this error, and leaves no file. */
static inline void refuse(const char *what, struct bs_phantom_scan scan,
			  const struct bs_protocol *p, int want)
{
	struct bs_fail why = { 0 };
	struct bs_traj t = { 0 };
	int rc;

	if (bs_traj_make(&t, p, NULL) != 0)
		return;
	scan.protocol = p;
	scan.traj = &t;
	rc = bs_phantom_record(&scan, scanned_team, path("refused.h5"), NULL, &why);
	CHECK(rc == want && access(path("refused.h5"), F_OK) != 0, "%s: %s", what, why.text);
	bs_traj_close(&t);
}

static inline int scanned_begin(void)
{
	if (mkdtemp(scanned_folder) != NULL && bs_team_open(&scanned_team, 2, NULL) == 0)
		return 0;
	CHECK(0, "a folder and a team");
	return -1;
}

/* Removes the recording, and the files whose names are given, up to a NULL. */
static inline void scanned_end(const char *const *left)
{
	bs_team_close(scanned_team);
	(void)unlink(path("scan.h5"));
	for (; left != NULL && *left != NULL; left++)
		(void)unlink(path(*left));
	(void)rmdir(scanned_folder);
}

#endif
