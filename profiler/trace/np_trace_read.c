#include "np_trace_read.h"

#include <errno.h>
#include <string.h>

#include "np_trace_reader.h"

static bool is_binary(struct np_input *in)
{
	bool is = np_input_more(in) && in->end - in->at >= 8 &&
		  !memcmp(in->at, NP_TRACE_MAGIC, 8);

	np_input_seek(in, 0);
	return is;
}

int np_trace_open(const char *path, uint32_t rank, uint32_t size,
		  struct np_trace_reader **out, struct np_err *err)
{
	struct np_input in;
	int rc = np_input_open(&in, path, err);

	if (rc)
		return rc;
	return is_binary(&in) ?
	       np_trace_open_binary(&in, rank, size, out, err) :
	       np_trace_open_text(&in, rank, size, out, err);
}

void np_trace_close(struct np_trace_reader *r)
{
	if (r)
		r->close(r);
}

int np_trace_next(struct np_trace_reader *r, struct np_trace_event *ev,
		  struct np_err *err)
{
	return r->next(r, ev, err);
}

bool np_trace_is_whole(const struct np_trace_reader *r)
{
	return r->whole;
}

const char *np_trace_path(const struct np_trace_reader *r)
{
	return r->in.path;
}

bool np_trace_is(const char *path)
{
	struct np_input in;
	bool is;

	if (np_input_open(&in, path, NULL))
		return false;
	is = np_input_more(&in) && in.end - in.at >= 8 &&
	     (!memcmp(in.at, NP_TRACE_MAGIC, 8) || !memcmp(in.at, "MPI_", 4) ||
	      in.at[0] == '#');
	np_input_close(&in);
	return is;
}

int np_trace_size(const char *path, uint32_t *size, struct np_err *err)
{
	struct np_trace_header h;
	struct np_input in;
	int rc = np_input_open(&in, path, err);

	if (rc)
		return rc;
	*size = 0;
	if (is_binary(&in) && np_input_more(&in) &&
	    in.end - in.at >= (ptrdiff_t)sizeof(h)) {
		memcpy(&h, in.at, sizeof(h));
		*size = h.size;
	}
	rc = in.error;
	np_input_close(&in);
	if (rc)
		return np_errf(err, rc, "%s: %s", path, strerror(-rc));
	if (*size > NP_TRACE_MAX_RANKS)
		return np_errf(err, -EINVAL, "%s: %u ranks, expected at most "
			       "%u", path, *size, NP_TRACE_MAX_RANKS);
	return 0;
}
