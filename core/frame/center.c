/* core/frame/center.c - see center.h, part.h */
#include "core/frame/center.h"

#include "core/frame/encoding.h"
#include "core/frame/part.h"
#include "core/text.h"

static bool fits(uint32_t line, uint32_t center, uint32_t size)
{
	const int64_t at = (int64_t)line - center + size / 2;

	return at >= 0 && at < (int64_t)size;
}

static bool fit(const struct bs_limit *l, uint32_t center, uint32_t size)
{
	return fits(l->min, center, size) && fits(l->max, center, size);
}

/*
 * The center that a readout says is believed. Limits of one line do not tell of other lines: there
 * that line itself must lie on the grid.
 */
static bool is_believed(uint32_t said, const struct bs_limit *l, uint32_t header, uint32_t size,
			uint32_t line)
{
	if (said == 0)
		return false;
	if (!l->given || l->max <= l->min)
		return fits(line, said, size);
	return fit(l, said, size) || !fit(l, header, size);
}

static void center_within(struct bs_center *c, const uint32_t size[2],
			  const struct bs_limit *const limits[2], const struct bs_mrd_idx *idx)
{
	for (int a = 0; a < 2; a++) {
		const struct bs_limit *l = limits[a];
		const uint32_t said = idx != NULL ? idx->user[5 + a] : 0;
		const uint32_t line = idx == NULL ? 0
				      : a == 0    ? idx->kspace_encode_step_1
						  : idx->kspace_encode_step_2;

		c->unsaid[a] = !l->given;
		c->header[a] = l->given ? l->center : size[a] / 2;
		c->told[a] = is_believed(said, l, c->header[a], size[a], line);
		c->line[a] = c->told[a] ? said : c->header[a];
	}
}

void bs_center_of(struct bs_center *c, const uint32_t size[2], const struct bs_scan_info *info,
		  const struct bs_mrd_idx *idx)
{
	center_within(c, size, (const struct bs_limit *[]){ &info->step1, &info->step2 }, idx);
}

void bs_center_place(int64_t line[2], struct bs_center *c, const uint32_t size[2],
		     const struct bs_scan_info *info, const struct bs_mrd_acq *head)
{
	const int64_t step[2] = { head->idx.kspace_encode_step_1, head->idx.kspace_encode_step_2 };
	const struct bs_mrd_encoding *e = bs_encoding_of(info, head);

	if (e != NULL)
		center_within(c, &e->encoded[1],
			      (const struct bs_limit *[]){ &e->step1, &e->step2 }, &head->idx);
	else
		bs_center_of(c, size, info, &head->idx);
	for (int a = 0; a < 2; a++)
		line[a] = step[a] + (int64_t)(size[a] / 2) - c->line[a];
}

float bs_center_energy(const float *data, size_t stride, uint32_t channels, uint32_t samples)
{
	float sum[8] = { 0.0f };
	float energy = 0.0f;

	for (uint32_t c = 0; c < channels; c++) {
		const float *d = data + 2 * stride * c;
		size_t i = 0;

		for (; i + 8 <= 2 * (size_t)samples; i += 8)
			for (int j = 0; j < 8; j++)
				sum[j] += d[i + j] * d[i + j];
		for (; i < 2 * (size_t)samples; i++)
			sum[i % 8] += d[i] * d[i];
	}
	for (int j = 0; j < 8; j++)
		energy += sum[j];
	return energy;
}

/* Finds the span of the lines that came. came [n]: not 0 where a line came. */
static struct bs_span span_of(const uint8_t *came, uint32_t n)
{
	struct bs_span s = { n, 0, 1 };
	uint32_t gap[2] = { 1, 1 }; /* width of the first gap between lines, and of the last one */
	int64_t sides;

