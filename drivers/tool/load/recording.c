/*
 * drivers/tool/load/recording.c - see recording.h
 *
 * Writing goes through libismrmrd. Reading uses HDF5 itself: libismrmrd 1.8 opens recordings for
 * writing (and adds the group where it is missing), believes a header's sizes without comparing
 * them with what is stored, and goes on after a failed read.
 */
#include "drivers/tool/load/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/text.h"
#include "drivers/tool/load/h5.h"
#include "drivers/tool/load/probe.h"
#include "drivers/tool/load/logged.h"
#include "ipc/wire/mrd.h"

#define GROUP      "dataset" /* ISMRMRD's own name of the group */
#define GROUP_MAX  64
#define GROUPS_MAX 64 /* most groups of a file that are looked at */
#define NOTE_BYTES 256

_Static_assert(sizeof(ISMRMRD_AcquisitionHeader) == BS_MRD_ACQ_BYTES, "the wire's own layout");

/* HDF5 converts an acquisition's head in here, a few hundred bytes; by itself it would take two
 * megabytes anew for each read. */
#define CONVERT_BYTES 65536u

/* HDF5 takes memory for sequences through these; no sequence is longer than its file. */
struct pool {
	uint64_t limit;
	unsigned used;
	void *piece[4]; /* pieces that a caller got: trajectory, data, or the header's text */
};

struct bs_recording {
	char path[BS_DRAFT_PATH], group[GROUP_MAX];
	char xml_at[GROUP_MAX + 8], data_at[GROUP_MAX + 8]; /* paths within the file */
	char note[NOTE_BYTES];
	char *xml;
	uint32_t count;
	struct bs_logged *log; /* the recording is this log; NULL: it is HDF5 */
	/* The next members are for reading. */
	hid_t file, data, space, type, transfer;
	struct pool pool;
	unsigned char convert[CONVERT_BYTES], background[CONVERT_BYTES];
	/* The next members are for writing. */
	bool writing, has_xml;
	struct bs_mrdh5_out out;
};

static void *pool_take(size_t bytes, void *arg)
{
	struct pool *p = arg;
	void *m;

	if (bytes > p->limit || p->used == sizeof(p->piece) / sizeof(p->piece[0]))
		return NULL;
	m = malloc(bytes ? bytes : 1);
	if (m != NULL)
		p->piece[p->used++] = m;
	return m;
}

/* HDF5 frees a sequence of a read that failed half-way; the rest is freed by pool_release. */
static void pool_give(void *m, void *arg)
{
	struct pool *p = arg;

	for (unsigned i = 0; m != NULL && i < p->used; i++)
		if (p->piece[i] == m) {
			free(m);
			p->piece[i] = p->piece[--p->used];
			return;
		}
}

static void pool_release(struct pool *p)
{
	while (p->used > 0)
		free(p->piece[--p->used]);
}

/* A path that leads on behind a file names a group in it. */
static int split_path(struct bs_recording *r, struct bs_fail *why)
{
	const char *group = GROUP;
	struct stat st;
	char *slash = stat(r->path, &st) != 0 && errno == ENOTDIR ? strrchr(r->path, '/') : NULL;

	if (slash != NULL) {
		*slash = '\0';
		group = slash + 1;
	}
	if (group[0] == '\0' || strlen(group) >= sizeof(r->group))
		return bs_fail(why, BS_ERR_IO, "%s: no group has a name of %zu bytes", r->path,
			       strlen(group));
	(void)snprintf(r->group, sizeof(r->group), "%s", group);
	(void)snprintf(r->xml_at, sizeof(r->xml_at), "/%s/xml", group);
	(void)snprintf(r->data_at, sizeof(r->data_at), "/%s/data", group);
	return 0;
}

static int blank(struct bs_recording **out, const char *path, struct bs_fail *why)
{
	struct bs_recording *r;
	size_t len = strlen(path);

	if (len >= sizeof(r->path))
		return bs_fail(why, BS_ERR_IO, "a file name of %zu bytes is too long", len);
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory for a recording", path);
	memcpy(r->path, path, len + 1);
	r->file = r->data = r->space = r->type = r->transfer = -1;
	if (split_path(r, why) != 0) {
		free(r);
		return BS_ERR_IO;
	}
	*out = r;
	return 0;
}

