#include "np_pack.h"

#include <string.h>

void np_pack_count(FILE *f, uint64_t n)
{
	fwrite(&n, sizeof(n), 1, f);
}

void np_pack_real(FILE *f, double x)
{
	fwrite(&x, sizeof(x), 1, f);
}

void np_pack_mean(FILE *f, const struct np_mean *m)
{
	np_pack_count(f, m->n);
	np_pack_real(f, m->mean);
	np_pack_real(f, m->sd);
}

void np_pack_text(FILE *f, const char *text)
{
	size_t size = strlen(text ? text : "") + 1;

	np_pack_count(f, size);
	fwrite(text ? text : "", size, 1, f);
}

/* NULL where there is not so much. */
static const char *take(struct np_unpack *u, size_t size)
{
	const char *at = u->at;

	u->bad |= u->left < size;
	if (u->bad)
		return NULL;
	u->at += size;
	u->left -= size;
	return at;
}

uint64_t np_unpack_count(struct np_unpack *u, uint64_t max)
{
	const char *at = take(u, sizeof(uint64_t));
	uint64_t n = 0;

	if (at)
		memcpy(&n, at, sizeof(n));
	u->bad |= n > max;
	return u->bad ? 0 : n;
}

double np_unpack_real(struct np_unpack *u)
{
	const char *at = take(u, sizeof(double));
	double x = 0;

	if (at)
		memcpy(&x, at, sizeof(x));
	return x;
}

struct np_mean np_unpack_mean(struct np_unpack *u)
{
	struct np_mean m = { .n = (uint32_t)np_unpack_count(u, UINT32_MAX) };

	m.mean = np_unpack_real(u);
	m.sd = np_unpack_real(u);
	return m;
}

const char *np_unpack_text(struct np_unpack *u)
{
	size_t size = np_unpack_count(u, u->left);
	const char *text = take(u, size);

	u->bad |= !text || !size || memchr(text, '\0', size) !=
				    text + size - 1;
	return u->bad ? "" : text;
}
