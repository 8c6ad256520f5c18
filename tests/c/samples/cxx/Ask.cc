/*
 * Ask.cc - LAPI from C++: handlers are extern "C" functions in front of member functions, and exceptions stay on their side.
 *
 * Tasks form pairs of buddies. The even one asks the odd one to add up numbers that it sends as text, as an active message; the
 * answer is another. Some texts are no numbers: adding them up throws at the target. An exception must not leave a handler, for
 * its caller is LAPI, which knows nothing of exceptions. So the handler catches it and answers with its text, and the origin, in its own
 * code, throws what it was told.
 */
#include <cstring>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>
#include <lapi.h>

namespace {

/* A code other than LAPI_SUCCESS, as an exception of this task. */
class LapiError : public std::runtime_error {
public:
	LapiError(const char *call, int code) : std::runtime_error(describe(call, code)) {}

private:
	static std::string describe(const char *call, int code)
	{
		char text[LAPI_MAX_ERR_STRING];
		std::ostringstream s;

		s << call << ": " << (LAPI_Msg_string(code, text) == LAPI_SUCCESS ? text : "no text for this code");
		return s.str();
	}
};

/* What a handler of another task threw. */
class RemoteError : public std::runtime_error {
public:
	RemoteError(int task, const std::string &text) : std::runtime_error("at " + number(task) + ": " + text) {}

private:
	static std::string number(int task)
	{
		std::ostringstream s;
		s << "task " << task;
		return s.str();
	}
};

void check(const char *call, int code)
{
	if (code != LAPI_SUCCESS)
		throw LapiError(call, code);
}

/* What travels in the user header, a multiple of 8 bytes. */
struct Header {
	int from;   /* the task that sends it */
	int failed; /* of an answer: the text says why there is no sum */
	long sum;   /* of an answer */
};

/* Adds up the words of a text; throws std::invalid_argument when one is no number. */
long add_up(const std::string &text)
{
	std::istringstream words(text);
	std::string word;
	long sum = 0;

	while (words >> word) {
		std::istringstream s(word);
		long value;
		if (!(s >> value) || !s.eof())
			throw std::invalid_argument("\"" + word + "\" is no number");
		sum += value;
	}
	return sum;
}

/* A message on its way through the target: made by the header handler, used up by the completion handler. */
struct Arrival {
	Header header;
	std::vector<char> text;
};

extern "C" {
static void *question_header(lapi_handle_t *, void *, uint *, ulong *, compl_hndlr_t **, void **);
static void *answer_header(lapi_handle_t *, void *, uint *, ulong *, compl_hndlr_t **, void **);
static void question_complete(lapi_handle_t *, void *);
static void answer_complete(lapi_handle_t *, void *);
}

/* One LAPI context: LAPI_Init to LAPI_Term. There is one, because handlers find it here. */
class Context {
public:
	int task, num_tasks;

