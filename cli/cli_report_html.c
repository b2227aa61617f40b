/* The page of netprof report: text in it, its look, how its tables sort. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli_report.h"
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

void cli_html_put(FILE *f, const char *before, const char *after,
		  const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs(before, f);
	cli_html(f, text);
	fputs(after, f);
}

const char cli_report_style[] =
":root{color-scheme:light dark;--back:#fff;--text:#1a1a1a;--dim:#595959;"
"--line:#c8c8c8;--head:#f2f2f2;--much:#fbd5d0;--some:#fdf0c4;"
"--link:#0b5fa5}\n"
"@media (prefers-color-scheme:dark){:root{--back:#161616;--text:#e6e6e6;"
"--dim:#a8a8a8;--line:#4a4a4a;--head:#262626;--much:#6d241c;--some:#574806;"
"--link:#8cc2f2}}\n"
"body{font:15px/1.45 system-ui,sans-serif;color:var(--text);"
"background:var(--back);max-width:75rem;margin:0 auto;padding:1rem}\n"
"a{color:var(--link)}h1{font-size:1.5rem;margin:.2rem 0}"
"h2{font-size:1.2rem;margin:1.6rem 0 .4rem;border-bottom:1px solid "
"var(--line)}p{margin:.4rem 0}.dim{color:var(--dim)}\n"
".scroll{overflow:auto;max-height:85vh}\n"
"table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
"th,td{border:1px solid var(--line);padding:.15rem .45rem;text-align:right;"
"white-space:nowrap}th{background:var(--head);font-weight:600}"
"thead th{position:sticky;top:0;z-index:1}"
"tbody th,.word,thead th:first-child{text-align:left}"
"tbody th{position:sticky;left:0}\n"
"th button{font:inherit;color:inherit;background:none;border:0;padding:0;"
"cursor:pointer}"
"th button:focus-visible{outline:2px solid var(--link);outline-offset:2px}"
"th[aria-sort=ascending] button::after{content:' \\25B2'}"
"th[aria-sort=descending] button::after{content:' \\25BC'}\n"
".much{background:var(--much)}.some{background:var(--some)}\n"
"dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;"
"margin:.5rem 0}dt{color:var(--dim)}dd{margin:0}\n"
"svg{max-width:100%;height:auto}\n"
"@media print{:root{--back:#fff;--text:#000;--dim:#444;--line:#999;"
"--head:#eee;--much:#f3b8b0;--some:#fbe9a8;--link:#000}"
"body{max-width:none;padding:0;font-size:10pt}section{break-inside:avoid}"
".scroll{overflow:visible;max-height:none}thead th,tbody th{position:static}"
"th button::after{content:none!important}a{text-decoration:none}"
"*{print-color-adjust:exact}}\n";

/* Sorted again the other way round; what has no value stays at the end. */
const char cli_report_script[] =
"'use strict';\n"
"function value(row,i){const c=row.cells[i],v=c.dataset.v;\n"
" return v===undefined?c.textContent.toLowerCase():v===''?null:Number(v)}\n"
"function sort(th){const table=th.closest('table'),body=table.tBodies[0];\n"
" const i=th.cellIndex,number=th.dataset.sort==='number';\n"
" const was=th.getAttribute('aria-sort');\n"
" const up=was?was!=='ascending':!number,sign=up?1:-1;\n"
" const rows=Array.from(body.rows,row=>[value(row,i),row]);\n"
" rows.sort(([a],[b])=>a===b?0:a===null?1:b===null?-1:a<b?-sign:sign);\n"
" body.append(...rows.map(r=>r[1]));\n"
" for(const o of th.parentNode.cells)o.removeAttribute('aria-sort');\n"
" th.setAttribute('aria-sort',up?'ascending':'descending')}\n"
"for(const b of document.querySelectorAll('th button'))\n"
" b.addEventListener('click',()=>sort(b.closest('th')));\n";
