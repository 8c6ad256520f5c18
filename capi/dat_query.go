package main

// #include <stdlib.h>
// #include "dat/calls.h"
// #include <dat2/udat.h>
// #include <dat2/dat_registry.h>
// #include <dat2/dat_ib_extensions.h>
import "C"

import (
	"fmt"
	"unsafe"

	"lapi/core/dat"
	"lapi/core/dat/codes"
)

func ptr[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }

// cHandle is a handle as C has it.
func cHandle(h dat.Handle) (p C.DAT_HANDLE) {
	*(*uint64)(ptr(&p)) = uint64(h)
	return p
}

// cAddress is an address of the library's memory as C has it.
func cAddress(a uint64) (p C.DAT_IA_ADDRESS_PTR) {
	*(*uint64)(ptr(&p)) = a
	return p
}

func put(to []C.char, s string) {
	n := min(len(s), len(to)-1)
	for i := range n {
		to[i] = C.char(s[i])
	}
	to[n] = 0
}

// query fills the structure at argument 2, for any mask that asks for something, as a whole.
func query[T dat.Object, P any](number int, subtype codes.Subtype, all uint64, f func(o T, p *P)) {
	def(number, subtype, func(o T, c *datCall) codes.Return {
		p := at[P](c, 2)
		switch {
		case c[1]&^all != 0:
			return codes.Arg(2)
		case p == nil:
			return codes.Arg(3)
		}
		if c[1] != 0 {
			f(o, p)
		}
		return codes.Success
	})
}

func initAdapterCalls() {
	d := &datCalls
	d[C.DAT_CALL_ia_openv] = func(c *datCall) codes.Return {
		switch {
		case c.needs(0):
			return codes.Arg(1)
		case c.needs(2):
			return codes.Arg(3)
		case c.needs(3):
			return codes.Arg(4)
		}
		evd := at[dat.Handle](c, 2)
		ia, r := udapl.lib.OpenIA(dat.OpenArgs{Name: c.str(0), Size: c.i(1), Async: *evd,
			Params: c.str(4), Table: c[5]})
		if r != codes.Success {
			return r
		}
		if *evd == 0 {
			*evd = ia.Async.Handle()
		}
		return made(c, 3, ia, r)
	}
	def(C.DAT_CALL_ia_close, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		if c.u(1) > 1 {
			return codes.Arg(2)
		}
		return ia.Close(c.u(1) == 1)
	})
	def(C.DAT_CALL_ia_query, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		if ia.Async != nil {
			set(c, 1, ia.Async.Handle())
		}
		return queryAdapter(ia, c, 2)
	})
	def(C.DAT_CALL_set_consumer_context, codes.InvalidHandle1, func(o dat.Object, c *datCall) codes.Return {
		dat.SetContext(o, c[1])
		return codes.Success
	})
	def(C.DAT_CALL_get_consumer_context, codes.InvalidHandle1, func(o dat.Object, c *datCall) codes.Return {
		set(c, 1, dat.Context(o))
		return codes.Success
	})
	def(C.DAT_CALL_get_handle_type, codes.InvalidHandle1, func(o dat.Object, c *datCall) codes.Return {
		set(c, 1, uint32(dat.KindOf(o)))
		return codes.Success
	})
	def(C.DAT_CALL_get_ia_handle, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		return made(c, 1, ia, codes.Success)
	})
	initQueries()
}

func cBool(b bool) C.DAT_BOOLEAN {
	if b {
		return C.DAT_TRUE
	}
	return C.DAT_FALSE
}

