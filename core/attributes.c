/* core/attributes.c - see attributes.h */
#include "core/attributes.h"

#include <stdarg.h>
#include <stdio.h>

struct text {
	char *out;
	size_t cap, len;
	bool full;
};

static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->out + t->len, t->cap - t->len, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->cap - t->len)
		t->full = true;
	else
		t->len += (size_t)n;
}

static void put_escaped(struct text *t, const char *s)
{
	for (; *s != '\0'; s++)
		switch (*s) {
		case '<':
			put(t, "&lt;");
			break;
		case '>':
			put(t, "&gt;");
			break;
		case '&':
			put(t, "&amp;");
			break;
		default:
			put(t, "%c", *s);
		}
}

static void put_text(struct text *t, const char *name, const char *value)
{
	put(t, "<meta><name>%s</name><value>", name);
	put_escaped(t, value);
	put(t, "</value></meta>");
}

static void put_count(struct text *t, const char *name, uint64_t value)
{
	put(t, "<meta><name>%s</name><value>%llu</value></meta>", name, (unsigned long long)value);
}

int bs_attributes_write(char *out, size_t cap, const struct bs_protocol *p, const char *engine,
			const struct bs_recon_image *image, const struct bs_image_timing *timing)
{
	struct text t = { out, cap, 0, cap == 0 };
	bool late = !image->preview && p->image_ms > 0.0 &&
		    (double)timing->latency_ns > p->image_ms * 1e6;

	put(&t, "<ismrmrdMeta>");
	put_text(&t, "boreside_protocol", p->name);
	put_text(&t, "boreside_engine", engine);
	put_text(&t, "boreside_quality",
		 image->missing != 0           ? "partial"
		 : late                        ? "late"
		 : image->report.deadline_stop ? "degraded"
					       : "complete");
	if (image->preview)
		put_count(&t, "boreside_preview", image->head.image_index);
	put_count(&t, "boreside_readouts", image->readouts);
	put_count(&t, "boreside_missing", image->missing);
	put_count(&t, "boreside_gaps", timing->gaps);
	put_count(&t, "boreside_duplicates", timing->duplicates);
	put_count(&t, "boreside_rejected", timing->rejected);
	if ((p->method == BS_METHOD_LS || p->method == BS_METHOD_SENSE) && !image->preview) {
		put(&t, "<meta><name>boreside_lambda</name><value>%.9g</value></meta>", p->lambda);
		put_count(&t, "boreside_iterations", image->report.iterations);
		put(&t, "<meta><name>boreside_residual</name><value>%.6e</value></meta>",
		    image->report.residual);
		put_count(&t, "boreside_deadline_stop", image->report.deadline_stop);
	}
	if (timing->latency_ns > 0)
		put(&t, "<meta><name>boreside_latency_us</name><value>%.3f</value></meta>",
		    (double)timing->latency_ns * 1e-3);
	if (timing->sender_ns != 0)
		put(&t, "<meta><name>boreside_sender_ns</name><value>%lld</value></meta>",
		    (long long)timing->sender_ns);
	if (p->image_ms > 0.0 && !image->preview) {
		put(&t, "<meta><name>boreside_budget_ms</name><value>%.6g</value></meta>",
		    p->image_ms);
		if (timing->latency_ns > 0)
			put_text(&t, "boreside_budget", late ? "missed" : "met");
	}
	put(&t, "</ismrmrdMeta>");
	return t.full ? BS_ERR_NOMEM : (int)t.len;
}
