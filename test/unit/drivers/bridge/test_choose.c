/*
 * test/unit/drivers/bridge/test_choose.c - what of a console's JSON parameters sets a scan's keys,
 * and the header that they stand in then
 */
#include "drivers/bridge/names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/wire/xml.h"
#include "test/support/check.h"

#define ENCODING                                                                                   \
	"<encoding><encodedSpace><matrixSize><x>8</x><y>8</y><z>1</z></matrixSize></encodedSpace>" \
	"</encoding>"

static const struct bs_protocol both = { .name = "both", .iterations = 20, .scan_keys = 3 };
static struct bs_chosen set;

static void hears(const char *json)
{
	const size_t n = strlen(json);
	unsigned char *copy = malloc(n > 0 ? n : 1); /* of this very size, for the sanitizer */

	if (copy == NULL)
		abort();
	memcpy(copy, json, n);
	set = (struct bs_chosen){ 0 };
	bs_chosen_read(&set, copy, n);
	free(copy);
}

static void values(void)
{
	static const char later[] = "{\"parameters\": {\"venc\": 2}}";

	hears("{\"parameters\": {\"iterations\": 5, \"venc\": \"60.5\", \"lambda\": 3}}");
	CHECK(set.given == 3 && set.value[0] == 5.0 && set.value[1] == 60.5,
	      "numbers, and texts that are some");
	hears("{\"parameters\": {\"iterations\": null}}");
	CHECK(set.given == 0, "null is nothing");
	hears("{\"parameters\": {\"iterations\": true, \"venc\": \"\"}}");
	CHECK(set.given == 3 && isnan(set.value[0]) && isnan(set.value[1]), "what is no number");
	hears("{\"parameters\": {\"iterations\": {}}}");
	CHECK(set.given == 1 && isnan(set.value[0]), "an object is none");
	hears("{\"parameters\": null}");
	CHECK(set.given == 0, "no parameters");
	hears("{\"iterations\": 5}");
	CHECK(set.given == 0, "what stands elsewhere");
	hears("DEBUG    hello");
	CHECK(set.given == 0, "no JSON");
	hears("{\"parameters\": {\"venc\": 1}}");
	bs_chosen_read(&set, (const unsigned char *)later, strlen(later));
	CHECK(set.given == 2 && set.value[1] == 2.0, "the later text counts");
}

static void lists(void)
{
	const struct bs_protocol one = { .name = "one", .scan_keys = 2 };
	char words[BS_SCANKEY_WORDS];

	hears("{\"parameters\": {\"iterations\": 5, \"venc\": 60}}");
	CHECK(!bs_chosen_drop(&set, &both, words, sizeof(words)) && set.given == 3, "both listed");
	CHECK(bs_chosen_drop(&set, &one, words, sizeof(words)) && set.given == 2 &&
		      strcmp(words, "parameters 'iterations'") == 0,
	      "one of them: '%s'", words);
	CHECK(bs_chosen_drop(&set, NULL, words, sizeof(words)) && set.given == 0 &&
		      strcmp(words, "parameters 'venc'") == 0,
	      "of no protocol: '%s'", words);
}

/* What stands in the header then; "": it was refused. */
static const char *written(const char *xml)
{
	static struct bs_scan_info info;
	static char out[2000];
	size_t len = strlen(xml);
	unsigned char *copy = malloc(len);
	struct bs_fail why = { 0 };

	if (copy == NULL || bs_mrdxml_read(&info, xml, len, &why) != 0)
		abort();
	memcpy(copy, xml, len);
	if (bs_chosen_write(&set, &both, &info, &copy, &len, &why) != 0)
		(void)snprintf(out, sizeof(out), "refused: %s", why.text);
	else
		(void)snprintf(out, sizeof(out), "%.*s", (int)len, (const char *)copy);
	free(copy);
	return out;
}

#define FIVE                                                                                       \
	"<userParameterDouble><name>boreside_iterations</name><value>5</value>"                    \
	"</userParameterDouble>"

static void headers(void)
{
	hears("{\"parameters\": {\"iterations\": 5}}");
	CHECK(strcmp(written("<ismrmrdHeader>" ENCODING "</ismrmrdHeader>"),
		     "<ismrmrdHeader>" ENCODING "<userParameters>" FIVE
		     "</userParameters></ismrmrdHeader>") == 0,
	      "a group of its own: %s", written("<ismrmrdHeader>" ENCODING "</ismrmrdHeader>"));
	CHECK(strcmp(written("<ismrmrdHeader>" ENCODING
			     "<userParameters><userParameterLong><name>a</name><value>1</value>"
			     "</userParameterLong></userParameters></ismrmrdHeader>"),
		     "<ismrmrdHeader>" ENCODING
		     "<userParameters><userParameterLong><name>a</name><value>1</value>"
		     "</userParameterLong>" FIVE "</userParameters></ismrmrdHeader>") == 0,
	      "behind those that are there");
	CHECK(strstr(written("<m:ismrmrdHeader xmlns:m=\"x\">" ENCODING
			     "<m:userParameters/></m:ismrmrdHeader><!-- </m:ismrmrdHeader> -->"),
		     "/><userParameters>" FIVE "</userParameters></m:ismrmrdHeader><!--") != NULL,
	      "names with a prefix, an empty group, a comment behind all");
	hears("{\"parameters\": {\"iterations\": 21}}");
	CHECK(strcmp(written("<ismrmrdHeader>" ENCODING "</ismrmrdHeader>"),
		     "refused: ls.iterations of this scan is 21: protocol 'both' takes 1 to 20, "
		     "whole") == 0,
	      "out of range");
	hears("{\"parameters\": {\"iterations\": []}}");
	CHECK(strstr(written("<ismrmrdHeader>" ENCODING "</ismrmrdHeader>"),
		     "refused: ls.iterations of this scan is no number") != NULL,
	      "no number");
}

int main(void)
{
	values();
	lists();
	headers();
	return check_done();
}
