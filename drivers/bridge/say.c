/* drivers/bridge/say.c - texts and answers to an MRD client; see client.h */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/text.h"
#include "core/version.h"
#include "drivers/bridge/client.h"
#include "ipc/wire/xml.h"

#define LOG_NS    INT64_C(10000000000)
#define LOG_LINES 20u

static void put(struct bs_client *c, const void *bytes, size_t len)
{
	if (c->fd >= 0 && !c->shut)
		(void)bs_buffer_add(&c->out, bytes, len, BS_CLIENT_OUT_MOST);
}

/* Sends a message of words; without words, one that ends the conversation. */
static void say(struct bs_client *c, enum bs_bridge_id id, uint64_t correlation, const char *words,
		size_t len)
{
	unsigned char head[BS_BRIDGE_HEAD];

	put(c, head, bs_bridge_put(head, id, correlation, len));
	put(c, words, len);
}

void bs_client_text(struct bs_client *c, const char *level, const char *fmt, ...)
{
	char words[1024];
	va_list args;
	int n;

	n = snprintf(words, sizeof(words), "%s ", level);
	va_start(args, fmt);
	(void)vsnprintf(words + n, sizeof(words) - (size_t)n, fmt, args);
	va_end(args);
	say(c, BS_BRIDGE_TEXT, 0, words, strlen(words));
}

void bs_client_close(struct bs_client *c, int64_t now_ns)
{
	say(c, BS_BRIDGE_CLOSE, 0, "", 0);
	c->state = BS_CLIENT_LINGERING;
	c->since_ns = now_ns;
	bs_buffer_free(&c->in);
	bs_album_end(&c->album);
}

bool bs_client_may_log(struct bs_client_env *env, int64_t now_ns)
{
	if (env->said_ns == 0 || now_ns - env->said_ns > LOG_NS) {
		if (env->unsaid > 0)
			bs_log(BS_LOG_WARN, "%u more such lines about clients were left out",
			       env->unsaid);
		env->said = env->unsaid = 0;
		env->said_ns = now_ns;
	}
	if (env->said == LOG_LINES) {
		env->unsaid++;
		return false;
	}
	env->said++;
	return true;
}

void bs_client_fail(struct bs_client *c, const struct bs_fail *why, int64_t now_ns)
{
	const int len =
		(int)(why->code == BS_ERR_XML ? bs_mrdxml_bare(why->text) : strlen(why->text));

	if (c->state == BS_CLIENT_LINGERING)
		return;
	if (bs_client_may_log(c->env, now_ns))
		bs_log(BS_LOG_WARN, "%s: %s: %.*s", c->peer, bs_err_name(why->code), len,
		       why->text);
	bs_client_text(c, BS_SAY_ERROR, "%s: %s", bs_err_name(why->code), why->text);
	c->env->refused++;
	(void)snprintf(c->env->error, sizeof(c->env->error), "%s: %s: %.*s", c->peer,
		       bs_err_name(why->code), len < 90 ? len : 90, why->text);
	c->finish_due = c->feeding;
	bs_client_close(c, now_ns);
}

void bs_client_outcome(struct bs_client *c)
{
	const struct bs_wire_outcome *o = &c->outcome;
	const unsigned long long images = c->album.images;

	if (o->code != 0)
		bs_client_text(c, o->images > 0 ? BS_SAY_WARNING : BS_SAY_ERROR, "%s: %s",
			       bs_err_name(o->code), o->text);
	else if (o->text[0] != '\0')
		bs_client_text(c, BS_SAY_INFO, "%s", o->text);
	if (images < o->images || c->album.lost > 0)
		bs_client_text(c, BS_SAY_WARNING,
			       "%llu of %llu images are here: the others were not there any more "
			       "when they were asked for (overload.spill_dir keeps them)",
			       images, (unsigned long long)o->images);
	if (o->code != 0) {
		c->env->refused++;
		(void)snprintf(c->env->error, sizeof(c->env->error), "%s: session %016llx: %s",
			       c->peer, (unsigned long long)c->session, bs_err_name(o->code));
	}
	bs_log(images < o->images ? BS_LOG_WARN : BS_LOG_INFO,
	       "%s: session %016llx ended: %s; acquisitions: %llu, images: %llu", c->peer,
	       (unsigned long long)c->session, o->code == 0 ? "whole" : bs_err_name(o->code),
	       (unsigned long long)o->acquisitions, images);
}

void bs_client_noise(struct bs_client *c)
{
	char words[1024];
	const size_t n =
		bs_bridge_noise_words(words, sizeof(words), &c->env->noises, c->noise_scan);

	say(c, BS_BRIDGE_DEPENDENCY, 0, words, n);
}

void bs_client_answer(struct bs_client *c, const struct bs_bridge_message *query)
{
	static const char info[] = "Boreside " BS_VERSION ", MRD (ISMRMRD 1) over TCP\n";
	static const char version[] = "1.4.1";
	static const char unknown[] = "Unknown query";
	const char *words = unknown;

	if (query->len == 15 && memcmp(query->body, "gadgetron::info", 15) == 0)
		words = info;
	else if (query->len == 16 && memcmp(query->body, "ismrmrd::version", 16) == 0)
		words = version;
	say(c, BS_BRIDGE_RESPONSE, query->correlation, words, strlen(words));
}

void bs_client_answered(void *client, const struct bs_answer *a)
{
	struct bs_client *c = client;
	char words[512 + 32 * BS_ANSWER_NUMBERS];
	struct bs_text t = { words, sizeof(words), 0, false };

	if (c->out.len > BS_CLIENT_OUT_HIGH) /* the client does not read: it would come too late */
		return;
	bs_text_put(&t,
		    "{\"boreside_answer\": {\"what\": \"%s\", \"scan_counter\": %u, \"image\": %u, "
		    "\"count\": %u, \"row\": %u, \"left_us\": %lld",
		    bs_answer_name(a->what), a->scan_counter, a->image, a->count, a->row,
		    (long long)(a->by_ns - a->computed_ns) / 1000);
	if (a->deviation >= 0.0 && isfinite(a->deviation))
		bs_text_put(&t, ", \"deviation\": %.17g", a->deviation);
	bs_text_put(&t, ", \"numbers\": [");
	for (uint32_t i = 0; i < a->numbers; i++)
		if (isfinite(a->number[i]))
			bs_text_put(&t, "%s%.17g", i > 0 ? ", " : "", a->number[i]);
		else
			bs_text_put(&t, "%snull", i > 0 ? ", " : "");
	bs_text_put(&t, "]}}");
	say(c, BS_BRIDGE_TEXT, 0, words, t.len);
}
