/* drivers/bridge/client.c - an MRD client's conversation; see client.h */
#include "drivers/bridge/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "ipc/wire/xml.h"

#define S               INT64_C(1000000000)
#define WHOLE_NS        (60 * S) /* longest time from a message's first byte to its last */
#define SERVICE_NS      (60 * S) /* longest silence of the service */
#define COMPLAINTS_TOLD 8u

void bs_client_begin(struct bs_client *c, struct bs_client_env *env, int fd, int64_t now_ns)
{
	memset(c, 0, sizeof(*c));
	c->env = env;
	c->fd = fd;
	c->need = 2;
	c->heard_ns = c->wrote_ns = c->since_ns = now_ns;
}

static void enter(struct bs_client *c, enum bs_client_state state, int64_t now_ns)
{
	c->state = state;
	c->since_ns = now_ns;
}

static void end_feed(struct bs_client *c)
{
	if (!c->passing && !c->feeding)
		return;
	if (c->feeding)
		bs_feed_close(&c->feed);
	c->feeding = c->passing = c->finish_due = false;
	c->env->scans--;
	c->env->ended++;
}

static void drop_connection(struct bs_client *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	c->fd = -1;
	bs_buffer_free(&c->in);
	bs_buffer_free(&c->out);
	bs_buffer_free(&c->album.bytes);
}

void bs_client_free(struct bs_client *c)
{
	end_feed(c);
	drop_connection(c);
	free(c->xml);
	c->xml = NULL;
}

void bs_client_gone(struct bs_client *c, int64_t now_ns)
{
	if (c->fd < 0)
		return;
	drop_connection(c);
	if (c->state != BS_CLIENT_LINGERING && c->state != BS_CLIENT_CONFIG &&
	    bs_client_may_log(c->env, now_ns))
		bs_log(BS_LOG_WARN, "%s: the client is gone%s", c->peer,
		       c->feeding ? "; its scan ends with what came" : "");
	c->finish_due = c->feeding;
	enter(c, BS_CLIENT_LINGERING, now_ns);
}

/* ---- a scan's start ---- */

static bool passes(const struct bs_client *c)
{
	const struct bs_protocol *p = bs_site_protocol(c->env->site, c->protocol);

	return p != NULL && p->plan.passes;
}

static void open_scan(struct bs_client *c, int64_t now_ns)
{
	struct bs_fail why = { 0 };
	int rc;

	if (passes(c)) {
		c->passing = true;
		c->env->scans++;
		c->env->opened++;
		enter(c, BS_CLIENT_STREAMING, now_ns);
		return;
	}
	rc = bs_feed_open(&c->feed, c->env->site, c->env->ring, &why);
	c->feed.answered = bs_client_answered;
	c->feed.arg = c;

	if (rc == 0) {
		c->feeding = true;
		c->env->scans++;
		rc = bs_feed_begin(&c->feed, c->protocol, (const char *)c->xml, c->xml_len, &why);
	}
	if (rc != 0) {
		end_feed(c);
		bs_client_fail(c, &why, now_ns);
		return;
	}
	c->session = c->feed.sender.session;
	bs_album_begin(&c->album, &c->form, c->env->newest);
	free(c->xml);
	c->xml = NULL;
	c->env->opened++;
	bs_log(BS_LOG_INFO, "%s: session %016llx, protocol '%s'", c->peer,
	       (unsigned long long)c->session, c->protocol);
	enter(c, BS_CLIENT_OPENING, now_ns);
}

/* Writes the keys that parameters set into the header; names those that the protocol forbids. */
static int set_chosen(struct bs_client *c, const struct bs_scan_info *info, struct bs_fail *why)
{
	const struct bs_protocol *p = bs_site_protocol(
		c->env->site, c->protocol[0] != '\0' ? c->protocol : info->protocol);
	char words[BS_SCANKEY_WORDS];

	if (bs_chosen_drop(&c->set, p, words, sizeof(words)))
		bs_client_text(c, BS_SAY_WARNING,
			       "%s: not used, scan_keys of protocol '%s' does "
			       "not list it",
			       words, p != NULL ? p->name : "");
	return c->set.given == 0 ? 0 : bs_chosen_write(&c->set, p, info, &c->xml, &c->xml_len, why);
}

