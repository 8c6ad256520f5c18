! int8.f90 - for -fdefault-integer-8: LAPI's integers have their kind, the program's own are wide. Any number of tasks.
program int8
  implicit none
  include 'lapif.h'
  integer :: i, wide ! 8 bytes
  integer(LAPI_HANDLE_T) :: h
  integer(4) :: me, n, rc, value
  type(LAPI_INFO_T) :: info
  type(LAPI_CNTR_T), volatile, save :: c
  integer, volatile, save :: landed(10)
  integer(LAPI_ADDR_TYPE) :: address
  integer :: data(10)

  if (kind(wide) /= 8 .or. kind(LAPI_SUCCESS) /= 4) stop 1
  info = LAPI_INFO_T(0, LAST_LIB, 0, 0, 0, 0, 0, 0, 0, 0)
  call LAPI_INIT(h, info, rc)
  if (rc /= LAPI_SUCCESS) stop 2
  call LAPI_QENV(h, TASK_ID, me, rc)
  call LAPI_QENV(h, NUM_TASKS, n, rc)
  call LAPI_SETCNTR(h, c, 0_4, rc)
  data = [(2_8**40 + i, i=1, 10)]
  call LAPI_ADDRESS(landed, address, rc)
  call LAPI_PUT(h, me, int(sizeof(data), LAPI_LONG_TYPE), address, data, LAPI_ADDR_NULL, LAPI_ADDR_NULL, c, rc)
  call LAPI_WAITCNTR(h, c, 1_4, value, rc)
  if (rc /= LAPI_SUCCESS .or. value /= 0 .or. any(landed /= data)) stop 3
  call LAPI_GFENCE(h, rc)
  call LAPI_TERM(h, rc)
  if (rc /= LAPI_SUCCESS) stop 4
  if (me == 0) print '(a)', 'int8: 1 passed, 0 failed, 0 skipped'
end program int8
