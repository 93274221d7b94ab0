/*
 * test/unit/core/plan/test_scankey.c - keys that a scan sets for itself: what is taken of a header,
 * what a protocol lets pass, and what comes of it
 */
/* Holds: C5 */
#include "core/plan/scankey.h"

#include <math.h>
#include <string.h>

#include "ipc/wire/xml.h"
#include "test/support/check.h"

static struct bs_scan_info info;
static struct bs_fail why;

#define USER(name, value)                                                                          \
	"<userParameterDouble><name>" name "</name><value>" value "</value></userParameterDouble>"

static bool reads(const char *user)
{
	char xml[2000];

	(void)snprintf(xml, sizeof(xml),
		       "<ismrmrdHeader><encoding><encodedSpace><matrixSize><x>8</x><y>8</y><z>1</z>"
		       "</matrixSize></encodedSpace></encoding>%s</ismrmrdHeader>",
		       user);
	return bs_mrdxml_read(&info, xml, strlen(xml), &why) == 0;
}

static void headers(void)
{
	CHECK(reads("") && info.scan_keys == 0 && info.user_there == 0, "nothing is set");
	CHECK(reads("<userParameters>" USER("boreside_iterations", "5")
			    USER("boreside_venc", "60.5") "</userParameters>") &&
		      info.scan_keys == 3 && info.scan_value[0] == 5.0 &&
		      info.scan_value[1] == 60.5 && info.user_there == 1,
	      "two are set");
	CHECK(reads("<userParameters/>") && info.user_there == 0, "an empty one has no place");
	CHECK(reads("<userParameters>" USER("boreside_iterations", "5")
			    USER("boreside_iterations", "6") "</userParameters>") &&
		      info.scan_value[0] == 6.0,
	      "the last one counts");
	CHECK(reads("<userParameters><userParameterString><name>boreside_iterations</name><value>"
		    "7</value></userParameterString></userParameters>") &&
		      info.scan_value[0] == 7.0,
	      "a text that is a number");
	CHECK(reads("<userParameters>" USER("boreside_iterations", "many") "</userParameters>") &&
		      info.scan_keys == 1 && isnan(info.scan_value[0]),
	      "one that is none");
	CHECK(reads("<userParameters>" USER("boreside_lambda", "5") "</userParameters>") &&
		      info.scan_keys == 0 &&
		      strstr(info.remark, "boreside_lambda of the header is no key that a scan "
					  "sets: not used") != NULL,
	      "any other is said: '%s'", info.remark);
	CHECK(reads("<userParameters>" USER("BitsStored", "16") "</userParameters>") &&
		      info.bits_stored == 16,
	      "BitsStored");
}

static bool admits(uint32_t list, enum bs_scankey k, double value)
{
	const struct bs_protocol p = { .name = "p", .iterations = 20, .scan_keys = list };

	info = (struct bs_scan_info){ .scan_keys = 1u << k };
	info.scan_value[k] = value;
	why = (struct bs_fail){ 0 };
	return bs_scankey_admit(&p, &info, &why) == 0;
}

static bool refused(const char *words)
{
	return why.code != 0 && strcmp(why.text, words) == 0;
}

static void admission(void)
{
	CHECK(admits(1, BS_SCANKEY_ITERATIONS, 1.0) && admits(1, BS_SCANKEY_ITERATIONS, 20.0) &&
		      admits(3, BS_SCANKEY_VENC, 0.5),
	      "what is listed, in its range");
	CHECK(!admits(2, BS_SCANKEY_ITERATIONS, 5.0) &&
		      refused("ls.iterations of this scan: scan_keys of protocol 'p' does not "
			      "list it") &&
		      why.code == BS_ERR_CONFIG,
	      "what is not: %s", why.text);
	CHECK(!admits(1, BS_SCANKEY_ITERATIONS, 21.0) &&
		      refused("ls.iterations of this scan is 21: protocol 'p' takes 1 to 20, "
			      "whole"),
	      "more than are armed: %s", why.text);
	CHECK(!admits(1, BS_SCANKEY_ITERATIONS, 0.0) && !admits(1, BS_SCANKEY_ITERATIONS, 2.5) &&
		      !admits(1, BS_SCANKEY_ITERATIONS, -1e300) &&
		      !admits(3, BS_SCANKEY_VENC, 0.0) &&
		      !admits(3, BS_SCANKEY_VENC, (double)INFINITY),
	      "what is out of range");
	CHECK(!admits(1, BS_SCANKEY_ITERATIONS, (double)NAN) &&
		      refused("ls.iterations of this scan is no number: protocol 'p' takes 1 to "
			      "20, whole"),
	      "what is none: %s", why.text);
}

static void effects(void)
{
	char words[BS_SCANKEY_WORDS];

	info = (struct bs_scan_info){ .venc = 100.0f };
	CHECK(bs_scankey_iterations(&info, 0) == 0 && bs_scankey_iterations(&info, 10) == 10 &&
		      bs_scankey_words(words, info.scan_keys, info.scan_value)[0] == '\0',
	      "nothing is set");
	info.scan_keys = 3;
	info.scan_value[BS_SCANKEY_ITERATIONS] = 12.0;
	info.scan_value[BS_SCANKEY_VENC] = 60.0;
	CHECK(bs_scankey_iterations(&info, 0) == 12 && bs_scankey_iterations(&info, 10) == 10 &&
		      bs_scankey_iterations(&info, 15) == 12,
	      "both are");
	CHECK(strcmp(bs_scankey_words(words, info.scan_keys, info.scan_value),
		     "ls.iterations 12; image.venc 60") == 0,
	      "'%s'", words);
	CHECK(bs_scankey_find("venc") == BS_SCANKEY_VENC && bs_scankey_find("image.venc") < 0 &&
		      bs_scankey_find("") < 0,
	      "what scans call them");
}

int main(void)
{
	headers();
	admission();
	effects();
	return check_done();
}