static void release(struct bs_recording *r)
{
	pool_release(&r->pool);
	if (r->type >= 0)
		(void)H5Tclose(r->type);
	if (r->space >= 0)
		(void)H5Sclose(r->space);
	if (r->data >= 0)
		(void)H5Dclose(r->data);
	if (r->transfer >= 0)
		(void)H5Pclose(r->transfer);
	if (r->file >= 0)
		(void)H5Fclose(r->file);
	bs_logged_close(r->log);
	free(r->xml);
	free(r);
}

static int format_fail(const struct bs_recording *r, struct bs_fail *why, const char *what,
		       const char *at)
{
	char words[GROUP_MAX + 120];

	(void)snprintf(words, sizeof(words), "%s %s", what, at);
	return bs_mrdh5_fail(why, BS_ERR_FORMAT, r->path, words);
}

/* A text of the file's own type: variable length (as ISMRMRD writes it) or fixed. */
static int read_text(struct bs_recording *r, hid_t set, hid_t type, struct bs_fail *why)
{
	hid_t memory = -1;
	char *text = NULL;
	int rc = 0;

	if (H5Tis_variable_str(type) > 0) {
		memory = H5Tcopy(H5T_C_S1);
		if (memory < 0 || H5Tset_size(memory, H5T_VARIABLE) < 0 ||
		    H5Tset_cset(memory, H5Tget_cset(type)) < 0 ||
		    H5Dread(set, memory, H5S_ALL, H5S_ALL, r->transfer, &text) < 0 || text == NULL)
			rc = format_fail(r, why, "cannot read the header of", r->xml_at);
		else
			r->xml = strdup(text);
		pool_release(&r->pool);
		if (memory >= 0)
			(void)H5Tclose(memory);
	} else {
		size_t bytes = H5Tget_size(type);

		if (bytes == 0 || bytes > r->pool.limit)
			return bs_fail(why, BS_ERR_FORMAT, "%s: %s claims %zu bytes", r->path,
				       r->xml_at, bytes);
		r->xml = calloc(1, bytes + 1);
		if (r->xml != NULL && H5Dread(set, type, H5S_ALL, H5S_ALL, r->transfer, r->xml) < 0)
			rc = format_fail(r, why, "cannot read the header of", r->xml_at);
	}
	if (rc == 0 && r->xml == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "%s: no memory for %s", r->path, r->xml_at);
	return rc;
}

