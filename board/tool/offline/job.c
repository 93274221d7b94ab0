/* board/tool/offline/job.c - see job.h */
#include "board/tool/offline/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "config/keys.h"
#include "core/hash.h"
#include "core/version.h"

#define KEY_BYTES 512 /* more bytes than the key file ever has */

/* ---- what a job is of ---- */

int bs_job_hash(uint64_t *hash, struct bs_recording *r, struct bs_fail *why)
{
	const char *xml = bs_recording_xml(r);
	const uint32_t n = bs_recording_count(r);
	uint64_t h = bs_hash_words(BS_HASH_START, xml, strlen(xml));
	struct bs_recorded acq;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		const struct bs_mrd_acq *a = &acq.head;

		rc = bs_recording_read(r, i, &acq, why);
		if (rc != 0)
			break;
		h = bs_hash_words(h, a, sizeof(*a));
		h = bs_hash_words(h, acq.traj,
				  (size_t)a->number_of_samples * a->trajectory_dimensions *
					  sizeof(float));
		h = bs_hash_words(h, acq.data,
				  2 * (size_t)a->number_of_samples * a->active_channels *
					  sizeof(float));
	}
	*hash = h;
	return rc;
}

static void put_file(FILE *to, const char *path)
{
	static unsigned char block[1 << 16];
	uint64_t h = BS_HASH_START;
	FILE *f = fopen(path, "rb");
	size_t n;

	while (f != NULL && (n = fread(block, 1, sizeof(block), f)) > 0)
		h = bs_hash_words(h, block, n);
	if (f != NULL) {
		(void)fclose(f);
		(void)fprintf(to, "%s %016llx\n", path, (unsigned long long)h);
	}
}

/* Writes the files that the protocol's keys name; a .cfl has two. */
static void put_files(FILE *to, const struct bs_protocol *p)
{
	static const char *const endings[] = { "", ".cfl", ".hdr" };

	for (size_t i = 0; i < bs_keys_count; i++) {
		const struct bs_key *k = &bs_keys[i];
		const char *path = (const char *)p + k->offset;
		char name[BS_PATH_MAX_ + 8];
		size_t n;

		if (k->scope != BS_SCOPE_PROTOCOL || k->type != BS_KEY_PATH || path[0] == '\0')
			continue;
		n = strlen(path);
		if (n > 4 &&
		    (strcmp(path + n - 4, ".cfl") == 0 || strcmp(path + n - 4, ".hdr") == 0))
			n -= 4;
		for (size_t e = 0; e < sizeof(endings) / sizeof(endings[0]); e++) {
			(void)snprintf(name, sizeof(name), "%.*s%s", (int)n, path, endings[e]);
			put_file(to, name);
		}
	}
}

int bs_job_key(struct bs_job_key *key, struct bs_recording *r, const struct bs_protocol *p,
	       const char *engine, const char *more, struct bs_fail *why)
{
	char *text = NULL;
	size_t len = 0;
	uint64_t hash;
	FILE *to = open_memstream(&text, &len);
	int rc = bs_job_hash(&hash, r, why);

	if (to == NULL)
		return rc != 0 ? rc : bs_fail(why, BS_ERR_NOMEM, "no memory for the settings");
	bs_config_print_protocol(to, p);
	put_files(to, p);
	(void)fprintf(to, "%d\n%s", (int)p->gpu_route, more);
	if (fclose(to) != 0)
		rc = bs_fail(why, BS_ERR_NOMEM, "no memory for the settings");
	if (rc == 0) {
		bs_sha256(key->settings, text, len);
		(void)snprintf(key->recording, sizeof(key->recording), "%016llx",
			       (unsigned long long)hash);
		(void)snprintf(key->maker, sizeof(key->maker), "%s %s", BS_VERSION, engine);
	}
	free(text);
	return rc;
}

/* ---- OUT.job ---- */

