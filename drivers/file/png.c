/* drivers/file/png.c - see png.h */
#include "drivers/file/png.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct target {
	struct bs_draft *draft;
	struct bs_fail *why;
	int rc;
};

static void on_write(png_structp png, png_bytep bytes, png_size_t len)
{
	struct target *t = png_get_io_ptr(png);

	t->rc = bs_draft_write(t->draft, bytes, len, t->why);
	if (t->rc != 0)
		png_error(png, "write");
}

static void on_flush(png_structp png)
{
	(void)png; /* flushes nothing: commit syncs the draft */
}

static void on_error(png_structp png, png_const_charp message)
{
	struct target *t = png_get_error_ptr(png);

	if (t->rc == 0)
		t->rc = bs_fail(t->why, BS_ERR_IO, "%s: libpng: %s", t->draft->temp, message);
	png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
	(void)png;
	(void)message;
}

static void put_texts(png_structp png, png_infop info, const struct bs_montage *m,
		      const char *title, const char *description)
{
	char window[64];
	const char *key[] = { "Software", "Title", "Window", "Description" };
	const char *text[] = { "Boreside", title, window, description };
	png_text chunk[4];
	int n = 0;

	(void)snprintf(window, sizeof(window), "0 to %.9g (99.7 percentile)", m->window);
	memset(chunk, 0, sizeof(chunk));
	for (int i = 0; i < 4; i++) {
		if (text[i] == NULL || text[i][0] == '\0')
			continue;
		chunk[n].compression = PNG_ITXT_COMPRESSION_NONE;
		chunk[n].key = (png_charp)(uintptr_t)key[i]; /* libpng copies key and text */
		chunk[n].text = (png_charp)(uintptr_t)text[i];
		n++;
	}
	png_set_text(png, info, chunk, n);
}

/* Makes every libpng call that may jump back to write's setjmp. */
static void put_all(png_structp png, png_infop info, const struct bs_montage *m, const char *title,
		    const char *description, unsigned char *row)
{
	png_set_IHDR(png, info, m->columns * m->nx, m->rows * m->ny, 8, PNG_COLOR_TYPE_GRAY,
		     PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	put_texts(png, info, m, title, description);
	png_set_compression_level(png, 4);
	png_write_info(png, info);
	for (uint32_t y = 0; y < m->rows * m->ny; y++) {
		bs_montage_row(m, y, row);
		png_write_row(png, row);
	}
	png_write_end(png, info);
}

int bs_pngfile_write(struct bs_draft *d, const struct bs_montage *m, const char *title,
		     const char *description, struct bs_fail *why)
{
	struct target t = { d, why, 0 };
	unsigned char *row = malloc((size_t)m->columns * m->nx);
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &t, on_error, on_warning);
	png_infop info = png != NULL ? png_create_info_struct(png) : NULL;

	if (row == NULL || info == NULL) {
		t.rc = bs_fail(why, BS_ERR_NOMEM, "%s: no memory for a PNG", d->temp);
	} else {
		png_set_write_fn(png, &t, on_write, on_flush);
		if (setjmp(png_jmpbuf(png)) == 0)
			put_all(png, info, m, title, description, row);
	}
	if (png != NULL)
		png_destroy_write_struct(&png, &info);
	free(row);
	return t.rc;
}