/* Notes other groups of the file that hold an MRD header. */
static void note_groups(struct bs_recording *r)
{
	struct bs_text t = { r->note, sizeof(r->note), 0, false };
	H5G_info_t root;
	int n = 0;

	if (H5Gget_info(r->file, &root) < 0)
		return;
	for (hsize_t i = 0; i < root.nlinks && i < GROUPS_MAX; i++) {
		char name[GROUP_MAX];
		char at[GROUP_MAX + 8];
		const ssize_t len = H5Lget_name_by_idx(r->file, "/", H5_INDEX_NAME, H5_ITER_INC, i,
						       name, sizeof(name), H5P_DEFAULT);

		if (len <= 0 || (size_t)len >= sizeof(name) || strcmp(name, r->group) == 0)
			continue;
		(void)snprintf(at, sizeof(at), "/%s/xml", name);
		if (H5Lexists(r->file, at, H5P_DEFAULT) <= 0)
			continue;
		bs_text_put(&t, "%s%s", n++ == 0 ? "other groups hold scans (--group): " : ", ",
			    name);
	}
	for (char *c = r->note; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
}

/* Returns true if the file holds images where a recording was meant; name: the first of them. */
static bool holds_image(const struct bs_recording *r, char name[GROUP_MAX])
{
	char at[2 * GROUP_MAX + 8];
	hid_t group = H5Gopen2(r->file, r->group, H5P_DEFAULT);
	bool yes = false;

	if (group < 0 || H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, 0, name,
					    GROUP_MAX, H5P_DEFAULT) <= 0)
		goto out;
	(void)snprintf(at, sizeof(at), "%.63s/data", name);
	yes = H5Lexists(group, at, H5P_DEFAULT) > 0;
	for (char *c = name; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
out:
	if (group >= 0)
		(void)H5Gclose(group);
	return yes;
}

static int read_xml(struct bs_recording *r, struct bs_fail *why)
{
	char image[GROUP_MAX] = "";
	hid_t set = H5Dopen2(r->file, r->xml_at, H5P_DEFAULT);
	hid_t type = set < 0 ? -1 : H5Dget_type(set);
	hid_t space = set < 0 ? -1 : H5Dget_space(set);
	int rc;

	if (set < 0 && holds_image(r, image))
		rc = bs_fail(why, BS_ERR_FORMAT, "%s: /%s holds images (%s), not a recording",
			     r->path, r->group, image);
	else if (set < 0 || type < 0 || space < 0)
		rc = bs_fail(why, BS_ERR_FORMAT, "%s: no MRD header at %s%s%s", r->path, r->xml_at,
			     r->note[0] != '\0' ? ": " : "", r->note);
	else if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1)
		rc = bs_fail(why, BS_ERR_FORMAT, "%s: %s is not one text", r->path, r->xml_at);
	else
		rc = read_text(r, set, type, why);
	if (space >= 0)
		(void)H5Sclose(space);
	if (type >= 0)
		(void)H5Tclose(type);
	if (set >= 0)
		(void)H5Dclose(set);
	return rc;
}

/* The stored compound must have the three members, of the right kind, before HDF5 converts it. */
static bool is_acquisition(hid_t type)
{
	static const struct {
		const char *name;
		H5T_class_t kind;
	} want[] = { { "head", H5T_COMPOUND }, { "traj", H5T_VLEN }, { "data", H5T_VLEN } };

	if (H5Tget_class(type) != H5T_COMPOUND)
		return false;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		int at = H5Tget_member_index(type, want[i].name);

		if (at < 0 || H5Tget_member_class(type, (unsigned)at) != want[i].kind)
			return false;
	}
	return true;
}

static int open_data(struct bs_recording *r, struct bs_fail *why)
{
	hid_t stored;
	hsize_t count = 0;
	hsize_t most;
	bool good;

	r->data = H5Dopen2(r->file, r->data_at, H5P_DEFAULT);
	if (r->data < 0)
		return format_fail(r, why, "no acquisitions at", r->data_at);
	stored = H5Dget_type(r->data);
	r->space = H5Dget_space(r->data);
	if (stored < 0 || r->space < 0) {
		if (stored >= 0)
			(void)H5Tclose(stored);
		return format_fail(r, why, "cannot read the type of", r->data_at);
	}
	good = is_acquisition(stored);
	most = H5Dget_storage_size(r->data);
	most = (most < r->pool.limit ? most : r->pool.limit) / H5Tget_size(stored);
	(void)H5Tclose(stored);
	if (!good)
		return bs_fail(why, BS_ERR_FORMAT, "%s: %s does not hold MRD acquisitions", r->path,
			       r->data_at);
	if (H5Sget_simple_extent_ndims(r->space) != 1 ||
	    H5Sget_simple_extent_dims(r->space, &count, NULL) != 1)
		return bs_fail(why, BS_ERR_FORMAT, "%s: %s is not a list", r->path, r->data_at);
	/* HDF5 would read rows that are not in the file, too, for minutes */
	if (count > UINT32_MAX || count / BS_MRDH5_SQUEEZE > most)
		return bs_fail(why, BS_ERR_FORMAT,
			       "%s: %s claims %llu acquisitions, more than it stores", r->path,
			       r->data_at, (unsigned long long)count);
	r->count = (uint32_t)count;
	r->type = bs_mrdh5_acq_type();
	return r->type < 0 ? bs_mrdh5_fail(why, BS_ERR_NOMEM, r->path, "no memory for HDF5") : 0;
}

