/* options.c - the command line. */
#include "perf.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"Usage: lapirun -n 2 lapi_perf [OPTION]...\n"
	"\n"
	"Measures LAPI between two tasks, beside what the machine itself does.\n"
	"\n"
	"  --ops LIST       of put,get,am,rmw,fence,gfence; default: all\n"
	"  --sizes MIN:MAX  bytes, or with K, M or G; MIN times 4 and so on; default: 8:2M\n"
	"  --time SECONDS   of measuring for each row; default: 0.3\n"
	"  --pairs          all tasks measure: the first half with the second half\n"
	"  --csv            comma separated values, with a line of names\n"
	"  --plot           also bars of times and bandwidths by size\n"
	"  -h, --help       this text\n"
	"  -V, --version    the version\n"
	"\n"
	"Any launcher will do: mpirun -n 2 lapi_perf; srun -n 2 lapi_perf.\n"
	"Exit status: 0; 1: LAPI failed, or data arrived wrong; 2: bad usage.\n";

static void bad(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void bad(const char *format, ...)
{
	va_list args;

	fputs("lapi_perf: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("; try lapi_perf --help\n", stderr);
	exit(2);
}

static unsigned ops_of(const char *list)
{
	unsigned ops = 0;

	while (*list) {
		size_t n = strcspn(list, ",");
		int op = 0;

		while (op < OPERATIONS && (strlen(operations[op].name) != n ||
		                           strncmp(operations[op].name, list, n) != 0))
			op++;
		if (op == OPERATIONS)
			bad("--ops: there is no operation '%.*s'", (int)n, list);
		ops |= 1u << op;
		list += n;
		if (*list && !*++list)
			bad("--ops: the list ends with a comma");
	}
	if (!ops)
		bad("--ops: no operation is named");
	return ops;
}

/* Reads bytes up to the character that follows them. */
static uint64_t bytes_of(const char **text, const char *whole)
{
	static const char units[] = "KMG";
	char *end;
	unsigned long long n;
	const char *unit;

	errno = 0;
	n = strtoull(*text, &end, 10);
	if (**text < '0' || **text > '9' || errno)
		bad("--sizes: '%s' is not MIN:MAX in bytes", whole);
	unit = *end ? strchr(units, *end) : NULL;
	if (n < 1 || n > 1ull << 30 || (unit && n > 1ull << (30 - 10 * (unit - units + 1))))
		bad("--sizes: '%s': a size is 1 byte to 1G", whole);
	*text = unit ? end + 1 : end;
	return unit ? n << 10 * (unit - units + 1) : n;
}

static void sizes_of(options *o, const char *text)
{
	const char *at = text;
	uint64_t least = bytes_of(&at, text), most = least;

	if (*at == ':') {
		at++;
		most = bytes_of(&at, text);
	}
	if (*at)
		bad("--sizes: '%s' is not MIN:MAX in bytes", text);
	if (most < least)
		bad("--sizes: '%s': the first size is above the last", text);
	for (o->num_sizes = 0; least < most; least *= 4)
		o->sizes[o->num_sizes++] = (size_t)least;
	o->sizes[o->num_sizes++] = (size_t)most;
}

static double seconds_of(const char *text)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s >= 0.001 && s <= 3600))
		bad("--time: '%s' is not a number of seconds, 0.001 to 3600", text);
	return s;
}

void read_options(int argc, char **argv, options *o)
{
	static const struct option known[] = {
		{"ops", 1, 0, 'o'},   {"sizes", 1, 0, 's'}, {"time", 1, 0, 't'},
		{"pairs", 0, 0, 'p'}, {"csv", 0, 0, 'c'},   {"plot", 0, 0, 'P'},
		{"help", 0, 0, 'h'},  {"version", 0, 0, 'V'}, {0, 0, 0, 0}};
	int c;

	memset(o, 0, sizeof *o);
	o->ops = (1u << OPERATIONS) - 1;
	o->seconds = 0.3;
	sizes_of(o, "8:2M");
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:hV", known, NULL)) != -1) {
		switch (c) {
		case 'o': o->ops = ops_of(optarg); break;
		case 's': sizes_of(o, optarg); break;
		case 't': o->seconds = seconds_of(optarg); break;
		case 'p': o->pairs = 1; break;
		case 'c': o->csv = 1; break;
		case 'P': o->plot = 1; break;
		case 'h': exit(fputs(usage, stdout) < 0 || fflush(stdout) != 0);
		case 'V':
			puts("lapi_perf (LAPI for Linux) " LAPI_PERF_VERSION);
			exit(fflush(stdout) != 0);
		case ':': bad("%s needs a value", argv[optind - 1]);
		default: bad("unknown option %s", argv[optind - 1]);
		}
	}
	if (optind < argc)
		bad("unexpected argument '%s'", argv[optind]);
	if (o->csv && o->plot)
		bad("--csv and --plot exclude each other");
}
