! handlers.f90 - header and completion handlers in Fortran: named as procedures, by address and by index, for one block and for vectors, with the
! structure behind msg_len. Any number of tasks; each sends to the next.
module landing
  implicit none
  include 'lapif.h'
  integer(4), parameter :: count = 40000
  integer(4), save, volatile :: place(count)  ! where messages go
  integer(4), save, volatile :: headers = 0   ! header handlers that have run
  integer(4), save, volatile :: completions = 0, total = 0
  integer(4), save, volatile :: from = -1, refused = 0, one_packet = -1
  integer(4), save, volatile :: user_header(4) = 0
  integer(8), save, volatile :: announced = -1
  type(LAPI_VEC_T), save :: vector
  integer(LAPI_ADDR_TYPE), save :: blocks(2)
  integer(LAPI_LONG_TYPE), save :: lengths(2)
  logical(4), save, volatile :: late = .false. ! the completion handler takes its time
end module landing

! The usual one: data to place, then done_handler with place as its parameter.
integer(LAPI_ADDR_TYPE) function header_handler(hndl, uhdr, uhdr_len, msg_len, comp_h, user_info)
  use landing
  implicit none
  integer(4) :: hndl, uhdr_len, uhdr(4)
  integer(LAPI_LONG_TYPE) :: msg_len
  integer(LAPI_ADDR_TYPE) :: comp_h, user_info
  external :: done_handler
  integer(4) :: rc
  headers = headers + 1
  announced = msg_len
  if (uhdr_len == 16) user_header = uhdr
  call LAPI_ADDRESS(done_handler, comp_h, rc)
  call LAPI_ADDRESS(place, user_info, rc)
  header_handler = user_info
  if (hndl < 0) header_handler = LAPI_ADDR_NULL
end function header_handler

subroutine done_handler(hndl, data)
  use landing, only: completions, total, count, late
  implicit none
  integer(4) :: hndl, data(count), i
  total = 0
  if (late) call sleep(1)
  do i = 1, 10
    total = total + data(i)
  end do
  if (hndl >= 0) completions = completions + 1
end subroutine done_handler

! Takes a small message in the handler itself, and has done_inline run at once.
integer(LAPI_ADDR_TYPE) function inline_handler(hndl, uhdr, uhdr_len, info, comp_h, user_info)
  use landing
  implicit none
  integer(4) :: hndl, uhdr_len, uhdr(4)
  type(LAPI_RETURN_INFO_T) :: info
  integer(LAPI_ADDR_TYPE) :: comp_h, user_info
  external :: done_inline
  integer(4) :: rc
  headers = headers + 1
  from = info%src
  one_packet = merge(1, 0, info%udata_one_pkt_ptr /= LAPI_ADDR_NULL)
  info%ret_flags = LAPI_SEND_REPLY
  info%ctl_flags = LAPI_BURY_MSG
  call LAPI_ADDRESS(done_inline, comp_h, rc)
  call LAPI_ADDRESS(user_header, user_info, rc)
  if (uhdr_len == 16) user_header = uhdr
  inline_handler = LAPI_ADDR_NULL
  if (hndl < 0) inline_handler = 1
end function inline_handler

subroutine done_inline(hndl, parameter)
  use landing, only: completions, total
  implicit none
  integer(4) :: hndl, parameter(4)
  total = sum(parameter)
  if (hndl >= 0) completions = completions + 1
end subroutine done_inline

! Refuses each message once.
integer(LAPI_ADDR_TYPE) function refusing_handler(hndl, uhdr, uhdr_len, info, comp_h, user_info)
  use landing
  implicit none
  integer(4) :: hndl, uhdr, uhdr_len, rc
  type(LAPI_RETURN_INFO_T) :: info
  integer(LAPI_ADDR_TYPE) :: comp_h, user_info
  comp_h = LAPI_ADDR_NULL
  user_info = hndl + uhdr + uhdr_len
  if (refused == 0) then
    refused = 1
    info%ctl_flags = LAPI_DROP_PKT
    refusing_handler = LAPI_ADDR_NULL
  else
    headers = headers + 1
    call LAPI_ADDRESS(place, refusing_handler, rc)
  end if
end function refusing_handler

