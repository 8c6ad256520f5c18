/*
 * heat.c - neighbours exchanging with LAPI_Put: heat spreads over a plate that is cut into strips,
 * one a task.
 *
 * In each step a task puts its first and last row into its neighbours' memory, waits until theirs
 * have come, and computes the new temperatures of its strip. No message is received anywhere: the
 * target counters say that a row is there. At the end task 0 gets all strips, draws the plate, and
 * compares it with one it computes alone, which must be equal to the last bit.
 */
#include <math.h>
#include <time.h>
#include "sample.h"

#define SCALE 4 /* cells along each side of a point of the pattern */
#define WIDTH (240 * SCALE)
#define HEIGHT (100 * SCALE)
#define CELLS (WIDTH + 2) /* a row has a cold edge at both ends */
#define STEPS 600
#define KEPT 0.9995 /* of its heat, in a step; the rest goes into the air */

enum { ABOVE, BELOW };

/*
 * The rows that the neighbours write: one for each side and for even and odd steps. A neighbour can
 * be one step ahead, not two, as it needs this task's row of the previous step; so a row is not
 * overwritten while it is read.
 */
static double halo[2][2][CELLS];
static lapi_cntr_t halo_here[2]; /* target counters, one a side */

/* A strip: rows + 2 rows of CELLS temperatures, twice, for the old and the new values; rows 0 and
 * rows + 1 are the neighbours'. */
struct strip {
	int first, rows; /* of the plate's HEIGHT */
	double *old, *new;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Letters that are kept hot: 1 where row, column of the plate belongs to one. */
static int is_hot(int row, int column)
{
	static const char *const letters[7] = {
		"1...........1....1111...111", "1..........1.1...1...1...1.",
		"1.........1...1..1...1...1.", "1.........1...1..1111....1.",
		"1.........11111..1.......1.", "1.........1...1..1.......1.",
		"11111.....1...1..1......111",
	};
	int line = (row / SCALE - 15) / 10, place = (column / SCALE - 13) / 8;

	return row >= 15 * SCALE && line < 7 && column >= 13 * SCALE && place < 27 &&
	       letters[line][place] == '1';
}

static double *cell_row(double *cells, int row)
{
	return cells + (size_t)row * CELLS;
}

static struct strip make_strip(int first, int rows)
{
	struct strip strip = {first, rows, NULL, NULL};

	strip.old = calloc((size_t)(rows + 2) * CELLS, sizeof *strip.old);
	strip.new = calloc((size_t)(rows + 2) * CELLS, sizeof *strip.new);
	for (int row = 1; row <= rows; row++)
		for (int column = 1; column <= WIDTH; column++)
			if (is_hot(first + row - 1, column - 1))
				cell_row(strip.old, row)[column] = 100;
	return strip;
}

/* One step: each cell becomes the mean of its four neighbours, less what is lost; hot cells stay
 * hot. Then old and new change places. */
static void spread(struct strip *strip)
{
	double *new = strip->new;

	for (int row = 1; row <= strip->rows; row++) {
		const double *up = cell_row(strip->old, row - 1), *here = cell_row(strip->old, row);
		const double *down = cell_row(strip->old, row + 1);
		double *to = cell_row(new, row);

		for (int column = 1; column <= WIDTH; column++)
			to[column] = is_hot(strip->first + row - 1, column - 1)
			                     ? 100
			                     : KEPT / 4 *
			                               (up[column] + down[column] +
			                                here[column - 1] + here[column + 1]);
	}
	strip->new = strip->old;
	strip->old = new;
}

/* A neighbour, and where its memory is. */
struct neighbour {
	int task; /* -1: none */
	double (*halo)[2][CELLS];
	lapi_cntr_t *halo_here;
};

/* Puts the edge rows to the neighbours, and takes theirs. */
static void exchange(lapi_handle_t hndl, struct strip *strip, const struct neighbour *neighbours,
                     int step, lapi_cntr_t *reusable)
{
	int sent = 0;

	for (int side = ABOVE; side <= BELOW; side++) {
		const struct neighbour *to = &neighbours[side];

		if (to->task < 0)
			continue;
		/* my first row is what the one above has below it */
		CALL(LAPI_Put(hndl, to->task, CELLS * sizeof(double), to->halo[!side][step % 2],
		              cell_row(strip->old, side == ABOVE ? 1 : strip->rows),
		              &to->halo_here[!side], reusable, NULL));
		sent++;
	}
	for (int side = ABOVE; side <= BELOW; side++) {
		if (neighbours[side].task < 0)
			continue;
		CALL(LAPI_Waitcntr(hndl, &halo_here[side], 1, NULL));
		memcpy(cell_row(strip->old, side == ABOVE ? 0 : strip->rows + 1),
		       halo[side][step % 2], CELLS * sizeof(double));
	}
	/* the rows sent become the new ones of the next step */
	CALL(LAPI_Waitcntr(hndl, reusable, sent, NULL));
}

/* The greatest value that any task gives: an exchange of "addresses" carries any 64 bits. */
static double greatest(lapi_handle_t hndl, int num_tasks, double mine)
{
	lapi_long_t *table = calloc(num_tasks, sizeof *table), bits;
	double value;

	memcpy(&bits, &mine, sizeof bits);
	CALL(LAPI_Address_init64(hndl, bits, table));
	for (int i = 0; i < num_tasks; i++) {
		memcpy(&value, &table[i], sizeof value);
		if (value > mine)
			mine = value;
	}
	free(table);
	return mine;
}

/* The largest change of the last step in this strip. */
static double change(const struct strip *strip)
{
	double largest = 0;

	for (int i = CELLS; i < (strip->rows + 1) * CELLS; i++)
		if (fabs(strip->old[i] - strip->new[i]) > largest)
			largest = fabs(strip->old[i] - strip->new[i]);
	return largest;
}

static void draw(const double *plate, int colour)
{
	static const char shades[] = " .:-=+*#%@";
	static const int colours[] = {34, 34, 36, 36, 32, 33, 33, 31, 31, 35};

	for (int row = 2 * SCALE; row < HEIGHT; row += 5 * SCALE) {
		int shown = 0;

		for (int column = SCALE; column < WIDTH; column += 3 * SCALE) {
			int level = (int)(plate[(size_t)(row + 1) * CELLS + column + 1] / 10.0001);

			if (colour && shown != colours[level]) {
				shown = colours[level];
				printf("\033[%dm", shown);
			}
			putchar(shades[level]);
		}
		printf("%s\n", colour ? "\033[0m" : "");
	}
}

/* At task 0: gets the strips of all tasks into one plate, rows 1 to HEIGHT. */
static double *collect(lapi_handle_t hndl, int num_tasks, void **cells_of, const int *first_of)
{
	double *plate = calloc((size_t)(HEIGHT + 2) * CELLS, sizeof *plate);
	lapi_cntr_t here;

	CALL(LAPI_Setcntr(hndl, &here, 0));
	for (int i = 0; i < num_tasks; i++)
		CALL(LAPI_Get(
			hndl, i, (size_t)(first_of[i + 1] - first_of[i]) * CELLS * sizeof(double),
			cell_row(cells_of[i], 1), cell_row(plate, first_of[i] + 1), NULL, &here));
	CALL(LAPI_Waitcntr(hndl, &here, num_tasks, NULL));
	return plate;
}

static void compare(const double *plate, int num_tasks, double together)
{
	struct strip whole = make_strip(0, HEIGHT);
	double start = now(), alone;

	for (int step = 0; step < STEPS; step++)
		spread(&whole);
	alone = now() - start;
	EXPECT(memcmp(cell_row(whole.old, 1), plate + CELLS,
	              (size_t)HEIGHT * CELLS * sizeof(double)) == 0);
	printf("%d steps: one task alone %.0f ms, %d tasks together %.0f ms; both plates are equal: %s\n",
	       STEPS, alone * 1e3, num_tasks, together * 1e3, sample_wrong ? "NO" : "yes");
	free(whole.old);
	free(whole.new);
}

static void find_neighbours(lapi_handle_t hndl, int task, int num_tasks,
                            struct neighbour *neighbours)
{
	void **halo_of = calloc(num_tasks, sizeof *halo_of),
	     **counters_of = calloc(num_tasks, sizeof *counters_of);

