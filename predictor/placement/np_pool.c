#include <stdlib.h>

#include "np_snapshot_impl.h"

void *np_pool_add(struct np_pool *p, size_t n)
{
	void *first;

	if (n > p->room - p->n) {
		size_t room = p->room + p->room / 2 + n + 16;
		void *at = realloc(p->at, room * p->item);

		if (!at)
			return NULL;
		p->at = at;
		p->room = room;
	}
	first = (char *)p->at + p->n * p->item;
	p->n += n;
	return first;
}