! For vectors: two blocks, the second one first.
integer(LAPI_ADDR_TYPE) function vector_handler(hndl, uhdr, uhdr_len, len_vec, comp_h, user_info)
  use landing
  implicit none
  integer(4) :: hndl, uhdr(4), uhdr_len, rc
  integer(LAPI_ADDR_TYPE) :: len_vec, comp_h, user_info
  external :: done_handler
  headers = headers + 1
  announced = merge(1, 0, len_vec /= LAPI_ADDR_NULL)
  if (uhdr_len == 16) user_header = uhdr
  call LAPI_ADDRESS(place(101), blocks(1), rc)
  call LAPI_ADDRESS(place(1), blocks(2), rc)
  lengths = [40, 40]
  vector%vec_type = LAPI_GEN_IOVECTOR
  vector%num_vecs = 2
  call LAPI_ADDRESS(blocks, vector%info, rc)
  call LAPI_ADDRESS(lengths, vector%len, rc)
  call LAPI_ADDRESS(done_handler, comp_h, rc)
  call LAPI_ADDRESS(place, user_info, rc)
  call LAPI_ADDRESS(vector, vector_handler, rc)
  if (hndl < 0) vector_handler = LAPI_ADDR_NULL
end function vector_handler

program handlers
  use testing
  use landing
  implicit none
  integer(4) :: h, me, n, next, rc, i
  integer(LAPI_ADDR_TYPE), allocatable :: table(:), counters(:)
  integer(LAPI_ADDR_TYPE) :: address
  integer(LAPI_ADDR_TYPE), external :: header_handler, inline_handler, refusing_handler, vector_handler
  type(LAPI_CNTR_T), save, volatile :: arrived, origin, done
  integer(4) :: header(4), data(count)

  call start(h, me, n, LAPI_ADDR_NULL)
  next = mod(me + 1, n)
  allocate (table(n), counters(n))
  call LAPI_SETCNTR(h, arrived, 0, rc)
  call LAPI_SETCNTR(h, origin, 0, rc)
  call LAPI_SETCNTR(h, done, 0, rc)
  call LAPI_ADDRESS(arrived, address, rc)
  call LAPI_ADDRESS_INIT(h, address, counters, rc)
  header = [me, 11, 22, 33]
  data = [(i, i=1, count)]
  call by_procedure
  call by_address
  call by_index
  call inline_completion
  call refusal
  call vectors
  call errors
  call LAPI_GFENCE(h, rc)
  call LAPI_TERM(h, rc)
  call finish('handlers')

