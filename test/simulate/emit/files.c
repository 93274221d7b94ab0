/* test/simulate/emit/files.c - folders of files as takers; see takers.h. drivers/sink/sink.h's
 * functions: a file takes its time, and is there whole, or not at all */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/sink/sink.h"
#include "test/simulate/emit/emit.h"
#include "test/simulate/emit/pictures.h"
#include "test/simulate/emit/takers.h"
#include "test/simulate/faults.h"
#include "test/simulate/places.h"
#include "test/simulate/process.h"

static struct folder {
	int64_t filed_ns[PICTURES]; /* by the wall clock; 0: it is not there */
} folder[PICTURE_SINKS];
static int64_t refuses_until_ns, hang_ns;
static bool refuses_one;
static unsigned refused;

void sinks_reset(void)
{
	memset(folder, 0, sizeof(folder));
	refused = 0;
	sinks_calm();
}

void sinks_calm(void)
{
	refuses_until_ns = hang_ns = 0;
	refuses_one = false;
}

unsigned sinks_refused(void)
{
	return refused;
}

/* PICTURES: none. */
static unsigned find(const struct bs_mrd_image *head)
{
	for (unsigned i = 0; i < pictures; i++)
		if ((uint32_t)picture[i].session == head->measurement_uid &&
		    (uint16_t)picture[i].seq == head->image_index)
			return i;
	return PICTURES;
}

static int refuse(struct bs_fail *why)
{
	return bs_fail(why, BS_ERR_IO, "a folder: %s", strerror(EROFS));
}

int __wrap_bs_sink_open(const struct bs_sink *sink, void **self, const char *target,
			struct bs_fail *why);
int __wrap_bs_sink_open(const struct bs_sink *sink, void **self, const char *target,
			struct bs_fail *why)
{
	(void)sink;
	SIM_PLACE();
	if (sim_now < refuses_until_ns)
		return refuse(why);
	*self = &folder[target[strlen(target) - 1] - '0'];
	return 0;
}

static int file(void *self, const struct bs_mrd_image *head, const char *attributes,
		const void *pixels, struct bs_fail *why)
{
	struct folder *f = self;
	unsigned i;

	SIM_PLACE();
	if (sim_now < refuses_until_ns)
		return refuse(why);
	if (refuses_one) {
		refuses_one = false;
		refused++;
		faults_strike(FAULT_SINK_ONE);
		return bs_fail(why, BS_ERR_SIZE, "an image that cannot be filed");
	}
	if (hang_ns != 0)
		faults_strike(FAULT_SINK_HANGS);
	process_wait(sim_now + 200000 + sim_below(3000000) + hang_ns, NULL, NULL);
	hang_ns = 0;
	SIM_PLACE();
	i = find(head);
	if (i != PICTURES && !pictures_are(i, pixels, attributes, strlen(attributes)))
		i = PICTURES;
	pictures_has((unsigned)(f - folder), i, false);
	if (i != PICTURES)
		f->filed_ns[i] = emit_clock();
	SIM_PLACE();
	return 0;
}

static bool is_there(void *self, const struct bs_mrd_image *head, int64_t since_ns)
{
	const struct folder *f = self;
	const unsigned i = find(head);

	return i != PICTURES && f->filed_ns[i] != 0 && f->filed_ns[i] >= since_ns;
}

int __wrap_bs_sink_close(const struct bs_sink *sink, void *self, struct bs_fail *why);
int __wrap_bs_sink_close(const struct bs_sink *sink, void *self, struct bs_fail *why)
{
	(void)sink;
	(void)self;
	(void)why;
	return 0;
}

const struct bs_sink *__wrap_bs_sink_find(const char *type_or_name);
const struct bs_sink *__wrap_bs_sink_find(const char *type_or_name)
{
	static const struct bs_sink sink = {
		.type = "cfl", .ext = ".cfl", .put = file, .has = is_there
	};

	(void)type_or_name;
	return &sink;
}

int __wrap_bs_folder_make(const char *path, unsigned mode, struct bs_fail *why);
int __wrap_bs_folder_make(const char *path, unsigned mode, struct bs_fail *why)
{
	(void)path;
	(void)mode;
	(void)why;
	return 0;
}

bool __wrap_bs_folder_gone(const char *path);
bool __wrap_bs_folder_gone(const char *path)
{
	(void)path;
	return false;
}

unsigned __wrap_bs_draft_sweep(const char *dir);
unsigned __wrap_bs_draft_sweep(const char *dir)
{
	(void)dir;
	return 0;
}

/* ---- faults ---- */

bool sinks_refuse(int64_t until_ns)
{
	refuses_until_ns = until_ns;
	return true;
}

bool sinks_hang(int64_t ns)
{
	if (hang_ns != 0)
		return false;
	hang_ns = ns;
	return true;
}

bool sinks_refuse_one(void)
{
	if (refuses_one)
		return false;
	refuses_one = true;
	return true;
}