static int open_here(struct bs_recording **out, const char *path, struct bs_fail *why)
{
	struct bs_recording *r;
	int rc = blank(&r, path, why);

	if (rc != 0)
		return rc;
	rc = bs_mrdh5_open(&r->file, &r->pool.limit, r->path, why);
	if (rc == 0) {
		note_groups(r);
		r->transfer = H5Pcreate(H5P_DATASET_XFER);
		if (r->transfer < 0 ||
		    H5Pset_buffer(r->transfer, CONVERT_BYTES, r->convert, r->background) < 0 ||
		    H5Pset_vlen_mem_manager(r->transfer, pool_take, &r->pool, pool_give, &r->pool) <
			    0)
			rc = bs_mrdh5_fail(why, BS_ERR_NOMEM, path, "no memory for HDF5");
	}
	if (rc == 0)
		rc = read_xml(r, why);
	if (rc == 0)
		rc = open_data(r, why);
	if (rc != 0) {
		release(r);
		return rc;
	}
	*out = r;
	return 0;
}

/* Reads in a child all that the recording may be asked for later. */
static int read_all(const char *path, struct bs_fail *why)
{
	struct bs_recording *r;
	struct bs_recorded acq;
	int rc = open_here(&r, path, why);

	if (rc != 0)
		return rc;
	for (uint32_t i = 0; rc == 0 && i < r->count; i++) {
		/* seconds of a processor for at most some megabytes */
		bs_probe_allow(BS_PROBE_SECONDS);
		rc = bs_recording_read(r, i, &acq, why);
	}
	release(r);
	return rc;
}

/* A damaged log is no recording; what can be read of it is exported (boreside log). */
static int open_log(struct bs_recording **out, const char *path, struct bs_fail *why)
{
	struct bs_fail damage;
	struct bs_recording *r;
	int rc = blank(&r, path, why);

	if (rc != 0)
		return rc;
	rc = bs_logged_open(&r->log, path, &damage, why);
	if (rc == 0 && damage.code != 0)
		rc = bs_fail(why, damage.code, "%s", damage.text);
	if (rc == 0) {
		r->count = bs_logged_count(r->log);
		*out = r;
	} else {
		release(r);
	}
	return rc;
}

int bs_recording_open(struct bs_recording **out, const char *path, struct bs_fail *why)
{
	int rc;

	if (bs_logged_is(path))
		return open_log(out, path, why);
	rc = bs_probe(read_all, path, why);

	return rc == 0 ? open_here(out, path, why) : rc;
}

const char *bs_recording_in(const char *path, const char *group)
{
	static char joined[BS_DRAFT_PATH + GROUP_MAX];

	if (group == NULL)
		return path;
	(void)snprintf(joined, sizeof(joined), "%s/%s", path, group);
	return joined;
}

const char *bs_recording_xml(const struct bs_recording *r)
{
	return r->log != NULL ? bs_logged_xml(r->log) : r->xml;
}

const char *bs_recording_note(const struct bs_recording *r)
{
	return r->log != NULL ? bs_logged_note(r->log) : r->note;
}

uint32_t bs_recording_count(const struct bs_recording *r)
{
	return r->count;
}

int bs_recording_read(struct bs_recording *r, uint32_t index, struct bs_recorded *acq,
		      struct bs_fail *why)
{
	const hsize_t at = index;
	const hsize_t one = 1;
	struct bs_mrdh5_acq got;
	struct bs_mrd_acq *h = &got.head;
	hid_t memory;
	herr_t rc;