static int choose_protocol(struct bs_client *c, struct bs_fail *why)
{
	static struct bs_scan_info info;
	const struct bs_site *site = c->env->site;
	const bool readable = bs_mrdxml_read(&info, (const char *)c->xml, c->xml_len, NULL) == 0;
	const int rc = bs_names_find(&c->protocol, site, c->config, readable ? &info : NULL, why);

	if (rc != 0)
		return rc;
	if (c->config[0] != '\0' && !bs_names_known(site, c->config))
		bs_client_text(
			c, BS_SAY_INFO, "config '%.60s' is none of this site's: %s%s", c->config,
			c->protocol[0] != '\0' ? "protocol " : "the header's, or the only one",
			c->protocol);
	c->form = (struct bs_form){ .as = site->mrd.pixels };
	if (!readable) /* the service itself refuses such a header, in words */
		return 0;
	bs_bridge_noise_begin(&c->noise, info.measurement);
	bs_form_by(&c->form, &info);
	return set_chosen(c, &info, why);
}

/* Opens the scan, or lets it wait: config, header and parameters are here. */
static void ask_for_scan(struct bs_client *c, int64_t now_ns)
{
	struct bs_fail why = { 0 };

	if (c->chosen[0] != '\0')
		memcpy(c->config, c->chosen, sizeof(c->config));
	if (choose_protocol(c, &why) != 0) {
		bs_client_fail(c, &why, now_ns);
		return;
	}
	enter(c, BS_CLIENT_WAITING, now_ns);
	if (c->env->scans < c->env->site->mrd.sessions)
		open_scan(c, now_ns);
}

/* ---- messages ---- */

/* True if the client may send this message now. After a header, any message but TEXT begins the
 * scan. */
static bool may(const struct bs_client *c, enum bs_bridge_id id)
{
	switch (c->state) {
	case BS_CLIENT_CONFIG:
		return id == BS_BRIDGE_CONFIG_FILE || id == BS_BRIDGE_CONFIG_TEXT ||
		       id == BS_BRIDGE_TEXT || id == BS_BRIDGE_QUERY || id == BS_BRIDGE_CLOSE;
	case BS_CLIENT_HEADER:
		return id == BS_BRIDGE_HEADER || id == BS_BRIDGE_TEXT || id == BS_BRIDGE_QUERY ||
		       id == BS_BRIDGE_CLOSE;
	default:
		return id == BS_BRIDGE_TEXT || id == BS_BRIDGE_ACQUISITION ||
		       id == BS_BRIDGE_WAVEFORM || id == BS_BRIDGE_IMAGE || id == BS_BRIDGE_CLOSE;
	}
}

static void refuse_order(struct bs_client *c, unsigned id, int64_t now_ns)
{
	static const char *const wanted[] = { "a config (id 1 or 2)", "a header (id 3)" };
	struct bs_fail why;

	if (c->state <= BS_CLIENT_HEADER)
		(void)bs_fail(&why, BS_ERR_STATE, "a message of id %u came before %s", id,
			      wanted[c->state]);
	else
		(void)bs_fail(&why, BS_ERR_STATE, "a message of id %u came within a scan", id);
	bs_client_fail(c, &why, now_ns);
}

/*
 * Takes a TEXT before a scan: parameters, in JSON as a rule. If they name a known config, it
 * replaces the one of the CONFIG message, since protocols saved on consoles hold old names.
 */
static void take_text(struct bs_client *c, const struct bs_bridge_message *m)
{
	char name[BS_NAMES_MAX];
	char words[400];

	if (bs_names_unused(words, sizeof(words), m->body, m->len))
		bs_client_text(c, BS_SAY_WARNING, "%s: not used", words);
	bs_chosen_read(&c->set, m->body, m->len);
	if (!bs_names_parameters(name, m->body, m->len))
		return;
	if (bs_names_known(c->env->site, name))
		memcpy(c->chosen, name, sizeof(name));
	else
		bs_client_text(c, BS_SAY_WARNING, "parameters.config '%.60s': not known here",
			       name);
}

