/* report.h - the engines' output, compared with each other and with the documents. */
#ifndef SWEEP_REPORT_H
#define SWEEP_REPORT_H

#include <stdio.h>

/* A line of codes.txt, of differences.txt, or a code of a man page. */
typedef const char *const row[3];

enum { MOST_LINES = 16384 };

/* The lines of an engine: the case, and its result. */
typedef struct lines {
	int n;
	struct {
		char *what, *result;
	} of[MOST_LINES];
} lines;

/* Calls the functions over one adapter; only: one of them. */
int run(int as_process, const char *only, FILE *to);

void lines_read(lines *l, FILE *from);

/* Each prints the errors, and returns their number. */
int compare(const lines *a, const char *name_a, const lines *b, const char *name_b, row *justified,
            char *used); /* of justified: which lines were needed */
int check_documented(const lines *l, row *documented);
int check_pages(const lines *l, row *pages);

#endif
