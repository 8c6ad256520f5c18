/*
 * sample.h - the little that all samples share: calling LAPI with the return code checked, printing
 * a line that says which task speaks, and counting results that are not what they should be.
 *
 * Everything is static, so that a group of samples needs only this file beside it.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <lapi.h>

static int sample_task = -1; /* this task, once sample_begin was called; -1: not known yet */
static int sample_wrong;     /* results that were not as expected */

/* Calls a LAPI subroutine; when it fails, says which and why, and ends the task. */
#define CALL(call) sample_call((call), #call, __FILE__, __LINE__)

/* Checks a result; when it is wrong, prints it and makes sample_end return a failure. */
#define EXPECT(condition) sample_expect((condition) != 0, #condition, __FILE__, __LINE__)

static inline void sample_call(int code, const char *call, const char *file, int line)
{
	char text[LAPI_MAX_ERR_STRING];

	if (code == LAPI_SUCCESS)
		return;
	if (LAPI_Msg_string(code, text) != LAPI_SUCCESS)
		snprintf(text, sizeof text, "no text for this code");
	if (sample_task >= 0)
		fprintf(stderr, "task %d: ", sample_task);
	fprintf(stderr, "%s:%d: %s returned %d: %s\n", file, line, call, code, text);
	exit(1);
}

static inline void sample_expect(int holds, const char *condition, const char *file, int line)
{
	if (holds)
		return;
	sample_wrong++;
	fprintf(stderr, "task %d: %s:%d: WRONG: not true that %s\n", sample_task, file, line,
	        condition);
}

/* Prints one line, "task N: " in front. */
__attribute__((format(printf, 1, 2), unused)) static void sample_say(const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	printf("task %d: %s\n", sample_task, line);
	fflush(stdout); /* one write a line: lines of several tasks stay whole */
}

/* Call once LAPI has said which task this is. */
static inline void sample_begin(int task)
{
	sample_task = task;
}

/* Call last, after LAPI_Term: the exit status of the program. */
static inline int sample_end(void)
{
	if (sample_wrong == 0) {
		sample_say("passed");
		return 0;
	}
	sample_say("FAILED, %d wrong", sample_wrong);
	return 1;
}

#endif