	memset(acq, 0, sizeof(*acq));
	memset(&got, 0, sizeof(got));
	pool_release(&r->pool);
	if (r->writing)
		return bs_fail(why, BS_ERR_STATE, "%s: is being written", r->path);
	if (index >= r->count)
		return bs_fail(why, BS_ERR_INDEX, "%s: acquisition %u of %u", r->path, index,
			       r->count);
	if (r->log != NULL)
		return bs_logged_read(r->log, index, &acq->head, &acq->traj, &acq->data, why);
	memory = H5Screate_simple(1, &one, NULL);
	rc = memory < 0 ? -1 : H5Sselect_hyperslab(r->space, H5S_SELECT_SET, &at, NULL, &one, NULL);
	if (rc >= 0)
		rc = H5Dread(r->data, r->type, memory, r->space, r->transfer, &got);
	if (memory >= 0)
		(void)H5Sclose(memory);
	if (rc < 0) {
		char what[64];

		(void)snprintf(what, sizeof(what), "cannot read acquisition %u of", index);
		return format_fail(r, why, what, r->data_at);
	}
	/* u16 products: they fit 64 bits */
	uint64_t traj = (uint64_t)h->number_of_samples * h->trajectory_dimensions;
	uint64_t data = (uint64_t)h->number_of_samples * h->active_channels * 2;

	if (got.traj.len != traj || got.data.len != data)
		return bs_fail(
			why, BS_ERR_FORMAT,
			"%s: acquisition %u: %u samples, %u channels, %u trajectory dimensions "
			"need %llu and %llu floats; %zu and %zu are stored",
			r->path, index, h->number_of_samples, h->active_channels,
			h->trajectory_dimensions, (unsigned long long)traj,
			(unsigned long long)data, got.traj.len, got.data.len);
	acq->head = got.head;
	acq->traj = got.traj.p;
	acq->data = got.data.p;
	return 0;
}

int bs_recording_create(struct bs_recording **out, const char *path, struct bs_fail *why)
{
	struct bs_recording *r;
	int rc = blank(&r, path, why);

	if (rc != 0)
		return rc;
	r->writing = true;
	rc = bs_mrdh5_create(&r->out, path, why);
	if (rc == 0)
		*out = r;
	else
		release(r);
	return rc;
}

int bs_recording_put_xml(struct bs_recording *r, const char *xml, struct bs_fail *why)
{
	if (!r->writing)
		return bs_fail(why, BS_ERR_STATE, "%s: is open for reading", r->path);
	if (ismrmrd_write_header(&r->out.set, xml) != ISMRMRD_NOERROR)
		return bs_mrdh5_failed(&r->out, why, "cannot write the header");
	free(r->xml);
	r->xml = strdup(xml);
	r->has_xml = true;
	return r->xml ? 0 : bs_fail(why, BS_ERR_NOMEM, "%s: no memory for the header", r->path);
}

int bs_recording_append(struct bs_recording *r, const struct bs_mrd_acq *head, const float *traj,
			const float *data, struct bs_fail *why)
{
	ISMRMRD_Acquisition acq;

	if (!r->writing)
		return bs_fail(why, BS_ERR_STATE, "%s: is open for reading", r->path);
	if (r->count == UINT32_MAX)
		return bs_fail(why, BS_ERR_SIZE, "%s: is full", r->path);
	bs_mrd_put_acq((unsigned char *)&acq.head, head);
	acq.traj = (float *)(uintptr_t)traj; /* the writer only reads this */
	acq.data = (complex_float_t *)(uintptr_t)data;
	if (ismrmrd_append_acquisition(&r->out.set, &acq) != ISMRMRD_NOERROR)
		return bs_mrdh5_failed(&r->out, why, "cannot append an acquisition");
	r->count++;
	return 0;
}

static int finish_writing(struct bs_recording *r, struct bs_fail *why)
{
	const bool headless = !r->out.failed && !r->has_xml;
	int rc;

	r->out.failed = r->out.failed || headless; /* a file without a header is dropped */
	rc = bs_mrdh5_finish(&r->out, why);
	if (headless)
		rc = bs_fail(why, BS_ERR_STATE, "%s: closed without a header; dropped", r->path);
	if (rc != 0)
		return rc;
	return bs_draft_end(&r->out.draft, 0, r->path, BS_DRAFT_REPLACE, why);
}

int bs_recording_close(struct bs_recording *r, struct bs_fail *why)
{
	int rc = 0;

	if (r == NULL)
		return 0;
	if (r->writing)
		rc = finish_writing(r, why);
	release(r);
	return rc;
}