	Context()
	{
		lapi_info_t info;

		std::memset(&info, 0, sizeof info);
		info.lib_vers = LAST_LIB;
		check("LAPI_Init", LAPI_Init(&hndl, &info));
		check("LAPI_Qenv", LAPI_Qenv(hndl, TASK_ID, &task));
		check("LAPI_Qenv", LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
		check("LAPI_Setcntr", LAPI_Setcntr(hndl, &answered, 0));
		check("LAPI_Addr_set", LAPI_Addr_set(hndl, (void *)question_header, question));
		check("LAPI_Addr_set", LAPI_Addr_set(hndl, (void *)answer_header, answer));
		only = this; /* before the others may send */
		check("LAPI_Gfence", LAPI_Gfence(hndl)); /* everybody has set them */
	}
	~Context()
	{
		LAPI_Gfence(hndl);
		LAPI_Term(hndl);
		only = 0;
	}

	/* Asks tgt for the sum; throws RemoteError when its handler threw. */
	long ask(int tgt, const std::string &text)
	{
		send(tgt, question, Header{task, 0, 0}, text);
		check("LAPI_Waitcntr", LAPI_Waitcntr(hndl, &answered, 1, NULL));
		if (last.header.failed)
			throw RemoteError(tgt, std::string(last.text.begin(), last.text.end()));
		return last.header.sum;
	}

	/* At the target, in a completion handler: may throw, and its caller below sees to that. */
	void reply(const Arrival &asked)
	{
		Header h = {task, 0, 0};
		std::string why;

		try {
			h.sum = add_up(std::string(asked.text.begin(), asked.text.end()));
		} catch (const std::exception &e) {
			h.failed = 1;
			why = e.what();
		}
		send(asked.header.from, answer, h, why);
	}

	void take(Arrival &arrived)
	{
		std::swap(last, arrived);
		check("LAPI_Setcntr", LAPI_Setcntr(hndl, &answered, 1));
	}

	static Context *only;

private:
	enum { question = 1, answer = 2 };
	lapi_handle_t hndl;
	lapi_cntr_t answered;
	Arrival last;

	void send(int tgt, long handler, Header h, const std::string &text)
	{
		lapi_cntr_t sent;

		check("LAPI_Setcntr", LAPI_Setcntr(hndl, &sent, 0));
		check("LAPI_Amsend", LAPI_Amsend(hndl, tgt, (void *)handler, &h, sizeof h, (void *)text.data(), text.size(), NULL, &sent, NULL));
		check("LAPI_Waitcntr", LAPI_Waitcntr(hndl, &sent, 1, NULL)); /* text and h may go */
	}

	Context(const Context &);
	Context &operator=(const Context &);
};

Context *Context::only;

/* Makes room for a message of the given kind. Memory may be short: a header handler cannot say so by an exception. */
void *land(void *uhdr, ulong length, compl_hndlr_t *then, compl_hndlr_t **completion, void **user_info)
{
	try {
		Arrival *a = new Arrival;
		std::memcpy(&a->header, uhdr, sizeof a->header);
		a->text.resize(length + 1); /* at least a byte: a message without data needs no address, but one does no harm */
		*completion = then;
		*user_info = a;
		return &a->text[0];
	} catch (const std::exception &e) {
		std::cerr << "no room for a message: " << e.what() << std::endl;
		std::abort();
	}
}

extern "C" {

static void *question_header(lapi_handle_t *, void *uhdr, uint *, ulong *length, compl_hndlr_t **completion, void **user_info)
{
	return land(uhdr, *length, question_complete, completion, user_info);
}

static void *answer_header(lapi_handle_t *, void *uhdr, uint *, ulong *length, compl_hndlr_t **completion, void **user_info)
{
	return land(uhdr, *length, answer_complete, completion, user_info);
}

static void question_complete(lapi_handle_t *, void *user_info)
{
	Arrival *a = static_cast<Arrival *>(user_info);

	try {
		a->text.pop_back();
		Context::only->reply(*a);
	} catch (const std::exception &e) {
		std::cerr << "cannot answer: " << e.what() << std::endl;
	}
	delete a;
}

static void answer_complete(lapi_handle_t *, void *user_info)
{
	Arrival *a = static_cast<Arrival *>(user_info);

	try {
		a->text.pop_back();
		Context::only->take(*a);
	} catch (const std::exception &e) {
		std::cerr << "cannot take an answer: " << e.what() << std::endl;
	}
	delete a;
}

} /* extern "C" */

/* One question, whose answer must be this. */
bool asked(Context &lapi, int buddy, const char *text, const std::string &expected)
{
	std::ostringstream said, line;

	try {
		const long sum = lapi.ask(buddy, text);
		said << "the sum is " << sum;
	} catch (const RemoteError &e) {
		said << "caught here what was thrown " << e.what();
	}
	line << "task " << lapi.task << ": \"" << text << "\": " << said.str() << "\n";
	std::cout << line.str() << std::flush;
	return said.str().find(expected) != std::string::npos;
}

} /* namespace */

int main()
{
	try {
		bool right = true;
		int task;
		{
			Context lapi;
			int buddy = lapi.task ^ 1;
			task = lapi.task;
			if (lapi.task % 2 == 0 && buddy < lapi.num_tasks) {
				right = asked(lapi, buddy, "1 2 3 4", "the sum is 10") && right;
				right = asked(lapi, buddy, "1 two 3", "\"two\" is no number") && right;
				right = asked(lapi, buddy, "", "the sum is 0") && right;
			}
		}
		std::ostringstream line;
		line << "task " << task << (right ? ": passed\n" : ": FAILED\n");
		std::cout << line.str() << std::flush;
		return right ? 0 : 1;
	} catch (const std::exception &e) {
		std::cerr << e.what() << std::endl;
		return 1;
	}
}