static void take_config(struct bs_client *c, const struct bs_bridge_message *m, int64_t now_ns)
{
	bs_names_config(c->config, m->body, m->len);
	if (m->id == BS_BRIDGE_CONFIG_TEXT)
		c->asks_noise = bs_names_noise(c->noise_scan, m->body, m->len);
	enter(c, BS_CLIENT_HEADER, now_ns);
}

static void take_header(struct bs_client *c, const struct bs_bridge_message *m, int64_t now_ns)
{
	const struct bs_fail why = { BS_ERR_NOMEM, "no memory for the header" };

	c->xml = malloc(m->len + 1);
	if (c->xml == NULL) {
		bs_client_fail(c, &why, now_ns);
		return;
	}
	memcpy(c->xml, m->body, m->len);
	c->xml_len = m->len;
	enter(c, BS_CLIENT_PARAMETERS, now_ns);
}

/* Forwards a readout or a waveform to the service. False: the sender's ring is full for now. */
static bool forward(struct bs_client *c, const struct bs_bridge_message *m, int64_t now_ns)
{
	struct bs_sender *s = &c->feed.sender;
	struct bs_fail why = { 0 };
	const unsigned kind = m->id == BS_BRIDGE_ACQUISITION ? BS_WIRE_ACQ : BS_WIRE_WAVEFORM;
	int rc;

	if (s->state != BS_SENDER_STREAMING)
		return true; /* the service has ended the scan: its outcome follows */
	rc = bs_sender_put(s, kind, m->body, m->len, now_ns, &why);
	if (rc == BS_SENDER_FULL)
		return false;
	if (rc != 0)
		bs_client_fail(c, &why, now_ns);
	else if (m->id == BS_BRIDGE_ACQUISITION)
		bs_bridge_noise_add(&c->noise, m->body, m->len);
	return true;
}

/* Under a protocol that passes images: sends an image or a waveform back as it came. */
static void pass(struct bs_client *c, const struct bs_bridge_message *m, int64_t now_ns)
{
	const struct bs_fail why = { BS_ERR_NOMEM, "no memory for what goes back" };

	c->passed += m->id == BS_BRIDGE_IMAGE;
	c->unused += m->id == BS_BRIDGE_ACQUISITION;
	c->env->images += m->id == BS_BRIDGE_IMAGE;
	if (m->id != BS_BRIDGE_ACQUISITION &&
	    bs_buffer_add(&c->out, m->body - 2, m->total, SIZE_MAX / 2) != 0)
		bs_client_fail(c, &why, now_ns);
}

static void end_pass(struct bs_client *c, int64_t now_ns)
{
	const struct bs_fail why = { BS_ERR_LENGTH, "no image came to be passed through" };

	if (c->unused > 0)
		bs_client_text(c, BS_SAY_WARNING,
			       "%llu readouts came: protocol '%s' passes images through, and does "
			       "not use them",
			       (unsigned long long)c->unused, c->protocol);
	if (c->passed == 0)
		bs_client_fail(c, &why, now_ns);
	else
		bs_client_close(c, now_ns);
}

/* Handles a message that comes before a header. */
static void handle_early(struct bs_client *c, const struct bs_bridge_message *m, int64_t now_ns)
{
	switch (m->id) {
	case BS_BRIDGE_CONFIG_FILE:
	case BS_BRIDGE_CONFIG_TEXT:
		take_config(c, m, now_ns);
		break;
	case BS_BRIDGE_HEADER:
		take_header(c, m, now_ns);
		break;
	case BS_BRIDGE_TEXT:
		take_text(c, m);
		break;
	case BS_BRIDGE_QUERY:
		bs_client_answer(c, m);
		break;
	case BS_BRIDGE_CLOSE: /* no scan follows: the client only asked, perhaps about noise */
		if (c->asks_noise)
			bs_client_noise(c);
		bs_client_close(c, now_ns);
		break;
	case BS_BRIDGE_RESPONSE:
	case BS_BRIDGE_ACQUISITION:
	case BS_BRIDGE_DEPENDENCY:
	case BS_BRIDGE_IMAGE:
	case BS_BRIDGE_WAVEFORM:
		break;
	}
}

