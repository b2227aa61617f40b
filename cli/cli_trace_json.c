#include "cli_trace.h"

#include "cli_json_put.h"

int cli_trace_json(const char *path, const struct np_trace_sum *s)
{
	json_object *j = json_object_new_object(), *c;

	if (!j)
		return cli_fail("out of memory");
	cli_put_text(j, "trace", path);
	cli_put_count(j, "ranks", s->ranks);
	cli_put_count(j, "ranks_cut", s->cut);
	cli_put_count(j, "records", s->records);
	cli_put_real(j, "sec", s->sec);
	cli_put_real(j, "calls_sec", s->calls_sec);
	cli_put_count(j, "messages_sent", s->sent);
	cli_put_count(j, "messages_received", s->received);
	cli_put_count(j, "bytes_sent", s->sent_bytes);
	cli_put_count(j, "communicators", s->communicators);
	cli_put_count(j, "not_followed", s->not_followed);
	c = cli_put_object(j, "collectives");
	for (int i = 0; i < NP_N_COLLECTIVES; i++)
		if (s->collectives[i])
			cli_put_count(c, np_collective_name(i),
				      s->collectives[i]);
	return cli_print_json("trace", j);
}
