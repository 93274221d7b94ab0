/* test/peers/wants.c - see wants.h */
#include "test/peers/wants.h"

#include <stdio.h>
#include <string.h>

/* A whole number stands there. */
static bool says_whole(const char *meta, const char *name)
{
	char words[80];
	const char *at;

	(void)snprintf(words, sizeof(words), "<name>%s</name><value>", name);
	at = strstr(meta, words);
	return at != NULL && at[strlen(words) + strspn(at + strlen(words), "0123456789")] == '<';
}

const char *wants_meta(const struct console_image *m, bool directions)
{
	const char *const wanted[] = {
		m->kind == 2 ? "<name>DataRole</name><value>Quantitative<"
			     : "<name>DataRole</name><value>Image<",
		"<name>ImageProcessingHistory</name>",
		"<name>SequenceDescriptionAdditional</name>",
		"<name>Keep_image_geometry</name><value>1<",
		"<name>boreside_scale</name>",
	};
	static const char row[] = "<name>ImageRowDir</name><value>-1.000000000000000000</value>"
				  "<value>0.000000000000000000</value>";
	static const char column[] = "<name>ImageColumnDir</name><value>0.000000000000000000"
				     "</value><value>1.000000000000000000</value>";

	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (strstr(m->meta, wanted[i]) == NULL)
			return wanted[i];
	if (strstr(m->meta, "ImageTypeValue3") != NULL || strstr(m->meta, "IceMiniHead") != NULL)
		return "meta that consoles reject";
	if (!says_whole(m->meta, "WindowCenter") || !says_whole(m->meta, "WindowWidth"))
		return "a window in fractions";
	if (directions && (strstr(m->meta, row) == NULL || strstr(m->meta, column) == NULL))
		return "directions";
	return "";
}

bool wants_levels(const struct console *c)
{
	static const char *const level[] = { "DEBUG    ", "INFO     ", "WARNING  ", "ERROR    ",
					     "CRITICAL " };
	char words[sizeof(c->said)];
	bool good = true;

	memcpy(words, c->said, sizeof(words));
	for (char *at = strtok(words, "\n"); at != NULL; at = strtok(NULL, "\n")) {
		bool is = false;

		for (unsigned i = 0; i < sizeof(level) / sizeof(level[0]); i++)
			is = is || strncmp(at, level[i], 9) == 0;
		good = good && is;
	}
	return good;
}