static int64_t changed_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* Opens the key file and locks it; closing unlocks it. */
static int lock_key(const struct bs_job *j, int *fd, struct bs_fail *why)
{
	int rc;

	*fd = open(j->key, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (*fd < 0)
		return bs_file_fail(why, j->key, "cannot open");
	do
		rc = flock(*fd, LOCK_EX);
	while (rc != 0 && errno == EINTR);
	if (rc == 0)
		return 0;
	rc = bs_file_fail(why, j->key, "cannot lock");
	(void)close(*fd);
	return rc;
}

/* Finds the value of the line that begins with name; "": no such line. */
static void find_line(char *value, size_t cap, const char *text, const char *name)
{
	const size_t n = strlen(name);

	value[0] = '\0';
	for (; text != NULL && *text != '\0'; text = strchr(text, '\n'), text += text != NULL)
		if (strncmp(text, name, n) == 0 && strchr(text, '\n') != NULL)
			(void)snprintf(value, cap, "%.*s", (int)strcspn(text + n, "\n"), text + n);
}

static int write_key(int fd, struct bs_job *j, const struct bs_job_key *key, struct bs_fail *why)
{
	char text[KEY_BYTES];
	const int n =
		snprintf(text, sizeof(text),
			 "the images of one job of boreside recon; without this file it starts "
			 "anew\nrecording %s\nsettings %s\nmaker %s\n",
			 key->recording, key->settings, key->maker);

	if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n || fsync(fd) != 0)
		return bs_file_fail(why, j->key, "cannot write");
	return 0;
}

/* Compares the key file with this job; an empty file becomes this job's. */
static int compare_key(int fd, struct bs_job *j, const struct bs_job_key *key, struct bs_fail *why)
{
	const struct {
		const char *name, *value, *words;
	} lines[] = { { "recording ", key->recording, "another recording" },
		      { "settings ", key->settings, "other settings" },
		      { "maker ", key->maker, "another program or engine" } };
	char text[KEY_BYTES] = "";
	char value[128];
	struct stat st;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	int rc = 0;

	if (n < 0)
		return bs_file_fail(why, j->key, "cannot read");
	text[n] = '\0';
	/* maker is the last line: with it the file is whole */
	find_line(value, sizeof(value), text, "maker ");
	if (value[0] == '\0')
		rc = write_key(fd, j, key, why);
	for (size_t i = 0; value[0] != '\0' && i < sizeof(lines) / sizeof(lines[0]); i++) {
		find_line(value, sizeof(value), text, lines[i].name);
		if (strcmp(value, lines[i].value) != 0)
			return bs_fail(
				why, BS_ERR_STATE,
				"%s: the images there are of %s (%s, not %s): choose another "
				"output, or remove that file to make them anew",
				j->key, lines[i].words, value, lines[i].value);
	}
	if (rc == 0 && fstat(fd, &st) != 0)
		rc = bs_file_fail(why, j->key, "cannot look at it");
	if (rc != 0)
		return rc;
	j->since_ns = changed_ns(&st);
	find_line(value, sizeof(value), text, "images ");
	j->complete = strtoull(value, NULL, 10);
	return 0;
}

/*
 * Writes the line that says how many images make the job complete; 0 removes it, since some are
 * gone. The file keeps its time, because images must be younger.
 */
static int write_complete(int fd, struct bs_job *j, uint64_t images, struct bs_fail *why)
{
	struct timespec times[2];
	char text[KEY_BYTES + 64] = "";
	char *end;
	struct stat st;
	bool good = fstat(fd, &st) == 0 && pread(fd, text, KEY_BYTES - 1, 0) > 0;

	if (good) {
		times[0] = st.st_atim;
		times[1] = st.st_mtim;
		end = strstr(text, "\nimages ");
		end = end != NULL ? end + 1 : text + strlen(text);
		*end = '\0';
		if (images > 0)
			(void)snprintf(end, 40, "images %llu\n", (unsigned long long)images);
		good = ftruncate(fd, end - text) == 0 &&
		       pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text) &&
		       futimens(fd, times) == 0 && fsync(fd) == 0;
	}
	if (!good)
		return bs_file_fail(why, j->key, "cannot write");
	j->complete = images;
	return 0;
}

/* ---- pieces ---- */

static size_t image_bytes(const struct bs_mrd_image *h)
{
	return (size_t)h->matrix_size[0] * h->matrix_size[1] * h->matrix_size[2] * h->channels *
	       (h->data_type == BS_MRD_CXFLOAT ? 2 : 1) * sizeof(float);
}

static int piece_name(char out[BS_DRAFT_PATH], const struct bs_job *j, uint64_t number,
		      struct bs_fail *why)
{
	const int n =
		snprintf(out, BS_DRAFT_PATH, "%s/%06llu", j->pieces, (unsigned long long)number);

	return n > 0 && n < (int)BS_DRAFT_PATH
		       ? 0
		       : bs_fail(why, BS_ERR_IO, "%s: the name is too long", j->pieces);
}

static bool is_there(const char *path, int64_t since_ns)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && changed_ns(&st) >= since_ns;
}

/* Writes a piece for this program and job: the header's structure, attributes with
 * their end, pixels. */
