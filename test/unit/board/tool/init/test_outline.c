/*
 * test/unit/board/tool/init/test_outline.c - a site file is what was put into it, whatever that
 * was
 */
#define _GNU_SOURCE /* mkdtemp, open_memstream */
#include "board/tool/init/outline.h"

#include <stdlib.h>
#include <string.h>

#include "test/support/check.h"
#include "config/config.h"

static char dir[] = "/tmp/bs_outline.XXXXXX";
static struct bs_outline outline;
static struct bs_site site;

static void print(void *arg, const char *line)
{
	(void)arg;
	printf("# %s\n", line);
}

static void protocol(struct bs_outline *o)
{
	memset(o, 0, sizeof(*o));
	bs_outline_put(o, "name", "\"p\"", "%s", "its name");
	bs_outline_put(o, "method", "\"cartesian\"", NULL);
	bs_outline_put(o, "matrix", "[64, 48]", NULL);
	bs_outline_put(o, "encoded", "[128, 48]", NULL);
	bs_outline_put(o, "coils", "2", NULL);
	bs_outline_put(o, "samples", "128", NULL);
	bs_outline_put(o, "readouts", "48", NULL);
}

/* Written to a file, read back by the loader into site; the text, to be freed. */
static char *written(int *loaded)
{
	const struct bs_outline_node node = { .from = "/a \"b\"\n};/scan.h5",
					      .title = "site.cfg",
					      .mrd = BS_OUTLINE_NONE,
					      .web = BS_OUTLINE_NONE };
	char path[80];
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	bs_outline_write(to, &outline, &node);
	(void)fclose(to);
	(void)snprintf(path, sizeof(path), "%s/site.cfg", dir);
	to = fopen(path, "w");
	(void)fwrite(text, 1, size, to);
	(void)fclose(to);
	*loaded = bs_config_load(&site, path, print, NULL);
	(void)remove(path);
	return text;
}

int main(void)
{
	char quoted[64];
	char *text;
	char *at;
	int rc;

	if (mkdtemp(dir) == NULL)
		return 1;
	protocol(&outline);
	bs_outline_put(&outline, "image.combine", "\"none\"", NULL);
	bs_outline_put(&outline, "coils", "3", "%d coils", 3);
	bs_outline_put(&outline, "image.output", "\"complex\"", "%s", "both\nof them };");
	bs_outline_off(&outline, "noise.whiten", "\"auto\"", "noise");
	bs_outline_off(&outline, "averages", "4", NULL);
	bs_outline_put(&outline, "contrasts", "2", NULL);
	bs_outline_drop(&outline, "contrasts");
	bs_outline_drop(&outline, "never there");
	bs_outline_say(&outline, "%0200d %0100d", 1, 2);
	text = written(&rc);
	CHECK(rc == 0, "the loader takes it");
	CHECK(site.protocols == 1 && site.protocol[0].coils == 3, "put takes the place of a key");
	CHECK(site.protocol[0].combine == BS_COMBINE_NONE &&
		      site.protocol[0].output == BS_OUTPUT_COMPLEX,
	      "keys of a group stand in it");
	CHECK(strstr(text, "image: {") != NULL &&
		      strstr(strstr(text, "image: {") + 1, "image: {") == NULL,
	      "which stands once");
	CHECK(site.protocol[0].whiten == BS_WHITEN_OFF && site.protocol[0].averages == 1 &&
		      strstr(text, "# noise: { whiten = \"auto\"; };") != NULL &&
		      strstr(text, "# averages = 4;") != NULL,
	      "what is off is a comment");
	CHECK(site.protocol[0].contrasts == 1, "what was dropped is gone");
	CHECK(strcmp(site.sink[0].type, "png") == 0 && site.archive_url[0] == '\0',
	      "with sinks, and no archive");
	for (at = text; *at != '\0'; at += strcspn(at, "\n") + 1)
		if (strcspn(at, "\n") > 320)
			break;
	CHECK(*at == '\0', "comments are cut into lines");
	free(text);
	CHECK(strcmp(bs_outline_quoted(quoted, sizeof(quoted), "a\"b\\c"), "\"a\\\"b\\\\c\"") == 0,
	      "quotes: %s", quoted);
	protocol(&outline);
	bs_outline_put(&outline, "name", bs_outline_quoted(quoted, sizeof(quoted), "a\"b\\c"),
		       NULL);
	text = written(&rc);
	free(text);
	CHECK(rc == 0 && strcmp(site.protocol[0].name, "a\"b\\c") == 0,
	      "a name with quotes comes back: %s", site.protocol[0].name);
	CHECK(!outline.full, "all of it had room");
	for (unsigned i = 0; i <= BS_OUTLINE_ROWS; i++) {
		(void)snprintf(quoted, sizeof(quoted), "key%u", i);
		bs_outline_put(&outline, quoted, "1", NULL);
	}
	CHECK(outline.full && outline.rows == BS_OUTLINE_ROWS, "rows beyond the room are said");
	(void)rmdir(dir);
	return check_done();
}
