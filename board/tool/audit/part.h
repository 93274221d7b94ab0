/*
 * board/tool/audit/part.h - one audit, as its parts share it (board/tool/audit alone)
 *
 * In this order: outcomes, folders of logs, stores, what they say of each scan.
 */
#ifndef BS_BOARD_TOOL_AUDIT_PART_H
#define BS_BOARD_TOOL_AUDIT_PART_H

#include "board/tool/audit/audit.h"
#include "board/tool/audit/frames.h"
#include "board/tool/audit/kspace.h"

struct bs_audit {
	const struct bs_audit_request *q;
	struct bs_findings *f;
	struct bs_audit_sum *sum;
	struct bs_audit_scans scans;
	bool logs, stores;             /* folders of logs were given; folders of stores were */
	char oldest[BS_LOG_NAME];      /* name of the oldest log */
	char store_first[BS_LOG_NAME]; /* name of the store's oldest file of images; "": none */
	bool store_whole;              /* nothing was removed from the store's beginning */
	/* the store's newest file is ended: no image is on its way */
	bool store_rests;
	uint64_t unlogged; /* images of scans whose logs are absent, which is allowed */
	uint64_t unnamed;  /* scans whose logs lack numbers for no known reason */
	uint64_t gone;     /* logs that outcomes name and that were removed as old */
	char where[BS_AUDIT_WHERE];
};

/* folder.c: judges what lies in a folder beside logs and images. */
enum bs_audit_folder { BS_AUDIT_LOGS, BS_AUDIT_STORE };
int bs_audit_kind(const char *dir, enum bs_audit_folder *kind, struct bs_fail *why);
/* newest: the log, or file of images, that began last; "": none. */
void bs_audit_folder(struct bs_audit *a, const char *dir, const char *newest);

/* logs.c and store.c: judge the logs, or the images, of a folder. BS_ERR_IO, BS_ERR_NOMEM. */
int bs_audit_logs(struct bs_audit *a, const char *dir, struct bs_fail *why);
int bs_audit_store(struct bs_audit *a, const char *dir, struct bs_fail *why);

/* judge.c: compares logs, images and outcomes after all have been read. */
void bs_audit_judge(struct bs_audit *a);

/* tries to read what is being written, before it is judged as it is */
#define BS_AUDIT_TRIES    5
#define BS_AUDIT_PAUSE_NS INT64_C(20000000)

#endif
