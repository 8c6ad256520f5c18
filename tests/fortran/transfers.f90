! transfers.f90 - vectors, and LAPI_XFER with each of its types, with send completion handlers and a get's completion handler. Any number of tasks.
module seen
  implicit none
  integer(4), save, volatile :: sends = 0, gets = 0, last = -1, reason = -1, parameter_seen = 0, arrivals = 0
  integer(4), save, volatile :: place(200) = 0
end module seen

subroutine sent(hndl, parameter, info)
  use seen
  implicit none
  include 'lapif.h'
  integer(4) :: hndl, parameter
  type(LAPI_SH_INFO_T) :: info
  sends = sends + 1
  last = info%src
  reason = info%reason
  parameter_seen = parameter
  if (hndl < 0) sends = -1
end subroutine sent

subroutine got(hndl, parameter)
  use seen
  implicit none
  integer(4) :: hndl, parameter
  gets = gets + 1
  parameter_seen = parameter
  if (hndl < 0) gets = -1
end subroutine got

function header_handler(hndl, uhdr, uhdr_len, msg_len, comp_h, user_info)
  use seen
  implicit none
  include 'lapif.h'
  integer(LAPI_ADDR_TYPE) :: header_handler
  integer(4) :: hndl, uhdr, uhdr_len, rc
  integer(LAPI_LONG_TYPE) :: msg_len
  integer(LAPI_ADDR_TYPE) :: comp_h, user_info
  arrivals = arrivals + 1
  comp_h = LAPI_ADDR_NULL
  user_info = hndl + uhdr + uhdr_len + msg_len
  call LAPI_ADDRESS(place, header_handler, rc)
end function header_handler

function vector_handler(hndl, uhdr, uhdr_len, len_vec, comp_h, user_info)
  use seen
  implicit none
  include 'lapif.h'
  integer(LAPI_ADDR_TYPE) :: vector_handler
  integer(4) :: hndl, uhdr, uhdr_len, rc
  integer(LAPI_ADDR_TYPE) :: len_vec, comp_h, user_info
  type(LAPI_VEC_T), save :: vec
  integer(LAPI_LONG_TYPE), save :: strided(3)
  arrivals = arrivals + 1
  comp_h = LAPI_ADDR_NULL
  user_info = hndl + uhdr + uhdr_len + len_vec
  vec%vec_type = LAPI_GEN_STRIDED_XFER
  vec%num_vecs = 10
  call LAPI_ADDRESS(place, strided(1), rc)
  strided(2:3) = [4, 40]
  call LAPI_ADDRESS(strided, vec%info, rc)
  vec%len = LAPI_ADDR_NULL
  call LAPI_ADDRESS(vec, vector_handler, rc)
end function vector_handler

program transfers
  use testing
  use seen
  implicit none
  include 'lapif.h'
  integer(4) :: h, me, n, next, rc, i
  integer(LAPI_ADDR_TYPE), allocatable :: fields(:), counters(:)
  integer(LAPI_ADDR_TYPE) :: address, sent_address, got_address, origin_address, done_address, tag_address
  external :: sent, got
  integer(LAPI_ADDR_TYPE), external :: header_handler, vector_handler
  type(LAPI_CNTR_T), save, volatile :: arrived, origin, done
  integer(4), save, volatile :: field(10, 10), mine(10, 10)
  integer(4), save :: tag = 4711

  call start(h, me, n, LAPI_ADDR_NULL)
  next = mod(me + 1, n)
  allocate (fields(n), counters(n))
  call LAPI_SETCNTR(h, arrived, 0, rc)
  call LAPI_SETCNTR(h, origin, 0, rc)
  call LAPI_SETCNTR(h, done, 0, rc)
  call LAPI_ADDRESS(arrived, address, rc)
  call LAPI_ADDRESS_INIT(h, address, counters, rc)
  call LAPI_ADDRESS(field, address, rc)
  call LAPI_ADDRESS_INIT(h, address, fields, rc)
  call LAPI_ADDRESS(sent, sent_address, rc)
  call LAPI_ADDRESS(got, got_address, rc)
  call LAPI_ADDRESS(origin, origin_address, rc)
  call LAPI_ADDRESS(done, done_address, rc)
  call LAPI_ADDRESS(tag, tag_address, rc)
  mine = reshape([(i, i=1, 100)], [10, 10])
  call rows
  call blocks
  call vector_errors
  call buffers
  call xfer_put
  call xfer_get
  call xfer_rmw
  call xfer_messages
  call xfer_vectors
  call LAPI_GFENCE(h, rc)
  call LAPI_TERM(h, rc)
  call finish('transfers')

