! calls.f90 - every subroutine that moves no handler: its effect, and LAPI_ADDR_NULL in each position. Any number of tasks.
program calls
  use testing
  implicit none
  include 'lapif.h'
  integer(4) :: h, me, n, next, rc
  integer(LAPI_ADDR_TYPE), allocatable :: table(:), counters(:)
  integer(LAPI_LONG_LONG_TYPE), allocatable :: table64(:)
  integer(LAPI_ADDR_TYPE) :: here, there
  ! What LAPI changes while it is not called must be VOLATILE: a compiler would keep its value in a register.
  type(LAPI_CNTR_T), save, volatile :: arrived, origin, done
  integer(4), save, volatile :: word
  integer(LAPI_LONG_LONG_TYPE), save, volatile :: long_word
  real(8), save, volatile :: field(50)
  integer(4), save :: words(100)
  integer(4) :: value

  call before_init
  call start(h, me, n, LAPI_ADDR_NULL)
  next = mod(me + 1_4, n)
  allocate (table(n), counters(n), table64(n))
  call environment
  call addresses
  call counters_alone
  call put_and_get
  call read_modify_write
  call progress
  call groups
  call nulls
  call refusals
  call LAPI_GFENCE(h, rc)
  call good(rc, 'LAPI_GFENCE')
  call LAPI_TERM(h, rc)
  call good(rc, 'LAPI_TERM')
  call LAPI_TERM(h, rc)
  call code(LAPI_ERR_HNDL_INVALID, rc, 'LAPI_TERM again')
  call end_case('term')
  call finish('calls')