// queryAdapter fills the attributes that the masks at i and i+2 ask for.
func queryAdapter(ia *dat.IA, c *datCall, i int) codes.Return {
	switch {
	case c[i]&^C.DAT_IA_FIELD_ALL != 0:
		return codes.Arg(i + 1)
	case c[i] != 0 && c.needs(i+1):
		return codes.Arg(i + 2)
	case c[i+2]&^C.DAT_PROVIDER_FIELD_ALL != 0:
		return codes.Arg(i + 3)
	case c[i+2] != 0 && c.needs(i+3):
		return codes.Arg(i + 4)
	}
	if c[i] != 0 {
		fillAdapter(ia, at[C.DAT_IA_ATTR](c, i+1))
	}
	if c[i+2] != 0 {
		fillProvider(ia, at[C.DAT_PROVIDER_ATTR](c, i+3))
	}
	return codes.Success
}

const allOnes = ^C.DAT_VADDR(0)

func fillAdapter(ia *dat.IA, a *C.DAT_IA_ATTR) {
	*a = C.DAT_IA_ATTR{}
	put(a.adapter_name[:], ia.Device())
	put(a.vendor_name[:], ia.Name)
	a.hardware_version_major, a.firmware_version_major = 1, 1
	a.ia_address_ptr = cAddress(ia.Address())
	l := ia.Limits()
	count := func(n int32) C.DAT_COUNT { return C.DAT_COUNT(n) }
	a.max_eps, a.max_evds, a.max_pzs = count(l.EPs), count(l.EVDs), count(l.PZs)
	a.max_srqs, a.max_ep_per_srq = count(l.SRQs), count(l.EPs)
	a.max_lmrs, a.max_rmrs = count(l.LMRs), count(min(l.LMRs, dat.MaxRMRs))
	a.max_dto_per_ep, a.max_recv_per_srq = count(l.DTOs), count(l.SRQDTOs)
	a.max_rdma_read_per_ep_in, a.max_rdma_read_per_ep_out = count(l.ReadsIn), count(l.ReadsOut)
	a.max_rdma_read_in, a.max_rdma_read_out = 1<<20, 1<<20
	a.max_rdma_read_per_ep_in_guaranteed, a.max_rdma_read_per_ep_out_guaranteed = C.DAT_TRUE,
		C.DAT_TRUE
	a.max_evd_qlen = dat.EVDMax
	a.max_iov_segments_per_dto, a.max_iov_segments_per_rdma_read,
		a.max_iov_segments_per_rdma_write = count(l.IOV), count(l.ReadIOV), count(l.IOV)
	a.max_lmr_block_size = ^C.DAT_SEG_LENGTH(0)
	a.max_lmr_virtual_address, a.max_rmr_target_address = allOnes, allOnes
	a.max_message_size, a.max_rdma_size = C.DAT_SEG_LENGTH(l.Message), C.DAT_SEG_LENGTH(l.Message)
	a.zb_supported = C.DAT_TRUE
	a.extension_supported, a.extension_version = C.DAT_EXTENSION_IB, C.DAT_IB_EXTENSION_VERSION
}

func fillProvider(ia *dat.IA, a *C.DAT_PROVIDER_ATTR) {
	merge := a.evd_stream_merging_supported
	*a = C.DAT_PROVIDER_ATTR{}
	a.evd_stream_merging_supported = merge
	put(a.provider_name[:], ia.Name)
	a.provider_version_major, a.dapl_version_major = 2, 2
	a.lmr_mem_types_supported = 1<<dat.MemVirtual | 1<<dat.MemLMR | 1<<dat.MemShared
	a.completion_flags_supported = C.DAT_COMPLETION_FLAGS(dat.Suppress | dat.Solicited | dat.Fence |
		dat.Threshold)
	a.max_private_data_size = C.DAT_COUNT(ia.Limits().PrivateConnect)
	a.ep_creator = C.DAT_PSP_CREATES_EP_IFASKED
	a.optimal_buffer_alignment = 256
	streams := [6]dat.EVDFlags{dat.EVDSoftware, dat.EVDCR, dat.EVDDTO, dat.EVDConnection,
		dat.EVDBind, dat.EVDAsync}
	for i, f := range streams {
		for j, g := range streams {
			a.evd_stream_merging_supported[i][j] = cBool(dat.Mergeable(f | g))
		}
	}
	a.srq_supported, a.dto_async_return_guaranteed = C.DAT_TRUE, C.DAT_TRUE
	a.srq_ep_pz_difference_supported = C.DAT_TRUE
	a.srq_info_supported, a.ep_recv_info_supported = 1, 1
	a.rmr_scope_supported = C.DAT_RMR_SCOPE_PZ
	if ia.Limits().RMRsForEP {
		a.rmr_scope_supported = C.DAT_RMR_SCOPE_ANY
	}
	attributes := namedAttributes(ia)
	a.num_provider_specific_attr = C.DAT_COUNT(len(attributes))
	a.provider_specific_attr = &attributes[0]
}

