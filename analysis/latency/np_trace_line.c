#include "np_trace_line.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct np_line_call calls[] = {
	{ "Send", NP_TRACE_SEND, ".ntpgc", 0, 0 },
	{ "Bsend", NP_TRACE_SEND, ".ntpgc", 0, 0 },
	{ "Ssend", NP_TRACE_SEND, ".ntpgc", 0, 0 },
	{ "Rsend", NP_TRACE_SEND, ".ntpgc", 0, 0 },
	{ "Recv", NP_TRACE_RECV, ".ntpgc.", 0, 0 },
	{ "Sendrecv", NP_TRACE_SENDRECV, ".ntpg.ntpgc.", 0, 0 },
	{ "Sendrecv_replace", NP_TRACE_SENDRECV, ".ntpgpgc.", 0, 0 },
	{ "Isend", NP_TRACE_ISEND, ".ntpgcq", 0, 0 },
	{ "Ibsend", NP_TRACE_ISEND, ".ntpgcq", 0, 0 },
	{ "Issend", NP_TRACE_ISEND, ".ntpgcq", 0, 0 },
	{ "Irsend", NP_TRACE_ISEND, ".ntpgcq", 0, 0 },
	{ "Irecv", NP_TRACE_IRECV, ".ntpgcq", 0, 0 },
	{ "Send_init", NP_TRACE_SEND_INIT, ".ntpgcq", 0, 0 },
	{ "Bsend_init", NP_TRACE_SEND_INIT, ".ntpgcq", 0, 0 },
	{ "Ssend_init", NP_TRACE_SEND_INIT, ".ntpgcq", 0, 0 },
	{ "Rsend_init", NP_TRACE_SEND_INIT, ".ntpgcq", 0, 0 },
	{ "Recv_init", NP_TRACE_RECV_INIT, ".ntpgcq", 0, 0 },
	{ "Start", NP_TRACE_START, "q", 0, 0 },
	{ "Startall", NP_TRACE_START, "Nq", 0, 0 },
	{ "Wait", NP_TRACE_WAIT, "q.", 0, 0 },
	{ "Waitall", NP_TRACE_WAIT, "Nq.", 0, 0 },
	{ "Waitany", NP_TRACE_WAIT, "Nq..", 0, true },
	{ "Waitsome", NP_TRACE_WAIT, "Nq...", 0, true },
	{ "Test", NP_TRACE_WAIT, "q..", 0, true },
	{ "Testall", NP_TRACE_WAIT, "Nq..", 0, true },
	{ "Testany", NP_TRACE_WAIT, "Nq...", 0, true },
	{ "Testsome", NP_TRACE_WAIT, "Nq...", 0, true },
	{ "Request_free", NP_TRACE_FREE, "q", 0, 0 },
	{ "Finalize", NP_TRACE_FINALIZE, "", 0, 0 },
#define COLLECTIVE(name, args, which) \
	{ name, NP_TRACE_COLLECTIVE, args, which, 0 }, \
	{ "I" name, NP_TRACE_COLLECTIVE, args "q", which, 0 }
	COLLECTIVE("barrier", "c", NP_BARRIER),
	COLLECTIVE("bcast", ".ntrc", NP_BCAST),
	COLLECTIVE("gather", ".nt.ntrc", NP_GATHER),
	COLLECTIVE("gatherv", ".nt.Lltrc", NP_GATHERV),
	COLLECTIVE("scatter", ".nt.ntrc", NP_SCATTER),
	COLLECTIVE("scatterv", ".Llt.ntrc", NP_SCATTERV),
	COLLECTIVE("allgather", ".nt.ntc", NP_ALLGATHER),
	COLLECTIVE("allgatherv", ".nt.Lltc", NP_ALLGATHER),
	COLLECTIVE("alltoall", ".nt.ntc", NP_ALLTOALL),
	COLLECTIVE("alltoallv", ".Llt.Lltc", NP_ALLTOALLV),
	COLLECTIVE("reduce", "..nt.rc", NP_REDUCE),
	COLLECTIVE("allreduce", "..nt.c", NP_ALLREDUCE),
	COLLECTIVE("reduce_scatter", "..Lt.c", NP_REDUCE_SCATTER),
	COLLECTIVE("reduce_scatter_block", "..nt.c", NP_REDUCE_SCATTER),
	COLLECTIVE("scan", "..nt.c", NP_SCAN),
	COLLECTIVE("exscan", "..nt.c", NP_EXSCAN),
#undef COLLECTIVE
	/* Not followed. */
	{ "Alltoallw", NP_TRACE_UNSUPPORTED, NULL, 0, 0, 0 },
	{ "Put", NP_TRACE_UNSUPPORTED, NULL, 0, 0, 1 },
	{ "Get", NP_TRACE_UNSUPPORTED, NULL, 0, 0, 2 },
	{ "Accumulate", NP_TRACE_UNSUPPORTED, NULL, 0, 0, 3 },
	{ "Intercomm_create", NP_TRACE_UNSUPPORTED, NULL, 0, 0, 4 },
	{ "Comm_spawn", NP_TRACE_UNSUPPORTED, NULL, 0, 0, 5 },
};
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

/* Names of collectives stand in the table in small letters. */
const struct np_line_call *np_line_call(const char *name)
{
	for (size_t i = 0; i < N_CALLS; i++)
		if (!strcasecmp(calls[i].name, name))
			return &calls[i];
	return NULL;
}

