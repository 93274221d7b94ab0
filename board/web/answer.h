/* board/web/answer.h - one request of a browser; see web.h. The loop's thread alone. */
#ifndef BS_BOARD_WEB_ANSWER_H
#define BS_BOARD_WEB_ANSWER_H

#include <microhttpd.h>

#include "board/web/web.h"

/* libmicrohttpd calls these for a request and at its end. web: struct bs_web. */
enum MHD_Result bs_web_answer(void *web, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **own);
void bs_web_answered(void *web, struct MHD_Connection *c, void **own,
		     enum MHD_RequestTerminationCode why);
/* Resumes the connections that waited for a new document; call when one was put on a shelf. */
void bs_web_resume(struct bs_web *w);

#endif
