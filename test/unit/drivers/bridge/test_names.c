/*
 * test/unit/drivers/bridge/test_names.c - which protocol a client's words stand for, and what is
 * known of a measurement's noise
 */
#include "drivers/bridge/names.h"
#include "drivers/bridge/noise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/wire/mrd.h"
#include "test/support/check.h"

static struct bs_site site = {
	.protocol = { { .name = "cart" }, { .name = "radial.xml" } },
	.protocols = 2,
	.mrd = { .config = { { "simplefft", "cart" }, { "header", "" }, { "cart", "radial.xml" } },
		 .configs = 3 }
};

static const struct bs_scan_info *header;

static bool finds(const char *config, const char *protocol)
{
	const char *found = NULL;
	struct bs_fail why = { 0 };
	const int rc = bs_names_find(&found, &site, config, header, &why);

	if (protocol == NULL)
		return rc == BS_ERR_PROTOCOL && found == NULL && why.text[0] != '\0';
	return rc == 0 && strcmp(found, protocol) == 0;
}

static void names(void)
{
	CHECK(finds("simplefft", "cart") && finds("simplefft.xml", "cart"),
	      "a row, with and without .xml");
	CHECK(finds("header", ""), "a row without a protocol: the header's own");
	CHECK(finds("cart", "radial.xml"), "a row goes before a protocol of that name");
	CHECK(finds("radial.xml", "radial.xml") && finds("radial", NULL),
	      "a protocol's name, whole");
	CHECK(finds("other", NULL) && finds(".xml", NULL) && finds("simplefft.xml.xml", NULL),
	      "none of them");
	CHECK(finds("", ""), "a text that is no name: the header's own");
	site.mrd.config[3] = (struct bs_mrd_config){ "*", "cart" };
	site.mrd.configs = 4;
	CHECK(finds("other", "cart") && finds("", "cart") && finds("header", ""),
	      "any other, where the site says so");
	site.mrd.configs = 3;
}

/* A header that one protocol alone is for, or two, or that names one. */
static void headers(void)
{
	static struct bs_scan_info info = { .encoded = { 64, 32, 1 },
					    .recon = { 32, 32, 1 },
					    .encodings = 1,
					    .trajectory_name = "cartesian",
					    .encoded_fov_mm = { 384, 192, 5 },
					    .fov_mm = { 192, 192, 5 } };

	site.protocol[0].method = BS_METHOD_CARTESIAN;
	site.protocol[0].dims = 2;
	site.protocol[0].coils = site.protocol[1].coils = 2;
	memcpy(site.protocol[0].matrix, info.recon, sizeof(info.recon));
	memcpy(site.protocol[0].encoded, info.encoded, sizeof(info.encoded));
	header = &info;
	CHECK(finds("t2_tse", "cart") && finds("openrecon", "cart") && finds("", "cart"),
	      "the one that takes such a header stands for any name");
	(void)strcpy(info.protocol, "radial.xml");
	CHECK(finds("openrecon", "") && finds("", "") && finds("t2_tse", "cart"),
	      "the header's own goes before it, where nothing else is named");
	info.protocol[0] = '\0';
	site.protocol[1] = site.protocol[0];
	(void)strcpy(site.protocol[1].name, "radial.xml");
	CHECK(finds("t2_tse", NULL) && finds("", NULL) && finds("header", ""),
	      "of two none is taken");
	info.channels = 8;
	CHECK(finds("t2_tse", NULL), "nor where receiverChannels are more than either has");
	site.protocol[1].coils = 8;
	CHECK(finds("t2_tse", "radial.xml"), "but the only one that has as many coils");
	info.channels = 16;
	CHECK(finds("t2_tse", NULL), "and none where both have fewer");
	info.channels = 4;
	CHECK(finds("t2_tse", "cart"), "the one that does not have more");
	info.channels = 0;
	header = NULL;
	CHECK(finds("openrecon", "") && finds("t2_tse", NULL),
	      "a header that cannot be read is the service's to refuse");
}

static bool reads(const char *text, size_t len, const char *wanted)
{
	char out[BS_NAMES_MAX];

	bs_names_config(out, (const unsigned char *)text, len);
	return strcmp(out, wanted) == 0;
}

static void configs(void)
{
	char longest[BS_NAMES_MAX + 1];

	CHECK(reads(" simplefft\r\n", 12, "simplefft") && reads("a b", 3, "a b"), "a name");
	CHECK(reads("<?xml?>", 7, "") && reads("{}", 2, "") && reads("", 0, "") &&
		      reads("a\tb", 3, "") && reads("a\0b", 3, "") && reads("\xc3\xa4", 2, "") &&
		      reads(" \n ", 3, ""),
	      "what is no name");
	memset(longest, 'x', sizeof(longest));
	CHECK(reads(longest, BS_NAMES_MAX, "") && !reads(longest, BS_NAMES_MAX - 1, ""),
	      "a name of %u bytes is too long", BS_NAMES_MAX);
}

static bool chooses(const char *json, const char *wanted)
{
	char out[BS_NAMES_MAX];
	const size_t n = strlen(json);
	char *copy = malloc(n > 0 ? n : 1); /* of this very size, for the sanitizer */
	bool is;

	memcpy(copy, json, n);
	is = bs_names_parameters(out, (unsigned char *)copy, n);
	free(copy);
	return wanted != NULL ? is && strcmp(out, wanted) == 0 : !is && out[0] == '\0';
}

