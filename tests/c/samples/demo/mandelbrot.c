/*
 * mandelbrot.c - sharing work with LAPI_Rmw: the tasks draw one picture, row by row, and each takes
 * the next row when it is ready for it.
 *
 * Task 0 owns the number of the next row and the picture. Every task, task 0 included, repeats:
 * fetch the number and add one to it (LAPI_Rmw), compute that row, put it into the picture
 * (LAPI_Put). Task 0 computes like the others and makes no call to serve them: in interrupt mode
 * the library does that. When all rows are there, which its target counter says, task 0 draws the
 * picture, with the mark of the task under each row, and compares it with one it computes alone.
 */
#include <time.h>
#include "sample.h"

#define WIDTH 76
#define HEIGHT 30
#define SAMPLES 24 /* points along each side of a character cell */
#define ITERATIONS 600

struct row {
	int task; /* who computed it */
	int unused;
	unsigned char cell[WIDTH];
};

/* A task's report to task 0 at the end, as the user header of an active message. */
struct report {
	int task, rows;
	double seconds; /* spent computing */
};

static struct row picture[HEIGHT]; /* task 0's is the picture */
static int next_row;               /* only task 0's is used */
static lapi_cntr_t rows_here;      /* task 0's target counter */
static struct report *reports;     /* task 0's: one a task */

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Iterations until the point (x, y) leaves the circle of radius 2, ITERATIONS if it does not. */
static int escape(double x, double y)
{
	double a = 0, b = 0;
	int count = 0;

	while (count < ITERATIONS && a * a + b * b < 4) {
		double t = a * a - b * b + x;

		b = 2 * a * b + y;
		a = t;
		count++;
	}
	return count;
}

/* The shade of a cell: from the mean over its points, 0 (left at once) to 9 (never). */
static unsigned char shade(int row, int column)
{
	long sum = 0;

	for (int i = 0; i < SAMPLES; i++)
		for (int j = 0; j < SAMPLES; j++) {
			double x = -2.2 + 3.2 * (column + (i + 0.5) / SAMPLES) / WIDTH;
			double y = -1.2 + 2.4 * (row + (j + 0.5) / SAMPLES) / HEIGHT;
			int count = escape(x, y);

			sum += count < 30 ? count : 30;
		}
	return (unsigned char)(sum * 10 / (31L * SAMPLES * SAMPLES));
}

static void compute(int number, int task, struct row *row)
{
	memset(row, 0, sizeof *row);
	row->task = task;
	for (int column = 0; column < WIDTH; column++)
		row->cell[column] = shade(number, column);
}

/* Takes rows until there are none left. */
static struct report take_rows(lapi_handle_t hndl, int task, void **picture_of, void **next_of,
                               void **counter_of)
{
	struct report report = {task, 0, 0};
	struct row *target = picture_of[0], row;
	lapi_cntr_t fetched, reusable;
	int number, one = 1;

	CALL(LAPI_Setcntr(hndl, &fetched, 0));
	CALL(LAPI_Setcntr(hndl, &reusable, 0));
	for (;;) {
		double start;

		CALL(LAPI_Rmw(hndl, FETCH_AND_ADD, 0, next_of[0], &one, &number, &fetched));
		CALL(LAPI_Waitcntr(hndl, &fetched, 1, NULL));
		if (number >= HEIGHT)
			return report;
		start = now();
		compute(number, task, &row);
		report.seconds += now() - start;
		report.rows++;
		CALL(LAPI_Put(hndl, 0, sizeof row, &target[number], &row, counter_of[0], &reusable,
		              NULL));
		CALL(LAPI_Waitcntr(hndl, &reusable, 1, NULL));
	}
}

/* At task 0: a report is all user header, so that it is complete here; there is no data to
 * place. */
static void *report_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **user_info)
{
	struct report *report = uhdr;

	(void)hndl, (void)uhdr_len, (void)msg_len, (void)user_info;
	reports[report->task] = *report;
	*completion = NULL;
	return NULL;
}

static void draw(int colour)
{
	static const char shades[] = " .:-=+*#%@";

	for (int row = 0; row < HEIGHT; row++) {
		if (colour)
			printf("\033[%dm", 31 + picture[row].task % 6);
		for (int column = 0; column < WIDTH; column++)
			putchar(shades[picture[row].cell[column]]);
		printf("%s %d\n", colour ? "\033[0m" : "", picture[row].task);
	}
	printf("(the number at the end of a row is the task that computed it)\n");
}

/* The same alone: the cells must be equal, and the time says what sharing the work has brought. */
static void compare(int num_tasks, double together)
{
	int wrong = 0;
	double start = now(), alone;
	struct row row;

	for (int number = 0; number < HEIGHT; number++) {
		compute(number, picture[number].task, &row);
		wrong += memcmp(&row, &picture[number], sizeof row) != 0;
	}
	alone = now() - start;
	EXPECT(wrong == 0);
	printf("one task alone %.0f ms, %d tasks together %.0f ms\n", alone * 1e3, num_tasks,
	       together * 1e3);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	struct report report;
	int task, num_tasks, rows = 0;
	void **picture_of, **next_of, **counter_of, **handler_of;
	double start, together = 0;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);

	reports = calloc(num_tasks, sizeof *reports);
	picture_of = calloc(num_tasks, sizeof *picture_of);
	next_of = calloc(num_tasks, sizeof *next_of);
	counter_of = calloc(num_tasks, sizeof *counter_of);
	handler_of = calloc(num_tasks, sizeof *handler_of);
	CALL(LAPI_Setcntr(hndl, &rows_here, 0));
	CALL(LAPI_Address_init(hndl, picture, picture_of));
	CALL(LAPI_Address_init(hndl, &next_row, next_of));
	CALL(LAPI_Address_init(hndl, &rows_here, counter_of));
	CALL(LAPI_Address_init(hndl, (void *)report_handler, handler_of));
	CALL(LAPI_Gfence(hndl));

	start = now();
	report = take_rows(hndl, task, picture_of, next_of, counter_of);
	if (task == 0) {
		CALL(LAPI_Waitcntr(hndl, &rows_here, HEIGHT, NULL));
		together = now() - start;
	}
	CALL(LAPI_Amsend(hndl, 0, handler_of[0], &report, sizeof report, NULL, 0, NULL, NULL,
	                 NULL));
	/* all reports have been handled: their header handler was all there was to do */
	CALL(LAPI_Gfence(hndl));

	if (task == 0) {
		draw(getenv("SAMPLE_COLOUR") != NULL);
		for (int i = 0; i < num_tasks; i++) {
			printf("task %d computed %2d rows in %.0f ms\n", i, reports[i].rows,
			       reports[i].seconds * 1e3);
			rows += reports[i].rows;
		}
		EXPECT(rows == HEIGHT);
		compare(num_tasks, together);
	}
	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	return sample_end();
}
