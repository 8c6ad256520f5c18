/*
 * Echo.cc - uDAPL from C++: objects that free what they have made, results as exceptions, messages
 * as strings, and a shared receive queue.
 *
 * The server has one stock of receives for all its connections, and answers each message on the
 * connection that it has come by. The client has three connections, and sends by each of them.
 */
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
#include <netdb.h>
#include <unistd.h>
#include <dat2/udat.h>

namespace
{

const DAT_TIMEOUT patience = 60000000; /* microseconds */
const int connections = 3, rounds = 4, room = 128;

/* A result other than DAT_SUCCESS. */
class DatError : public std::runtime_error
{
      public:
	DatError(const std::string &call, DAT_RETURN result)
		: std::runtime_error(call + ": " + names(result))
	{
	}

      private:
	static std::string names(DAT_RETURN result)
	{
		const char *major = "", *minor = "";

		dat_strerror(result, &major, &minor);
		return std::string(major) + " " + minor;
	}
};

void check(const char *call, DAT_RETURN result)
{
	if (result != DAT_SUCCESS)
		throw DatError(call, result);
}
#define CHECK(call) check(#call, call)

/* An adapter with a zone. Closing it frees everything else, also after an exception. */
class Adapter
{
      public:
	Adapter() : async(DAT_HANDLE_NULL)
	{
		CHECK(dat_ia_open(const_cast<char *>("lapi"), 8, &async, &ia));
		CHECK(dat_pz_create(ia, &pz));
	}
	~Adapter()
	{
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	}
	Adapter(const Adapter &) = delete;
	Adapter &operator=(const Adapter &) = delete;

	DAT_EVD_HANDLE evd(DAT_EVD_FLAGS flags)
	{
		DAT_EVD_HANDLE evd;

		CHECK(dat_evd_create(ia, 64, DAT_HANDLE_NULL, flags, &evd));
		return evd;
	}

	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

      private:
	DAT_EVD_HANDLE async;
};

/* The next event of an EVD, which must have this number. */
DAT_EVENT next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	CHECK(dat_evd_wait(evd, patience, 1, &event, &more));
	if (event.event_number != number)
		throw std::runtime_error("an event of another kind");
	return event;
}

/* Memory for one message, registered. */
class Buffer
{
      public:
	explicit Buffer(Adapter &adapter) : bytes(room)
	{
		DAT_REGION_DESCRIPTION region;
		DAT_LMR_HANDLE lmr;
		const int rights = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;

		region.for_va = &bytes[0];
		segment.virtual_address = reinterpret_cast<std::uintptr_t>(&bytes[0]);
		segment.segment_length = room;
		CHECK(dat_lmr_create(adapter.ia, DAT_MEM_TYPE_VIRTUAL, region, room, adapter.pz,
		                     static_cast<DAT_MEM_PRIV_FLAGS>(rights), DAT_VA_TYPE_VA, &lmr,
		                     &segment.lmr_context, NULL, NULL, NULL));
	}
	DAT_LMR_TRIPLET *fill(const std::string &text)
	{
		std::memcpy(&bytes[0], text.data(), text.size());
		sending = segment;
		sending.segment_length = static_cast<DAT_SEG_LENGTH>(text.size());
		return &sending;
	}
	std::string text(std::size_t length) const
	{
		return std::string(&bytes[0], length);
	}
	DAT_LMR_TRIPLET segment;

      private:
	std::vector<char> bytes;
	DAT_LMR_TRIPLET sending;
};

/* A stock of receives for several endpoints. Cookies are numbers of buffers. */
class Stock
{
      public:
	Stock(Adapter &adapter, int size) : done(adapter.evd(DAT_EVD_DTO_FLAG))
	{
		DAT_SRQ_ATTR attr;

		attr.max_recv_dtos = size;
		attr.max_recv_iov = 1;
		attr.low_watermark = DAT_SRQ_LW_DEFAULT;
		CHECK(dat_srq_create(adapter.ia, adapter.pz, &attr, &srq));
		buffers.reserve(static_cast<std::size_t>(size));
		for (int i = 0; i < size; i++) {
			buffers.emplace_back(adapter);
			post(static_cast<DAT_UINT64>(i));
		}
	}

	/* The next message, and by which endpoint it has come. */
	std::string receive(DAT_EP_HANDLE &ep)
	{
		const DAT_EVENT event = next(done, DAT_DTO_COMPLETION_EVENT);
		const DAT_DTO_COMPLETION_EVENT_DATA &dto =
			event.event_data.dto_completion_event_data;

		if (dto.status != DAT_DTO_SUCCESS)
			throw std::runtime_error("a receive has failed");
		ep = dto.ep_handle;
		const std::string text = buffers[dto.user_cookie.as_64].text(dto.transfered_length);
		post(dto.user_cookie.as_64);
		return text;
	}

	DAT_EVD_HANDLE done;
	DAT_SRQ_HANDLE srq;

