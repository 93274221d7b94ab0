/* board/tool/certify/certificate.c - see certificate.h */
#include "board/tool/certify/certificate.h"

const struct bs_spread_name bs_spread_names[BS_SPREADS] = {
	[BS_SPREAD_DUE] = { "due_ms", "last readout due to image handed on" },
	[BS_SPREAD_RECEIVED] = { "received_ms", "last readout received to image handed on" },
	[BS_SPREAD_QUIET] = { "received_less_stalls_ms", "the same less the canaries' stalls" },
	[BS_SPREAD_OWN] = { "own_ms",
			    "of that, the service's own part (all but operators and transfers)" },
	[BS_SPREAD_OWN_QUIET] = { "own_less_stalls_ms", "the own part less the canaries' stalls" },
	[BS_SPREAD_STAGE + BS_BUDGET_RECEIVE] = { "receive_ms", "of that, receive" },
	[BS_SPREAD_STAGE + BS_BUDGET_UPLOAD] = { "upload_ms", "of that, upload" },
	[BS_SPREAD_STAGE + BS_BUDGET_ACCUMULATE] = { "accumulate_ms", "of that, accumulate" },
	[BS_SPREAD_STAGE + BS_BUDGET_SOLVE] = { "solve_ms", "of that, solve" },
	[BS_SPREAD_STAGE + BS_BUDGET_COMBINE] = { "combine_ms", "of that, combine" },
	[BS_SPREAD_STAGE + BS_BUDGET_DOWNLOAD] = { "download_ms", "of that, download" },
	[BS_SPREAD_STAGE + BS_BUDGET_EMIT] = { "emit_ms", "of that, emit" },
	[BS_SPREAD_STAGE + BS_BUDGET_CALIBRATION] = { "calibration_ms",
						      "calibration, of images that had one" },
	[BS_SPREAD_ARRIVAL] = { "archive_ms", "last readout due to image in the archive's hands" },
	[BS_SPREAD_IN] = { "stamp_to_received_ms",
			   "last readout's stamp, its due time, to received" },
	[BS_SPREAD_WIRE] = { "sent_to_received_ms",
			     "transport in: given to the sender's socket to received" },
	[BS_SPREAD_OUT] = { "handed_to_archive_ms",
			    "transport out: handed on to the archive's own receipt" },
	[BS_SPREAD_TRANSPORT] = { "transport_ms", "transport, in and out together" },
	[BS_SPREAD_SENT] = { "sender_ms",
			     "the sender behind its due times, each readout, all runs so far" },
	[BS_SPREAD_SLEPT] = { "sender_overslept_ms", "of that, overslept by itself" },
};

const char *const bs_thread_counts[BS_THREAD_COUNTS] = { "minor_faults", "major_faults",
							 "allocations" };
