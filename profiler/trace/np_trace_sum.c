#include "np_trace_sum.h"

#include "np_trace_read.h"

static void add(struct np_trace_sum *s, const struct np_trace_event *ev,
		bool first)
{
	s->records++;
	s->sent += ev->out.there;
	s->sent_bytes += ev->out.there ? ev->out.bytes : 0;
	s->received += ev->in.there;
	if (ev->kind == NP_TRACE_COLLECTIVE)
		s->collectives[ev->collective]++;
	s->communicators += first && ev->kind == NP_TRACE_COMM;
	s->not_followed += ev->kind == NP_TRACE_UNSUPPORTED;
}

int np_trace_sum(const struct np_trace_files *f, struct np_trace_sum *out,
		 struct np_err *err)
{
	struct np_trace_sum s = { .ranks = f->n };
	struct np_trace_reader *r;
	struct np_trace_event ev;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < f->n; i++) {
		uint64_t ns = 0;

		rc = np_trace_open(f->path[i], i, f->n, &r, err);
		if (rc)
			return rc;
		s.cut += !np_trace_is_whole(r);
		while ((rc = np_trace_next(r, &ev, err)) == 1) {
			add(&s, &ev, i == 0);
			ns += ev.gap_ns + ev.length_ns;
			s.calls_sec += 1e-9 * (double)ev.length_ns / f->n;
		}
		if (1e-9 * (double)ns > s.sec)
			s.sec = 1e-9 * (double)ns;
		np_trace_close(r);
	}
	if (!rc)
		*out = s;
	return rc;
}
