/* test/mutate/run.c - see run.h */
#define _POSIX_C_SOURCE 200809L /* strdup, kill */
#include "test/mutate/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ismrmrd/dataset.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/peers/sender.h"
#include "test/support/await.h"

#define SERIES_MAX 4

_Static_assert(sizeof(ISMRMRD_AcquisitionHeader) == 340, "MRD's header has no gaps");

static char folder[] = "/tmp/boreside-mutate-XXXXXX";

bool run_open(void)
{
	return mkdtemp(folder) != NULL;
}

static void clear(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %s/*", folder);
	if (system(command) != 0)
		printf("# %s is not empty\n", folder);
}

void run_close(void)
{
	clear();
	(void)rmdir(folder);
}

static const char *in_folder(const char *name)
{
	static char text[4][96];
	static int turn;

	turn = (turn + 1) % 4;
	(void)snprintf(text[turn], sizeof(text[turn]), "%s/%s", folder, name);
	return text[turn];
}

/* ---- the recording, by libismrmrd ---- */

static void hear_nothing(const char *file, int line, const char *function, int code,
			 const char *words)
{
	(void)file, (void)line, (void)function, (void)code, (void)words;
}

static bool put_line(const ISMRMRD_Dataset *set, const struct line *l)
{
	ISMRMRD_Acquisition a;

	a.head = l->head;
	a.traj = l->path;
	a.data = (complex_float_t *)l->data;
	return ismrmrd_append_acquisition(set, &a) == 0;
}

static bool write_recording(const struct scan *s)
{
	char *xml = header_text(&s->header);
	ISMRMRD_Dataset set;
	bool good = xml != NULL && ismrmrd_init_dataset(&set, in_folder("x.h5"), "dataset") == 0 &&
		    ismrmrd_open_dataset(&set, true) == 0 && ismrmrd_write_header(&set, xml) == 0;

	for (uint32_t i = 0; good && i < s->count; i++)
		good = put_line(&set, &s->lines[i]);
	free(xml);
	return ismrmrd_close_dataset(&set) == 0 && good;
}

/* ---- images ---- */

static bool keep_image(struct answer *a, const ISMRMRD_Image *from)
{
	const size_t voxels = (size_t)from->head.matrix_size[0] * from->head.matrix_size[1] *
			      from->head.matrix_size[2];
	struct image *more = realloc(a->images, sizeof(*more) * (a->count + 1));
	struct image *i;

	if (more == NULL || from->head.data_type != ISMRMRD_FLOAT || from->head.channels != 1)
		return false;
	a->images = more;
	i = &more[a->count++];
	i->head = from->head;
	i->attributes = strdup(from->attribute_string != NULL ? from->attribute_string : "");
	i->pixels = malloc(voxels * sizeof(float));
	if (i->pixels != NULL)
		memcpy(i->pixels, from->data, voxels * sizeof(float));
	return i->attributes != NULL && i->pixels != NULL;
}

static bool read_images(struct answer *a, const char *path)
{
	ISMRMRD_Dataset set;
	bool good;

	if (access(path, R_OK) != 0)
		return true;
	good = ismrmrd_init_dataset(&set, path, "dataset") == 0 &&
	       ismrmrd_open_dataset(&set, false) == 0;
	for (int series = 0; good && series < SERIES_MAX; series++) {
		char name[32];
		uint32_t count;

		(void)snprintf(name, sizeof(name), "image_%d", series);
		count = ismrmrd_get_number_of_images(&set, name);
		for (uint32_t n = 0; good && n < count; n++) {
			ISMRMRD_Image image;

			good = ismrmrd_init_image(&image) == 0 &&
			       ismrmrd_read_image(&set, name, n, &image) == 0 &&
			       keep_image(a, &image);
			(void)ismrmrd_cleanup_image(&image);
		}
	}
	return ismrmrd_close_dataset(&set) == 0 && good;
}

const char *image_word(const struct image *i, const char *name, char *to, size_t cap)
{
	char key[96];
	const char *at;
	const char *end;

	(void)snprintf(key, sizeof(key), "<name>%s</name><value>", name);
	at = strstr(i->attributes, key);
	at = at != NULL ? at + strlen(key) : "";
	end = strstr(at, "</value>");
	(void)snprintf(to, cap, "%.*s", end != NULL ? (int)(end - at) : 0, at);
	return to;
}

void answer_free(struct answer *a)
{
	for (uint32_t i = 0; i < a->count; i++) {
		free(a->images[i].attributes);
		free(a->images[i].pixels);
	}
	free(a->images);
	memset(a, 0, sizeof(*a));
}

/* ---- programs ---- */

static pid_t start(const char *const argv[], const char *log)
{
	const char *program = getenv("BORESIDE");
	const pid_t pid = program != NULL ? fork() : -1;

	if (pid == 0) {
		const int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

		(void)dup2(fd, STDERR_FILENO);
		(void)dup2(fd, STDOUT_FILENO);
		if (chdir(folder) == 0)
			(void)execv(program, (char *const *)argv);
		_exit(127);
	}
	return pid;
}

static enum ended wait_for(pid_t pid)
{
	int status = -1;
	pid_t gone = 0;

	if (pid <= 0)
		return ENDED_BADLY;
	AWAIT((gone = waitpid(pid, &status, WNOHANG)) != 0);
	if (gone == 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
		return ENDED_BADLY;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 127)
		return ENDED_BADLY;
	return WEXITSTATUS(status) == 0 ? ENDED_WELL : ENDED_REFUSED;
}

static void read_log(struct answer *a, const char *path)
{
	const size_t had = strlen(a->said);
	const int fd = open(path, O_RDONLY);
	const ssize_t n = fd >= 0 ? read(fd, a->said + had, SAID - 1 - had) : -1;

	if (fd >= 0)
		(void)close(fd);
	a->said[had + (n > 0 ? (size_t)n : 0)] = '\0';
}

/* The last line of what was said. */
static void keep_reason(struct answer *a)
{
	size_t end = strlen(a->said);
	size_t from;

	while (end > 0 && a->said[end - 1] == '\n')
		end--;
	for (from = end; from > 0 && a->said[from - 1] != '\n'; from--)
		;
	(void)snprintf(a->why, sizeof(a->why), "%.*s", (int)(end - from), a->said + from);
}

bool run_init(struct answer *a, const struct scan *s)
{
	const char *const init[] = { "boreside", "init", "--from", "x.h5", "-o", "x.cfg", NULL };

	clear();
	memset(a, 0, sizeof(*a));
	ismrmrd_set_error_handler(hear_nothing);
	if (!write_recording(s))
		return false;
	a->scan = a->init = wait_for(start(init, in_folder("init.log")));
	read_log(a, in_folder("init.log"));
	return true;
}

bool run_recon(struct answer *a, const struct scan *s)
{
	const char *const recon[] = { "boreside", "recon",  "-c",   "x.cfg",
				      "-o",       "out.h5", "x.h5", NULL };

	if (!run_init(a, s))
		return false;
	if (a->init == ENDED_WELL) {
		a->scan = wait_for(start(recon, in_folder("recon.log")));
		read_log(a, in_folder("recon.log"));
	}
	if (a->scan != ENDED_WELL)
		keep_reason(a);
	return read_images(a, in_folder("out.h5"));
}

/* ---- a service ---- */

/* The site file of init, patient. */
static bool write_site(void)
{
	char command[640];

	(void)snprintf(command, sizeof(command),
		       "cd %s && sed -e 's/^\\tname = \"boreside\";.*/&\\n\\theartbeat_ms = 100.0;"
		       " stall_ms = 60000.0;/' -e '/type = \"png\"/d' "
		       "x.cfg >site.cfg",
		       folder);
	return system(command) == 0;
}

static bool put_readout(struct sender *to, const struct line *l)
{
	const size_t path = (size_t)l->head.number_of_samples * l->head.trajectory_dimensions * 4;
	const size_t data = (size_t)l->head.number_of_samples * l->head.active_channels * 8;
	unsigned char *payload = malloc(340 + path + data);
	bool taken = false;

	if (payload == NULL)
		return false;
	memcpy(payload, &l->head, 340);
	if (l->path != NULL)
		memcpy(payload + 340, l->path, path);
	memcpy(payload + 340 + path, l->data, data);
	for (int64_t end = await_limit(); !taken && await_now_ns() < end;) {
		taken = to->rules.state == SENDER_ENDED ||
			sender_put(to, SENDER_ACQ, payload, 340 + path + data);
		if (!taken)
			(void)sender_step(to, 5);
	}
	free(payload);
	return taken;
}

static bool send_scan(struct sender *to, const struct scan *s)
{
	static uint64_t session;
	char *xml = header_text(&s->header);
	bool good = xml != NULL;

	sender_begin(to, ((uint64_t)getpid() << 32) + ++session, "scan", xml);
	free(xml);
	for (int64_t end = await_limit();
	     to->rules.state == SENDER_OPENING && await_now_ns() < end;)
		(void)sender_step(to, 5);
	for (uint32_t i = 0; good && i < s->count && to->rules.state != SENDER_ENDED; i++)
		good = put_readout(to, &s->lines[i]);
	for (int64_t end = await_limit(); to->rules.state != SENDER_ENDED && await_now_ns() < end;)
		if (to->rules.state != SENDER_STREAMING || !sender_finish(to))
			(void)sender_step(to, 5);
	return good && to->rules.state == SENDER_ENDED;
}

static int name_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All files of the sink's folder, in the order of their names; how many there are. */
static uint32_t read_folder(struct answer *a, bool *good)
{
	DIR *d = opendir(in_folder("images"));
	char *name[512];
	uint32_t count = 0;

	for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL && count < 512;)
		if (strlen(e->d_name) > 3 &&
		    strcmp(e->d_name + strlen(e->d_name) - 3, ".h5") == 0 && e->d_name[0] != '.')
			name[count++] = strdup(e->d_name);
	if (d != NULL)
		(void)closedir(d);
	qsort(name, count, sizeof(name[0]), name_order);
	for (uint32_t i = 0; i < count; i++) {
		char path[400];

		(void)snprintf(path, sizeof(path), "%s/images/%s", folder, name[i]);
		if (a != NULL)
			*good = read_images(a, path) && *good;
		free(name[i]);
	}
	return count;
}

