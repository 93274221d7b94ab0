/*
 * test/simulate/books.h - what became of each message, by those who sent it and those who saw it
 *
 * One book for each scan of a sender. Promises are judged by it: what the network brought to the
 * service, what the service acknowledged, what it named as missing, what the reconstruction saw.
 * A readout says in its header which scan it is of (user_int) and its number (scan_counter); its
 * samples follow from both.
 */
#ifndef BS_TEST_SIMULATE_BOOKS_H
#define BS_TEST_SIMULATE_BOOKS_H

#include "core/mrd.h"
#include "ipc/wire/wire.h"
#include "test/simulate/simulate.h"

#define BOOKS        128u  /* scans of a schedule */
#define BOOK_NUMBERS 4096u /* messages of a scan */
#define BOOK_SAMPLES 16u   /* of a readout */
#define BOOK_LINES   8u    /* of a frame */

enum book_mark {
	MARK_ACQ = 1,       /* the sender: a readout */
	MARK_BAD = 2,       /* the sender: one that the service must refuse */
	MARK_DELIVERED = 4, /* the network: the service had it, whole */
	MARK_GAP = 8,       /* the service named it as missing */
	MARK_OWED = 16,     /* acknowledged, and not named before */
	MARK_LATE = 32,     /* it came after it was named as missing */
	MARK_THIS_RUN = 64, /* this run of the reconstruction did */
	MARK_LOGGED = 128,  /* a log has it */
};

/* Of a readout: it is answered; was named as missing once. Then by row of the protocol's answers, a
 * bit for each of three: said; in a log. */
enum book_answer { ANSWER_OF = 1, ANSWER_GAP = 2, ANSWER_SAID = 4, ANSWER_LOGGED = 32 };

struct book {
	uint64_t session;
	unsigned link;                  /* its sender's */
	bool asks;                      /* for answers */
	uint64_t answers, answers_late; /* that were said; that were dropped, as the service says */
	uint64_t numbers; /* messages that were made, CLOSE included; their numbers start at 1 */
	uint64_t acqs, bad;
	bool closed; /* CLOSE was made */
	bool accepted;
	uint64_t held, durable; /* acknowledged; durable where a log says so */
	uint64_t freed;         /* the highest number that its sender heard is durable */
	uint64_t excused;       /* numbers up to this one a disk has lost that promised nothing */
	uint64_t unprotected;   /* of these the log lacks so many, it was said */
	bool relaxed;           /* a loss of power may take what is durable */
	bool lost;              /* a process that held some of it has died */
	bool killed;            /* ingest was, while it took this scan */
	bool whole;             /* the outcome said that all is well */
	bool opened;            /* the reconstruction was told of it, */
	uint64_t scan;          /* by this number */
	bool ended;             /* the reconstruction has made its last image */
	bool over;              /* it had, and was given the scan again */
	uint64_t made;          /* then: readouts that it has seen in this run */
	uint64_t gaps;          /* that the service named */
	uint64_t late;          /* came after they were named as missing */
	bool told, returned;    /* its outcome was heard; its sender came back */
	bool over_ingest, over_recon, over_service; /* one was killed within it */
	bool comes_first;  /* it was closed and durable when all of the service was */
	bool second;       /* it was accepted while another waited for its outcome */
	bool passed;       /* its last image has left, and nothing was missing that is not named */
	uint64_t whole_to; /* these came, or were named as missing, */
	int64_t lacks_ns;  /* and one beyond them came then; 0: none has */
	uint64_t hasty;    /* named as missing before they can have come again */
	bool overran;      /* its sender sent more than it may */
	int64_t passed_ns; /* when its last image has left, of the service that lives; or 0 */
	bool over_said;    /* the service has said its outcome, in its log lines, */
	unsigned behind;   /* and that of so many scans since */
	unsigned untold;   /* scans before it without an outcome when it began */
	bool says_log;     /* the outcome of a scan that is well named a log, */
	char log[64];      /* of that name, */
	uint64_t lacks;    /* and how many messages that lacks */
	bool endless;      /* the service said in words that its log cannot be sealed */
	bool named;        /* the service said in words that it is not whole, or does not go on */
	uint8_t mark[BOOK_NUMBERS];
	uint8_t answer[BOOK_NUMBERS];
};

void books_reset(void);
struct book *books_open(uint64_t session, unsigned link, bool asks);
/* From 0. NULL: no more. */
struct book *books_number(unsigned i);
/* NULL: no sender's. */
struct book *books_find(uint64_t session);

/* Its sender has made number seq; wave: it is no readout; bad: the service must refuse it. flags:
 * a readout's. */
void books_sent(struct book *b, uint64_t seq, bool wave, bool bad, uint64_t flags);
/* Scans that were begun after it, or had not ended when it began. */
unsigned books_beside(const struct book *b);

/* The payload of number seq of a session; out has room for it. Returns its bytes. */
#define BOOK_ACQ_BYTES (BS_MRD_ACQ_BYTES + BOOK_SAMPLES * 8u)
size_t books_acq(unsigned char out[BOOK_ACQ_BYTES], const struct book *b, uint64_t seq, bool bad,
		 uint64_t flags);

/* The service took this from its socket. True: a header or a close. */
bool books_delivered(const unsigned char *msg, size_t len);
/* The service says this to its sender. */
void books_answered(const unsigned char *msg, size_t len);
/* The sender hears this. */
void books_heard(const struct bs_wire *w, const unsigned char *payload, size_t len);
/* The service says that these are missing. */
void books_gap(uint64_t session, uint64_t first, uint64_t count);
/* The reconstruction saw this. */
void books_saw(const struct bs_mrd_acq *head, const float *samples);
void books_recon_opens(uint64_t session, uint64_t scan);
void books_recon_ends(uint64_t session);
/* The last image of the scan of this number has left. */
void books_passed(uint64_t scan);
/* The service has said its outcome, whether its sender hears it or not. */
void books_over(uint64_t session);
/* The service's outcome of it is not that all is well; or these words name it, by its log. Another
 * scan's header is no reason to end one that is closed and durable. */
void books_named(uint64_t session, const char *words);
void books_said(const char *words);
/* Its successor begins. */
void books_recon_gone(void);
/* The disk has lost what it was not told to sync: by its own fault, or with the power. */
void books_relaxed_lost(void);
void books_power_lost(void);
/* Ingest is gone; its successor goes on with the scan. */
void books_killed(void);
/* Nobody is left who knows of any scan. */
void books_forgotten(void);
/* A process that may hold some of the scans is gone: today they may end without it, in words. */
void books_lost(void);
/* At rest: each scan that is closed and durable is made whole, or named. */
void books_judge_made(void);

#endif