/* Handles a message. False: the message has to wait. */
static bool handle(struct bs_client *c, const struct bs_bridge_message *m, int64_t now_ns)
{
	if (!may(c, m->id)) {
		refuse_order(c, m->id, now_ns);
		return true;
	}
	if (c->state <= BS_CLIENT_HEADER) {
		handle_early(c, m, now_ns);
		return true;
	}
	if (c->state == BS_CLIENT_PARAMETERS && m->id == BS_BRIDGE_TEXT) {
		take_text(c, m);
		return true;
	}
	if (c->state < BS_CLIENT_STREAMING)
		return false;
	if (m->id == BS_BRIDGE_TEXT)
		return true;
	if (c->passing && m->id != BS_BRIDGE_CLOSE) {
		pass(c, m, now_ns);
	} else if (c->passing) {
		end_pass(c, now_ns);
	} else if (m->id == BS_BRIDGE_ACQUISITION || m->id == BS_BRIDGE_WAVEFORM) {
		return forward(c, m, now_ns);
	} else if (m->id == BS_BRIDGE_IMAGE) {
		if (c->unused++ == 0)
			bs_client_text(c, BS_SAY_WARNING,
				       "an image came: it is not used (a protocol of method pass "
				       "returns images)");
	} else {
		c->finish_due = true;
		enter(c, BS_CLIENT_ENDING, now_ns);
	}
	return true;
}

void bs_client_took(struct bs_client *c, int64_t now_ns)
{
	struct bs_bridge_message m;
	struct bs_fail why = { 0 };
	int rc = 0;

	c->blocked = false;
	while (c->state <= BS_CLIENT_STREAMING) {
		const unsigned char *front = bs_buffer_front(&c->in);

		rc = bs_bridge_look(&m, front, c->in.len, &c->env->limits, &c->need, &why);
		/* refused before the rest comes */
		if (rc == 0 && c->in.len >= 2 && !may(c, m.id)) {
			refuse_order(c, m.id, now_ns);
			return;
		}
		if (rc >= 0 && c->in.len >= 2 && c->state == BS_CLIENT_PARAMETERS &&
		    m.id != BS_BRIDGE_TEXT && may(c, m.id))
			ask_for_scan(c, now_ns);
		if (c->state == BS_CLIENT_LINGERING)
			return;
		if (rc <= 0)
			break;
		c->began_ns = 0;
		if (!handle(c, &m, now_ns)) {
			c->blocked = c->state != BS_CLIENT_LINGERING;
			return;
		}
		if (c->state == BS_CLIENT_LINGERING)
			return;
		bs_buffer_taken(&c->in, m.total);
		c->need = 2;
	}
	if (c->state > BS_CLIENT_STREAMING)
		return;
	c->blocked = c->state == BS_CLIENT_WAITING;
	if (rc < 0)
		bs_client_fail(c, &why, now_ns);
	else if (c->blocked)
		c->began_ns = 0;
	else if (c->in.len > 0 && c->began_ns == 0)
		c->began_ns = now_ns;
}

/* ---- the scan's end ---- */

/* Tells the client which single messages the service refused; the scan goes on. */
static void tell_complaints(struct bs_client *c)
{
	const struct bs_sender *s = &c->feed.sender;

	if (s->complaints == c->told)
		return;
	if (c->told < COMPLAINTS_TOLD)
		bs_client_text(c, BS_SAY_WARNING, "%s: %s", bs_err_name(s->complaint.code),
			       s->complaint.text);
	c->told = s->complaints;
}

/* Ends the feed when the service has sent the scan's outcome. */
static void over(struct bs_client *c, int64_t now_ns)
{
	struct bs_fail why = { .code = c->feed.sender.code };

	bs_bridge_noise_end(&c->noise, &c->env->noises);
	if (c->state == BS_CLIENT_LINGERING) {
		end_feed(c);
	} else if (c->feed.sender.refused) {
		(void)snprintf(why.text, sizeof(why.text), "%s", c->feed.sender.outcome.text);
		end_feed(c);
		bs_client_fail(c, &why, now_ns);
	} else {
		c->outcome = c->feed.sender.outcome;
		end_feed(c);
		enter(c, BS_CLIENT_DRAINING, now_ns);
	}
}

