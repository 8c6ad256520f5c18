/* report.c - the table, comma separated values, bars, and warnings. */
#define _GNU_SOURCE
#include "perf.h"

#include <string.h>

const char *const limit_names[] = {"-", "lines", "readv", "UDP"};

/* Blocks whose 9th decile is this many times the shortest one were disturbed. */
enum { SPREAD = 2 };

int is_disturbed(const row *r) { return r->p90 > SPREAD * r->least; }

static double megabytes(const row *r) { return r->rate * (double)r->size / 1e6; }

static double ratio(const row *r) { return r->limit ? r->median / r->raw : 0; }

void print_head(const options *o, const task *t)
{
	if (o->csv) {
		puts("op,size,median_us,min_us,p90_us,ops_per_s,mb_per_s,link,way,raw,raw_us,ratio,"
		     "disturbed,pairs");
		return;
	}
	printf("LAPI between %d pair%s of tasks. Times are one way for put and am, else of an\n"
	       "operation; ops/s and MB/s with many under way. raw: the machine without LAPI:\n"
	       "lines of shared memory, process_vm_readv, UDP sockets; ratio: median / raw.\n\n",
	       t->pairs, t->pairs > 1 ? "s" : "");
	printf("%-6s %10s %10s %10s %10s %9s %-5s %-11s %-5s %9s %6s\n", "op", "bytes", "median us",
	       "min us", "ops/s", "MB/s", "link", "way", "raw", "raw us", "ratio");
}

static void print_values(const row *r, int pairs)
{
	printf("%s,%llu,%.4f,%.4f,%.4f,%.1f,%.3f,%s,%s,%s,", operations[r->op].name,
	       (unsigned long long)r->size, r->median * 1e6, r->least * 1e6, r->p90 * 1e6, r->rate,
	       megabytes(r), link_names[r->link], way_names[r->way], limit_names[r->limit]);
	if (r->limit)
		printf("%.4f,%.3f", r->raw * 1e6, ratio(r));
	else
		printf(",");
	printf(",%d,%d\n", is_disturbed(r), r->op == GFENCE ? 1 : pairs);
}

void print_row(const options *o, const row *r, int pairs)
{
	if (o->csv) {
		print_values(r, pairs);
	} else {
		printf("%-6s %10llu %10.3f %10.3f %10.0f %9.1f %-5s %-11s %-5s",
		       operations[r->op].name, (unsigned long long)r->size, r->median * 1e6,
		       r->least * 1e6, r->rate, megabytes(r), link_names[r->link],
		       way_names[r->way], limit_names[r->limit]);
		if (r->limit)
			printf(" %9.3f %6.2f", r->raw * 1e6, ratio(r));
		else
			printf(" %9s %6s", "-", "-");
		puts(is_disturbed(r) ? " *" : "");
	}
	fflush(stdout);
}

/* A bar on a scale of powers of ten, 4 characters each, from least. */
static void bar(double value, double least)
{
	static const char full[] = "########################################";
	int n = 1;

	for (; value > least * 1.7783 && n < 40; value /= 1.7783) /* a fourth root of 10 */
		n++;
	printf("%.*s", n, full);
}

static void plot(const row *rows, int n, const char *title, double (*value)(const row *))
{
	double least = 0;

	for (int i = 0; i < n; i++)
		if (value(&rows[i]) > 0 && (least == 0 || value(&rows[i]) < least))
			least = value(&rows[i]);
	printf("\n%s; 4 characters are a factor of 10\n", title);
	for (int i = 0; i < n; i++) {
		if (value(&rows[i]) <= 0)
			continue;
		printf("%-6s %10llu %10.3f ", operations[rows[i].op].name,
		       (unsigned long long)rows[i].size, value(&rows[i]));
		bar(value(&rows[i]), least);
		putchar('\n');
	}
}

static double microseconds(const row *r) { return r->median * 1e6; }

void print_plot(const row *rows, int n)
{
	plot(rows, n, "median, us", microseconds);
	plot(rows, n, "MB/s", megabytes);
}

/* The tasks of this host, and how many processors they may use together. */
static int tasks_here(task *t, int *processors)
{
	cpu_set_t all = t->mine->own.processors;
	int here = 1;

	for (int i = 1; i < t->num_tasks; i++) {
		hello other;

		MUST(LAPI_Get(t->handle, (uint)i, sizeof other, &t->of[i]->own, &other, NULL,
		              &t->completed));
		await(t, &t->completed, 1);
		if (strcmp(other.boot, t->mine->own.boot) != 0)
			continue;
		here++;
		CPU_OR(&all, &all, &other.processors);
	}
	*processors = CPU_COUNT(&all);
	return here;
}

void print_warnings(task *t, const row *rows, int n)
{
	int disturbed = 0, least = rows[0].runnable, processors, here = tasks_here(t, &processors);

	for (int i = 0; i < n; i++) {
		disturbed += is_disturbed(&rows[i]);
		least = rows[i].runnable < least ? rows[i].runnable : least;
	}
	fflush(stdout);
	if (disturbed)
		fprintf(stderr,
		        "lapi_perf: disturbed: in %d of %d rows (*) a tenth of the blocks took "
		        "more than %d times the shortest\n",
		        disturbed, n, SPREAD);
	if (here > processors)
		fprintf(stderr, "lapi_perf: disturbed: %d tasks share %d processor%s here\n",
		        here, processors, processors > 1 ? "s" : "");
	if (least > here)
		fprintf(stderr,
		        "lapi_perf: disturbed: others wanted to run all the time: at least %d "
		        "threads beside the %d tasks here\n",
		        least - here, here);
}