contains

  subroutine before_init
    character(LAPI_MAX_ERR_STRING) :: text
    character :: letters(LAPI_MAX_ERR_STRING)
    type(LAPI_INFO_T) :: info
    text = repeat('x', len(text))
    call LAPI_MSG_STRING(LAPI_ERR_TGT, text, rc)
    call good(rc, 'LAPI_MSG_STRING')
    call expect(len_trim(text) > 10 .and. index(text, 'x') == 0 .and. index(text, char(0)) == 0, 'text padded by blanks')
    letters = 'x'
    call LAPI_MSG_STRING(LAPI_ERR_TGT, letters, rc)
    call expect(letters(1) == text(1:1) .and. letters(LAPI_MAX_ERR_STRING) == ' ', 'an array of letters')
    call LAPI_MSG_STRING(1234, text, rc)
    call code(LAPI_ERR_CODE_UNKNOWN, rc, 'LAPI_MSG_STRING of no code')
    call expect(text == ' ', 'blanks for no code')
    call LAPI_ADDRESS(word, here, rc)
    call good(rc, 'LAPI_ADDRESS')
    call LAPI_ADDRESS(words(3), there, rc)
    call LAPI_ADDRESS(words(1), here, rc)
    call expect(there == here + 8, 'addresses of elements')
    call LAPI_ADDRESS(LAPI_ADDR_NULL, here, rc)
    call code(LAPI_ERR_ORG_ADDR_NULL, rc, 'LAPI_ADDRESS of LAPI_ADDR_NULL')
    call LAPI_ADDRESS(word, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_TGT_ADDR_NULL, rc, 'LAPI_ADDRESS into LAPI_ADDR_NULL')
    call LAPI_INIT(h, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_INFO_NULL, rc, 'LAPI_INIT without info')
    call LAPI_INIT(LAPI_ADDR_NULL, info, rc)
    call code(LAPI_ERR_HNDL_INVALID, rc, 'LAPI_INIT without handle')
    call LAPI_FENCE(77, rc)
    call code(LAPI_ERR_HNDL_INVALID, rc, 'LAPI_FENCE of no handle')
    call expect(LAPI_ADDR_NULL == 0 .and. LAPI_BYTE /= 0, 'the variables of lapif.h')
    call end_case('before LAPI_INIT')
  end subroutine before_init

  subroutine environment
    integer(4) :: before
    type(LAPI_STATISTICS_T) :: statistics
    call LAPI_QENV(h, TIMEOUT, before, rc)
    call LAPI_SENV(h, TIMEOUT, 600, rc)
    call good(rc, 'LAPI_SENV')
    call LAPI_QENV(h, TIMEOUT, value, rc)
    call expect(before == 900 .and. value == 600, 'TIMEOUT')
    call LAPI_SENV(h, TIMEOUT, 1, rc)
    call code(LAPI_ERR_SET_VAL, rc, 'LAPI_SENV out of range')
    call LAPI_SENV(h, TASK_ID, 1, rc)
    call code(LAPI_ERR_QUERY_TYPE, rc, 'LAPI_SENV of TASK_ID')
    call LAPI_QENV(h, LAST_QUERY, value, rc)
    call code(LAPI_ERR_QUERY_TYPE, rc, 'LAPI_QENV of LAST_QUERY')
    call LAPI_QENV(h, TIMEOUT, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_RET_PTR_NULL, rc, 'LAPI_QENV into LAPI_ADDR_NULL')
    statistics%Tot_data_sent = -1
    call LAPI_QENV(h, QUERY_STATISTICS, statistics, rc)
    call expect(rc == LAPI_SUCCESS .and. statistics%Tot_data_sent >= 0, 'statistics in a type')
    call end_case('environment')
  end subroutine environment

  subroutine addresses
    call LAPI_ADDRESS(word, here, rc)
    call LAPI_ADDRESS_INIT(h, here, table, rc)
    call good(rc, 'LAPI_ADDRESS_INIT')
    call expect(table(me + 1) == here, 'the own entry')
    call LAPI_ADDRESS_INIT64(h, here + me, table64, rc)
    call good(rc, 'LAPI_ADDRESS_INIT64')
    call expect(all(table64 - table == [(int(value, 8), value=0, n - 1)]), 'entries of 64 bits')
    call LAPI_ADDRESS_INIT(h, LAPI_ADDR_NULL, counters, rc)
    call expect(rc == LAPI_SUCCESS .and. all(counters == 0), 'LAPI_ADDR_NULL as an address')
    call LAPI_ADDRESS_INIT(h, here, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_RET_PTR_NULL, rc, 'LAPI_ADDRESS_INIT without table')
    call LAPI_ADDRESS_INIT64(h, here, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_RET_PTR_NULL, rc, 'LAPI_ADDRESS_INIT64 without table')
    call LAPI_ADDRESS(arrived, here, rc)
    call LAPI_ADDRESS_INIT(h, here, counters, rc)
    call end_case('addresses')
  end subroutine addresses

  subroutine counters_alone
    call LAPI_SETCNTR(h, arrived, 7, rc)
    call good(rc, 'LAPI_SETCNTR')
    call LAPI_GETCNTR(h, arrived, value, rc)
    call expect(rc == LAPI_SUCCESS .and. value == 7 .and. arrived%cntr == 7, 'LAPI_GETCNTR')
    call LAPI_WAITCNTR(h, arrived, 4, value, rc)
    call expect(rc == LAPI_SUCCESS .and. value == 3, 'LAPI_WAITCNTR')
    call LAPI_WAITCNTR(h, arrived, 1, LAPI_ADDR_NULL, rc)
    call expect(rc == LAPI_SUCCESS .and. arrived%cntr == 2, 'LAPI_WAITCNTR without a value')
    call LAPI_NOPOLL_WAIT(h, arrived, 2, value, rc)
    call expect(rc == LAPI_SUCCESS .and. value == 0, 'LAPI_NOPOLL_WAIT')
    call LAPI_NOPOLL_WAIT(h, arrived, 0, value, rc)
    call code(LAPI_ERR_CNTR_VAL, rc, 'LAPI_NOPOLL_WAIT for 0')
    call LAPI_SETCNTR(h, LAPI_ADDR_NULL, 0, rc)
    call code(LAPI_ERR_CNTR_NULL, rc, 'LAPI_SETCNTR of LAPI_ADDR_NULL')
    call LAPI_GETCNTR(h, LAPI_ADDR_NULL, value, rc)
    call code(LAPI_ERR_CNTR_NULL, rc, 'LAPI_GETCNTR of LAPI_ADDR_NULL')
    call LAPI_GETCNTR(h, arrived, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_RET_PTR_NULL, rc, 'LAPI_GETCNTR into LAPI_ADDR_NULL')
    call LAPI_WAITCNTR(h, LAPI_ADDR_NULL, 1, value, rc)
    call code(LAPI_ERR_CNTR_NULL, rc, 'LAPI_WAITCNTR of LAPI_ADDR_NULL')
    call LAPI_NOPOLL_WAIT(h, LAPI_ADDR_NULL, 1, value, rc)
    call code(LAPI_ERR_CNTR_NULL, rc, 'LAPI_NOPOLL_WAIT of LAPI_ADDR_NULL')
    call LAPI_SETCNTR(h, arrived, 0, rc)
    call end_case('counters')
  end subroutine counters_alone

  subroutine put_and_get
    integer(4) :: i
    real(8), volatile :: back(50)
    integer(LAPI_ADDR_TYPE) :: fields(n)
    call LAPI_SETCNTR(h, origin, 0, rc)
    call LAPI_SETCNTR(h, done, 0, rc)
    call LAPI_GFENCE(h, rc)
    value = me
    call LAPI_PUT(h, next, 4_LAPI_LONG_TYPE, table(next + 1), value, counters(next + 1), origin, done, rc)
    call good(rc, 'LAPI_PUT')
    call LAPI_WAITCNTR(h, arrived, 1, LAPI_ADDR_NULL, rc)
    call expect(word == mod(me + n - 1_4, n), 'the word of the task before')
    call LAPI_WAITCNTR(h, origin, 1, LAPI_ADDR_NULL, rc)
    call LAPI_WAITCNTR(h, done, 1, LAPI_ADDR_NULL, rc)
    field = [(me + i / 100d0, i=1, 50)]
    call LAPI_ADDRESS(field, here, rc)
    call LAPI_ADDRESS_INIT(h, here, fields, rc)
    call LAPI_GET(h, next, int(8 * size(back), LAPI_LONG_TYPE), fields(next + 1), back, LAPI_ADDR_NULL, origin, rc)
    call good(rc, 'LAPI_GET')
    call LAPI_WAITCNTR(h, origin, 1, LAPI_ADDR_NULL, rc)
    call expect(all(back == [(next + i / 100d0, i=1, 50)]), 'the array of the next task')
    ! A message without data, and nothing but its target counter.
    call LAPI_PUT(h, next, 0_LAPI_LONG_TYPE, LAPI_ADDR_NULL, LAPI_ADDR_NULL, counters(next + 1), LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
    call good(rc, 'LAPI_PUT of nothing')
    call LAPI_WAITCNTR(h, arrived, 1, LAPI_ADDR_NULL, rc)
    call LAPI_GET(h, next, 0_LAPI_LONG_TYPE, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, origin, rc)
    call good(rc, 'LAPI_GET of nothing')
    call LAPI_WAITCNTR(h, origin, 1, LAPI_ADDR_NULL, rc)
    call LAPI_PUT(h, next, 4_LAPI_LONG_TYPE, LAPI_ADDR_NULL, value, LAPI_ADDR_NULL, origin, done, rc)
    call code(LAPI_ERR_TGT_ADDR_NULL, rc, 'LAPI_PUT to LAPI_ADDR_NULL')
    call LAPI_PUT(h, next, 4_LAPI_LONG_TYPE, table(1), LAPI_ADDR_NULL, LAPI_ADDR_NULL, origin, done, rc)
    call code(LAPI_ERR_ORG_ADDR_NULL, rc, 'LAPI_PUT from LAPI_ADDR_NULL')
    call LAPI_GET(h, next, 4_LAPI_LONG_TYPE, LAPI_ADDR_NULL, value, LAPI_ADDR_NULL, origin, rc)
    call code(LAPI_ERR_TGT_ADDR_NULL, rc, 'LAPI_GET from LAPI_ADDR_NULL')
    call LAPI_GET(h, next, 4_LAPI_LONG_TYPE, table(1), LAPI_ADDR_NULL, LAPI_ADDR_NULL, origin, rc)
    call code(LAPI_ERR_ORG_ADDR_NULL, rc, 'LAPI_GET to LAPI_ADDR_NULL')
    call LAPI_PUT(h, n, 4_LAPI_LONG_TYPE, table(1), value, LAPI_ADDR_NULL, origin, done, rc)
    call code(LAPI_ERR_TGT, rc, 'LAPI_PUT to no task')
    call LAPI_GFENCE(h, rc)
    call end_case('put and get')
  end subroutine put_and_get

  subroutine read_modify_write
    integer(4) :: pair(2)
    integer(4), volatile :: before
    integer(LAPI_LONG_LONG_TYPE), volatile :: before64
    word = 10 * me
    long_word = 2_8**40 + me
    call LAPI_ADDRESS(long_word, here, rc)
    call LAPI_ADDRESS_INIT(h, here, counters, rc)
    call LAPI_GFENCE(h, rc)
    call LAPI_RMW(h, FETCH_AND_ADD, next, table(next + 1), 5, before, origin, rc)
    call good(rc, 'LAPI_RMW')
    call LAPI_WAITCNTR(h, origin, 1, LAPI_ADDR_NULL, rc)
    call expect(before == 10 * next, 'the value before')
    call LAPI_GFENCE(h, rc)
    call expect(word == 10 * me + 5, 'the value afterwards')
    call LAPI_GFENCE(h, rc)
    pair = [10 * next + 5, 1]
    call LAPI_RMW(h, COMPARE_AND_SWAP, next, table(next + 1), pair, before, origin, rc)
    call LAPI_WAITCNTR(h, origin, 1, LAPI_ADDR_NULL, rc)
    call expect(before == 1, 'COMPARE_AND_SWAP has swapped')
    call LAPI_RMW(h, SWAP, next, table(next + 1), 3, LAPI_ADDR_NULL, origin, rc)
    call LAPI_WAITCNTR(h, origin, 1, LAPI_ADDR_NULL, rc)
    call LAPI_GFENCE(h, rc)
    call expect(word == 3, 'SWAP without an answer')
    call LAPI_RMW64(h, FETCH_AND_OR, next, counters(next + 1), 2_LAPI_LONG_LONG_TYPE**50, before64, origin, rc)
    call good(rc, 'LAPI_RMW64')
    call LAPI_WAITCNTR(h, origin, 1, LAPI_ADDR_NULL, rc)
    call LAPI_GFENCE(h, rc)
    call expect(before64 == 2_8**40 + next .and. long_word == 2_8**50 + 2_8**40 + me, '64 bits')
    call LAPI_RMW(h, SWAP, next, LAPI_ADDR_NULL, 3, before, origin, rc)
    call code(LAPI_ERR_TGT_VAR_NULL, rc, 'LAPI_RMW of LAPI_ADDR_NULL')
    call LAPI_RMW(h, SWAP, next, table(1), LAPI_ADDR_NULL, before, origin, rc)
    call code(LAPI_ERR_IN_VAL_NULL, rc, 'LAPI_RMW with LAPI_ADDR_NULL')
    call LAPI_RMW(h, 99, next, table(1), 3, before, origin, rc)
    call code(LAPI_ERR_RMW_OP, rc, 'LAPI_RMW of no operation')
    call LAPI_RMW64(h, SWAP, next, LAPI_ADDR_NULL, 3_8, before64, origin, rc)
    call code(LAPI_ERR_TGT_VAR_NULL, rc, 'LAPI_RMW64 of LAPI_ADDR_NULL')
    call LAPI_RMW64(h, SWAP, next, counters(1), LAPI_ADDR_NULL, before64, origin, rc)
    call code(LAPI_ERR_IN_VAL_NULL, rc, 'LAPI_RMW64 with LAPI_ADDR_NULL')
    call LAPI_ADDRESS(arrived, here, rc)
    call LAPI_ADDRESS_INIT(h, here, counters, rc)
    call end_case('read-modify-write')
  end subroutine read_modify_write

  subroutine progress
    type(LAPI_MSG_INFO_T) :: info
    integer(4) :: i
    call LAPI_PROBE(h, rc)
    call good(rc, 'LAPI_PROBE')
    call LAPI_PUT(h, me, 4_LAPI_LONG_TYPE, table(me + 1), value, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
    do i = 1, 1000
      call LAPI_MSGPOLL(h, 100, info, rc)
      if (iand(info%status, LAPI_RECV_COMPLETE) /= 0) exit
    end do
    call expect(rc == LAPI_SUCCESS .and. i <= 1000, 'LAPI_MSGPOLL tells of a message')
    call LAPI_MSGPOLL(h, 1, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_MSG_INFO_NULL, rc, 'LAPI_MSGPOLL without info')
    call LAPI_FENCE(h, rc)
    call good(rc, 'LAPI_FENCE')
    call end_case('progress')
  end subroutine progress

  subroutine groups
    integer(4) :: group, i
    call LAPI_GROUP_CREATE(h, n, [(i, i=0, n - 1)], group, rc)
    call good(rc, 'LAPI_GROUP_CREATE')
    call LAPI_GROUP_FREE(h, group, rc)
    call good(rc, 'LAPI_GROUP_FREE')
    call LAPI_GROUP_FREE(h, group, rc)
    call code(LAPI_ERR_TGT, rc, 'LAPI_GROUP_FREE again')
    call LAPI_GROUP_CREATE(h, n, LAPI_ADDR_NULL, group, rc)
    call code(LAPI_ERR_RET_PTR_NULL, rc, 'LAPI_GROUP_CREATE without tasks')
    call end_case('groups')
  end subroutine groups

  ! Where an address is asked for, a variable of the value 0 is as good as LAPI_ADDR_NULL.
  subroutine nulls
    integer(LAPI_ADDR_TYPE) :: zero
    zero = 0
    call LAPI_PUT(h, next, 0_LAPI_LONG_TYPE, zero, LAPI_ADDR_NULL, zero, LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
    call good(rc, 'LAPI_PUT with zeros')
    call expect(LAPI_ADDR_NULL == 0, 'nothing was stored in LAPI_ADDR_NULL')
    call end_case('LAPI_ADDR_NULL')
  end subroutine nulls

  subroutine refusals
    integer(4) :: tasks(1)
    integer(4), volatile :: states(1)
    type(LAPI_UTIL_T) :: command
    call LAPI_SETCNTR_WSTATUS(h, LAPI_ADDR_NULL, 1, tasks, states, rc)
    call code(LAPI_ERR_CNTR_NULL, rc, 'LAPI_SETCNTR_WSTATUS of LAPI_ADDR_NULL')
    tasks = me
    call LAPI_SETCNTR_WSTATUS(h, origin, 1, tasks, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_RET_PTR_NULL, rc, 'LAPI_SETCNTR_WSTATUS without states')
    call LAPI_SETCNTR_WSTATUS(h, origin, 1, tasks, states, rc)
    call expect(rc == LAPI_SUCCESS .and. states(1) == LAPI_MSG_INITIAL, 'LAPI_SETCNTR_WSTATUS')
    call LAPI_PUT(h, me, 0_LAPI_LONG_TYPE, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, origin, rc)
    call LAPI_NOPOLL_WAIT(h, origin, 1, value, rc)
    call expect(rc == LAPI_SUCCESS .and. states(1) == LAPI_MSG_RECVD, 'a state')
    call LAPI_SETCNTR_WSTATUS(h, origin, 0, LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
    call good(rc, 'LAPI_SETCNTR_WSTATUS without tasks')
    call LAPI_PURGE_TOTASK(h, n, rc)
    call code(LAPI_ERR_TGT, rc, 'LAPI_PURGE_TOTASK of no task')
    call LAPI_RESUME_TOTASK(h, n, rc)
    call code(LAPI_ERR_TGT, rc, 'LAPI_RESUME_TOTASK of no task')
    call LAPI_XFER(h, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_XFER_CMD, rc, 'LAPI_XFER without command')
    call LAPI_UTIL(h, LAPI_ADDR_NULL, rc)
    call code(LAPI_ERR_UTIL_CMD, rc, 'LAPI_UTIL without command')
    command%Util_type = LAPI_LAST_UTIL
    call LAPI_UTIL(h, command, rc)
    call code(LAPI_ERR_UTIL_CMD, rc, 'LAPI_UTIL of no type')
    call end_case('recovery and refusals')
  end subroutine refusals
end program calls