int np_line_number(char **at, int64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoll(*at, &end, 10);
	if (end == *at || errno)
		return -EINVAL;
	/* Reals of whole numbers occur. */
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	*at = end;
	return 0;
}

static int wrong(struct np_trace_reader *r, const char *what,
		 const char *field, const char *expected)
{
	return np_trace_wrong(r, "%s \"%.40s\": expected %s", what, field,
			      expected);
}

static int take_type(struct np_trace_reader *r, char *field,
		     struct np_line_args *a)
{
	char *at = strchr(field, ',');
	int64_t size;

	if (!at || (at++, np_line_number(&at, &size)) || size < 0)
		return wrong(r, "datatype", field, "id,size,extent");
	a->size[a->n_t++] = size;
	return 0;
}

static int take_comm(struct np_trace_reader *r, char *field,
		     struct np_line_args *a)
{
	char *at;

	a->handle = strtoull(field, &at, 10);
	if (at == field || *at++ != ',' || np_line_number(&at, &a->comm_rank) ||
	    *at++ != ',' || np_line_number(&at, &a->comm_size) ||
	    a->comm_rank < 0 || a->comm_rank >= a->comm_size)
		return wrong(r, "communicator", field, "handle,rank,size");
	a->has_comm = true;
	return 0;
}

static int take_number(struct np_trace_reader *r, char letter, char *field,
		       struct np_line_args *a)
{
	char *at = field;
	int64_t v;

	if (np_line_number(&at, &v) || *at)
		return wrong(r, letter == 'p' ? "rank" : letter == 'g' ? "tag" :
			     letter == 'r' ? "root" : "count", field,
			     "a number");
	if (letter == 'n')
		a->n[a->n_n++] = v;
	else if (letter == 'p')
		a->peer[a->n_p++] = v;
	else if (letter == 'g')
		a->tag[a->n_g++] = v;
	else if (letter == 'r')
		a->root = v;
	else
		a->n_requests = v;
	return 0;
}

static int take_arg(struct np_trace_reader *r, char letter, char *field,
		    struct np_line_args *a)
{
	char *at;

	switch (letter) {
	case 't':
		return take_type(r, field, a);
	case 'c':
		return take_comm(r, field, a);
	case 'L':
		a->list = a->list ? a->list : field;
		return 0;
	case '.':
	case 'l':
		return 0;
	case 'q':
		a->request = strtoull(field, &at, 10);
		return at == field ? wrong(r, "request", field, "a number") : 0;
	default:
		return take_number(r, letter, field, a);
	}
}

int np_line_args(struct np_trace_reader *r, const struct np_line_call *c,
		 char **field, size_t n, struct np_line_args *a)
{
	size_t i = 0;

	*a = (struct np_line_args){ .n_requests = 1 };
	for (const char *p = c->args; !r->rc && *p; p++) {
		if (*p == 'L' || *p == 'l')
			i++; /* where they are */
		if (i >= n)
			np_trace_wrong(r, "MPI_%s: %zu arguments, expected "
				       "more", c->name, n);
		else
			take_arg(r, *p, field[i++], a);
	}
	return r->rc;
}

int np_line_time(struct np_trace_reader *r, const char *text, uint64_t *ns)
{
	char *end = "-";
	uint64_t us = 0;
	unsigned part = 0, digit = 100;

	errno = 0;
	if (isdigit((unsigned char)*text))
		us = strtoull(text, &end, 10);
	if (*end == '.')
		for (end++; isdigit((unsigned char)*end); end++, digit /= 10)
			part += digit * (unsigned)(*end - '0');
	*ns = us * 1000 + part;
	return errno || us > UINT64_MAX / 4000 || *end ?
		       wrong(r, "time", text, "a number") : 0;
}

uint64_t np_line_bytes(struct np_trace_reader *r, int64_t n, int64_t size)
{
	if (n >= 0 && (!size || n <= (int64_t)(NP_TRACE_MAX / (uint64_t)size)))
		return (uint64_t)n * (uint64_t)size;
	np_trace_wrong(r, "%lld times %lld bytes: expected 0 to 2^52",
		       (long long)n, (long long)size);
	return 0;
}

int np_line_message(struct np_trace_reader *r, bool mpich,
		    const struct np_line_args *a, unsigned i, bool receives,
		    struct np_trace_message *m)
{
	unsigned k = i && a->n_n > 1;
	int64_t any = mpich ? -2 : -1, none = mpich ? -1 : -2;
	int64_t peer = a->peer[i], tag = a->tag[i];

	m->bytes = np_line_bytes(r, a->n[k], a->size[k]);
	if (r->rc || peer == none || (!receives && peer == any))
		return r->rc;
	if (peer != any && (peer < 0 || peer >= a->comm_size))
		return np_trace_wrong(r, "rank %lld: expected 0 to %lld",
				      (long long)peer,
				      (long long)a->comm_size - 1);
	if (tag < (receives ? -1 : 0) || tag > INT32_MAX)
		return np_trace_wrong(r, "tag %lld: expected 0 to 2^31 - 1",
				      (long long)tag);
	m->there = true;
	m->peer = peer == any ? NP_TRACE_ANY : (uint32_t)peer;
	m->tag = tag < 0 ? NP_TRACE_ANY : (uint32_t)tag;
	return 0;
}

size_t np_line_cut(char *line, char *field[NP_LINE_FIELDS])
{
	size_t n = 0;

	for (char *at = line; at; n++) {
		if (n == NP_LINE_FIELDS)
			return 0;
		field[n] = strsep(&at, ":");
	}
	return n;
}