static void parameters(void)
{
	static char deep[100001];

	CHECK(chooses("{\"parameters\": {\"config\": \"cart\", \"x\": [1, 2.5, null]}}", "cart"),
	      "parameters.config");
	CHECK(chooses("{\"parameters\": {\"config\": \"a\", \"customconfig\": \"b\"}}", "b") &&
		      chooses("{\"parameters\": {\"config\": \"a\", \"customconfig\": \"\"}}", "a"),
	      "customconfig, where it is not empty");
	CHECK(chooses("", NULL) && chooses("{", NULL) && chooses("[]", NULL) &&
		      chooses("{\"parameters\": 5}", NULL) && chooses("hello", NULL) &&
		      chooses("{\"parameters\": {\"config\": 5}}", NULL) &&
		      chooses("{\"config\": \"cart\"}", NULL) &&
		      chooses("{\"parameters\": {\"config\": \"\\u0001\"}}", NULL),
	      "what has none");
	memset(deep, '[', sizeof(deep) - 1);
	CHECK(chooses(deep, NULL), "100,000 levels");
}

static bool asks(const char *text, const char *wanted)
{
	char out[BS_NAME_MAX];
	const bool is = bs_names_noise(out, (const unsigned char *)text, strlen(text));

	return wanted != NULL ? is && strcmp(out, wanted) == 0 : !is;
}

/* Two channels; the first one's standard deviation is 2, the second one's 1. */
static size_t readout(unsigned char *out, uint64_t flags)
{
	struct bs_mrd_acq a = { .version = 1,
				.flags = flags,
				.number_of_samples = 500,
				.available_channels = 2,
				.active_channels = 2,
				.sample_time_us = 2.5f };
	uint64_t seed = 5;

	bs_mrd_put_acq(out, &a);
	for (size_t i = 0; i < 1000; i++) {
		/* uniform in a square: of a complex value side / sqrt(6) */
		const double side = (i < 500 ? 2.0 : 1.0) * sqrt(6.0);
		const float v[2] = { (float)(side * (check_uniform(&seed) - 0.5) + 3.0),
				     (float)(side * (check_uniform(&seed) - 0.5)) };

		memcpy(out + BS_MRD_ACQ_BYTES + 8 * i, v, 8);
	}
	return BS_MRD_ACQ_BYTES + 8000;
}

static double number(const char *words, const char *name)
{
	const char *at = strstr(words, name);

	return at != NULL ? strtod(at + strlen(name) + strlen("</name><value>"), NULL) : -1.0;
}

static void noise(void)
{
	static unsigned char acq[BS_MRD_ACQ_BYTES + 8000];
	static struct bs_bridge_noises all;
	struct bs_bridge_noise n;
	char words[1024];
	size_t len = readout(acq, BS_MRD_IS_NOISE);

	CHECK(asks("<value>GadgetronNoiseCovarianceMatrix_45387_66</value>", "45387_66") &&
		      asks("GadgetronNoiseCovarianceMatrix_", "") && asks("Gadgetron", NULL),
	      "a question about noise");
	bs_bridge_noise_begin(&n, "m1");
	for (int i = 0; i < 20; i++)
		bs_bridge_noise_add(&n, acq, len);
	bs_bridge_noise_add(&n, acq, len - 1);
	len = readout(acq, 0);
	bs_bridge_noise_add(&n, acq, len);
	CHECK(n.samples == 10000, "noise is counted, and nothing else");
	bs_bridge_noise_end(&n, &all);
	CHECK(bs_bridge_noise_words(words, sizeof(words), &all, "m1") == strlen(words) &&
		      strstr(words, "<value>success<") != NULL,
	      "a measurement that is known: %s", words);
	CHECK(number(words, "channels") == 2.0 && number(words, "noise_dwell_time_us") == 2.5 &&
		      fabs(number(words, "max_sigma") - 2.0) < 0.15 &&
		      fabs(number(words, "min_sigma") - 1.0) < 0.08 &&
		      fabs(number(words, "mean_sigma") - 1.5) < 0.1,
	      "its deviations, without the mean");
	(void)bs_bridge_noise_words(words, sizeof(words), &all, "m2");
	CHECK(strstr(words, "<value>failed<") != NULL, "another is not");
	(void)bs_bridge_noise_words(words, sizeof(words), &all, "");
	CHECK(strstr(words, "<value>failed<") != NULL, "nor one without a name");
	for (unsigned i = 0; i < BS_BRIDGE_NOISES; i++) {
		(void)snprintf(n.scan, sizeof(n.scan), "later%u", i);
		bs_bridge_noise_end(&n, &all);
	}
	(void)bs_bridge_noise_words(words, sizeof(words), &all, "m1");
	CHECK(strstr(words, "<value>failed<") != NULL, "the oldest goes");
	(void)bs_bridge_noise_words(words, sizeof(words), &all, "later0");
	CHECK(strstr(words, "<value>success<") != NULL, "the last %u stay", BS_BRIDGE_NOISES);
}

int main(void)
{
	names();
	headers();
	configs();
	parameters();
	noise();
	return check_done();
}