contains

  subroutine wait_for(counter, what)
    type(LAPI_CNTR_T), volatile :: counter
    character(*), intent(in) :: what
    call LAPI_WAITCNTR(h, counter, 1, LAPI_ADDR_NULL, rc)
    call good(rc, what)
  end subroutine wait_for

  subroutine clear
    call LAPI_GFENCE(h, rc)
    field = 0
    place = 0
    sends = 0
    gets = 0
    arrivals = 0
    parameter_seen = 0
    call LAPI_GFENCE(h, rc)
  end subroutine clear

  ! A get's completion handler is queued: it may run after the counter has changed.
  subroutine wait_for_handler
    do while (gets == 0)
      call LAPI_PROBE(h, rc)
    end do
    call expect(gets == 1 .and. parameter_seen == tag, 'completion handler')
  end subroutine wait_for_handler

  ! A vector of a row: 10 blocks of one number, a column apart. Its description is info.
  subroutine describe_row(vec, info, base)
    type(LAPI_VEC_T), intent(out) :: vec
    integer(LAPI_ADDR_TYPE), intent(out) :: info(3)
    integer(LAPI_ADDR_TYPE), intent(in) :: base
    info = [base, 4_LAPI_ADDR_TYPE, 40_LAPI_ADDR_TYPE]
    vec%vec_type = LAPI_GEN_STRIDED_XFER
    vec%num_vecs = 10
    call LAPI_ADDRESS(info, vec%info, rc)
    vec%len = LAPI_ADDR_NULL
  end subroutine describe_row

  ! tgt_vec is the address of the target's description, as in the man page, or that description.
  subroutine rows
    type(LAPI_VEC_T), target, save :: here, there
    integer(LAPI_ADDR_TYPE), save :: here_info(3), there_info(3), from, there_address
    call clear
    call LAPI_ADDRESS(mine(3, 1), from, rc)
    call describe_row(here, here_info, from)
    call describe_row(there, there_info, fields(next + 1) + 4)
    call LAPI_ADDRESS(there, there_address, rc)
    call LAPI_PUTV(h, next, there_address, here, counters(next + 1), origin, done, rc)
    call good(rc, 'LAPI_PUTV')
    call wait_for(origin, 'origin counter')
    call wait_for(done, 'completion counter')
    call wait_for(arrived, 'target counter')
    call expect(all(field(2, :) == mine(3, :)) .and. count(field /= 0) == 10, 'a row')
    call clear
    call LAPI_PUTV(h, next, there, here, counters(next + 1), LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
    call good(rc, 'LAPI_PUTV, the description itself')
    call wait_for(arrived, 'target counter')
    call expect(all(field(2, :) == mine(3, :)), 'a row, by its description')
    call LAPI_GFENCE(h, rc)
    field = mine + 1000 * me
    call LAPI_GFENCE(h, rc)
    call LAPI_GETV(h, next, there_address, here, LAPI_ADDR_NULL, origin, rc)
    call good(rc, 'LAPI_GETV')
    call wait_for(origin, 'origin counter')
    call expect(all(mine(3, :) == [(i * 10 + 2, i=0, 9)] + 1000 * next), 'a row fetched')
    call LAPI_GFENCE(h, rc)
    mine = reshape([(i, i=1, 100)], [10, 10])
    call end_case('strided vectors')
  end subroutine rows

  subroutine blocks
    type(LAPI_VEC_T), save :: here, there
    integer(LAPI_ADDR_TYPE), save :: here_info(2), there_info(2), there_address
    integer(LAPI_LONG_TYPE), save :: len(2)
    integer(LAPI_ADDR_TYPE), save :: no_address(4) = 0
    call clear
    call LAPI_ADDRESS(mine(1, 1), here_info(1), rc)
    call LAPI_ADDRESS(mine(5, 5), here_info(2), rc)
    there_info = [fields(next + 1) + 80, fields(next + 1)]
    len = [12, 8]
    here%vec_type = LAPI_GEN_IOVECTOR
    here%num_vecs = 2
    call LAPI_ADDRESS(here_info, here%info, rc)
    call LAPI_ADDRESS(len, here%len, rc)
    there = here
    call LAPI_ADDRESS(there_info, there%info, rc)
    call LAPI_ADDRESS(there, there_address, rc)
    call LAPI_PUTV(h, next, there_address, here, counters(next + 1), LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
    call wait_for(arrived, 'target counter')
    call expect(all(field(1:3, 3) == mine(1:3, 1)) .and. all(field(1:2, 1) == mine(5:6, 5)), 'two blocks')
    call clear
    call LAPI_PUTV(h, next, there, here, counters(next + 1), LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
    call good(rc, 'LAPI_PUTV, the description itself')
    call wait_for(arrived, 'target counter')
    call expect(all(field(1:3, 3) == mine(1:3, 1)) .and. all(field(1:2, 1) == mine(5:6, 5)), 'two blocks, by their description')
    call LAPI_GFENCE(h, rc)
    there%num_vecs = 3
    call LAPI_PUTV(h, next, there, here, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_VEC_NUM_DIFF, rc, 'LAPI_PUTV by a description with a block more')
    ! An address of 0 is none, whatever lies behind it.
    call LAPI_PUTV(h, next, no_address(1:4), here, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_TGT_VEC_NULL, rc, 'LAPI_PUTV to an address of 0')
    no_address(2) = 2
    call LAPI_PUTV(h, next, no_address(1:4), here, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_TGT_VEC_NULL, rc, 'LAPI_PUTV to an address of 0, two small numbers behind it')
    call end_case('lists of blocks')
  end subroutine blocks

  subroutine vector_errors
    type(LAPI_VEC_T), save :: here, there
    integer(LAPI_ADDR_TYPE), save :: info(3), from, there_address
    call LAPI_ADDRESS(mine(1, 1), from, rc)
    call describe_row(here, info, from)
    there = here
    call LAPI_ADDRESS(there, there_address, rc)
    call LAPI_PUTV(h, next, LAPI_ADDR_NULL, here, LAPI_ADDR_NULL, origin, done, rc)
    call code(LAPI_ERR_TGT_VEC_NULL, rc, 'LAPI_PUTV to LAPI_ADDR_NULL')
    call LAPI_PUTV(h, next, there_address, LAPI_ADDR_NULL, LAPI_ADDR_NULL, origin, done, rc)
    call code(LAPI_ERR_ORG_VEC_NULL, rc, 'LAPI_PUTV from LAPI_ADDR_NULL')
    call LAPI_GETV(h, next, LAPI_ADDR_NULL, here, LAPI_ADDR_NULL, origin, rc)
    call code(LAPI_ERR_TGT_VEC_NULL, rc, 'LAPI_GETV from LAPI_ADDR_NULL')
    call LAPI_GETV(h, next, there_address, LAPI_ADDR_NULL, LAPI_ADDR_NULL, origin, rc)
    call code(LAPI_ERR_ORG_VEC_NULL, rc, 'LAPI_GETV to LAPI_ADDR_NULL')
    there%num_vecs = 3
    call LAPI_PUTV(h, next, there_address, here, LAPI_ADDR_NULL, origin, done, rc)
    call code(LAPI_ERR_VEC_NUM_DIFF, rc, 'LAPI_PUTV of unlike vectors')
    call end_case('wrong vectors')
  end subroutine vector_errors

  ! A buffer of the origin is passed as the variable itself, to LAPI_GET as to LAPI_PUT. A buffer known by its address alone is passed by
  ! value, or by a pointer.
  subroutine buffers
    use, intrinsic :: iso_c_binding
    integer(4), target, volatile, save :: back(10)
    integer(LAPI_ADDR_TYPE), volatile, save :: variable, here
    type(LAPI_ADDR_T) :: known
    integer(4), pointer, volatile :: pointed(:)
    call clear
    call LAPI_ADDRESS(back, here, rc)
    known%addr = here
    variable = here
    back = -1
    call LAPI_PUT(h, me, int(LAPI_ADDR_TYPE, LAPI_LONG_TYPE), fields(me + 1), variable, LAPI_ADDR_NULL, LAPI_ADDR_NULL, done, rc)
    call wait_for(done, 'LAPI_PUT of an address')
    variable = 0
    call LAPI_GET(h, me, int(LAPI_ADDR_TYPE, LAPI_LONG_TYPE), fields(me + 1), variable, LAPI_ADDR_NULL, origin, rc)
    call wait_for(origin, 'LAPI_GET of an address')
    call expect(variable == here .and. all(back == -1), 'a variable with an address is a variable')
    call LAPI_PUT(h, me, 40_LAPI_LONG_TYPE, fields(me + 1), mine, LAPI_ADDR_NULL, LAPI_ADDR_NULL, done, rc)
    call wait_for(done, 'LAPI_PUT')
    call LAPI_GET(h, me, 40_LAPI_LONG_TYPE, fields(me + 1), %VAL(known%addr), LAPI_ADDR_NULL, origin, rc)
    call wait_for(origin, 'LAPI_GET to an address')
    call expect(all(back == mine(:, 1)), 'LAPI_GET with the address by value')
    back = 0
    call c_f_pointer(transfer(known%addr, c_null_ptr), pointed, [10])
    call LAPI_GET(h, me, 40_LAPI_LONG_TYPE, fields(me + 1), pointed, LAPI_ADDR_NULL, origin, rc)
    call wait_for(origin, 'LAPI_GET to a pointer')
    call expect(all(back == mine(:, 1)), 'LAPI_GET with a pointer')
    back = 4711
    call LAPI_PUT(h, me, 40_LAPI_LONG_TYPE, fields(me + 1), %VAL(known%addr), LAPI_ADDR_NULL, LAPI_ADDR_NULL, done, rc)
    call wait_for(done, 'LAPI_PUT from an address')
    call expect(all(field(:, 1) == 4711), 'LAPI_PUT with the address by value')
    call LAPI_AMSEND(h, next, header_handler, me, 4, %VAL(known%addr), 40_LAPI_LONG_TYPE, LAPI_ADDR_NULL, LAPI_ADDR_NULL, done, rc)
    call wait_for(done, 'LAPI_AMSEND from an address')
    call LAPI_GFENCE(h, rc)
    call expect(all(place(1:10) == 4711), 'LAPI_AMSEND with the address by value')
    call end_case('buffers')
  end subroutine buffers

  subroutine xfer_put
    type(LAPI_PUT_T) :: put
    call clear
    put%Xfer_type = LAPI_PUT_XFER
    put%flags = 0
    put%tgt = next
    put%tgt_addr = fields(next + 1)
    call LAPI_ADDRESS(mine, put%org_addr, rc)
    put%len = 400
    put%shdlr = sent_address
    put%sinfo = tag_address
    put%tgt_cntr = counters(next + 1)
    put%org_cntr = LAPI_ADDR_NULL
    put%cmpl_cntr = done_address
    call LAPI_XFER(h, put, rc)
    call good(rc, 'LAPI_PUT_XFER')
    call wait_for(done, 'completion counter')
    call wait_for(arrived, 'target counter')
    call expect(all(field == mine), 'the array')
    call LAPI_FENCE(h, rc)
    call expect(sends == 1 .and. last == next .and. reason == LAPI_SUCCESS .and. parameter_seen == tag, 'send completion handler')
    put%tgt_addr = LAPI_ADDR_NULL
    call LAPI_XFER(h, put, rc)
    call code(LAPI_ERR_TGT_ADDR_NULL, rc, 'LAPI_PUT_XFER to LAPI_ADDR_NULL')
    put%Xfer_type = LAPI_LAST_XFER
    call LAPI_XFER(h, put, rc)
    call code(LAPI_ERR_XFER_CMD, rc, 'LAPI_XFER of no type')
    call end_case('LAPI_PUT_XFER')
  end subroutine xfer_put

  subroutine xfer_get
    type(LAPI_GET_T) :: get
    integer(4), save, volatile :: back(100)
    call clear
    field = mine + 1000 * me
    call LAPI_GFENCE(h, rc)
    get%Xfer_type = LAPI_GET_XFER
    get%flags = 0
    get%tgt = next
    get%tgt_addr = fields(next + 1)
    call LAPI_ADDRESS(back, get%org_addr, rc)
    get%len = 400
    get%tgt_cntr = counters(next + 1)
    get%org_cntr = origin_address
    get%chndlr = got_address
    get%cinfo = tag_address
    call LAPI_XFER(h, get, rc)
    call good(rc, 'LAPI_GET_XFER')
    call wait_for(origin, 'origin counter')
    call wait_for(arrived, 'target counter')
    call expect(all(back == [(i + 1000 * next, i=1, 100)]), 'the array')
    call wait_for_handler
    call LAPI_GFENCE(h, rc)
    call end_case('LAPI_GET_XFER')
  end subroutine xfer_get

  subroutine xfer_rmw
    type(LAPI_RMW_T) :: rmw
    integer(4), save, volatile :: add(1) = 7, before
    call clear
    rmw%Xfer_type = LAPI_RMW_XFER
    rmw%op = FETCH_AND_ADD
    rmw%tgt = next
    rmw%size = 32
    rmw%tgt_var = fields(next + 1)
    call LAPI_ADDRESS(add, rmw%in_val, rc)
    call LAPI_ADDRESS(before, rmw%prev_tgt_val, rc)
    rmw%org_cntr = origin_address
    rmw%shdlr = sent_address
    rmw%sinfo = tag_address
    before = -1
    call LAPI_XFER(h, rmw, rc)
    call good(rc, 'LAPI_RMW_XFER')
    call wait_for(origin, 'origin counter')
    call LAPI_GFENCE(h, rc)
    call expect(before == 0 .and. field(1, 1) == 7 .and. sends == 1, 'read-modify-write')
    rmw%size = 16
    call LAPI_XFER(h, rmw, rc)
    call code(LAPI_ERR_OP_SZ, rc, 'LAPI_RMW_XFER of 16 bits')
    call end_case('LAPI_RMW_XFER')
  end subroutine xfer_rmw

  subroutine xfer_messages
    type(LAPI_AM_T) :: am
    type(LAPI_MC_T) :: mc
    call LAPI_ADDR_SET(h, header_handler, 1, rc)
    call clear
    am%Xfer_type = LAPI_AM_XFER
    am%flags = 0
    am%tgt = next
    am%hdr_hdl = 1
    am%uhdr_len = 4
    call LAPI_ADDRESS(tag, am%uhdr, rc)
    call LAPI_ADDRESS(mine, am%udata, rc)
    am%udata_len = 400
    am%shdlr = sent_address
    am%sinfo = tag_address
    am%tgt_cntr = counters(next + 1)
    am%org_cntr = LAPI_ADDR_NULL
    am%cmpl_cntr = done_address
    call LAPI_XFER(h, am, rc)
    call good(rc, 'LAPI_AM_XFER')
    call wait_for(done, 'completion counter')
    call wait_for(arrived, 'target counter')
    call expect(arrivals == 1 .and. all(place(1:100) == reshape(mine, [100])), 'an active message')
    call LAPI_FENCE(h, rc)
    call expect(sends == 1, 'send completion handler')
    am%hdr_hdl = LAPI_ADDR_NULL
    call LAPI_XFER(h, am, rc)
    call code(LAPI_ERR_HDR_HNDLR_NULL, rc, 'LAPI_AM_XFER without a handler')
    call clear
    mc%Xfer_type = LAPI_MC_XFER
    mc%flags = 0
    mc%hdr_hdl = 1
    mc%uhdr_len = 4
    call LAPI_ADDRESS(tag, mc%uhdr, rc)
    call LAPI_ADDRESS(mine, mc%udata, rc)
    mc%udata_len = 400
    mc%shdlr = sent_address
    mc%sinfo = tag_address
    call LAPI_GROUP_CREATE(h, n, [(i, i=0, n - 1)], mc%group, rc)
    if (me == 0) call LAPI_XFER(h, mc, rc)
    call good(rc, 'LAPI_MC_XFER')
    call LAPI_GFENCE(h, rc)
    call expect(arrivals == 1 .and. all(place(1:100) == reshape(mine, [100])), 'a multicast')
    call expect(sends == merge(1, 0, me == 0), 'send completion handler of a multicast')
    call LAPI_GROUP_FREE(h, mc%group, rc)
    call end_case('LAPI_AM_XFER, LAPI_MC_XFER')
  end subroutine xfer_messages

  subroutine xfer_vectors
    type(LAPI_PUTV_T) :: putv
    type(LAPI_GETV_T) :: getv
    type(LAPI_AMV_T) :: amv
    type(LAPI_VEC_T), save :: here
    type(LAPI_LVEC_T), save :: there
    integer(LAPI_ADDR_TYPE), save :: here_info(3), from
    integer(LAPI_LONG_LONG_TYPE), save :: there_info(3)
    call LAPI_ADDR_SET(h, vector_handler, 2, rc)
    call clear
    call LAPI_ADDRESS(mine(3, 1), from, rc)
    call describe_row(here, here_info, from)
    there%vec_type = LAPI_GEN_STRIDED_XFER
    there%num_vecs = 10
    there_info = [int(fields(next + 1) + 4, LAPI_LONG_LONG_TYPE), 4_LAPI_LONG_LONG_TYPE, 40_LAPI_LONG_LONG_TYPE]
    call LAPI_ADDRESS(there_info, there%info, rc)
    there%len = LAPI_ADDR_NULL
    putv%Xfer_type = LAPI_PUTV_XFER
    putv%flags = 0
    putv%tgt = next
    putv%shdlr = sent_address
    putv%sinfo = tag_address
    call LAPI_ADDRESS(here, putv%org_vec, rc)
    call LAPI_ADDRESS(there, putv%tgt_vec, rc)
    putv%tgt_cntr = counters(next + 1)
    putv%org_cntr = LAPI_ADDR_NULL
    putv%cmpl_cntr = LAPI_ADDR_NULL
    call LAPI_XFER(h, putv, rc)
    call good(rc, 'LAPI_PUTV_XFER')
    call wait_for(arrived, 'target counter')
    call LAPI_FENCE(h, rc)
    call expect(all(field(2, :) == mine(3, :)) .and. sends == 1, 'a row put')
    call LAPI_GFENCE(h, rc)
    field = field + 1
    call LAPI_GFENCE(h, rc)
    getv%Xfer_type = LAPI_GETV_XFER
    getv%flags = 0
    getv%tgt = next
    getv%org_vec = putv%org_vec
    getv%tgt_vec = putv%tgt_vec
    getv%tgt_cntr = LAPI_ADDR_NULL
    getv%org_cntr = origin_address
    getv%chndlr = got_address
    getv%cinfo = tag_address
    call LAPI_XFER(h, getv, rc)
    call good(rc, 'LAPI_GETV_XFER')
    call wait_for(origin, 'origin counter')
    call expect(all(mine(3, :) == [(i * 10 + 4, i=0, 9)]), 'a row fetched')
    call wait_for_handler
    call clear
    amv%Xfer_type = LAPI_AMV_XFER
    amv%flags = 0
    amv%tgt = next
    amv%hdr_hdl = 2
    amv%uhdr_len = 4
    call LAPI_ADDRESS(tag, amv%uhdr, rc)
    amv%shdlr = sent_address
    amv%sinfo = tag_address
    amv%org_vec = putv%org_vec
    amv%tgt_cntr = counters(next + 1)
    amv%org_cntr = LAPI_ADDR_NULL
    amv%cmpl_cntr = LAPI_ADDR_NULL
    call LAPI_XFER(h, amv, rc)
    call good(rc, 'LAPI_AMV_XFER')
    call wait_for(arrived, 'target counter')
    call LAPI_FENCE(h, rc)
    call expect(arrivals == 1 .and. all(place(1:100:10) == mine(3, :)) .and. sends == 1, 'a row in a message')
    call end_case('LAPI_PUTV_XFER, LAPI_GETV_XFER, LAPI_AMV_XFER')
  end subroutine xfer_vectors
end program transfers
