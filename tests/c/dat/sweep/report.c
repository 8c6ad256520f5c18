/* report.c - compares the engines' output, with each other and with the documents. */
#define _GNU_SOURCE
#include "report.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

void lines_read(lines *l, FILE *from)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	memset(l, 0, sizeof *l);
	rewind(from);
	while ((n = getline(&line, &room, from)) > 0) {
		char *tab = strchr(line, '\t');

		line[n - 1] = 0;
		if (!tab || l->n == MOST_LINES) {
			printf("a line that is none: %s\n", line);
			exit(1);
		}
		*tab = 0;
		l->of[l->n].what = strdup(line);
		l->of[l->n++].result = strdup(tab + 1);
	}
	free(line);
}

static const char *result_of(const lines *l, const char *what, int near)
{
	int i, at;

	for (i = 0; i < l->n; i++) {
		at = (near + i) % l->n;
		if (!strcmp(l->of[at].what, what))
			return l->of[at].result;
	}
	return NULL;
}

static int matches(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, 0) == 0;
}

/* 1 if the difference has its reason in the table. */
static int is_justified(const char *what, const char *engine, row *justified, char *used)
{
	int i;

	for (i = 0; justified[i][0]; i++)
		if (matches(justified[i][0], what) && matches(justified[i][1], engine)) {
			used[i] = 1;
			return 1;
		}
	return 0;
}

int compare(const lines *a, const char *name_a, const lines *b, const char *name_b, row *justified,
            char *used)
{
	int i, bad = 0;

	for (i = 0; i < b->n; i++) {
		const char *result = result_of(a, b->of[i].what, i);

		if (result && !strcmp(result, b->of[i].result))
			continue;
		if (is_justified(b->of[i].what, name_b, justified, used))
			continue;
		printf("%s\n  %s: %s\n  %s: %s\n", b->of[i].what, name_a,
		       result ? result : "not there", name_b, b->of[i].result);
		bad++;
	}
	for (i = 0; i < a->n; i++)
		if (!result_of(b, a->of[i].what, i) &&
		    !is_justified(a->of[i].what, name_b, justified, used)) {
			printf("%s\n  %s: not there\n", a->of[i].what, name_b);
			bad++;
		}
	return bad;
}

/* A result begins with the documented code, as a whole word. */
static int begins(const char *result, const char *expected)
{
	size_t n = strlen(expected);

	return !strncmp(result, expected, n) &&
	       (result[n] == 0 || result[n] == ' ' || result[n] == ',');
}

int check_documented(const lines *l, row *documented)
{
	int bad = 0, i, k;

	for (k = 0; documented[k][0]; k++) {
		int found = 0;

		for (i = 0; i < l->n; i++) {
			if (!matches(documented[k][0], l->of[i].what))
				continue;
			found = 1;
			if (matches(documented[k][1], l->of[i].result) ||
			    begins(l->of[i].result, documented[k][1]))
				continue;
			printf("%s: %s\n  documented (%s): %s\n", l->of[i].what, l->of[i].result,
			       documented[k][2], documented[k][1]);
			bad++;
		}
		if (!found) {
			printf("no call is like the documented \"%s\"\n", documented[k][0]);
			bad++;
		}
	}
	return bad;
}

/* The code of a result: its type, and its subtype or "". */
static void split(const char *result, char type[64], char subtype[64])
{
	*type = *subtype = 0;
	sscanf(result, "%63[A-Z_0-9] %63[A-Z_0-9]", type, subtype);
	if (strstr(result, " without class"))
		strcpy(subtype, "without class");
}

static int is_in_page(const char *call, const char *type, const char *subtype, row *pages)
{
	int i;

	for (i = 0; pages[i][0]; i++)
		if (!strcmp(pages[i][0], call) && !strcmp(pages[i][1], type) &&
		    !strcmp(pages[i][2], subtype))
			return 1;
	return 0;
}

int check_pages(const lines *l, row *pages)
{
	char call[64], type[64], subtype[64], last[192] = "", now[192];
	int i, bad = 0;

	for (i = 0; i < l->n; i++) {
		sscanf(l->of[i].what, "%63s", call);
		if (!strcmp(call,
		            "dat_extension_op")) /* as its page says, it has each operation's */
			continue;
		split(l->of[i].result, type, subtype);
		snprintf(now, sizeof now, "%s %s %s", call, type, subtype);
		if (!strcmp(now, last) || is_in_page(call, type, subtype, pages))
			continue;
		strcpy(last, now);
		printf("%s: %s\n  the man page does not have that code\n", l->of[i].what,
		       l->of[i].result);
		bad++;
	}
	return bad;
}