// named are the arrays that programs were given, for good, by what they say.
var named = map[string][]C.DAT_NAMED_ATTR{}

func namedAttributes(ia *dat.IA) []C.DAT_NAMED_ATTR {
	attributes := ia.Attributes()
	key := fmt.Sprint(attributes)
	if a := named[key]; a != nil {
		return a
	}
	n := len(attributes)
	p := unsafe.Slice((*C.DAT_NAMED_ATTR)(C.calloc(C.size_t(n),
		C.size_t(unsafe.Sizeof(C.DAT_NAMED_ATTR{})))), n)
	for i, kv := range attributes {
		p[i].name, p[i].value = datString(kv[0]), datString(kv[1])
	}
	named[key] = p
	return p
}

func openQuery(c *datCall) codes.Return {
	switch {
	case c.needs(0):
		return codes.Arg(1)
	case c.needs(1):
		return codes.Arg(2)
	}
	ia, r := udapl.lib.OpenIA(dat.OpenArgs{Name: c.str(0), Async: dat.AsyncOutOfScope,
		Query: true, Params: c.str(6), Table: c[7]})
	if r != codes.Success {
		return r
	}
	if r = queryAdapter(ia, c, 2); r != codes.Success {
		ia.Close(false)
		return r
	}
	return made(c, 1, ia, r)
}

// attrOf is a DAT_EP_ATTR; nil of none.
func attrOf(a *C.DAT_EP_ATTR) *dat.Attr {
	if a == nil {
		return nil
	}
	return &dat.Attr{Service: uint32(a.service_type), MaxMessage: uint32(a.max_message_size),
		MaxRDMA: uint32(a.max_rdma_size), QoS: uint32(a.qos),
		RecvFlags:    dat.CompletionFlags(a.recv_completion_flags),
		RequestFlags: dat.CompletionFlags(a.request_completion_flags),
		MaxRecv:      int32(a.max_recv_dtos),
		MaxRequest:   int32(a.max_request_dtos), MaxRecvIOV: int32(a.max_recv_iov),
		MaxRequestIOV: int32(a.max_request_iov), MaxReadsIn: int32(a.max_rdma_read_in),
		MaxReadsOut: int32(a.max_rdma_read_out), SRQSoftHW: int32(a.srq_soft_hw),
		MaxRDMAReadIOV: int32(a.max_rdma_read_iov), MaxRDMAWriteIOV: int32(a.max_rdma_write_iov)}
}

func fillAttr(a *C.DAT_EP_ATTR, f *dat.Attr) {
	*a = C.DAT_EP_ATTR{service_type: C.DAT_SERVICE_TYPE(f.Service),
		max_message_size:         C.DAT_SEG_LENGTH(f.MaxMessage),
		max_rdma_size:            C.DAT_SEG_LENGTH(f.MaxRDMA),
		qos:                      C.DAT_QOS(f.QoS),
		recv_completion_flags:    C.DAT_COMPLETION_FLAGS(f.RecvFlags),
		request_completion_flags: C.DAT_COMPLETION_FLAGS(f.RequestFlags),
		max_recv_dtos:            C.DAT_COUNT(f.MaxRecv),
		max_request_dtos:         C.DAT_COUNT(f.MaxRequest),
		max_recv_iov:             C.DAT_COUNT(f.MaxRecvIOV),
		max_request_iov:          C.DAT_COUNT(f.MaxRequestIOV),
		max_rdma_read_in:         C.DAT_COUNT(f.MaxReadsIn), max_rdma_read_out: C.DAT_COUNT(f.MaxReadsOut),
		srq_soft_hw: C.DAT_COUNT(f.SRQSoftHW), max_rdma_read_iov: C.DAT_COUNT(f.MaxRDMAReadIOV),
		max_rdma_write_iov: C.DAT_COUNT(f.MaxRDMAWriteIOV)}
}

