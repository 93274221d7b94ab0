/*
 * ipc/shm/log.h - the log of the scan in flight: what waits for the disk, and how far it is written
 *
 * The messages lie in a ring of bytes (bs_shm.log) between ingest's receiving thread, which puts
 * them there, and its log thread (board/log/keeper.h). A message leaves the ring when it is
 * durable, so an ingest that replaces a dead one finds here what was not durable yet. Each field
 * says who writes it; anybody reads.
 */
#ifndef BS_IPC_SHM_LOG_H
#define BS_IPC_SHM_LOG_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/latency/hist.h"
#include "core/thread/event.h"

#define BS_LOG_SEEN         256u /* numbers of one scan that are told apart: what ingest may hold */
#define BS_LOG_WRITER_BYTES 1472u

struct bs_log_record {
	/* the receiving thread. Entries are counted from 0 over all scans: messages, and ends */
	_Alignas(64) _Atomic uint64_t head; /* bytes that were ever put into the ring */
	_Atomic uint64_t put;               /* entries */
	_Atomic uint64_t dropped;           /* messages of the scan for which there was no room */
	_Atomic uint64_t abandon;      /* entries before this one are given up: the scan is over */
	_Atomic uint32_t unprotected;  /* 1: the log has failed, or lags too far behind */
	_Atomic uint64_t lacking;      /* messages, of all scans, that no log has */
	_Atomic uint64_t begun;        /* entry of the scan's OPEN */
	_Atomic uint64_t end;          /* behind the entry of its end; 0: it has not ended */
	uint32_t skips;                /* 1: there was no room for its OPEN, it has no log */
	uint32_t endless;              /* 1: there was no room for its end */
	uint32_t early;                /* 1: its end came before its images were made */
	uint64_t owed;                 /* unprotected until this many entries are done */
	uint64_t given_before;         /* given_up when the scan began */
	uint64_t told;                 /* number of the scan that was last said to be durable */
	uint64_t seen[BS_LOG_SEEN];    /* [number % BS_LOG_SEEN]: number + 1 once it was put */
	uint64_t seen_number, seen_at; /* the last one; head when it was about to be put */
	/* the log thread */
	_Alignas(64) _Atomic uint64_t tail; /* bytes that the ring needs no longer */
	_Atomic uint64_t done;              /* entries that are durable, or given up */
	_Atomic uint64_t mark;   /* all numbers up to it were held once the last of them was put */
	_Atomic uint32_t failed; /* 1: it cannot write; fault says why */
	_Atomic uint64_t
		given_up; /* messages that were in the ring, of the scan that was in flight */
	_Atomic uint64_t failures, commits, bytes, segments, unprepared; /* since the start */
	/*
	 * Of the log: 0 none, 1 being written, 2 being sealed; what is behind it is valid before it
	 * is set. Entry first + i is record i; of entries up to open_at, first_before + i.
	 */
	_Atomic uint32_t state;
	uint64_t session;
	int64_t started_ns;
	uint32_t scan;
	_Atomic uint64_t first, first_before, open_at;
	char fault[BS_EVENT_TEXT]; /* before failed is set */
	char name[64];             /* of the log's first file; "": none */
	_Alignas(16) unsigned char writer[BS_LOG_WRITER_BYTES]; /* struct bs_log_writer */
	struct bs_hist commit;                                  /* a commit took */
	struct bs_hist lag; /* from being put to being durable, each message */
};

#endif