static int put_piece(const struct bs_job *j, uint64_t number, const struct bs_mrd_image *head,
		     const char *attributes, const void *pixels, struct bs_fail *why)
{
	char path[BS_DRAFT_PATH];
	struct bs_draft d;
	int rc = piece_name(path, j, number, why);

	if (rc == 0 && mkdir(j->pieces, 0750) != 0 && errno != EEXIST)
		rc = bs_file_fail(why, j->pieces, "cannot make this folder");
	if (rc == 0)
		rc = bs_draft_open(&d, path, why);
	if (rc != 0)
		return rc;
	rc = bs_draft_write(&d, head, sizeof(*head), why);
	if (rc == 0)
		rc = bs_draft_write(&d, attributes, strlen(attributes) + 1, why);
	if (rc == 0)
		rc = bs_draft_write(&d, pixels, image_bytes(head), why);
	return bs_draft_end(&d, rc, path, BS_DRAFT_REPLACE, why);
}

/* Reads a whole file and puts a zero byte behind it. */
static int read_piece(const char *path, char **bytes, size_t *size, struct bs_fail *why)
{
	struct stat st;
	FILE *f = fopen(path, "rb");
	int rc = 0;

	*bytes = NULL;
	if (f == NULL || fstat(fileno(f), &st) != 0)
		rc = bs_file_fail(why, path, "cannot open");
	if (rc == 0) {
		*size = (size_t)st.st_size;
		*bytes = calloc(*size + 1, 1);
		if (*bytes == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "%s: no memory for it", path);
		else if (fread(*bytes, 1, *size, f) != *size)
			rc = bs_fail(why, BS_ERR_IO, "%s: cannot read all of it", path);
	}
	if (f != NULL)
		(void)fclose(f);
	return rc;
}

/* Puts a piece's image into the sink. Pixels are copied, since attributes leave them unaligned. */
static int put_bytes(const struct bs_job *j, void *self, const char *bytes, size_t size,
		     struct bs_fail *why)
{
	struct bs_mrd_image head;
	const char *attributes = bytes + sizeof(head);
	size_t skip = size;
	float *pixels;
	int rc;

	if (size > sizeof(head)) {
		memcpy(&head, bytes, sizeof(head));
		skip = sizeof(head) + strlen(attributes) + 1;
	}
	if (skip >= size || size - skip != image_bytes(&head))
		return bs_fail(why, BS_ERR_FORMAT, "%s: a piece is damaged", j->pieces);
	pixels = malloc(size - skip);
	if (pixels == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory for an image", j->pieces);
	memcpy(pixels, bytes + skip, size - skip);
	rc = bs_sink_put(j->sink, self, &head, attributes, pixels, why);
	free(pixels);
	return rc;
}

static int move_piece(const struct bs_job *j, void *self, uint64_t number, struct bs_fail *why)
{
	char path[BS_DRAFT_PATH];
	char *bytes = NULL;
	size_t size = 0;
	int rc = piece_name(path, j, number, why);

	if (rc == 0)
		rc = read_piece(path, &bytes, &size, why);
	if (rc == 0)
		rc = put_bytes(j, self, bytes, size, why);
	free(bytes);
	return rc;
}

static int gather_pieces(const struct bs_job *j, uint64_t images, struct bs_fail *why)
{
	struct bs_fail late;
	void *self;
	int rc = bs_sink_open(j->sink, &self, j->out, why);

	if (rc != 0)
		return rc;
	for (uint64_t i = 1; rc == 0 && i <= images; i++)
		rc = move_piece(j, self, i, why);
	if (bs_sink_close(j->sink, self, &late) != 0 && rc == 0) {
		*why = late;
		rc = late.code;
	}
	return rc;
}

static void drop_pieces(const struct bs_job *j, uint64_t images)
{
	char path[BS_DRAFT_PATH];

	for (uint64_t i = 1; i <= images; i++)
		if (piece_name(path, j, i, NULL) == 0)
			(void)unlink(path);
	(void)rmdir(j->pieces);
}

/* ---- the images ---- */

bool bs_job_made(void *job, uint64_t number)
{
	/* an unread header does: file names do not depend on it */
	static const struct bs_mrd_image unread;
	const struct bs_job *j = job;
	char path[BS_DRAFT_PATH];

	if (j->self == NULL) /* the order matters: pieces are removed when OUT is there */
		return (piece_name(path, j, number, NULL) == 0 && is_there(path, j->since_ns)) ||
		       is_there(j->out, j->since_ns);
	j->sink->at(j->self, (uint32_t)number);
	return bs_sink_has(j->sink, j->self, &unread, j->since_ns);
}

static bool all_made(struct bs_job *j, uint64_t images)
{
	for (uint64_t i = 1; i <= images; i++)
		if (!bs_job_made(j, i))
			return false;
	return true;
}

static void sweep(const char *path)
{
	char dir[BS_DRAFT_PATH];
	char *slash;

	(void)snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash != NULL)
		slash[slash == dir] = '\0';
	(void)bs_draft_sweep(slash != NULL ? dir : ".");
}