func initQueries() {
	query(C.DAT_CALL_evd_query, ofEVD, 31, func(e *dat.EVD, p *C.DAT_EVD_PARAM) {
		*p = C.DAT_EVD_PARAM{ia_handle: cHandle(e.IA().Handle()), evd_qlen: C.DAT_COUNT(e.Size()),
			evd_state: C.DAT_EVD_STATE(e.State()), cno_handle: cHandle(dat.HandleOf(e.CNO)),
			evd_flags: C.DAT_EVD_FLAGS(e.Flags)}
	})
	query(C.DAT_CALL_cno_query, ofCNO, 7, func(n *dat.CNO, p *C.DAT_CNO_PARAM) {
		*p = C.DAT_CNO_PARAM{ia_handle: cHandle(n.IA().Handle())}
		switch {
		case n.FD() >= 0:
			p.proxy_type = C.DAT_PROXY_TYPE_FD
			*(*int32)(ptr(&p.proxy)) = int32(n.FD())
		case n.Agent().Function != 0:
			p.proxy_type = C.DAT_PROXY_TYPE_AGENT
			*(*dat.Agent)(ptr(&p.proxy)) = n.Agent()
		}
	})
	query(C.DAT_CALL_pz_query, ofPZ, 1, func(z *dat.PZ, p *C.DAT_PZ_PARAM) {
		p.ia_handle = cHandle(z.IA().Handle())
	})
	query(C.DAT_CALL_lmr_query, ofLMR, 2047, func(m *dat.LMR, p *C.DAT_LMR_PARAM) {
		*p = C.DAT_LMR_PARAM{ia_handle: cHandle(m.IA().Handle()), mem_type: C.DAT_MEM_TYPE(m.Type),
			length: C.DAT_VLEN(m.Length), pz_handle: cHandle(m.PZ.Handle()),
			mem_priv:    C.DAT_MEM_PRIV_FLAGS(m.Privileges()),
			lmr_context: C.DAT_LMR_CONTEXT(m.Context),
			rmr_context: C.DAT_RMR_CONTEXT(m.RemoteContext()), registered_size: C.DAT_VLEN(m.Length),
			registered_address: C.DAT_VADDR(m.Address())}
		*(*[2]uint64)(ptr(&p.region_desc)) = m.Region
		if m.ZeroBased() {
			p.va_type = C.DAT_VA_TYPE_ZB
		}
	})
	query(C.DAT_CALL_rmr_query, ofRMR, 127, func(m *dat.RMR, p *C.DAT_RMR_PARAM) {
		*p = C.DAT_RMR_PARAM{ia_handle: cHandle(m.IA().Handle()), pz_handle: cHandle(m.PZ.Handle()),
			mem_priv:    C.DAT_MEM_PRIV_FLAGS(m.Privileges()),
			rmr_context: C.DAT_RMR_CONTEXT(m.Context),
			rmr_scope:   C.DAT_RMR_SCOPE_PZ}
		if m.ForEP {
			p.rmr_scope = C.DAT_RMR_SCOPE_EP
		}
		*(*dat.Triplet)(ptr(&p.lmr_triplet)) = m.Triplet
		if m.ZeroBased() {
			p.va_type = C.DAT_VA_TYPE_ZB
		}
	})
	query(C.DAT_CALL_psp_query, ofPSP, 15, func(s *dat.PSP, p *C.DAT_PSP_PARAM) {
		*p = C.DAT_PSP_PARAM{ia_handle: cHandle(s.IA().Handle()),
			conn_qual:  C.DAT_CONN_QUAL(s.Qualifier),
			evd_handle: cHandle(s.EVD.Handle())}
		if s.Provides {
			p.psp_flags = C.DAT_PSP_PROVIDER_FLAG
		}
	})
	query(C.DAT_CALL_rsp_query, ofRSP, 15, func(s *dat.RSP, p *C.DAT_RSP_PARAM) {
		*p = C.DAT_RSP_PARAM{ia_handle: cHandle(s.IA().Handle()),
			conn_qual:  C.DAT_CONN_QUAL(s.Qualifier),
			evd_handle: cHandle(s.EVD.Handle()), ep_handle: cHandle(s.EP.Handle())}
	})
	query(C.DAT_CALL_cr_query, ofCR, 31, func(r *dat.CR, p *C.DAT_CR_PARAM) {
		*p = C.DAT_CR_PARAM{remote_ia_address_ptr: cAddress(r.RemoteAt),
			remote_port_qual:  C.DAT_PORT_QUAL(r.Port),
			private_data_size: C.DAT_COUNT(r.DataSize), local_ep_handle: cHandle(r.LocalEP())}
		*(*uint64)(ptr(&p.private_data)) = r.DataAt
	})
	query(C.DAT_CALL_srq_query, ofSRQ, 255, func(s *dat.SRQ, p *C.DAT_SRQ_PARAM) {
		available, outstanding := s.Counts()
		*p = C.DAT_SRQ_PARAM{ia_handle: cHandle(s.IA().Handle()),
			srq_state: C.DAT_SRQ_STATE_OPERATIONAL,
			pz_handle: cHandle(s.PZ.Handle()), max_recv_dtos: C.DAT_COUNT(s.Max),
			max_recv_iov:  C.DAT_COUNT(s.MaxIOV),
			low_watermark: C.DAT_COUNT(s.LowWatermark), available_dto_count: C.DAT_COUNT(available),
			outstanding_dto_count: C.DAT_COUNT(outstanding)}
	})
	query(C.DAT_CALL_ep_query, ofEP, C.DAT_EP_FIELD_ALL, fillEndpoint)
	def(C.DAT_CALL_ep_modify, ofEP, func(e *dat.EP, c *datCall) codes.Return {
		p := at[C.DAT_EP_PARAM](c, 2)
		return e.Modify(c[1], dat.EPArgs{PZ: handle(p.pz_handle), Recv: handle(p.recv_evd_handle),
			Request: handle(p.request_evd_handle), Connect: handle(p.connect_evd_handle),
			SRQ: handle(p.srq_handle), Attr: attrOf(&p.ep_attr)})
	})
}

func handle(h C.DAT_HANDLE) dat.Handle { return dat.Handle(*(*uint64)(ptr(&h))) }

func fillEndpoint(e *dat.EP, p *C.DAT_EP_PARAM) {
	*p = C.DAT_EP_PARAM{ia_handle: cHandle(e.IA().Handle()), ep_state: C.DAT_EP_STATE(e.State),
		pz_handle: cHandle(dat.HandleOf(e.PZ)), recv_evd_handle: cHandle(dat.HandleOf(e.Recv)),
		request_evd_handle:   cHandle(dat.HandleOf(e.Request)),
		connect_evd_handle:   cHandle(dat.HandleOf(e.ConnectE)),
		srq_handle:           cHandle(dat.HandleOf(e.SRQ)),
		local_ia_address_ptr: cAddress(e.LocalAddress()),
	}
	local, remote := e.Ports()
	p.local_port_qual, p.remote_port_qual = C.DAT_PORT_QUAL(local), C.DAT_PORT_QUAL(remote)
	if e.Remote.IsValid() {
		p.remote_ia_address_ptr = cAddress(e.IA().AddressOf(e.Remote.Addr()))
	}
	fillAttr(&p.ep_attr, &e.Attr)
}