      private:
	void post(DAT_UINT64 i)
	{
		DAT_DTO_COOKIE cookie;

		cookie.as_64 = i;
		CHECK(dat_srq_post_recv(srq, 1, &buffers[i].segment, cookie));
	}

	std::vector<Buffer> buffers;
};

/* Endpoints that share a stock, and what they send. */
class Side
{
      public:
	explicit Side(DAT_CONN_QUAL q)
		: stock(adapter, connections * rounds), sent(adapter.evd(DAT_EVD_DTO_FLAG)),
		  events(adapter.evd(DAT_EVD_CONNECTION_FLAG)), qualifier(q), out(adapter)
	{
	}

	DAT_EP_HANDLE endpoint()
	{
		DAT_EP_HANDLE ep;

		CHECK(dat_ep_create_with_srq(adapter.ia, adapter.pz, stock.done, sent, events,
		                             stock.srq, NULL, &ep));
		return ep;
	}

	/* Sends a message; it has gone when this returns. */
	void send(DAT_EP_HANDLE ep, const std::string &text)
	{
		DAT_DTO_COOKIE cookie;

		cookie.as_64 = 0;
		CHECK(dat_ep_post_send(ep, 1, out.fill(text), cookie, DAT_COMPLETION_DEFAULT_FLAG));
		const DAT_EVENT event = next(sent, DAT_DTO_COMPLETION_EVENT);
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			throw std::runtime_error("a send has failed");
	}

	Adapter adapter;
	Stock stock;
	DAT_EVD_HANDLE sent, events;
	DAT_CONN_QUAL qualifier;

      private:
	Buffer out;
};

void serve(Side &side)
{
	const DAT_EVD_HANDLE requests = side.adapter.evd(DAT_EVD_CR_FLAG);
	std::map<DAT_EP_HANDLE, int> answered;
	DAT_PSP_HANDLE psp;

	CHECK(dat_psp_create(side.adapter.ia, side.qualifier, requests, DAT_PSP_CONSUMER_FLAG,
	                     &psp));
	std::cout << "server: listening at qualifier " << side.qualifier << std::endl;
	for (int i = 0; i < connections; i++) {
		const DAT_EVENT event = next(requests, DAT_CONNECTION_REQUEST_EVENT);

		CHECK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
		                    side.endpoint(), 0, NULL));
		next(side.events, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	for (int i = 0; i < connections * rounds; i++) {
		DAT_EP_HANDLE ep;
		const std::string text = side.stock.receive(ep);

		side.send(ep, "echo of " + text);
		answered[ep]++;
	}
	for (const auto &one : answered)
		if (one.second != rounds)
			throw std::runtime_error("a message has come by another connection");
	std::cout << "server: answered by " << answered.size() << " connections" << std::endl;
	for (int i = 0; i < connections; i++)
		next(side.events, DAT_CONNECTION_EVENT_DISCONNECTED);
}

void ask(Side &side, const char *host)
{
	std::vector<DAT_EP_HANDLE> eps;
	struct addrinfo *found;

	if (getaddrinfo(host, NULL, NULL, &found) != 0)
		throw std::runtime_error(std::string("no address of ") + host);
	for (int i = 0; i < connections; i++) {
		eps.push_back(side.endpoint());
		CHECK(dat_ep_connect(eps[i], found->ai_addr, side.qualifier, patience, 0, NULL,
		                     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
		next(side.events, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	freeaddrinfo(found);
	for (int n = 0; n < rounds; n++)
		for (int i = 0; i < connections; i++) {
			const std::string text = std::to_string(n) + " by " + std::to_string(i);
			DAT_EP_HANDLE ep;

			side.send(eps[i], text);
			if (side.stock.receive(ep) != "echo of " + text || ep != eps[i])
				throw std::runtime_error("that is not the echo of " + text);
		}
	std::cout << "client: " << connections * rounds << " echoes" << std::endl;
	for (int i = 0; i < connections; i++) {
		CHECK(dat_ep_disconnect(eps[i], DAT_CLOSE_GRACEFUL_FLAG));
		next(side.events, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	/* What a call does not like is an exception with the names of the result. */
	try {
		side.send(side.endpoint(), "to nobody");
		throw std::runtime_error("an endpoint that is not connected has sent");
	} catch (const DatError &error) {
		std::cout << "client: refused: " << error.what() << std::endl;
	}
}

} // namespace

int main(int argc, char **argv)
{
	DAT_CONN_QUAL qualifier = 15500;
	int option;

	while ((option = getopt(argc, argv, "q:")) == 'q')
		qualifier = std::strtoull(optarg, NULL, 0);
	const char *host = argv[optind], *name = host ? "client" : "server";
	try {
		Side side(qualifier);

		if (host)
			ask(side, host);
		else
			serve(side);
	} catch (const std::exception &error) {
		std::cerr << name << ": FAILED: " << error.what() << std::endl;
		return 1;
	}
	std::cout << name << ": passed" << std::endl;
	return 0;
}