/* Behind the lock: compares OUT.job, opens the sink, checks what OUT.job says of all images. */
static int open_locked(struct bs_job *j, int fd, const struct bs_job_key *key, struct bs_fail *why)
{
	int rc = compare_key(fd, j, key, why);

	if (rc != 0)
		return rc;
	sweep(j->out);
	if (j->sink->at != NULL)
		rc = bs_sink_open(j->sink, &j->self, j->out, why);
	else
		(void)bs_draft_sweep(j->pieces);
	if (rc == 0 && !all_made(j, j->complete))
		rc = write_complete(fd, j, 0, why);
	return rc;
}

int bs_job_open(struct bs_job *j, const struct bs_sink *sink, const char *out,
		const struct bs_job_key *key, struct bs_fail *why)
{
	const int most = (int)sizeof(j->out) - 9;
	struct stat st;
	int fd;
	int rc;

	memset(j, 0, sizeof(*j));
	if (stat(out, &st) == 0 && S_ISDIR(st.st_mode))
		return bs_fail(why, BS_ERR_USAGE, "%s is a folder: a file's name is wanted", out);
	if (strlen(out) > (size_t)most)
		return bs_fail(why, BS_ERR_IO, "%s: the name is too long", out);
	j->sink = sink;
	(void)snprintf(j->out, sizeof(j->out), "%.*s", most, out);
	(void)snprintf(j->key, sizeof(j->key), "%.*s.job", most, out);
	(void)snprintf(j->pieces, sizeof(j->pieces), "%.*s.pieces", most, out);
	rc = lock_key(j, &fd, why);
	if (rc != 0)
		return rc;
	rc = open_locked(j, fd, key, why);
	(void)close(fd);
	return rc;
}

int bs_job_put(struct bs_job *j, uint64_t number, const struct bs_mrd_image *head,
	       const char *attributes, const void *pixels, struct bs_fail *why)
{
	if (j->self == NULL)
		return put_piece(j, number, head, attributes, pixels, why);
	j->sink->at(j->self, (uint32_t)number);
	return bs_sink_put(j->sink, j->self, head, attributes, pixels, why);
}

static int end_locked(struct bs_job *j, int fd, uint64_t images, struct bs_fail *why)
{
	char text[KEY_BYTES] = "";
	char value[32];
	int rc = 0;

	if (pread(fd, text, sizeof(text) - 1, 0) < 0)
		return bs_file_fail(why, j->key, "cannot read");
	find_line(value, sizeof(value), text, "images ");
	j->complete = strtoull(value, NULL, 10); /* another process made the last image */
	if (j->complete > 0 || images == 0 || !all_made(j, images))
		return 0;
	if (j->self == NULL && !is_there(j->out, j->since_ns))
		rc = gather_pieces(j, images, why);
	return rc == 0 ? write_complete(fd, j, images, why) : rc;
}

int bs_job_end(struct bs_job *j, uint64_t images, struct bs_fail *why)
{
	int fd;
	int rc = lock_key(j, &fd, why);

	if (rc != 0)
		return rc;
	rc = end_locked(j, fd, images, why);
	if (rc == 0 && j->self == NULL && j->complete > 0)
		drop_pieces(j, images);
	(void)close(fd);
	return rc;
}

void bs_job_close(struct bs_job *j)
{
	if (j->self != NULL)
		(void)bs_sink_close(j->sink, j->self, NULL);
	j->self = NULL;
}

void bs_job_names(FILE *to, const char *out, uint32_t images)
{
	const char *base = strrchr(out, '/') != NULL ? strrchr(out, '/') : out;
	const char *nii = strstr(base, ".nii.gz");
	const char *ext = nii != NULL ? nii : strrchr(base, '.');
	const int stem = ext != NULL ? (int)(ext - out) : (int)strlen(out);

	if (images == 0)
		return;
	(void)fprintf(to, "  %s", out);
	if (images > 1 && ext != NULL)
		(void)fprintf(to, ", %.*s-0002%s", stem, out, ext);
	if (images > 2 && ext != NULL)
		(void)fprintf(to, " to %.*s-%04u%s", stem, out, images, ext);
	(void)fputc('\n', to);
}