contains

  subroutine wait_for(counter, what)
    type(LAPI_CNTR_T), volatile :: counter
    character(*), intent(in) :: what
    call LAPI_WAITCNTR(h, counter, 1, LAPI_ADDR_NULL, rc)
    call good(rc, what)
  end subroutine wait_for

  ! After a message to every task: what its handlers have seen here. wanted: the sum that the completion handler made.
  subroutine look(wanted, what)
    integer(4), intent(in) :: wanted
    character(*), intent(in) :: what
    call wait_for(arrived, what)
    call expect(headers == 1 .and. completions == 1, what//': each handler has run once')
    call expect(total == wanted, what//': what the completion handler has seen')
    call LAPI_GFENCE(h, rc)
    headers = 0
    completions = 0
    total = 0
    place = 0
    user_header = 0
    call LAPI_GFENCE(h, rc)
  end subroutine look

  ! The same name at every task, wherever the loader has put the program. cmpl_cntr waits for the completion handler.
  subroutine by_procedure
    integer(LAPI_LONG_TYPE) :: length
    late = .true.
    call LAPI_GFENCE(h, rc)
    call LAPI_AMSEND(h, next, header_handler, header, 16, data, 40_LAPI_LONG_TYPE, counters(next + 1), origin, done, rc)
    call good(rc, 'LAPI_AMSEND of a procedure')
    call wait_for(origin, 'origin counter')
    call wait_for(done, 'completion counter')
    call expect(completions == 1 .or. n > 1, 'the completion counter waits for the handler')
    call wait_for(arrived, 'target counter')
    call expect(all(user_header == [mod(me + n - 1, n), 11, 22, 33]) .and. announced == 40, 'user header and length')
    call expect(all(place(1:10) == data(1:10)) .and. place(11) == 0, 'data')
    arrived%cntr = 1
    late = .false.
    call look(55, 'procedure')
    length = 4 * count
    call LAPI_AMSEND(h, next, header_handler, LAPI_ADDR_NULL, 0, data, length, counters(next + 1), LAPI_ADDR_NULL, done, rc)
    call good(rc, 'LAPI_AMSEND of much')
    call wait_for(done, 'completion counter')
    call wait_for(arrived, 'target counter')
    call expect(announced == length .and. all(place == data), 'much data')
    arrived%cntr = 1
    call look(55, 'procedure, much data')
    call LAPI_AMSEND(h, next, header_handler, header, 16, LAPI_ADDR_NULL, 0_LAPI_LONG_TYPE, counters(next + 1), LAPI_ADDR_NULL, &
                     LAPI_ADDR_NULL, rc)
    call good(rc, 'LAPI_AMSEND without data')
    call look(0, 'procedure, no data')
    call end_case('a procedure as header handler')
  end subroutine by_procedure

  subroutine by_address
    call LAPI_ADDRESS(header_handler, address, rc)
    call LAPI_ADDRESS_INIT(h, address, table, rc)
    call LAPI_AMSEND(h, next, table(next + 1), header, 16, data, 40_LAPI_LONG_TYPE, counters(next + 1), origin, done, rc)
    call good(rc, 'LAPI_AMSEND of an address')
    call wait_for(origin, 'origin counter')
    call wait_for(done, 'completion counter')
    call look(55, 'address')
    call end_case('an address as header handler')
  end subroutine by_address

  subroutine by_index
    integer(LAPI_ADDR_TYPE) :: got, index
    call LAPI_ADDR_SET(h, header_handler, 5, rc)
    call good(rc, 'LAPI_ADDR_SET of a procedure')
    call LAPI_ADDR_GET(h, got, 5, rc)
    call expect(rc == LAPI_SUCCESS .and. got == address, 'LAPI_ADDR_GET')
    call LAPI_ADDR_SET(h, address, 6, rc)
    call good(rc, 'LAPI_ADDR_SET of an address')
    call LAPI_ADDR_GET(h, got, 6, rc)
    call expect(rc == LAPI_SUCCESS .and. got == address, 'LAPI_ADDR_GET')
    call LAPI_ADDR_SET(h, LAPI_ADDR_NULL, 6, rc)
    call LAPI_ADDR_GET(h, got, 6, rc)
    call expect(rc == LAPI_SUCCESS .and. got == LAPI_ADDR_NULL, 'LAPI_ADDR_SET of LAPI_ADDR_NULL')
    call LAPI_ADDR_SET(h, header_handler, 0, rc)
    call code(LAPI_ERR_ADDR_HNDL_RANGE, rc, 'LAPI_ADDR_SET at 0')
    call LAPI_ADDR_GET(h, got, 100000, rc)
    call code(LAPI_ERR_ADDR_HNDL_RANGE, rc, 'LAPI_ADDR_GET out of range')
    call LAPI_ADDR_GET(h, LAPI_ADDR_NULL, 5, rc)
    call code(LAPI_ERR_RET_PTR_NULL, rc, 'LAPI_ADDR_GET into LAPI_ADDR_NULL')
    index = 5
    call LAPI_AMSEND(h, next, index, header, 16, data, 40_LAPI_LONG_TYPE, counters(next + 1), LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
    call good(rc, 'LAPI_AMSEND of an index')
    call look(55, 'index')
    call LAPI_AMSEND(h, next, 5_LAPI_ADDR_TYPE, header, 16, data, 40_LAPI_LONG_TYPE, counters(next + 1), LAPI_ADDR_NULL, &
                     LAPI_ADDR_NULL, rc)
    call good(rc, 'LAPI_AMSEND of a constant')
    call look(55, 'index, a constant')
    call end_case('an index as header handler')
  end subroutine by_index

  subroutine inline_completion
    call LAPI_AMSEND(h, next, inline_handler, header, 16, data, 40_LAPI_LONG_TYPE, counters(next + 1), LAPI_ADDR_NULL, &
                     LAPI_ADDR_NULL, rc)
    call good(rc, 'LAPI_AMSEND to an inline handler')
    call wait_for(arrived, 'target counter')
    call expect(from == mod(me + n - 1, n) .and. one_packet == 1, 'LAPI_RETURN_INFO_T')
    call expect(place(1) == 0, 'a buried message')
    arrived%cntr = 1
    call look(66 + mod(me + n - 1, n), 'inline')
    call end_case('LAPI_RETURN_INFO_T')
  end subroutine inline_completion

  subroutine refusal
    call LAPI_AMSEND(h, next, refusing_handler, header, 16, data, 40_LAPI_LONG_TYPE, counters(next + 1), LAPI_ADDR_NULL, &
                     LAPI_ADDR_NULL, rc)
    call wait_for(arrived, 'target counter')
    call expect(refused == 1 .and. headers == 1 .and. all(place(1:10) == data(1:10)), 'a message that was refused at first')
    call LAPI_GFENCE(h, rc)
    headers = 0
    place = 0
    call LAPI_GFENCE(h, rc)
    call end_case('LAPI_DROP_PKT')
  end subroutine refusal

  subroutine vectors
    type(LAPI_VEC_T) :: vec
    integer(LAPI_ADDR_TYPE) :: info(2)
    integer(LAPI_LONG_TYPE) :: len(2)
    call LAPI_ADDRESS(data(1), info(1), rc)
    call LAPI_ADDRESS(data(1001), info(2), rc)
    len = [40, 40]
    vec%vec_type = LAPI_GEN_IOVECTOR
    vec%num_vecs = 2
    call LAPI_ADDRESS(info, vec%info, rc)
    call LAPI_ADDRESS(len, vec%len, rc)
    call LAPI_AMSENDV(h, next, vector_handler, header, 16, vec, counters(next + 1), origin, done, rc)
    call good(rc, 'LAPI_AMSENDV of a procedure')
    call wait_for(origin, 'origin counter')
    call wait_for(done, 'completion counter')
    call wait_for(arrived, 'target counter')
    call expect(all(place(101:110) == data(1:10)) .and. all(place(1:10) == data(1001:1010)) .and. announced == 1, 'blocks')
    arrived%cntr = 1
    call look(sum(data(1001:1010)), 'vector')
    call LAPI_ADDRESS(vector_handler, address, rc)
    call LAPI_ADDRESS_INIT(h, address, table, rc)
    call LAPI_AMSENDV(h, next, table(next + 1), LAPI_ADDR_NULL, 0, vec, counters(next + 1), LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
    call good(rc, 'LAPI_AMSENDV of an address')
    call look(sum(data(1001:1010)), 'vector, address')
    call LAPI_AMSENDV(h, next, vector_handler, header, 16, LAPI_ADDR_NULL, counters(next + 1), origin, done, rc)
    call code(LAPI_ERR_ORG_VEC_NULL, rc, 'LAPI_AMSENDV without a vector')
    call LAPI_AMSENDV(h, next, LAPI_ADDR_NULL, header, 16, vec, counters(next + 1), origin, done, rc)
    call code(LAPI_ERR_HDR_HNDLR_NULL, rc, 'LAPI_AMSENDV without a handler')
    call end_case('vectors')
  end subroutine vectors

  subroutine errors
    call LAPI_AMSEND(h, next, LAPI_ADDR_NULL, header, 16, data, 40_LAPI_LONG_TYPE, LAPI_ADDR_NULL, origin, done, rc)
    call code(LAPI_ERR_HDR_HNDLR_NULL, rc, 'LAPI_AMSEND without a handler')
    call LAPI_AMSEND(h, next, header_handler, LAPI_ADDR_NULL, 16, data, 40_LAPI_LONG_TYPE, LAPI_ADDR_NULL, origin, done, rc)
    call code(LAPI_ERR_UHDR_NULL, rc, 'LAPI_AMSEND without user header')
    call LAPI_AMSEND(h, next, header_handler, header, 16, LAPI_ADDR_NULL, 40_LAPI_LONG_TYPE, LAPI_ADDR_NULL, origin, done, rc)
    call code(LAPI_ERR_ORG_ADDR_NULL, rc, 'LAPI_AMSEND without data')
    call LAPI_AMSEND(h, next, header_handler, header, 100000, data, 40_LAPI_LONG_TYPE, LAPI_ADDR_NULL, origin, done, rc)
    call code(LAPI_ERR_UHDR_LEN, rc, 'LAPI_AMSEND of a long user header')
    call LAPI_AMSEND(h, n, header_handler, header, 16, data, 40_LAPI_LONG_TYPE, LAPI_ADDR_NULL, origin, done, rc)
    call code(LAPI_ERR_TGT, rc, 'LAPI_AMSEND to no task')
    call LAPI_AMSEND(h, next, header_handler, header, 16, data, -1_LAPI_LONG_TYPE, LAPI_ADDR_NULL, origin, done, rc)
    call code(LAPI_ERR_DATA_LEN, rc, 'LAPI_AMSEND of more than there is')
    call end_case('errors')
  end subroutine errors
end program handlers
