/* What is recorded of collectives: one record each, with a request or without. */
#include "shim.h"

/* MPI 4.1 has another name for it. */
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION > 0)
#define TYPE_SIZE PMPI_Type_size_c
#else
#define TYPE_SIZE PMPI_Type_size_x
#endif

uint64_t shim_bytes(int64_t count, MPI_Datatype type)
{
	MPI_Count size = 0;

	/* Where there is nothing, the type need not be one. */
	if (count <= 0 || TYPE_SIZE(type, &size) || size < 0)
		return 0;
	return (uint64_t)count * (uint64_t)size;
}

void shim_collective(const struct shim_call *c, const struct shim_collective *k)
{
	const struct shim_comm *comm = shim_comm(c, k->comm);
	size_t n = k->list && comm->id >= 0 ? (size_t)comm->size : 0;
	int64_t id = -1;
	uint8_t *p;

	if (comm->id < 0) {
		shim_unsupported(c, "a collective on an intercommunicator");
		return;
	}
	if (k->request)
		id = shim_request_new(*k->request);
	p = np_trace_out_begin(&shim_out, c->start_ns, c->end_ns, n + 1);
	if (!p)
		return;
	p = np_varint_put(p, (uint64_t)k->which);
	p = np_varint_put(p, (uint64_t)(id + 1));
	p = np_varint_put(p, (uint64_t)comm->id);
	p = np_varint_put(p, k->rooted ? (uint64_t)k->root + 1 : 0);
	p = np_varint_put(p, k->sent);
	p = np_varint_put(p, k->received);
	p = np_varint_put(p, n);
	for (size_t i = 0; i < n; i++)
		p = np_varint_put(p, k->list[i]);
	np_trace_out_end(&shim_out, NP_TRACE_COLLECTIVE, p);
}
