#include "np_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_err.h"

int np_errf(struct np_err *err, int rc, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return rc;
	va_start(ap, fmt);
	np_text_print(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return rc;
}

/* What the first byte says. */
static int announced(unsigned char c)
{
	return c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 :
	       c < 0xf8 ? 4 : 0;
}

uint32_t np_text_code(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	int len = announced(p[0]);
	uint32_t c = len == 1 ? p[0] : p[0] & (0x7fu >> len);

	for (int i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* No overlong form, no surrogate, nothing above U+10FFFF. */
int np_text_char(const char *text, size_t size)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)text;
	int len = announced(p[0]);
	uint32_t c;

	if (len < 2)
		return len;
	for (int i = 1; i < len; i++) {
		if ((size_t)i == size)
			return -1;
		if ((p[i] & 0xc0) != 0x80) /* a NUL ends it, too */
			return 0;
	}
	c = np_text_code(text);
	if (c < least[len] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		return 0;
	return len;
}

bool np_text_is_plain(const char *p)
{
	static const struct {
		uint32_t first, last;
	} no[] = {
		{ 0x0000, 0x001f }, { 0x007f, 0x009f }, /* controls */
		{ 0x00ad, 0x00ad }, /* a hyphen that is not seen */
		{ 0x061c, 0x061c }, /* Arabic letter mark */
		{ 0x180e, 0x180e }, /* of no width */
		{ 0x200b, 0x200f }, /* of no width, direction marks */
		{ 0x2028, 0x202e }, /* ends of lines, embedded directions */
		{ 0x2060, 0x206f }, /* not seen, isolated directions */
		{ 0xfeff, 0xfeff }, /* byte order mark */
		{ 0xfff9, 0xfffb }, /* annotations */
		{ 0xe0000, 0xe007f }, /* tags */
	};
	uint32_t c = np_text_code(p);

	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (c >= no[i].first && c <= no[i].last)
			return false;
	return true;
}

/* As much of text as fits into max bytes; out may be text itself. */
static void make_plain(const char *text, size_t max, char *out)
{
	size_t n = 0;
	int len;

	for (; *text; text += len ? len : 1) {
		len = np_text_char(text, NP_TEXT_CHAR);
		if (n + (size_t)(len ? len : 1) > max)
			break;
		if (!len || !np_text_is_plain(text)) {
			out[n++] = '?';
			continue;
		}
		memmove(out + n, text, (size_t)len);
		n += (size_t)len;
	}
	out[n] = '\0';
}

void np_text_plain(char *text)
{
	make_plain(text, SIZE_MAX, text);
}

void np_text_print(char *buf, size_t len, const char *fmt, va_list ap)
{
	if (vsnprintf(buf, len, fmt, ap) < 0)
		buf[0] = '\0';
	np_text_plain(buf);
}

char *np_text_clean(const char *text, size_t max)
{
	char *clean = malloc(strnlen(text, max) + 1);

	if (clean)
		make_plain(text, max, clean);
	return clean;
}

uint64_t np_hash(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *byte = data;

	while (len--)
		hash = (hash ^ *byte++) * UINT64_C(0x100000001b3);
	return hash;
}
