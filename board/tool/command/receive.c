/* board/tool/command/receive.c - boreside receive: an archive that asks, and has each image once */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/command/tools.h"
#include "board/emit/folder.h"
#include "core/log.h"
#include "core/thread/clock.h"
#include "drivers/file/draft.h"
#include "drivers/log/cursor.h"
#include "drivers/sink/sink.h"
#include "drivers/tool/written.h"
#include "ipc/collector.h"
#include "ipc/seal/keys.h"
#include "ipc/wire/wire.h"

#define MIB ((size_t)1 << 20)

struct request {
	const char *config, *url, *dir, *name, *type, *key, *service;
	uint32_t message_mib;
	bool once;
};

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", AT(config),
	  .help = "the site file: its endpoints.images is asked" },
	{ BS_OPTION_TEXT, 0, "url", "URL", AT(url), .help = "the socket itself, in place of -c" },
	{ BS_OPTION_TEXT, 0, "key", "FILE", AT(key), .help = BS_COMMAND_KEY_HELP },
	{ BS_OPTION_TEXT, 0, "service-key", "KEY", AT(service),
	  .help = BS_COMMAND_SERVICE_KEY_HELP },
	{ BS_OPTION_TEXT, 'o', "output", "DIR", AT(dir),
	  .help = "the folder of the images and of the cursor; made where it is not there",
	  .required = true },
	{ BS_OPTION_TEXT, 0, "name", "NAME", AT(name),
	  .help = "what the service knows this archive by (archive)" },
	{ BS_OPTION_TEXT, 0, "type", "TYPE", AT(type),
	  .help = "the files' format, as sinks[].type of a site file (mrd)" },
	{ BS_OPTION_U32, 0, "message", "MIB", AT(message_mib), .help = "the largest image (512)",
	  .min = 1, .max = 2047 },
	{ BS_OPTION_FLAG, 0, "once", NULL, AT(once), .help = "ends when nothing follows" },
	{ 0 },
};

struct job {
	struct request q;
	struct bs_collector images;
	struct bs_seal_keys keys;
	bool sealed;
	const struct bs_sink *sink;
	char cursor[BS_DRAFT_PATH], url[BS_PATH_MAX_];
	int lock;
	uint64_t filed;
	void *pixels; /* aligned copy of the pixels, which the message holds at any address */
	char *attributes;
	size_t pixels_room, attributes_room;
};

static int grow(void **memory, size_t *room, size_t bytes, struct bs_fail *why)
{
	void *more;

	if (bytes <= *room)
		return 0;
	more = realloc(*memory, bytes);
	if (more == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "an image of %zu bytes", bytes);
	*memory = more;
	*room = bytes;
	return 0;
}

/*
 * Writes an image to a file named by its number. If the program is killed between file and cursor,
 * the image comes again and replaces the same file.
 */
static int file_image(struct job *j, uint64_t number, const struct bs_mrd_image *head,
		      struct bs_fail *why)
{
	char path[BS_DRAFT_PATH + 128];
	void *self;
	int rc;
	int end;

	(void)snprintf(path, sizeof(path), "%s/uid%08x-s%05u-i%05u-n%016" PRIx64 "%s", j->q.dir,
		       head->measurement_uid, head->image_series_index, head->image_index, number,
		       j->sink->ext);
	rc = bs_sink_open(j->sink, &self, path, why);
	if (rc != 0)
		return rc;
	rc = bs_sink_put(j->sink, self, head, j->attributes, j->pixels, why);
	end = bs_sink_close(j->sink, self, rc == 0 ? why : NULL);
	return rc != 0 ? rc : end;
}

/* Writes an image to its file, then its number to the cursor. */
static int keep_image(struct job *j, const struct bs_asked *image, struct bs_fail *why)
{
	int rc = grow((void **)&j->attributes, &j->attributes_room, image->attributes_len + 1, why);

	if (rc == 0)
		rc = grow(&j->pixels, &j->pixels_room, image->pixels_len + 1, why);
	if (rc != 0)
		return rc;
	memcpy(j->attributes, image->attributes, image->attributes_len);
	j->attributes[image->attributes_len] = '\0';
	memcpy(j->pixels, image->pixels, image->pixels_len);
	rc = file_image(j, j->images.hand, &image->head, why);
	return rc == 0 ? bs_cursor_put(j->cursor, j->images.hand, true, why) : rc;
}