	for (uint32_t i = 0; i < n; i++) {
		if (!came[i])
			continue;
		if (s.to > 0) {
			gap[1] = i + 1 - s.to;
			gap[0] = s.to == s.from + 1 ? gap[1] : gap[0];
			s.widest = gap[1] > s.widest ? gap[1] : s.widest;
		}
		s.from = s.to == 0 ? i : s.from;
		s.to = i + 1;
	}
	sides = ((int64_t)(n / 2) - s.from) - ((int64_t)s.to - 1 - n / 2);
	if (s.to == 0 || (sides <= s.widest && -sides <= s.widest))
		return (struct bs_span){ 0, n, s.widest };
	return (struct bs_span){ s.from < gap[0] ? 0 : s.from - (gap[0] - 1),
				 n - s.to < gap[1] ? n : s.to + (gap[1] - 1), s.widest };
}

void bs_center_spans(struct bs_span spans[2], const uint8_t *lines, const uint32_t size[2])
{
	uint8_t came[2][4096] = { { 0 } };

	for (uint32_t z = 0; z < size[1] && z < 4096; z++)
		for (uint32_t y = 0; y < size[0] && y < 4096; y++)
			if (lines[(size_t)z * size[0] + y])
				came[0][y] = came[1][z] = 1;
	for (int a = 0; a < 2; a++)
		spans[a] = span_of(came[a], size[a]);
}

/* Returns true if partial Fourier leaves this axis as zeros. at: the strongest line. */
static bool is_unknown(const struct bs_span *s, uint32_t size, bool told, uint32_t at)
{
	const int64_t low = (int64_t)(size / 2) - s->from;
	const int64_t high = (int64_t)s->to - 1 - size / 2;
	const int64_t shorter = low < high ? low : high;
	const int64_t less = low < high ? high - low : low - high;
	const int64_t off = (int64_t)at - size / 2;
	int64_t most = (shorter < less ? shorter : less) / 4;

	if (s->from == 0 && s->to == size)
		return false;
	if (most < s->widest)
		most = s->widest;
	return shorter < 1 || (!told && (off > most || -off > most));
}

uint32_t bs_center_unknown(const struct bs_center *c, const uint32_t size[2], const uint8_t *lines,
			   uint32_t strongest)
{
	const uint32_t at[2] = { strongest % size[0], strongest / size[0] };
	struct bs_span spans[2];
	uint32_t axes = 0;

	bs_center_spans(spans, lines, size);
	for (int a = 0; a < 2; a++)
		if (is_unknown(&spans[a], size[a], c->told[a], at[a]))
			axes |= 1u << a;
	return axes;
}

/* ---- words ---- */

static const char *const what[2] = { "line", "partition" };

static const char *by_header(const struct bs_center *c, int axis)
{
	return c->unsaid[axis] ? "in the middle of the grid" : "by the header";
}

const char *bs_center_words(char *out, size_t cap, const struct bs_center *c)
{
	struct bs_text t = { out, cap, 0, cap == 0 };

	if (cap > 0)
		out[0] = '\0';
	for (int a = 0; a < 2; a++)
		if (c->line[a] != c->header[a])
			bs_text_put(&t, "%s%s %u by idx.user[%d] of the readouts, not %u as %s",
				    bs_text_between(&t), what[a], c->line[a], 5 + a, c->header[a],
				    by_header(c, a));
	return out;
}

const char *bs_center_unknown_words(char *out, size_t cap, const struct bs_center *c,
				    const uint32_t size[2], uint32_t axes, uint32_t strongest)
{
	const uint32_t at[2] = { strongest % size[0], strongest / size[0] };
	struct bs_text t = { out, cap, 0, cap == 0 };
	bool first = true;

	if (cap > 0)
		out[0] = '\0';
	for (int a = 0; a < 2; a++)
		if ((axes >> a & 1u) && c->told[a])
			bs_text_put(&t, "%snot filled: the center, %s %u, was not measured",
				    bs_text_between(&t), what[a], c->line[a]);
	for (int a = 0; a < 2; a++) {
		if (!(axes >> a & 1u) || c->told[a])
			continue;
		if (first)
			bs_text_put(&t,
				    "%snot filled, the center is not known (readouts say none "
				    "that fits)",
				    bs_text_between(&t));
		bs_text_put(&t, "%s %s %u %s, the strongest is %lld", first ? ":" : ",", what[a],
			    c->line[a], by_header(c, a),
			    (long long)at[a] + c->line[a] - size[a] / 2);
		first = false;
	}
	return out;
}
