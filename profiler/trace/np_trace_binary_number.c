#include "np_trace_binary.h"

/* 0, -EINVAL, or CUT */
static int get(struct np_binary *b, uint64_t *v)
{
	uint64_t sum = 0;
	int c;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		c = np_input_byte(&b->r.in);
		if (c < 0)
			return CUT;
		if (shift == 63 && c > 1)
			return -EINVAL;
		sum |= (uint64_t)(c & 127) << shift;
		if (c < 128) {
			*v = sum;
			return 0;
		}
	}
	return -EINVAL;
}

int np_binary_below(struct np_binary *b, uint64_t limit, const char *what,
		     uint64_t *v, struct np_err *err)
{
	int rc = get(b, v);

	if (rc == CUT)
		return rc;
	if (rc || *v >= limit)
		return np_trace_wrong(&b->r, err, "%s %llu: expected one below "
				      "%llu", what,
				      rc ? ~0ull : (unsigned long long)*v,
				      (unsigned long long)limit);
	return 0;
}

int np_binary_u32(struct np_binary *b, uint64_t limit, const char *what,
		   uint32_t *v, struct np_err *err)
{
	uint64_t wide = 0;
	int rc = np_binary_below(b, limit, what, &wide, err);

	*v = (uint32_t)wide;
	return rc;
}

int np_binary_comm(struct np_binary *b, uint32_t *comm, struct np_err *err)
{
	int rc = np_binary_u32(b, b->n_comms, "communicator", comm, err);

	if (!rc && !b->comm_size[*comm])
		rc = np_trace_wrong(&b->r, err, "communicator %u: it was freed",
				    *comm);
	return rc;
}

/* any: both are one more, 0 is a wildcard. */
int np_binary_message(struct np_binary *b, uint32_t comm, bool any,
		       struct np_trace_message *m, struct np_err *err)
{
	uint64_t peer, tag;
	int rc = np_binary_below(b, b->comm_size[comm] + (uint64_t)any, "rank",
			   &peer, err);

	if (!rc)
		rc = np_binary_below(b, (1ull << 31) + any, "tag", &tag, err);
	if (!rc)
		rc = np_binary_below(b, NP_TRACE_MAX, "bytes", &m->bytes, err);
	if (rc)
		return rc;
	m->there = true;
	m->peer = any && !peer ? NP_TRACE_ANY : (uint32_t)(peer - any);
	m->tag = any && !tag ? NP_TRACE_ANY : (uint32_t)(tag - any);
	return 0;
}

int np_binary_maybe(struct np_binary *b, uint32_t comm, bool any,
		     struct np_trace_message *m, struct np_err *err)
{
	uint64_t there;
	int rc = np_binary_below(b, 2, "number of messages", &there, err);

	return rc || !there ? rc : np_binary_message(b, comm, any, m, err);
}