static int receive_images(struct job *j, struct bs_fail *why)
{
	while (!*bs_command_stop()) {
		struct pollfd fd = { j->images.socket.receive_fd, POLLIN, 0 };
		struct bs_asked image;
		int rc = bs_collector_take(&j->images, &image, bs_now_ns(), why);

		if (rc < 0)
			return rc;
		if (rc == 1 && keep_image(j, &image, why) == 0) {
			bs_collector_release(&j->images, true);
			j->filed++;
			continue;
		}
		if (rc == 1)
			bs_collector_later(&j->images, bs_now_ns(), why);
		if (j->q.once && j->images.none_ns != 0)
			return 0;
		(void)bs_endpoint_wait(&fd, 1, bs_collector_due(&j->images), NULL);
	}
	return 0;
}

static int find_url(struct job *j)
{
	struct bs_site *site;
	bool off;
	int rc;

	if (j->q.url != NULL) {
		(void)snprintf(j->url, sizeof(j->url), "%s", j->q.url);
		rc = bs_command_seal(&j->keys, NULL, j->url, j->q.key, j->q.service);
		j->sealed = rc > 0;
		return rc < 0;
	}
	site = bs_command_site(j->q.config);
	if (site == NULL)
		return 1;
	off = site->images_url[0] == '\0';
	(void)snprintf(j->url, sizeof(j->url), "%s", site->images_url);
	rc = bs_command_seal(&j->keys, site, j->url, j->q.key, j->q.service);
	j->sealed = rc > 0;
	free(site);
	if (rc < 0)
		return 1;
	return off ? bs_command_fail("%s: endpoints.images is off: nobody may ask", j->q.config)
		   : 0;
}

static int prepare_job(struct job *j, struct bs_fail *why)
{
	uint64_t has = 0;
	int rc = bs_folder_make(j->q.dir, 0750, why);

	if (rc == 0)
		rc = bs_folder_lock(&j->lock, j->q.dir, "boreside.lock", why);
	if (rc != 0)
		return rc;
	(void)bs_draft_sweep(j->q.dir);
	(void)snprintf(j->cursor, sizeof(j->cursor), "%.900s/%s" BS_CURSOR_SUFFIX, j->q.dir,
		       j->q.name);
	rc = bs_cursor_get(j->cursor, &has, why);
	bs_collector_open(&j->images, j->q.name, has);
	if (rc == 0)
		rc = bs_endpoint_connect_sealed(&j->images.socket, BS_ENDPOINT_IMAGES_ASK, j->url,
						j->q.message_mib * MIB, j->sealed ? &j->keys : NULL,
						why);
	return rc;
}

static int run_receive(void *request)
{
	struct job *j = request;
	struct bs_fail why = { 0 };
	char types[BS_SINK_WORDS];
	int rc;

	if ((j->q.config == NULL) == (j->q.url == NULL))
		return bs_options_wrong("one of -c FILE and --url URL");
	if (!bs_wire_taker_good(j->q.name))
		return bs_options_wrong("--name '%s': letters, digits, '.', '_' and '-', 63 at "
					"most, the first no '.'",
					j->q.name);
	j->sink = bs_sink_find(j->q.type);
	if (j->sink == NULL || strcmp(j->sink->type, j->q.type) != 0)
		return bs_options_wrong("--type '%s': %s", j->q.type,
					bs_sink_words(types, sizeof(types), false));
	bs_log_init("receive", BS_LOG_INFO);
	if (find_url(j) != 0)
		return 1;
	rc = prepare_job(j, &why);
	if (rc == 0) {
		bs_log(BS_LOG_INFO, "'%s' has all up to %" PRIu64 "; asks %s", j->q.name,
		       j->images.has, j->url);
		rc = receive_images(j, &why);
		bs_log(BS_LOG_INFO, "%" PRIu64 " images filed, up to %" PRIu64 "; %" PRIu64 " gaps",
		       j->filed, j->images.has, j->images.missed);
	}
	if (rc != 0) {
		bs_log(BS_LOG_ERROR, "%s: %s", bs_err_name(rc), why.text);
	}
	bs_collector_close(&j->images);
	bs_seal_wipe_bytes(&j->keys, sizeof(j->keys));
	free(j->pixels);
	free(j->attributes);
	return rc == 0 ? 0 : 1;
}

const struct bs_command bs_command_receive = {
	.name = "receive",
	.summary = "be an archive that asks the service for each image, exactly once",
	.options = options,
	.notes = "Images lie in DIR, each named by its scan and its number; DIR/NAME.cursor is the "
		 "number of the last one. Killed at any moment and started again it goes on.",
	.request = &(struct job){ .q = { .name = "archive", .type = "mrd", .message_mib = 512 },
				  .images = { .socket = { .socket = -1 } } },
	.run = run_receive,
};