bool run_serve(struct answer *a, const struct scan *s)
{
	const char *const serve[] = { "boreside", "serve", "-c", "site.cfg", NULL };
	struct sender to;
	char url[128];
	pid_t pid;
	bool good = true;
	bool open;

	memset(a, 0, sizeof(*a));
	(void)snprintf(url, sizeof(url), "ipc://%s/run/kspace.ipc", folder);
	if (!write_site())
		return false;
	pid = start(serve, in_folder("serve.log"));
	open = sender_open(&to, url);
	good = open && send_scan(&to, s);
	if (good)
		AWAIT(read_folder(NULL, NULL) >= to.rules.books.images);
	if (pid > 0)
		(void)kill(pid, SIGTERM);
	a->init = wait_for(pid);
	a->scan = to.rules.books.refused || to.rules.books.code != 0 ? ENDED_REFUSED : ENDED_WELL;
	(void)snprintf(a->said, SAID, "%s", to.rules.books.text);
	(void)snprintf(a->why, sizeof(a->why), "%s", to.rules.books.text);
	a->rejected = to.rules.books.rejected;
	if (open)
		sender_close(&to);
	(void)read_folder(a, &good);
	if (!good || a->init != ENDED_WELL)
		read_log(a, in_folder("serve.log"));
	return good;
}
