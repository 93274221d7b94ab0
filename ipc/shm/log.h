/*
 * ipc/shm/log.h - the log of the scan in flight: what waits for the disk, and how far it is written
 *
 * The messages lie in a ring of bytes (bs_shm.log) between ingest's receiving thread, which puts
 * them there, and its log thread (board/log/keeper.h). A message leaves the ring when it is
 * durable, so an ingest that replaces a dead one finds there what was not durable yet. An entry is
 * a message or the end of a scan; entries are counted from 0 over all scans. Each field says who
 * writes it; anybody reads.
 */
#ifndef BS_IPC_SHM_LOG_H
#define BS_IPC_SHM_LOG_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/latency/hist.h"
#include "core/thread/event.h"

/* message numbers of one scan that are told apart: as many as ingest may hold */
#define BS_LOG_SEEN         256u
#define BS_LOG_WRITER_BYTES 1536u

/* A request to the thread that seals, signs and cuts logs (board/log/stock.h). */
struct bs_log_asked {
	_Atomic uint32_t what; /* set after the other members; 0: none */
	char name[64];
	uint64_t session;
};
#define BS_LOG_ASKED 8u /* requests that may wait */

/* Requests, and whether a look through all logs is due: at the service's start, and after requests
 * for which there was no place. */
struct bs_log_asks {
	struct bs_log_asked place[BS_LOG_ASKED];
	_Atomic uint64_t dropped; /* number of requests for which there was no place */
	_Atomic uint64_t looked;  /* 1 + value of dropped before the last look; 0: none was made */
};

struct bs_log_record {
	/* The receiving thread writes the next members. */
	_Alignas(64) _Atomic uint64_t head; /* number of bytes that were ever put into the ring */
	_Atomic uint64_t put;               /* number of entries that were ever put into the ring */
	/* number of messages of the scan for which the ring had no room */
	_Atomic uint64_t dropped;
	/* entries before this one are given up, because the scan is over */
	_Atomic uint64_t abandon;
	_Atomic uint32_t unprotected; /* 1 if the scan's log has failed, or lags too far behind */
	_Atomic uint64_t lacking; /* number of messages of all scans that are in no scan's log */
	_Atomic uint64_t begun;   /* number of the entry of the scan's OPEN */
	_Atomic uint64_t end;  /* number after the entry of the scan's end; 0: it has not ended */
	_Atomic uint64_t over; /* value of end of the last scan that has its outcome */
	uint32_t skips;        /* 1 if there was no room for the scan's OPEN: the scan has no log */
	uint32_t endless;      /* 1 if there was no room for the scan's end */
	uint32_t early;        /* 1 if the scan's end came before its images were made */
	uint64_t owed;         /* unprotected stays 1 until this many entries are done */
	uint64_t given_before; /* value of given_up when the scan began */
	uint64_t told;         /* number of the scan's last message that was reported as durable */
	/* [number % BS_LOG_SEEN]: number + 1 once the message of that number was put */
	uint64_t seen[BS_LOG_SEEN];
	/* number of the last message; head when it was about to be put */
	uint64_t seen_number, seen_at;
	char name[64]; /* name of the first file of the scan's log; "": not known yet */
	/* The log thread writes the next members. */
	/* number of bytes that the ring does not need any longer */
	_Alignas(64) _Atomic uint64_t tail;
	_Atomic uint64_t done; /* number of entries that are durable, or given up */
	/* all message numbers up to this one were held once the last entry that is done was put */
	_Atomic uint64_t mark;
	_Atomic uint32_t failed;  /* 1 if the scan's log cannot be written; fault says why */
	_Atomic uint64_t unended; /* value of end of the last scan whose early end was given up */
	_Atomic uint64_t
		given_up; /* number of the scan's messages that were given up while in the ring */
	/* counts since the service started */
	_Atomic uint64_t failures, commits, bytes, segments, unprepared;
	/*
	 * State of the scan's log: 0: there is none, 1: it is being written, 2: it is being sealed.
	 * The members behind state are valid before it is set. Entry first + i is record i; entries
	 * up to open_at are counted from first_before instead.
	 */
	_Atomic uint32_t state;
	uint64_t session;
	int64_t started_ns;
	uint32_t scan;
	_Atomic uint64_t first, first_before, open_at;
	char fault[BS_EVENT_TEXT];  /* why the scan's log failed; written before failed is set */
	_Atomic uint64_t failed_at; /* number of the entry that it failed at last */
	/* 1 + number of the last OPEN's entry whose log was begun */
	_Atomic uint64_t entered;
	/* whoever asks, and the thread that does it; a successor's does what is not done */
	struct bs_log_asks asks;
	/* state of the writer, a struct bs_log_writer */
	_Alignas(16) unsigned char writer[BS_LOG_WRITER_BYTES];
	struct bs_hist commit; /* times that commits took */
	struct bs_hist lag;    /* time of each message from being put to being durable */
};

#endif