static void advance_scan(struct bs_client *c, int64_t now_ns)
{
	struct bs_sender *s = &c->feed.sender;
	struct bs_fail why = { 0 };
	int rc = bs_feed_step(&c->feed, &why);

	if (rc == 0 && now_ns - s->heard_ns > SERVICE_NS && s->state != BS_SENDER_ENDED)
		rc = bs_fail(&why, BS_ERR_TIMEOUT, "the service said nothing for %lld s",
			     (long long)(SERVICE_NS / S));
	if (rc != 0) {
		end_feed(c);
		bs_client_fail(c, &why, now_ns);
		return;
	}
	tell_complaints(c);
	if (c->finish_due && s->state == BS_SENDER_OPENING && c->state == BS_CLIENT_LINGERING)
		end_feed(c); /* the scan has no readout yet, and its client has gone */
	if (c->finish_due && s->state == BS_SENDER_STREAMING)
		c->finish_due = bs_sender_finish(s, now_ns, &why) != 0;
	if (c->feeding && s->state == BS_SENDER_ENDED)
		over(c, now_ns);
	else if (c->state == BS_CLIENT_OPENING && s->state == BS_SENDER_STREAMING)
		enter(c, BS_CLIENT_STREAMING, now_ns);
	/* sends the messages that were put, or the close */
	if (c->feeding && bs_feed_step(&c->feed, &why) != 0) {
		end_feed(c);
		bs_client_fail(c, &why, now_ns);
	}
}

/* Fails a client that has been silent for too long, or whose message takes too long. */
static void check_time(struct bs_client *c, int64_t now_ns)
{
	const int64_t silent = now_ns - c->heard_ns;
	const int64_t idle_ns = (int64_t)(c->env->site->mrd.idle_s * 1e9);
	struct bs_fail why = { 0 };

	if (c->fd < 0 || c->blocked || c->state > BS_CLIENT_STREAMING)
		return;
	if (c->began_ns != 0 && (silent > BS_CLIENT_HELLO_NS || now_ns - c->began_ns > WHOLE_NS))
		(void)bs_fail(&why, BS_ERR_TIMEOUT,
			      "a message that was begun did not come whole: %zu of %zu bytes",
			      c->in.len, c->need);
	else if (c->state <= BS_CLIENT_HEADER && silent > BS_CLIENT_HELLO_NS)
		(void)bs_fail(&why, BS_ERR_TIMEOUT, "nothing came for %lld s",
			      (long long)(BS_CLIENT_HELLO_NS / S));
	else if ((c->state == BS_CLIENT_PARAMETERS || c->state == BS_CLIENT_STREAMING) &&
		 silent > idle_ns)
		(void)bs_fail(&why, BS_ERR_TIMEOUT, "nothing came for %g s (bridges.mrd.idle_s)",
			      c->env->site->mrd.idle_s);
	if (why.code != 0)
		bs_client_fail(c, &why, now_ns);
}

static void advance_waiting(struct bs_client *c, int64_t now_ns)
{
	struct bs_fail why = { 0 };

	if (c->env->scans < c->env->site->mrd.sessions) {
		open_scan(c, now_ns);
	} else if (now_ns - c->since_ns > (int64_t)(c->env->site->mrd.wait_s * 1e9)) {
		(void)bs_fail(&why, BS_ERR_STATE,
			      "%u scan%s of other clients did not end within %g s "
			      "(bridges.mrd.sessions, wait_s)",
			      c->env->scans, c->env->scans == 1 ? "" : "s",
			      c->env->site->mrd.wait_s);
		bs_client_fail(c, &why, now_ns);
	}
}

void bs_client_advance(struct bs_client *c, int64_t now_ns)
{
	if (c->state == BS_CLIENT_WAITING)
		advance_waiting(c, now_ns);
	if (c->state == BS_CLIENT_LINGERING && c->passing)
		end_feed(c);
	if (c->feeding)
		advance_scan(c, now_ns);
	if (c->blocked) {
		bs_client_took(c, now_ns);
		c->heard_ns = now_ns; /* nothing was read while blocked: not the client's silence */
	}
	if (c->state == BS_CLIENT_DRAINING && bs_album_done(&c->album) &&
	    (c->env->none_ns > c->since_ns || now_ns - c->since_ns > SERVICE_NS)) {
		bs_client_outcome(c);
		bs_client_close(c, now_ns);
	}
	check_time(c, now_ns);
}
