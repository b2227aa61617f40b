/* netprof loggps --json */
#include "cli_json_put.h"
#include "cli_loggps.h"

static void put(json_object *in, const char *key,
		const struct np_loggps_value *v)
{
	json_object *j = cli_put_object(in, key);

	cli_put_real(j, "value", v->value);
	cli_put_real(j, "low", v->low);
	cli_put_real(j, "high", v->high);
}

int cli_loggps_json(const struct np_loggps_record *r)
{
	json_object *j = json_object_new_object();
	const struct np_loggps_fit *f = &r->fit;

	cli_put_time(j, "date", r->date);
	cli_put_text(j, "cluster", r->cluster);
	cli_put_text(j, "from", r->from);
	cli_put_text(j, "to", r->to);
	cli_put_text(j, "leaf", r->leaf);
	cli_put_bool(j, "across", r->across);
	cli_put_text(j, "transport", r->transport);
	cli_put_text(j, "ucx_version", r->ucx_version);
	cli_put_text(j, "netprof_version", r->netprof_version);
	cli_put_count(j, "blocks", f->n_blocks);
	cli_put_count(j, "sizes", f->n_sizes);
	cli_put_count(j, "bytes_min", f->bytes_min);
	cli_put_count(j, "bytes_max", f->bytes_max);
	put(j, "L_sec", &f->L);
	put(j, "o_send_sec", &f->o_send);
	put(j, "o_recv_sec", &f->o_recv);
	put(j, "g_sec", &f->g);
	put(j, "G_sec_per_byte", &f->G);
	if (f->S) {
		cli_put_count(j, "S_bytes", f->S);
		cli_put_count(j, "S_above_bytes", f->S_above);
		put(j, "rendezvous_sec", &f->step);
	} else {
		cli_put(j, "S_bytes", NULL);
	}
	return cli_print_json("loggps", j);
}
