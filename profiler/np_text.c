#include "np_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Length of the UTF-8 character at p, 0 if there is none (RFC 3629: no
 * overlong form, no surrogate, nothing above U+10FFFF).
 */
static size_t utf8_len(const unsigned char *p)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 :
		     p[0] < 0xf0 ? 3 : p[0] < 0xf8 ? 4 : 0;
	uint32_t c;

	if (len < 2)
		return len;
	c = p[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80) /* a NUL ends it, too */
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[len] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		return 0;
	return len;
}

static int is_control(const unsigned char *p)
{
	return p[0] < 0x20 || p[0] == 0x7f ||
	       (p[0] == 0xc2 && p[1] < 0xa0); /* U+0080 to U+009F */
}

char *np_text_clean(const char *text, size_t max)
{
	const unsigned char *p = (const unsigned char *)text;
	char *clean = malloc(strnlen(text, max) + 1);
	size_t n = 0, len;

	if (!clean)
		return NULL;
	for (; *p; p += len ? len : 1) {
		len = utf8_len(p);
		if (n + (len ? len : 1) > max)
			break;
		if (!len || is_control(p)) {
			clean[n++] = '?';
			continue;
		}
		memcpy(clean + n, p, len);
		n += len;
	}
	clean[n] = '\0';
	return clean;
}