	for (int side = ABOVE; side <= BELOW; side++)
		CALL(LAPI_Setcntr(hndl, &halo_here[side], 0));
	CALL(LAPI_Address_init(hndl, halo, halo_of));
	CALL(LAPI_Address_init(hndl, halo_here, counters_of));
	for (int side = ABOVE; side <= BELOW; side++) {
		int other = side == ABOVE ? task - 1 : task + 1;

		neighbours[side].task = other < num_tasks ? other : -1;
		if (neighbours[side].task < 0)
			continue;
		neighbours[side].halo = halo_of[other];
		neighbours[side].halo_here = counters_of[other];
	}
	free(halo_of);
	free(counters_of);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks, *first_of;
	void **cells_of;
	struct strip strip;
	struct neighbour neighbours[2];
	lapi_cntr_t reusable;
	double start, together, last_change;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	if (num_tasks > HEIGHT) {
		fprintf(stderr, "at most %d tasks, a row each\n", HEIGHT);
		return 2;
	}

	first_of = calloc(num_tasks + 1, sizeof *first_of);
	if (!first_of)
		return 2;
	for (int i = 0; i <= num_tasks; i++)
		first_of[i] = HEIGHT * i / num_tasks;
	strip = make_strip(first_of[task], first_of[task + 1] - first_of[task]);
	find_neighbours(hndl, task, num_tasks, neighbours);
	CALL(LAPI_Setcntr(hndl, &reusable, 0));
	CALL(LAPI_Gfence(hndl));

	start = now();
	for (int step = 0; step < STEPS; step++) {
		exchange(hndl, &strip, neighbours, step, &reusable);
		spread(&strip);
	}
	CALL(LAPI_Gfence(hndl));
	together = now() - start;

	last_change = greatest(hndl, num_tasks, change(&strip));
	cells_of = calloc(num_tasks, sizeof *cells_of);
	CALL(LAPI_Address_init(hndl, strip.old, cells_of));
	if (task == 0) {
		double *plate = collect(hndl, num_tasks, cells_of, first_of);

		draw(plate, getenv("SAMPLE_COLOUR") != NULL);
		printf("the last step changed no temperature by more than %.4f degrees\n",
		       last_change);
		compare(plate, num_tasks, together);
		free(plate);
	}
	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	free(first_of);
	free(cells_of);
	free(strip.old);
	free(strip.new);
	return sample_end();
}
