#include "np_saver_msg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool np_saver_head_ok(const struct np_saver_head *h)
{
	return h->version == NP_SAVER_VERSION && h->kind >= NP_SAVER_LOG &&
	       h->kind <= NP_SAVER_REPLY && h->len > 0 &&
	       h->len <= NP_SAVER_MAX_BYTES;
}

long np_saver_pack(enum np_saver_kind kind, uint32_t seq,
		   const char *const field[], size_t n, char **out)
{
	struct np_saver_head h = { NP_SAVER_VERSION, kind, seq, 0 };
	size_t len = 0;
	char *to;

	for (size_t i = 0; i < n; i++)
		len += strlen(field[i]) + 1;
	if (n > NP_SAVER_MAX_FIELDS || len > NP_SAVER_MAX_BYTES)
		return -E2BIG;
	h.len = (uint32_t)len;
	*out = malloc(sizeof(h) + len);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, &h, sizeof(h));
	to = *out + sizeof(h);
	for (size_t i = 0; i < n; i++)
		to = stpcpy(to, field[i]) + 1;
	return (long)(sizeof(h) + len);
}

size_t np_saver_fields(char *text, size_t len,
		       char *field[NP_SAVER_MAX_FIELDS])
{
	size_t n = 0;

	if (!len || text[len - 1])
		return 0;
	for (size_t at = 0; at < len; at += strlen(text + at) + 1) {
		if (n == NP_SAVER_MAX_FIELDS)
			return 0;
		field[n++] = text + at;
	}
	return n;
}
