#include "cli_html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "np_text.h"

static const char *entity(char c)
{
	switch (c) {
	case '&': return "&amp;";
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	default: return NULL;
	}
}

void cli_html(FILE *f, const char *text)
{
	char *plain = np_text_clean(text, strlen(text));

	for (const char *c = plain ? plain : "?"; *c; c++)
		if (entity(*c))
			fputs(entity(*c), f);
		else
			putc(*c, f);
	free(plain);
}

void cli_html_printf(FILE *f, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cli_html(f, text);
}
